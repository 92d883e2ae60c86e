"""The one shape every benchmark problem has here, and how it is kept on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalooop.files import write_atomically
from evalooop.values import decode, encode


@dataclass(frozen=True)
class Suite:
    """Tests a program is judged by: call the entry point with ``inputs[k]``, compare with ``expected[k]``.

    ``rule`` names how a result is compared (see ``evalooop.sandbox.compare``); ``atol`` is the absolute
    tolerance of floats, 0 for none.
    """

    name: str
    inputs: tuple[tuple[Any, ...], ...]
    expected: tuple[Any, ...]
    atol: float = 0.0
    rule: str = "equal"

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.expected):
            raise ValueError(f"suite {self.name}: {len(self.inputs)} inputs but {len(self.expected)} expected values")


@dataclass(frozen=True)
class Task:
    """One benchmark problem.

    Attributes:
        id: the benchmark's own identifier, such as ``HumanEval/0``.
        prompt: the words (or code) that feed loop 1, byte for byte as the benchmark gives them.
        entry_point: name of the function the tests call.
        preamble: imports and helpers put before a program when it is run.
        reference: a complete program that passes every suite.
        assertion: the line that ``carry: assert`` takes along from loop to loop ("" if the task has none).
        signature: the line that ``carry: signature`` takes along: the ``def`` line with its type hints.
        suites: ``base`` always, ``plus`` where the benchmark has one.
    """

    id: str
    prompt: str
    entry_point: str
    preamble: str
    reference: str
    assertion: str
    signature: str
    suites: tuple[Suite, ...]

    def carried(self, carry: str) -> str:
        """Return what is taken along from loop to loop under ``carry``: assert, signature or none."""
        return {"assert": self.assertion, "signature": self.signature, "none": ""}[carry]


def task_to_json(task: Task) -> dict[str, Any]:
    """Return the JSON object of a task; arguments and expected values go through the value codec."""
    row = {key: value for key, value in vars(task).items() if key != "suites"}
    row["suites"] = [
        {**vars(suite), "inputs": encode(list(suite.inputs)), "expected": encode(list(suite.expected))}
        for suite in task.suites
    ]
    return row


def task_from_json(row: dict[str, Any]) -> Task:
    """Return the task that ``task_to_json`` made this object from."""
    suites = tuple(
        Suite(
            **{
                **suite,
                "inputs": tuple(decode(suite["inputs"])),
                "expected": tuple(decode(suite["expected"])),
            }
        )
        for suite in row["suites"]
    )
    return Task(**{**row, "suites": suites})


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write tasks as JSON lines, atomically."""
    write_atomically(path, "".join(json.dumps(task_to_json(task)) + "\n" for task in tasks))


def read_tasks(path: Path) -> dict[str, Task]:
    """Return the tasks of a file written by ``write_tasks``, by id, in the benchmark's order."""
    with open(path, encoding="utf-8") as lines:
        tasks = [task_from_json(json.loads(line)) for line in lines]
    return {task.id: task for task in tasks}
