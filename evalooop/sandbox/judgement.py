"""What judging one program gave."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from evalooop.records import VerdictName


@dataclass(frozen=True)
class SuiteVerdict:
    """The verdict on one suite.

    Attributes:
        suite: its name.
        verdict: ``pass``, or why not.
        test: index of the first failing test, None if the program passed or no test can be named.
        reason: "" after a pass, else one word:
            ``wrong`` (value), ``exception``, ``too_big`` (value cannot be sent), ``load`` (the program itself
            raised), ``exit`` (it ended its process), ``crash`` (a signal ended it), ``forged`` (it wrote into
            the channel of results), ``memory``, ``test_cpu``, ``cpu``, ``wall`` or ``idle`` (which limit), or
            the name of an earlier suite that it failed.
        detail: one line for the reader: the call, what came of it. Never an expected value.
        failed: indexes of the failing tests that were seen: the first alone, unless all tests were asked for.
    """

    suite: str
    verdict: VerdictName
    test: int | None = None
    reason: str = ""
    detail: str = ""
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """The verdicts on all suites of a task, and what the program used.

    Attributes:
        flags: what the program did that honest ones do not, sorted: ``custom_eq``, ``frames``, ``files``,
            ``native`` (ctypes), ``refused`` (processes, sockets, signals, limits), ``exit``, ``forged``; and
            ``borderline``: it passed using at least 80 % of a CPU limit.
        cpu_seconds, wall_seconds: of the whole program, from fork to end.
        slowest_test: CPU seconds of the slowest test, as the program's own process measured it; 0 if it
            did not finish.
        peak_mb: largest resident size in MiB; about 20 belong to the interpreter.
    """

    suites: tuple[SuiteVerdict, ...]
    flags: tuple[str, ...]
    cpu_seconds: float
    wall_seconds: float
    slowest_test: float
    peak_mb: float

    @property
    def passed(self) -> bool:
        return all(suite.verdict == "pass" for suite in self.suites)

    def starved(self, cpu_seconds: float) -> bool:
        """Say whether it ran out of wall time with less than half of its CPU limit used: perhaps others took it."""
        waited = any(suite.reason in ("wall", "idle") for suite in self.suites)
        return waited and self.cpu_seconds < cpu_seconds / 2


def judgement_to_json(judgement: Judgement) -> dict[str, Any]:
    return asdict(judgement)


def judgement_from_json(row: dict[str, Any]) -> Judgement:
    """Return the judgement of a JSON object.

    Raises:
        ValueError, TypeError, KeyError: it is not one.
    """
    suites = tuple(SuiteVerdict(**{**suite, "failed": tuple(suite["failed"])}) for suite in row["suites"])
    return Judgement(**{**row, "suites": suites, "flags": tuple(row["flags"])})
