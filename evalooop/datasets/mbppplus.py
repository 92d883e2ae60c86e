"""MBPP+ v0.2.0 (EvalPlus): 378 problems of MBPP (Austin et al., 2021, arXiv:2108.07732), retested.

JSON has neither tuples nor complex numbers, so the arguments of 52 tasks must be turned back into what
the problems speak of. Which ones, and how, is a property of the data that EvalPlus documents in its own code
only; ``CONVERSIONS`` says the same, and the rows' ``assertion`` lines check it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalooop.datasets._evalplus import Source, judged_suite, read_rows, reasons, reference_function
from evalooop.tasks import Task

SOURCE = Source(
    folder="mbppplus",
    file="MbppPlus.jsonl.gz",
    url="https://github.com/evalplus/mbppplus_release/releases/download/v0.2.0/MbppPlus.jsonl.gz",
    sha256="b54e762755248ca411b523c917fa9f93c07b5ff2966bf60b3917b853926a3dad",
)

LEFT_OUT = {"Mbpp/255": {85, 86, 90, 96, 100}, "Mbpp/630": {80, 85}}
"""Positions of plus tests whose expected value takes more than a million characters to write down."""

RULES = {
    **dict.fromkeys(
        (
            "similar_elements",
            "find_char_long",
            "common_in_nested_lists",
            "extract_singly",
            "larg_nnum",
            "intersection_array",
            "find_dissimilar",
            "Diff",
        ),
        "set_equal",
    ),
    **dict.fromkeys(("check_str", "text_match_three", "text_starta_endb"), "not_none"),
    "are_equivalent": "any_value",
    "sum_div": "zero_or_equal",
    "surface_Area": "surface_area",
    "digit_distance_nums": "digit_distance",
}
"""Comparison rules other than ``evalplus``, by entry point (``evalooop.sandbox.compare`` explains them)."""


def load() -> list[Task]:
    """Return the 378 tasks with the suites ``base`` and ``plus``; takes about a CPU minute.

    Raises:
        UserError: the data cannot be had, or is not the pinned one.
    """
    return [task_from_row(row) for row in read_rows(SOURCE)]


def unusable() -> dict[str, str]:
    """Return the tasks that lost plus tests, with the reason."""
    return reasons(LEFT_OUT)


def task_from_row(row: dict[str, Any]) -> Task:
    """Return one row of the dataset as a task; its carried assertion is the one in its prompt."""
    reference = row["prompt"] + row["canonical_solution"]
    function = reference_function(row)
    rule = RULES.get(row["entry_point"], "evalplus")
    base, plus = (arguments(row, suite) for suite in ("base", "plus"))
    return Task(
        id=row["task_id"],
        prompt=row["prompt"],
        entry_point=row["entry_point"],
        preamble="",
        reference=reference,
        assertion=row["prompt"].splitlines()[-2],
        signature=reference.splitlines()[function.__code__.co_firstlineno - 1],
        suites=(
            judged_suite("base", function, base, rule, row["atol"]),
            judged_suite("plus", function, plus, rule, row["atol"], LEFT_OUT.get(row["task_id"], ())),
        ),
    )


def arguments(row: dict[str, Any], suite: str) -> list[tuple[Any, ...]]:
    """Return the arguments of every test of a row's suite, ``base`` or ``plus``, as Python values.

    Mbpp/793 has an empty object for its plus tests: none.
    """
    convert = _BY_NUMBER.get(int(row["task_id"].removeprefix("Mbpp/")), tuple)
    return [convert(given) for given in row[f"{suite}_input"]]


# ---------------------------------------------------------------- arguments

Convert = Callable[[list[Any]], tuple[Any, ...]]


def _each(convert: Callable[[Any], Any]) -> Convert:
    return lambda given: tuple(convert(value) for value in given)


def _at(position: int, convert: Callable[[Any], Any]) -> Convert:
    return lambda given: (*given[:position], convert(given[position]), *given[position + 1 :])


def _tuples(value: list[Any]) -> list[Any]:
    return [tuple(item) for item in value]


def _tuple_of_tuples(value: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) for item in value)


def _tuple_of_any(value: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list) else item for item in value)


def _all_tuples(value: Any) -> Any:
    return tuple(map(_all_tuples, value)) if isinstance(value, list) else value


def _tuple_values(value: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(item) for key, item in value.items()}


CONVERSIONS: list[tuple[Convert, tuple[int, ...]]] = [
    (
        _each(tuple),
        (2, 116, 132, 222, 261, 273, 394, 421, 424, 429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809),
    ),
    (_each(_tuples), (63, 64, 70, 94, 120, 237, 272, 299, 409, 473, 614, 780)),
    (_each(_tuple_of_tuples), (259, 445)),
    (_each(_all_tuples), (580, 615, 791)),
    (_at(0, tuple), (250, 405, 446, 720, 763, 808)),
    (_at(0, _tuples), (75, 413, 753)),
    (_at(0, _tuple_of_any), (278,)),
    (_at(0, _tuple_values), (722,)),
    (_at(0, complex), (252,)),
    (_at(1, tuple), (106, 750)),
    (lambda given: (float(given[0]), complex(given[1])), (124,)),
]
"""How the arguments of a task are turned back into Python values, and the MBPP numbers of the tasks it is for."""

_BY_NUMBER = {number: convert for convert, numbers in CONVERSIONS for number in numbers}
