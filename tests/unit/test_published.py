"""Published transcripts: read as they are, or refused in one line that says where they break."""

from __future__ import annotations

import json

import pytest

from evalooop.agreement import Claim, Comparison, claims
from evalooop.errors import UserError
from evalooop.judging import Unjudged
from evalooop.published import Cycle, Transcript, find_transcripts, read_transcripts
from evalooop.sandbox.judgement import Judgement, SuiteVerdict


def cycle(code: str) -> dict:
    return {"code_output": code, "summary_output": f"about {code}"}


def row(task: str, sustained: int, cycles: int) -> dict:
    return {
        "task_id": task,
        "initial_prompt": f"solve {task}",
        "cycles": [cycle(f"{task} {number}") for number in range(cycles)],
        "successful_cycles": sustained,
    }


def written(tmp_path, content: object):
    path = tmp_path / "some-model.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_chains_are_read_in_the_order_of_the_file(tmp_path):
    path = written(tmp_path, {"0": [row("Mbpp/2", 0, 1)], "1": [], "10": [row("Mbpp/3", 10, 10)]})
    first, second = read_transcripts(path)
    assert first == Transcript("Mbpp/2", "solve Mbpp/2", (Cycle("Mbpp/2 0", "about Mbpp/2 0"),), 0)
    assert (second.task, second.successful_cycles, len(second.cycles)) == ("Mbpp/3", 10, 10)


def without(field: str) -> dict:
    return {"0": [{key: value for key, value in row("Mbpp/2", 0, 1).items() if key != field}]}


def changed(**fields: object) -> dict:
    return {"0": [row("Mbpp/2", 0, 1) | fields]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"0": [{"task_id": "Mbpp/2", "cyc', "cannot be read as JSON"),
        ([], "no file of transcripts"),
        ({"0": "none"}, "no file of transcripts"),
        (without("task_id"), "a task without a name under '0' has no task_id"),
        (without("initial_prompt"), "Mbpp/2 under '0' has no initial_prompt"),
        (without("cycles"), "Mbpp/2 under '0' has no cycles"),
        (without("successful_cycles"), "has no successful_cycles"),
        (changed(cycles=[{"code_output": "x"}]), "has no summary_output"),
        (changed(cycles=[{"code_output": None, "summary_output": ""}]), "wrong type"),
        (changed(cycles=None), "wrong type"),
        ({"0": ["Mbpp/2"]}, "wrong type"),
        (changed(successful_cycles=1), "says that 1 cycles succeeded"),
        (changed(cycles=[]), "has 0 cycles instead of 1"),
        ({"3": [row("Mbpp/2", 3, 3)]}, "has 3 cycles instead of 4"),
        ({"10": [row("Mbpp/2", 10, 11)]}, "has 11 cycles instead of 10"),
        ({"0": [row("Mbpp/2", 0, 1)], "1": [row("Mbpp/2", 1, 2)]}, "holds Mbpp/2 more than once"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(tmp_path, content, words):
    path = written(tmp_path, content)
    with pytest.raises(UserError) as refused:
        read_transcripts(path)
    message = str(refused.value)
    assert words in message
    assert str(path) in message
    assert "\n" not in message


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_transcripts(tmp_path / "absent.json")


def test_files_are_found_below_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALOOOP_DATA", str(tmp_path))
    with pytest.raises(UserError, match="holds no transcripts"):
        find_transcripts()
    details = tmp_path / "leaderboard" / "assets" / "data" / "details"
    details.mkdir(parents=True)
    for model in ("o1", "gpt-4o"):
        (details / f"{model}.json").write_text("{}", encoding="utf-8")
    assert list(find_transcripts()) == ["gpt-4o", "o1"]


def test_without_a_data_folder_the_variable_is_named(monkeypatch):
    monkeypatch.delenv("EVALOOOP_DATA", raising=False)
    with pytest.raises(UserError, match="EVALOOOP_DATA is not set"):
        find_transcripts()


def test_a_chain_claims_passes_and_then_one_failure(tmp_path):
    path = written(tmp_path, {"2": [row("Mbpp/2", 2, 3)], "10": [row("Mbpp/3", 10, 10)]})
    claimed = claims("some-model", read_transcripts(path))
    assert claimed[:3] == [
        Claim("some-model", "Mbpp/2", 1, "Mbpp/2 0", True),
        Claim("some-model", "Mbpp/2", 2, "Mbpp/2 1", True),
        Claim("some-model", "Mbpp/2", 3, "Mbpp/2 2", False),
    ]
    assert [claim.loop for claim in claimed[3:] if claim.passed] == list(range(1, 11))


@pytest.mark.parametrize(
    ("claimed", "verdicts", "agrees"),
    [
        (True, ("pass", "pass"), True),
        (True, ("pass", "fail"), False),
        (False, ("pass", "fail"), True),
        (False, ("timeout", "fail"), True),
        (False, ("pass", "pass"), False),
    ],
)
def test_agreement_is_on_all_suites_together(claimed, verdicts, agrees):
    suites = tuple(SuiteVerdict(name, verdict) for name, verdict in zip(("base", "plus"), verdicts, strict=True))
    answer = Judgement(suites, (), 0.1, 0.1, 0.1, 20.0)
    assert Comparison(Claim("m", "t", 1, "", claimed), answer).agrees is agrees


@pytest.mark.parametrize("claimed", [True, False])
def test_what_could_not_be_judged_agrees_with_nothing(claimed):
    assert not Comparison(Claim("m", "t", 1, "", claimed), Unjudged("the sandbox is gone")).agrees
