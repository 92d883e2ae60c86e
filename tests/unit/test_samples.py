"""Samples in EvalPlus's format, and pass@k over what was judged."""

from __future__ import annotations

import gzip
import json
from itertools import combinations

import pytest

from evalooop.errors import UserError
from evalooop.samples import pass_at_k, read_samples, sample_rows, summary
from evalooop.sandbox.judgement import Judgement, SuiteVerdict
from evalooop.tasks import Suite, Task

TASKS = {
    name: Task(name, "def f(x):\n", "f", "", "", "", "", (Suite("base", (), ()),)) for name in ("T/1", "T/2", "T/3")
}


def judgement(base: str, plus: str, flags: tuple[str, ...] = ()) -> Judgement:
    suites = (SuiteVerdict("base", base), SuiteVerdict("plus", plus))
    return Judgement(suites, flags, 0.1, 0.1, 0.0, 20.0)


def test_solutions_and_completions(tmp_path):
    lines = [
        {"task_id": "T/2", "solution": "whole"},
        {"task_id": "T/1", "completion": "    return x\n", "_identifier": "ignored"},
        {"task_id": "T/2", "solution": "again"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines) + "\n"
    (tmp_path / "samples.jsonl").write_text(text)
    (tmp_path / "samples.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("samples.jsonl", "samples.jsonl.gz"):
        samples = read_samples(tmp_path / name, TASKS)
        assert [(sample.task.id, sample.number, sample.program) for sample in samples] == [
            ("T/2", 0, "whole"),
            ("T/1", 0, "def f(x):\n    return x\n"),
            ("T/2", 1, "again"),
        ]


def test_raw_answers_are_extracted_as_in_the_loop(tmp_path):
    answers = (
        "Sure!\n```python\ndef f(x):\n    return x\n```\nDone.",
        "<think>def f(x): return 0</think>def f(x):\n    return 1",
        "<think>def f(x): return 0",
        "I cannot.",
    )
    lines = [json.dumps({"task_id": "T/1", "response": answer}) for answer in answers]
    (tmp_path / "samples.jsonl").write_text("\n".join(lines))
    samples = read_samples(tmp_path / "samples.jsonl", TASKS)
    assert [(sample.program.strip(), sample.found) for sample in samples] == [
        ("def f(x):\n    return x", "fence"),
        ("def f(x):\n    return 1", "no_fence"),
        ("", "incomplete_reasoning"),
        ("", "no_code"),
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "samples.jsonl:2: not JSON"),
        ("[]", "samples.jsonl:2: not a sample"),
        ('{"task_id": "T/1"}', "samples.jsonl:2: not a sample"),
        ('{"task_id": "T/1", "solution": null}', "samples.jsonl:2: not a sample"),
        ('{"task_id": "T/9", "solution": ""}', "samples.jsonl:2: the data set has no task 'T/9'"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, complaint):
    (tmp_path / "samples.jsonl").write_text('{"task_id": "T/1", "solution": ""}\n' + line + "\n")
    with pytest.raises(UserError, match=complaint):
        read_samples(tmp_path / "samples.jsonl", TASKS)


@pytest.mark.parametrize(("samples", "passed"), [(1, 0), (1, 1), (5, 0), (5, 2), (6, 5), (6, 6)])
def test_pass_at_k_is_the_share_of_draws_with_a_pass(samples, passed):
    outcomes = [True] * passed + [False] * (samples - passed)
    for k in range(1, samples + 1):
        draws = [any(draw) for draw in combinations(outcomes, k)]
        assert pass_at_k(samples, passed, k) == pytest.approx(sum(draws) / len(draws))


def rows_of(judged: list[tuple[str, Judgement | None]], tmp_path) -> list[dict]:
    text = "".join(json.dumps({"task_id": task, "solution": ""}) + "\n" for task, _ in judged)
    (tmp_path / "samples.jsonl").write_text(text)
    return sample_rows(read_samples(tmp_path / "samples.jsonl", TASKS), [answer for _, answer in judged])


def test_summary_gives_base_and_plus_apart_and_names_missing_tasks(tmp_path):
    rows = rows_of([("T/1", judgement("pass", "pass")), ("T/2", judgement("pass", "fail", ("frames",)))], tmp_path)
    table = summary(rows, list(TASKS)).splitlines()
    assert table[0].startswith("2 of 3 tasks have judged samples")
    assert table[1].split() == ["base", "pass@1", "1.000"]
    assert table[2].split() == ["plus", "pass@1", "0.500"]
    assert table[3] == "without a judged sample: T/3"
    assert table[4] == "flags: frames 1"


def test_summary_with_and_without_disputed_tasks(tmp_path):
    """Rows 53 and 55: a score is also given without the tasks whose expected values are disputed."""
    rows = rows_of([("T/1", judgement("pass", "pass")), ("T/2", judgement("pass", "fail"))], tmp_path)
    table = summary(rows, list(TASKS), {"T/2": "odd", "T/3": "not judged"}).splitlines()
    assert table[3] == "without 1 tasks whose tests are disputed (T/2):"
    assert [line.split()[-1] for line in table[4:6]] == ["1.000", "1.000"]


def test_pass_at_10_needs_ten_samples_of_every_task(tmp_path):
    ten = [("T/1", judgement("pass" if number == 0 else "fail", "fail")) for number in range(10)]
    assert "pass@10   1.000" in summary(rows_of(ten, tmp_path), list(TASKS))
    assert "pass@1    0.100" in summary(rows_of(ten, tmp_path), list(TASKS))
    assert "pass@10" not in summary(rows_of([*ten, ("T/2", judgement("pass", "pass"))], tmp_path), list(TASKS))


def test_unjudged_samples_have_no_rows(tmp_path):
    assert [row["task_id"] for row in rows_of([("T/1", None), ("T/2", judgement("pass", "pass"))], tmp_path)] == [
        "T/2",
        "T/2",
    ]


def test_nothing_judged_has_a_summary():
    assert summary([], ["T/1"]).startswith("0 of 1 tasks have judged samples")
