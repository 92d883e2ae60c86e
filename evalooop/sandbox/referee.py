"""Follows the untrusted stream of one program's results and says what it is worth.

A line of the stream (see ``inside/protocol.py``) is a claim. A claimed value is compared with the expected one; any
other claim can only make a program fail. So a program that forges lines gains nothing: it would have to know
the right values.
"""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalooop.records import VerdictName
from evalooop.sandbox.compare import Comparison, plain, read, tag_of
from evalooop.sandbox.inside import protocol
from evalooop.sandbox.judgement import Judgement, SuiteVerdict
from evalooop.sandbox.limits import BORDERLINE, IDLE_SECONDS, OUTPUT_BYTES, RESULT_BYTES, Limits
from evalooop.tasks import Task

# Longest line of the stream: a result and its brackets.
LINE_BYTES = RESULT_BYTES + 1024
CHILD_FLAGS = ("custom_eq", "frames", "files", "native", "refused")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class End:
    """How a program's process ended, as the zygote saw it. Trusted.

    Attributes:
        status: as ``os.wait`` gives it.
        cause: ``protocol.ENDED``, or why it was killed.
    """

    status: int
    cause: int
    cpu_seconds: float
    peak_kib: int
    wall_seconds: float


@dataclass(frozen=True)
class _Failure:
    """Why a program fails: at which suite and test (None: none can be named), and the verdict."""

    suite: int
    test: int | None
    verdict: VerdictName
    reason: str
    detail: str


class Referee:
    """Judges one program from its stream, one chunk at a time, and stops it at the first failing test.

    With ``all_tests`` it goes on after a failing test; the verdict, its reason and its detail are the same.
    """

    def __init__(self, task: Task, limits: Limits, all_tests: bool = False) -> None:
        self._task = task
        self._limits = limits
        self._all_tests = all_tests
        self._comparisons = [Comparison(suite) for suite in task.suites]
        self._loaded = False
        self._suite = 0
        self._test = 0
        self._rest = b""
        self._received = 0
        self._failure: _Failure | None = None
        self._failed: list[list[int]] = [[] for _ in task.suites]
        self._over = False
        self._done = False
        self._slowest = 0.0
        self._flags: set[str] = set()
        self._skip_finished_suites()

    @property
    def decided(self) -> bool:
        """Whether the program has failed already, and nothing it sends from now on matters."""
        return self._over

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self._received += len(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if self.decided:
                return
            self._take(line)
        if len(self._rest) > LINE_BYTES or self._received > OUTPUT_BYTES:
            self._fail("fail", "forged" if self._done else "too_big", "sent more than any result may be")

    def judgement(self, end: End) -> Judgement:
        """Return the judgement, now that the process has ended."""
        if self._done and self._rest:
            self._forged()
        if not self.decided and not (self._done and self._suite == len(self._comparisons)):
            self._fail(*self._explain_end(end))
        cpu, slowest = self._limits.cpu_seconds, self._limits.test_cpu_seconds
        if self._failure is None and (end.cpu_seconds >= BORDERLINE * cpu or self._slowest >= BORDERLINE * slowest):
            self._flags.add("borderline")
        return Judgement(
            suites=tuple(self._suite_verdicts()),
            flags=tuple(sorted(self._flags)),
            cpu_seconds=round(end.cpu_seconds, 4),
            wall_seconds=round(end.wall_seconds, 4),
            slowest_test=round(self._slowest, 4),
            peak_mb=round(end.peak_kib / 1024, 1),
        )

    def _suite_verdicts(self) -> list[SuiteVerdict]:
        names = [suite.name for suite in self._task.suites]
        if self._failure is None:
            return [SuiteVerdict(name, "pass") for name in names]
        first = self._failure
        verdicts = []
        for number, (name, tests) in enumerate(zip(names, map(tuple, self._failed), strict=True)):
            if number < first.suite:
                verdicts.append(SuiteVerdict(name, "pass"))
            elif number == first.suite:
                verdicts.append(SuiteVerdict(name, first.verdict, first.test, first.reason, first.detail, tests))
            else:
                verdicts.append(SuiteVerdict(name, "fail", None, names[first.suite], "", tests))
        return verdicts

    # ------------------------------------------------------------ the stream

    def _take(self, line: bytes) -> None:
        letter, fields = _parse(line)
        running = self._suite < len(self._comparisons)
        if self._done or (letter in "REB" and not (self._loaded and running)):
            self._forged()
        elif letter == "S" and not self._loaded:
            self._loaded = True
        elif letter == "R":
            self._result(fields[0])
        elif letter in ("E", "L"):
            self._error(letter, *(text if type(text) is str else "?" for text in fields))
        elif letter == "M":
            self._miss("memory", "memory", f"{self._call()} ran out of {self._limits.memory_mb} MiB of memory")
        elif letter == "B":
            self._miss("fail", "too_big", f"{self._call()} gave a value too big or nested too deeply")
        elif letter == "T":
            seconds = self._limits.test_cpu_seconds
            self._fail("timeout", "test_cpu", f"{self._call()} used more than {seconds} CPU seconds")
        elif letter == "F" and fields[0] in CHILD_FLAGS:
            self._flags.add(fields[0])
        elif letter == "D" and not running and type(fields[0]) is float and math.isfinite(fields[0]):
            self._done, self._slowest = True, fields[0]
        else:
            self._forged()

    def _result(self, node: Any) -> None:
        if self._comparisons[self._suite].matches(self._test, node):
            self._next_test()
        else:
            self._miss("fail", "wrong", f"{self._call()} gave {_show(node)}")

    def _next_test(self) -> None:
        self._test += 1
        self._skip_finished_suites()

    def _skip_finished_suites(self) -> None:
        while self._suite < len(self._comparisons) and self._test == len(self._task.suites[self._suite].inputs):
            self._suite, self._test = self._suite + 1, 0

    def _error(self, letter: str, kind: str, text: str) -> None:
        reason = "exception" if letter == "E" else "load"
        if kind == "SystemExit":
            self._flags.add("exit")
            reason = "exit" if letter == "E" else "load"
        self._miss("fail", reason, f"{self._call()} raised {kind}" + (f": {text}" if text else ""))

    def _forged(self) -> None:
        self._flags.add("forged")
        self._fail("fail", "forged", "wrote into the channel of results")

    def _miss(self, verdict: VerdictName, reason: str, detail: str) -> None:
        """Take down that the test it is at, or loading, has failed; other tests may still be run."""
        self._fail(verdict, reason, detail, over=not (self._all_tests and self._loaded))
        if not self.decided:
            self._next_test()

    def _fail(self, verdict: VerdictName, reason: str, detail: str, over: bool = True) -> None:
        """Take down a failure; the first one counts. ``over``: there is nothing to go on with."""
        running = self._suite < len(self._comparisons) and self._loaded
        # A program that forges after its last test, or falls with it, has failed the last suite.
        suite = min(self._suite, len(self._comparisons) - 1)
        test = self._test if running else None
        if test is not None:
            self._failed[suite].append(test)
        if self._failure is None:
            self._failure = _Failure(suite, test, verdict, reason, _one_line(detail))
        self._over = over
        if over:
            self._rest = b""

    # ------------------------------------------------------------ the end

    def _explain_end(self, end: End) -> tuple[VerdictName, str, str]:
        """Say why a program ended without finishing its tests."""
        limits = self._limits
        if end.cause == protocol.IDLE:
            return "timeout", "idle", f"{self._call()} waited {IDLE_SECONDS:g} seconds without working"
        if end.cause == protocol.WALL:
            return "timeout", "wall", f"all tests together took more than {limits.wall_seconds:g} seconds"
        if end.cause == protocol.CPU or end.cpu_seconds >= limits.cpu_seconds:
            return "timeout", "cpu", f"all tests together used more than {limits.cpu_seconds} CPU seconds"
        if os.WIFSIGNALED(end.status):
            name = signal.Signals(os.WTERMSIG(end.status)).name
            return "fail", "crash", f"{self._call()} ended the process with {name}"
        self._flags.add("exit")
        return "fail", "exit", f"{self._call()} ended the process"

    def _call(self) -> str:
        """Return what the program is at, for the reader: a call with its arguments shortened."""
        if not self._loaded:
            return "loading the program"
        if self._suite == len(self._comparisons):
            return "the program, after its last test,"
        arguments = self._task.suites[self._suite].inputs[self._test]
        return f"{self._task.entry_point}({', '.join(map(SHORT.repr, arguments))})"


FIELDS = {"S": 0, "R": 1, "E": 2, "L": 2, "M": 0, "B": 1, "T": 0, "F": 1, "D": 1}


def _parse(line: bytes) -> tuple[str, list[Any]]:
    """Return the letter and the fields of a line; the letter "?" if it makes no sense."""
    try:
        letter, *fields = json.loads(line)
        return (letter, fields) if FIELDS[letter] == len(fields) else ("?", [])
    except (ValueError, TypeError, LookupError, RecursionError):
        return "?", []


# ---------------------------------------------------------------- for the reader


class _Short(reprlib.Repr):
    """Short forms of plain values that are the same in every process."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 8
        self.maxstring, self.maxlevel = 60, 3

    def repr_int(self, value: int, level: int) -> str:
        return super().repr_int(value, level) if value.bit_length() < 1000 else f"<int of {value.bit_length()} bits>"

    def repr_set(self, value: set[Any] | frozenset[Any], level: int) -> str:
        items = sorted(self.repr1(item, level - 1) for item in value)
        return "{" + ", ".join(items[: self.maxset]) + (", ...}" if len(items) > self.maxset else "}")

    repr_frozenset = repr_set


SHORT = _Short()


MOST_ITEMS, MOST_LEVELS = 8, 3


def _show(node: Any, level: int = MOST_LEVELS) -> str:
    """Return an untrusted value shortened for the reader; only what is shown of it is looked at."""
    try:
        node = plain(node)
        tag = tag_of(node)
        if tag == "o":
            return f"an object of type {str(node['o'])[:60]}"
        if tag is None and type(node) is list:
            return f"[{_items(node, level)}]"
        if tag == "t":
            return f"({_items(node['t'], level)}{',' if len(node['t']) == 1 else ''})"
        if tag == "s":
            return f"{{{_items(node['s'], level)}}}" if node["s"] else "set()"
        if tag == "d":
            return f"{{{_items(node['d'], level, _pair)}}}"
        return SHORT.repr(read(node))
    except (ValueError, TypeError, LookupError, RecursionError):
        return "a value that is not plain data"


def _items(nodes: list[Any], level: int, show: Callable[[Any, int], str] = _show) -> str:
    if level == 0:
        return "..."
    return ", ".join([show(node, level - 1) for node in nodes[:MOST_ITEMS]] + ["..."] * (len(nodes) > MOST_ITEMS))


def _pair(pair: list[Any], level: int) -> str:
    return f"{_show(pair[0], level)}: {_show(pair[1], level)}"


def _one_line(text: str) -> str:
    """Return a text on one line, at most 300 characters, the same whenever the program is run again."""
    text = " ".join(ADDRESS.sub("0x...", text).split())
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= 300 else shown[:297] + "..."
