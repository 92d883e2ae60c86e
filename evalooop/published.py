"""The transcripts that the authors of EvaLooop published with their leaderboard, one file a model.

A file maps a number of loops to the tasks that sustained so many; a task holds its first prompt and its cycles, each
a program (``code_output``) and the description of it that became the next prompt (``summary_output``). A cycle is
there for each loop that passed and for the one that failed, so a chain that sustained all ten has no failed one.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalooop.datasets._evalplus import DATA_VARIABLE
from evalooop.errors import UserError

MAX_LOOPS = 10
# Below the root of the leaderboard's repository, and below the folder that EVALOOOP_DATA names.
DATA = Path("assets", "data")
DETAILS = Path("leaderboard") / DATA / "details"


@dataclass(frozen=True)
class Cycle:
    """One loop: the program that was tested, and the prompt that the model made of it."""

    code: str
    description: str


@dataclass(frozen=True)
class Transcript:
    """One chain: a task, its first prompt, and what became of it loop by loop."""

    task: str
    initial_prompt: str
    cycles: tuple[Cycle, ...]
    successful_cycles: int


@dataclass(frozen=True)
class SiteScore:
    """What the leaderboard shows of a model.

    Attributes:
        asl: in [0, 10], weighted with the authors' judge; the mean of several runs for a few models.
        pass_at_1, pass_drop: shares in [0, 1].
        rank, rank_change: by ``asl``, and how many places lower the model stands by ``pass_at_1``.
        size: billions of parameters as stated there; for some models that of another member of the family.
    """

    asl: float
    pass_at_1: float
    pass_drop: float
    rank: int
    rank_change: int
    size: float | None


def read_results(path: Path) -> dict[str, SiteScore]:
    """Return the leaderboard's scores by model, from its ``results.json``.

    Raises:
        UserError: the file cannot be read, or is not what it should be.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["models"]
        return {row["model_id"]: _site_score(row) for row in rows}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is no file of the leaderboard's scores ({error!r}): fetch it again")


def _site_score(row: dict[str, Any]) -> SiteScore:
    return SiteScore(
        asl=float(row["aslScore"]),
        pass_at_1=float(row["successRate"]),
        pass_drop=float(row["drop"]) / 100,
        rank=int(row["rank"]),
        rank_change=0 if row["rankChange"] == "=" else int(row["rankChange"]),
        size=None if row["size"] is None else float(row["size"]),
    )


def find_transcripts() -> dict[str, Path]:
    """Return the published files by model, sorted, from the folder that ``EVALOOOP_DATA`` names.

    Raises:
        UserError: the variable is not set, or there are no such files.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise UserError(f"{DATA_VARIABLE} is not set: let it name the folder that holds {DETAILS}")
    details = Path(folder) / DETAILS
    paths = {path.stem: path for path in sorted(details.glob("*.json"))}
    if not paths:
        raise UserError(f"{details} holds no transcripts (*.json): put the leaderboard's there")
    return paths


def read_transcripts(path: Path) -> list[Transcript]:
    """Return the chains of one model, in the file's order.

    Raises:
        UserError: the file cannot be read, or part of it is missing or not what it should be.
    """
    try:
        groups = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}): fetch it again")
    if not isinstance(groups, dict) or not all(isinstance(rows, list) for rows in groups.values()):
        raise UserError(f"{path} is no file of transcripts: it should map numbers of loops to lists of tasks")
    transcripts = [_transcript(row, sustained, path) for sustained, rows in groups.items() for row in rows]
    tasks = [transcript.task for transcript in transcripts]
    if twice := {task for task in tasks if tasks.count(task) > 1}:
        raise UserError(f"{path} holds {min(twice)} more than once: fetch it again")
    return transcripts


def _transcript(row: Any, sustained: str, path: Path) -> Transcript:
    """Return one task's chain, checked against the group of the file that it stands in."""
    name = row.get("task_id") if isinstance(row, dict) else None
    where = f"{path}: {name or 'a task without a name'} under {sustained!r}"
    try:
        transcript = Transcript(
            task=_text(row["task_id"]),
            initial_prompt=_text(row["initial_prompt"]),
            cycles=tuple(Cycle(_text(cycle["code_output"]), _text(cycle["summary_output"])) for cycle in row["cycles"]),
            successful_cycles=row["successful_cycles"],
        )
    except KeyError as error:
        raise UserError(f"{where} has no {error.args[0]}: fetch the file again")
    except TypeError:
        raise UserError(f"{where} has fields of the wrong type: fetch the file again")
    if str(transcript.successful_cycles) != sustained:
        raise UserError(f"{where} says that {transcript.successful_cycles!r} cycles succeeded: fetch the file again")
    expected = min(MAX_LOOPS, int(sustained) + 1) if sustained.isdecimal() else 0
    if len(transcript.cycles) != expected:
        raise UserError(f"{where} has {len(transcript.cycles)} cycles instead of {expected}: fetch the file again")
    return transcript


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
