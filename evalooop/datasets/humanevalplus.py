"""HumanEval+ v0.1.10 (EvalPlus): HumanEval's problems with about eighty times as many tests."""

from __future__ import annotations

from typing import Any

from evalooop.datasets._evalplus import Source, judged_suite, read_rows, reasons, reference_function
from evalooop.datasets.humaneval import split_prompt
from evalooop.tasks import Task

SOURCE = Source(
    folder="humanevalplus",
    file="HumanEvalPlus.jsonl.gz",
    url="https://github.com/evalplus/humanevalplus_release/releases/download/v0.1.10/HumanEvalPlus.jsonl.gz",
    sha256="42526ec0e7d5f3ee0b06d6ced98f8c8bae3d76519151bfb3d36f79010645bd7f",
)

LEFT_OUT = {
    "HumanEval/15": {*range(98, 104), *range(107, 110), *range(114, 118), *range(122, 126), *range(130, 134)},
    "HumanEval/100": {109},
    "HumanEval/130": {98, *range(101, 107), *range(112, 115)},
}
"""Positions of plus tests whose expected value takes more than a million characters to write down."""


def load() -> list[Task]:
    """Return the 164 tasks with the suites ``base`` and ``plus``; takes about 20 CPU seconds.

    Raises:
        UserError: the data cannot be had, or is not the pinned one.
    """
    return [task_from_row(row) for row in read_rows(SOURCE)]


def unusable() -> dict[str, str]:
    """Return the tasks that lost plus tests, with the reason."""
    return reasons(LEFT_OUT)


def task_from_row(row: dict[str, Any]) -> Task:
    """Return one row of the dataset as a task."""
    reference = row["prompt"] + row["canonical_solution"]
    preamble, signature = split_prompt(reference, row["entry_point"])
    function = reference_function(row)
    rule = "find_zero" if row["entry_point"] == "find_zero" else "evalplus"
    base, plus = ([tuple(args) for args in row[f"{suite}_input"]] for suite in ("base", "plus"))
    return Task(
        id=row["task_id"],
        prompt=row["prompt"],
        entry_point=row["entry_point"],
        preamble=preamble,
        reference=reference,
        assertion="",
        signature=signature,
        suites=(
            judged_suite("base", function, base, rule, row["atol"]),
            judged_suite("plus", function, plus, rule, row["atol"], LEFT_OUT.get(row["task_id"], ())),
        ),
    )
