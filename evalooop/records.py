"""The rows that stages hand to each other, and the chain table that tells the whole story."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal, TypeVar

from evalooop.errors import UserError
from evalooop.files import write_atomically

StepName = Literal["describe", "generate"]
Status = Literal["ok", "truncated", "no_code", "incomplete_reasoning", "infra_error"]
# An answer of these kinds is the model's own doing; it is counted, and scores are given without such chains too.
FLAGGED = ("truncated", "no_code", "incomplete_reasoning")
VerdictName = Literal["pass", "fail", "timeout", "memory"]
# Within a loop the description comes before the program it leads to.
STEP_ORDER = {"describe": 0, "generate": 1}


@dataclass(frozen=True)
class Step:
    """One model call of a chain (file ``generated.jsonl``).

    Attributes:
        run, task, sample, loop: where it stands; a ``describe`` step bears the loop that its words feed.
        step: ``describe`` (code to words) or ``generate`` (words to code).
        source: what the step worked from: the program to describe, or the framed words that feed the loop.
        prompt: the exact text given to the model, chat template included.
        text: the model's answer, untouched but for its thinking; "" after an infrastructure error.
        code: the program taken from the answer of a ``generate`` step, else None.
        found: how extraction found the program (``evalooop.extraction``), else "".
        status: ``ok`` or what went wrong with the answer.
        detail: for ``infra_error`` the reason in one line, else "".
        stop: why generation stopped: ``stop``, ``length`` or ``error``.
        prompt_tokens, new_tokens: lengths in tokens.
        reasoning: what a reasoning model thought before it answered; of a description that held thinking without
            the model being configured for it, the untouched answer.
        reasoning_tokens: how many of the new tokens are thinking.
    """

    run: str
    task: str
    sample: int
    loop: int
    step: StepName
    source: str
    prompt: str
    text: str
    code: str | None
    found: str
    status: Status
    detail: str
    stop: str
    prompt_tokens: int
    new_tokens: int
    reasoning: str = ""
    reasoning_tokens: int = 0

    @property
    def chain(self) -> tuple[str, str, int]:
        return (self.run, self.task, self.sample)

    @property
    def order(self) -> tuple[str, str, int, int, int]:
        return (*self.chain, self.loop, STEP_ORDER[self.step])


@dataclass(frozen=True)
class Verdict:
    """What judging one program on one suite gave (file ``verdicts.jsonl``).

    Attributes:
        suite: ``base`` or ``plus``.
        verdict: ``pass``, or why not. A program that could not be judged has no row here.
        test: index of the first failing test, None if the program passed or never reached a test.
        reason: one word for why it failed (``wrong``, ``exception``, ``load``, ``base``, ...), "" after a pass.
        detail: one line for the reader: the failing call, exception type, limit; never an expected value.
        flags: what the program did that honest ones do not, such as ``borderline`` or ``exit``.
    """

    run: str
    task: str
    sample: int
    loop: int
    suite: str
    verdict: VerdictName
    test: int | None
    reason: str
    detail: str
    flags: tuple[str, ...] = ()

    @property
    def chain(self) -> tuple[str, str, int]:
        return (self.run, self.task, self.sample)

    @property
    def order(self) -> tuple[str, str, int, int, str]:
        return (*self.chain, self.loop, self.suite)


BOUNDARY = "boundary"


@dataclass(frozen=True)
class Similarity:
    """What a judge said of one pair (files ``similarity.jsonl`` and ``judges.jsonl``).

    Attributes:
        run, task, sample, loop: of the pair's first part; at a boundary the chain passed loop i and failed i + 1.
        reply: what the judge answered, "" if it gives numbers only.
        score: similarity in [0, 1], None if the reply could not be read or the judge could not be asked.
        error: why the judge could not be asked, else "".
        expected: the mean of the scores it might have printed, weighted by their probabilities; None where the engine
            does not tell these.
        judge: its name in the configuration.
        kind: ``boundary``, or that of a control (``evalooop.controls``).
    """

    run: str
    task: str
    sample: int
    loop: int
    reply: str
    score: float | None
    error: str = ""
    expected: float | None = None
    judge: str = ""
    kind: str = BOUNDARY

    @property
    def order(self) -> tuple[str, str, str, str, int, int]:
        return (self.judge, self.kind, self.run, self.task, self.sample, self.loop)


Row = TypeVar("Row", Step, Verdict, Similarity)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as JSON lines, sorted by their order, so that equal content means equal bytes."""
    ordered = sorted(rows, key=lambda row: row.order)
    write_atomically(path, "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in ordered))


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Return the rows of a JSON lines file.

    Raises:
        UserError: a line is not a row of this kind; names file and line.
    """
    names = {field.name for field in fields(kind)}
    rows = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                if set(row) != names:
                    raise ValueError(f"fields are {sorted(row)}")
                if "flags" in row:
                    row["flags"] = tuple(row["flags"])
                rows.append(kind(**row))
            except (ValueError, TypeError) as error:
                raise UserError(f"{path}:{number}: not a {kind.__name__} row ({error}); delete the file and run again")
    return rows
