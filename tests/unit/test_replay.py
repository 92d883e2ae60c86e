"""Recorded chains judged again: verbatim programs, the words in their frames, and where a recording ends."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalooop import recordings
from evalooop.agreement import Causes, read_causes
from evalooop.chains import chain_table, fates
from evalooop.config import ModelConfig
from evalooop.errors import UserError
from evalooop.families import family_of, size_of
from evalooop.loop import Chain, survivors
from evalooop.models import ModelCard, fetch, path_state
from evalooop.plan import Run, expand
from evalooop.published import SiteScore, read_results, read_transcripts
from evalooop.records import Verdict
from evalooop.replay import Replay, words_of_model
from evalooop.replayed import published_scores
from evalooop.tasks import Suite, Task

ASSERT = "assert f(1) == 1"
PROMPT = f'"""\nWrite f.\n{ASSERT}\n"""\n'


def framed(words: str) -> str:
    return f'"""\n{words}\n{ASSERT}\n"""\n'


def row(task: str, sustained: int, cycles: int) -> dict:
    return {
        "task_id": task,
        "initial_prompt": PROMPT,
        "cycles": [
            {"code_output": f"```\ncode {loop}\n", "summary_output": framed(f"words {loop}")}
            for loop in range(1, cycles + 1)
        ],
        "successful_cycles": sustained,
    }


def write_site(root: Path, **models: list[dict] | str) -> Path:
    details = root / "assets" / "data" / "details"
    details.mkdir(parents=True, exist_ok=True)
    for name, rows in models.items():
        groups: dict[str, list] = {}
        for one in rows if isinstance(rows, list) else []:
            groups.setdefault(str(one["successful_cycles"]), []).append(one)
        text = rows if isinstance(rows, str) else json.dumps(groups)
        (details / f"{name}.json").write_text(text, encoding="utf-8")
    return root


def transcripts_config(root: object, revision: str = "") -> ModelConfig:
    return ModelConfig(name="replayed", source="transcripts", id=str(root), revision=revision)


def task(name: str) -> Task:
    return Task(name, PROMPT, "f", "", "", ASSERT, "def f(x):", (Suite("base", ((1,),), (1,)),))


def run_of(model: str, **loop: int) -> Run:
    run = expand(Path("conf"), "test", ("experiment=published", f"model.name={model}")).runs[0]
    return replace(run, config=replace(run.config, loop=replace(run.config.loop, **loop))) if loop else run


def opened(root: Path, model: str = "m", tasks: tuple[str, ...] = ("Mbpp/2",), **loop: int):
    card = fetch(transcripts_config(root), Path("unused"))
    return Replay(card), [(Chain(run_of(model, **loop), task(name), 0), PROMPT) for name in tasks]


def test_programs_are_verbatim_and_words_stand_without_their_frame(tmp_path):
    replay, alive = opened(write_site(tmp_path, m=[row("Mbpp/2", 3, 4)]))
    (first,) = replay.steps(1, alive)
    assert (first.step, first.source, first.code, first.text) == ("generate", PROMPT, "```\ncode 1\n", "```\ncode 1\n")
    described, program = replay.steps(2, alive)
    assert (described.step, described.source, described.text) == ("describe", "```\ncode 1\n", "words 1")
    assert (program.source, program.code) == (framed("words 1"), "```\ncode 2\n")
    assert {first.prompt, described.prompt, program.prompt} == {""}


def test_a_chain_that_passes_where_the_recording_ends_is_censored_and_no_failure(tmp_path):
    replay, alive = opened(write_site(tmp_path, m=[row("Mbpp/2", 1, 2)]))
    run = alive[0][0].run
    steps = [*replay.steps(1, alive), *replay.steps(2, alive)]
    passed = [Verdict(run.name, "Mbpp/2", 0, loop, "base", "pass", None, "", "") for loop in (1, 2)]
    assert survivors([alive[0][0]], 3, steps[-1:], passed[1:]) == [(alive[0][0], "```\ncode 2\n")]
    assert replay.steps(3, alive) == []
    columns = ("sustained", "censored", "counted")
    assert fates(chain_table([run], steps, passed)).select(columns).rows() == [(2, True, False)]
    failed = [passed[0], replace(passed[1], verdict="fail")]
    assert fates(chain_table([run], steps, failed)).select(columns).rows() == [(1, False, True)]


def test_models_without_transcripts_or_tasks_have_no_chains(tmp_path):
    root = write_site(tmp_path, m=[row("Mbpp/2", 0, 1)], broken='{"0": [')
    for model, tasks in (("absent", ("Mbpp/2",)), ("broken", ("Mbpp/2",)), ("m", ("Mbpp/2", "Mbpp/3"))):
        replay, alive = opened(root, model, tasks)
        assert replay.steps(1, alive) == []
    replay, alive = opened(root)
    assert len(replay.steps(1, alive)) == 1


def test_more_loops_than_were_recorded_are_refused(tmp_path):
    replay, alive = opened(write_site(tmp_path, m=[row("Mbpp/2", 0, 1)]), max_loops=11)
    with pytest.raises(UserError, match="only 10 loops were recorded"):
        replay.steps(1, alive)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (framed("one\ntwo"), "one\ntwo"),
        (framed(""), ""),
        ("no frame at all", "no frame at all"),
        ('"""\nother assert\nassert g(1)\n"""\n', '"""\nother assert\nassert g(1)\n"""\n'),
        ('"""\n', '"""\n'),
    ],
)
def test_the_frame_is_taken_off_only_where_it_is_whole(text, words):
    assert words_of_model(text, ASSERT) == words


def test_the_card_names_what_can_be_used_and_why_the_rest_cannot(tmp_path):
    write_site(tmp_path, m=[row("Mbpp/2", 0, 1)], broken='{"0": [', short=[row("Mbpp/2", 3, 2)])
    card = fetch(transcripts_config(tmp_path), tmp_path / "unused")
    content = (tmp_path / "assets/data/details/m.json").read_bytes()
    assert card.files == {"m": hashlib.sha256(content).hexdigest()}
    assert "cannot be read as JSON" in card.left_out["broken"]
    assert "has 2 cycles instead of 4" in card.left_out["short"]


def test_the_data_folder_goes_before_fetching_and_a_folder_before_it(tmp_path, monkeypatch):
    own = write_site(tmp_path / "own", m=[row("Mbpp/2", 0, 1)])
    write_site(tmp_path / "data" / "leaderboard", other=[row("Mbpp/2", 0, 1)])
    monkeypatch.setenv("EVALOOOP_DATA", str(tmp_path / "data"))
    assert set(fetch(transcripts_config(own), tmp_path).files) == {"m"}
    assert set(fetch(transcripts_config("https://no.example/site"), tmp_path).files) == {"other"}


def test_an_edited_transcript_is_seen(tmp_path):
    root = write_site(tmp_path, m=[row("Mbpp/2", 0, 1)])
    before = path_state(transcripts_config(root))
    write_site(tmp_path, m=[row("Mbpp/2", 1, 2)])
    assert path_state(transcripts_config(root)) != before


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_transcripts_are_fetched_at_their_commit_and_once(tmp_path, monkeypatch):
    monkeypatch.delenv("EVALOOOP_DATA", raising=False)
    site = write_site(tmp_path / "site", m=[row("Mbpp/2", 0, 1)])
    (site / "huge.bin").write_bytes(b"no data")
    git(site, "init", "-q")
    git(site, "add", ".")
    git(site, "commit", "-qm", "one")
    commit = git(site, "rev-parse", "HEAD")
    write_site(site, later=[row("Mbpp/2", 0, 1)])
    git(site, "add", ".")
    git(site, "commit", "-qm", "two")
    git(site, "config", "uploadpack.allowAnySHA1InWant", "true")
    config = transcripts_config(f"file://{site}", commit)
    card = fetch(config, tmp_path / "clone")
    assert set(card.files) == {"m"}
    assert not (tmp_path / "clone" / "huge.bin").exists()
    site.rename(tmp_path / "gone")
    assert fetch(config, tmp_path / "clone") == card
    with pytest.raises(UserError, match="cannot fetch file://"):
        fetch(replace(config, revision="0" * 40), tmp_path / "clone")


def test_a_folder_without_transcripts_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds no transcripts"):
        recordings.fetch(transcripts_config(tmp_path), tmp_path)


def test_replayed_models_share_a_session_and_cannot_judge_themselves():
    plan = expand(Path("conf"), "test", ("experiment=published", "model.name=a-1b,b-2b"))
    assert [run.name for run in plan.runs] == ["a-1b_mbppplus_paper_t0_s0", "b-2b_mbppplus_paper_t0_s0"]
    assert plan.sessions == ("replayed",)
    assert plan.models["replayed"].name == "replayed"
    with pytest.raises(UserError, match="cannot judge themselves"):
        expand(Path("conf"), "test", ("experiment=published", "model.name=a,b", "judge=self"))
    plan = expand(Path("conf"), "test", ("experiment=published", "model.name=a", "model.id=here,there"))
    assert plan.sessions == ("replayed_id-here", "replayed_id-there")
    assert [model.id for model in plan.models.values()] == ["here", "there"]


def judged(passes: dict[tuple[str, int], bool]) -> pl.DataFrame:
    rows = [(task, loop, 10, passed, "wrong", "f(1)") for (task, loop), passed in passes.items()]
    names = ("task", "loop", "max_loops", "passed", "reason", "verdict_detail")
    return pl.DataFrame(rows, names, orient="row")


def test_what_was_published_stands_beside_our_verdicts(tmp_path):
    root = write_site(tmp_path, m=[row("Mbpp/2", 10, 10), row("Mbpp/3", 1, 2), row("Mbpp/9", 0, 1)])
    transcripts = read_transcripts(root / "assets/data/details/m.json")
    chains = judged({("Mbpp/2", 1): True, ("Mbpp/2", 2): False, ("Mbpp/3", 1): True, ("Mbpp/3", 2): True})
    causes = Causes({}, {("m", "Mbpp/2", 2): "limits"}, {})
    found = published_scores("m", chains, transcripts, SiteScore(5.0, 1.0, 0.5, 3, -1, None), causes)
    assert found["published"]["rank"] == 3
    assert found["recorded"] == {"pass_at_1": 1.0, "pass_drop": 0.5, "asl_unweighted": (100 + 1) / 20}
    assert [
        (row["task"], row["loop"], row["published"], row["ours"], row["cause"]) for row in found["disagreements"]
    ] == [
        ("Mbpp/2", 2, "pass", "wrong: f(1)", "limits"),
        ("Mbpp/3", 2, "fail", "pass", "unexplained"),
    ]


def test_causes_are_known_by_place_and_by_task():
    causes = read_causes()
    assert causes.of("deepseek-r1-0528", "Mbpp/299", 8) == "hash seed"
    assert causes.of("a model of tomorrow", "Mbpp/255", 1) == "left-out tests"
    assert causes.of("deepseek-r1-0528", "Mbpp/299", 7) == "unexplained"
    assert set(causes.places.values()) | set(causes.tasks.values()) == set(causes.evidence)


def test_scores_of_the_site_are_read_or_refused(tmp_path):
    path = tmp_path / "results.json"
    model = {"model_id": "m", "aslScore": 7.5, "successRate": 0.8, "drop": "3.17", "rank": 1, "rankChange": "+5"}
    path.write_text(json.dumps({"models": [{**model, "size": "30.5"}]}))
    assert read_results(path) == {"m": SiteScore(7.5, 0.8, pytest.approx(0.0317), 1, 5, 30.5)}
    path.write_text(json.dumps({"models": [{**model, "size": None, "rankChange": "="}]}))
    assert (read_results(path)["m"].rank_change, read_results(path)["m"].size) == (0, None)
    for broken in ("{", "{}", json.dumps({"models": [model]})):
        path.write_text(broken)
        with pytest.raises(UserError, match="no file of the leaderboard's scores"):
            read_results(path)


@pytest.mark.parametrize(
    ("model", "stated", "family", "size"),
    [
        ("qwen2.5-coder-7b-instruct", 32.0, "Qwen", 7.0),
        ("qwen3-30b-a3b-instruct-2507", None, "Qwen", 30.0),
        ("llama-4-maverick-17b-128e-instruct", 402.0, "Llama", 402.0),
        ("mixtral-8x22b-instruct-v0.1", 141.0, "Mistral", 141.0),
        ("deepseek-coder-7b-instruct-v1.5", None, "DeepSeek", 7.0),
        ("gemma-3n-e4b-it", 4.0, "Gemma", 4.0),
        ("smollm2-135m", None, "SmolLM", 0.135),
        ("o3-mini", None, "GPT", None),
        ("Meta-Llama-3-8B", None, "Llama", 8.0),
        ("tomorrow", None, "other", None),
    ],
)
def test_names_tell_family_and_size(model, stated, family, size):
    assert (family_of(model), size_of(model, stated)) == (family, size)


def test_the_card_of_a_model_that_is_loaded_leaves_nothing_out():
    assert ModelCard("m", "f", "path", "f", "", "x", {}).left_out == {}
