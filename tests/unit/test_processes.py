"""Two processes under torchrun ask a part each and write what one process writes, byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evalooop import processes
from evalooop.datasets import load
from evalooop.errors import UserError
from evalooop.models import fetch, write_card
from evalooop.plan import expand, session_to_json
from evalooop.records import Step, Verdict, read_rows, write_rows
from evalooop.store import Store
from evalooop.tasks import write_tasks
from tests.tiny import build_tiny_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """A folder with a session of a greedy and a sampled run, and what the loop before loop 2 may have left."""
    folder = tmp_path_factory.mktemp("session")
    model = build_tiny_model(folder / "model")
    settings = (f"model.id={model}", "model.name=tiny", "model.source=path", "model.dtype=float32")
    tokens = ("loop.generate_tokens=24", "loop.describe_tokens=12")
    plan = expand(ROOT / "conf", "test", (*settings, *tokens, "temperature=0,0.8", "dataset.limit=7"))
    (folder / "runs.json").write_text(session_to_json(plan, "tiny"))
    write_card(folder / "card.json", fetch(plan.runs[0].config.model, model))
    write_tasks(folder / "starter.jsonl", load("starter"))
    generate(folder, "first", 1)
    steps = [replace(step, code=f"def f(): return {number}") for number, step in enumerate(rows_of(folder, "first"))]
    write_rows(folder / "before" / "generated.jsonl", steps)
    passed = [Verdict(*step.chain, 1, "base", "pass", None, "", "") for step in steps]
    write_rows(folder / "before" / "verdicts.jsonl", passed)
    return folder


def generate(folder: Path, name: str, loop: int, count: int = 1) -> dict[str, float]:
    """Run the stage in so many processes, with a store of its own name, and return its timing."""
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)) if count > 1 else ()
    options = {
        "runs": "runs.json",
        "session": "tiny",
        "loop": loop,
        "datasets": "starter.jsonl",
        "card": "card.json",
        "previous": "before",
        "store": f"{name}.sqlite",
        "out": f"{name}.jsonl",
        "timing": f"{name}.json",
    }
    files = {"runs", "datasets", "card", "previous", "store", "out", "timing"}
    arguments = [
        part for key, it in options.items() for part in (f"--{key}", str(folder / it) if key in files else str(it))
    ]
    done = subprocess.run(
        [sys.executable, *torchrun, "-m", "scripts.generate", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / f"{name}.json").read_text())


def rows_of(folder: Path, name: str) -> list[Step]:
    return read_rows(folder / f"{name}.jsonl", Step)


@pytest.mark.slow
@pytest.mark.parametrize("loop", [1, 2])
def test_two_processes_write_what_one_writes(inputs, loop):
    alone = generate(inputs, f"alone{loop}", loop)
    together = generate(inputs, f"together{loop}", loop, count=2)
    assert (inputs / f"together{loop}.jsonl").read_bytes() == (inputs / f"alone{loop}.jsonl").read_bytes()
    assert len({step.text for step in rows_of(inputs, f"alone{loop}")}) > 7
    counted = ("asked", "stored", "near_ties", "prompt_tokens", "new_tokens")
    assert {key: together[key] for key in counted} == {key: alone[key] for key in counted}
    with Store(inputs / f"together{loop}.sqlite") as store:
        assert len(store) == together["asked"] == 14 * loop
    again = generate(inputs, f"together{loop}", loop, count=2)
    assert (again["asked"], again["stored"]) == (0, 14 * loop)


def test_an_error_of_one_process_is_everyones(monkeypatch):
    monkeypatch.setattr(processes, "COUNT", 2)
    others = (UserError("no model here"), {})
    monkeypatch.setattr(processes, "_gather", lambda value: [value, others])
    with pytest.raises(UserError, match="no model here"):
        processes.share_out(lambda keys: {key: key for key in keys}, [1, 2, 3])


def test_every_process_does_its_part(monkeypatch):
    monkeypatch.setattr(processes, "COUNT", 2)
    monkeypatch.setattr(processes, "_gather", lambda value: [value, (None, {2: 4})])
    assert processes.share_out(lambda keys: {key: 2 * key for key in keys}, [1, 2, 3]) == {1: 2, 3: 6, 2: 4}
    assert processes.is_first()
