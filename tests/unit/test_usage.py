"""What answers take: by run and in all, with a price and without, however often a job was interrupted."""

import json
import sys

import pytest

from evalooop.config import PriceConfig
from evalooop.engines import Completion
from evalooop.loop import Asker, Chain
from evalooop.store import Store
from evalooop.usage import Usage
from scripts import cost
from tests.unit.test_loop import Scripted, Silent, run, task

PRICE = PriceConfig(prompt=2.0, completion=10.0)


def test_money_is_tokens_at_the_price_of_a_million():
    usage = Usage()
    usage.add(Completion("a", "stop", 300_000, 50_000, 2.0))
    usage.add(Completion("b", "length", 200_000, 50_000, 1.0))
    assert usage.row(PRICE) == {
        "answers": 2, "prompt_tokens": 500_000, "new_tokens": 100_000, "model_seconds": 3.0, "near_ties": 0,
        "usd": 2.0,
    }  # fmt: skip
    assert "usd" not in usage.row(None)


def test_a_job_counts_what_it_asked_and_what_its_runs_used(tmp_path):
    chains = [Chain(run(f"temperature={heat}"), task(name), 0) for heat in (0.5, 0.7) for name in ("double", "twice")]
    chains.append(Chain(run("temperature=0.7"), task("fails"), 0))

    def answer(prompt):
        return Completion("", "error", 0, 0, 0.0, "HTTP 500", 4) if "fails" in prompt else "pass"

    found = []
    with Store(tmp_path / "store.sqlite") as store:
        for _ in range(2):
            asker = Asker(Scripted(answer), store, Silent())
            asker.first_loop(chains)
            found.append(asker.counts(PRICE))
    first, second = found
    assert (first["asked"], first["asked_tokens"], first["failed"], first["retries"], first["stored"]) == (
        5,
        12,
        1,
        3,
        0,
    )
    assert first["asked_seconds"] > 0
    assert (second["asked"], second["asked_tokens"], second["failed"], second["stored"]) == (1, 0, 1, 4)
    for counts in found:
        assert (counts["prompt_tokens"], counts["new_tokens"], counts["model_seconds"]) == (28, 12, 2.0)
        assert counts["usd"] == pytest.approx((28 * 2 + 12 * 10) / 1e6)
        assert [usage["new_tokens"] for usage in counts["runs"].values()] == [6, 6]
        assert sum(usage["usd"] for usage in counts["runs"].values()) == pytest.approx(counts["usd"])


def test_cost_json_sums_runs_over_loops(tmp_path, monkeypatch):
    usage = {"answers": 1, "new_tokens": 5, "usd": 0.5}
    for loop in (1, 2):
        timing = {"stage": "generate", "loop": loop, "new_tokens": 5, "runs": {"r": usage}}
        (tmp_path / f"{loop}.json").write_text(json.dumps(timing))
    (tmp_path / "judge.json").write_text(json.dumps([{"stage": "judge", "runs": {"r": usage}}, {"stage": "judge"}]))
    files = [str(tmp_path / name) for name in ("1.json", "2.json", "judge.json")]
    monkeypatch.setattr(sys, "argv", ["cost", "--timings", *files, "--out", str(tmp_path / "cost.json")])
    cost.main()
    content = json.loads((tmp_path / "cost.json").read_text())
    assert content["runs"] == [
        {"run": "r", "stage": "generate", "answers": 2, "new_tokens": 10, "usd": 1.0},
        {"run": "r", "stage": "judge", "answers": 1, "new_tokens": 5, "usd": 0.5},
    ]
    assert [stage["stage"] for stage in content["stages"]] == ["generate", "generate", "judge", "judge"]
    assert all("runs" not in stage for stage in content["stages"])
