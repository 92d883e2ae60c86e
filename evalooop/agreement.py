"""Do our verdicts agree with published ones? A chain tells the verdict on each of its programs.

The programs of the loops that were sustained must have passed every suite, and that of the loop after them must not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalooop.judging import SandboxSettings, Unjudged, judge_programs
from evalooop.published import Transcript
from evalooop.sandbox.judgement import Judgement
from evalooop.store import Store
from evalooop.tasks import Task


@dataclass(frozen=True)
class Claim:
    """A published verdict: whether the program of a loop (from 1 on) passed."""

    model: str
    task: str
    loop: int
    program: str
    passed: bool


@dataclass(frozen=True)
class Comparison:
    """A published verdict and ours."""

    claim: Claim
    answer: Judgement | Unjudged

    @property
    def agrees(self) -> bool:
        """Whether both say the same; a program that could not be judged agrees with nothing."""
        return isinstance(self.answer, Judgement) and self.answer.passed == self.claim.passed


def claims(model: str, transcripts: Iterable[Transcript]) -> list[Claim]:
    """Return what a model's transcripts say about each of its programs."""
    return [
        Claim(model, transcript.task, loop, cycle.code, loop <= transcript.successful_cycles)
        for transcript in transcripts
        for loop, cycle in enumerate(transcript.cycles, start=1)
    ]


def compare(
    claimed: Sequence[Claim],
    tasks: Mapping[str, Task],
    settings: SandboxSettings,
    store: Store,
    workers: int = 0,
    progress: Callable[[int], object] = lambda answered: None,
) -> list[Comparison]:
    """Judge all programs, equal ones of one task once, and put our verdicts beside the published ones.

    The limits are those of measured references only where ``check_references`` has measured them before.
    """
    programs = [(tasks[claim.task], claim.program) for claim in claimed]
    judged = judge_programs(programs, settings, store, workers, progress)
    return [Comparison(claim, answer) for claim, answer in zip(claimed, judged.results, strict=True)]


UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Causes:
    """Why published verdicts and ours differ, as far as it was studied.

    Attributes:
        evidence: by cause.
        places: cause by (model, task, loop).
        tasks: cause by task, where it holds for every model.
    """

    evidence: Mapping[str, str]
    places: Mapping[tuple[str, str, int], str]
    tasks: Mapping[str, str]

    def of(self, model: str, task: str, loop: int) -> str:
        return self.places.get((model, task, loop)) or self.tasks.get(task, UNEXPLAINED)


def read_causes() -> Causes:
    """Return the causes that were found by study of the leaderboard's transcripts."""
    known = json.loads(Path(__file__).with_name("published_disagreements.json").read_text(encoding="utf-8"))
    places = {}
    for row in known:
        for place in row["places"]:
            model, task, loop = place.split()
            places[(model, task, int(loop))] = row["cause"]
    tasks = {task: row["cause"] for row in known for task in row.get("tasks", ())}
    return Causes({row["cause"]: row["evidence"] for row in known}, places, tasks)
