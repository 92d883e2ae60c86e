"""Samples in EvalPlus's format: read, and summed up as pass@k once they are judged."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evalooop.errors import UserError
from evalooop.extraction import extract
from evalooop.sandbox.judgement import Judgement
from evalooop.tasks import Task

PASS_AT = (1, 10, 100)
# Tasks without a sample that are named one by one; all of them are counted.
MOST_NAMED = 20
# What may hold a sample's text, in order of preference.
FIELDS = ("solution", "completion", "response")


@dataclass(frozen=True)
class Sample:
    """One program for one task.

    Attributes:
        number: counts a task's samples from 0 in the order of the file.
        program: "" where a raw answer holds none, which fails as any program without the function does.
        found: how it was found in a raw answer, or why not (``evalooop.extraction``); "" if it was given as such.
    """

    task: Task
    number: int
    program: str
    found: str = ""


def read_samples(path: Path, tasks: Mapping[str, Task]) -> list[Sample]:
    """Return the samples of a JSON lines file (``.gz`` too): ``task_id`` with one of ``FIELDS``.

    A solution is a whole program, a completion continues its task's prompt, a response is a model's raw answer.

    Raises:
        UserError: there is no such file, a line is not a sample, or names a task that the data set does not have.
    """
    counts: Counter[str] = Counter()
    samples = []
    # Not splitlines: texts may hold U+2028, which it takes for the end of a line.
    for line, text in enumerate(_read(path).split("\n"), start=1):
        if not text.strip():
            continue
        task_id, field, given = _fields(text, f"{path}:{line}")
        if task_id not in tasks:
            raise UserError(f"{path}:{line}: the data set has no task {task_id!r}; give the right --dataset")
        task = tasks[task_id]
        samples.append(Sample(task, counts[task_id], *_program(task, field, given)))
        counts[task_id] += 1
    if not samples:
        raise UserError(f"{path} holds no sample; give one a line")
    return samples


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    except FileNotFoundError:
        raise UserError(f"--samples: there is no file {path}")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UserError(f"--samples: {path} cannot be read ({error}); give JSON lines in UTF-8, or .gz of them")


def _program(task: Task, field: str, given: str) -> tuple[str, str]:
    """Return a sample's program and how it was found."""
    if field == "response":
        extraction = extract(given, task.entry_point, prompt=task.prompt)
        return (extraction.code or "", extraction.found if extraction.code else extraction.status)
    return (given if field == "solution" else task.prompt + given), ""


def _fields(text: str, where: str) -> tuple[str, str, str]:
    """Return task id, the name of the field that holds the sample, and its text."""
    try:
        row = json.loads(text)
    except ValueError as error:
        raise UserError(f"{where}: not JSON ({error}); give one sample a line")
    if isinstance(row, dict) and isinstance(row.get("task_id"), str):
        for key in FIELDS:
            if isinstance(row.get(key), str):
                return row["task_id"], key, row[key]
    raise UserError(f"{where}: not a sample; give task_id with {', '.join(FIELDS[:-1])} or {FIELDS[-1]}, all text")


def sample_rows(samples: Sequence[Sample], answers: Sequence[Judgement | Any]) -> list[dict[str, Any]]:
    """Return one row a judged sample and suite, in the order of the samples."""
    return [
        {
            "task_id": sample.task.id,
            "sample": sample.number,
            "found": sample.found,
            "suite": suite.suite,
            "verdict": suite.verdict,
            "test": suite.test,
            "reason": suite.reason,
            "detail": suite.detail,
            "failed": list(suite.failed),
            "cpu_seconds": answer.cpu_seconds,
            "flags": list(answer.flags),
        }
        for sample, answer in zip(samples, answers, strict=True)
        if isinstance(answer, Judgement)
        for suite in answer.suites
    ]


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return the unbiased estimate of the chance that one of k samples passes (Chen et al., 2021, section 2.1).

    Args:
        samples: n, how many were judged; n >= k >= 1.
        passed: c, how many of them passed; 0 <= c <= n.
    """
    if samples - passed < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(samples - passed + 1, samples + 1)))


def summary(rows: Iterable[Mapping[str, Any]], tasks: Sequence[str], disputed: Collection[str] = ()) -> str:
    """Return the table for the reader: pass@k by suite, over which tasks, and what deserves a look.

    ``plus`` counts a sample that passes base and plus, as EvalPlus does. A k is shown if every task that has
    samples has at least k of them.

    Args:
        rows: of ``sample_rows``.
        tasks: ids of all tasks of the data set.
        disputed: ids of tasks whose expected values are disputed; scores are given without them, too.
    """
    passed: dict[str, dict[str, list[bool]]] = {}
    flagged = set()
    for row in rows:
        passed.setdefault(row["suite"], {}).setdefault(row["task_id"], []).append(row["verdict"] == "pass")
        flagged |= {(flag, row["task_id"], row["sample"]) for flag in row["flags"]}
    flags = Counter(flag for flag, _, _ in flagged)
    judged = {task for by_task in passed.values() for task in by_task}
    missing = [task for task in tasks if task not in judged]
    in_dispute = [task for task in tasks if task in judged and task in disputed]
    lines = [
        f"{len(judged)} of {len(tasks)} tasks have judged samples; every score below is over these {len(judged)}.",
        *_scores(passed),
    ]
    if in_dispute:
        lines.append(f"without {len(in_dispute)} tasks whose tests are disputed ({', '.join(in_dispute)}):")
        lines += _scores(
            {
                suite: {task: given for task, given in by_task.items() if task not in in_dispute}
                for suite, by_task in passed.items()
            }
        )
    if missing:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        lines.append(f"without a judged sample: {', '.join(missing[:MOST_NAMED])}{more}")
    if flags:
        lines.append("flags: " + ", ".join(f"{flag} {count}" for flag, count in sorted(flags.items())))
    return "\n".join(lines)


def _scores(passed: Mapping[str, Mapping[str, Sequence[bool]]]) -> list[str]:
    """Return a line for each suite and k. ``passed``: outcomes of the samples by suite and task."""
    lines = []
    for suite, by_task in passed.items():
        fewest = min(map(len, by_task.values()), default=0)
        for k in (k for k in PASS_AT if k <= fewest):
            score = np.mean([pass_at_k(len(given), sum(given), k) for given in by_task.values()])
            lines.append(f"{suite:>8}  pass@{k:<4} {score:.3f}")
    return lines
