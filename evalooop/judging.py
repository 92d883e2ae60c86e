"""Judge many programs: each distinct one once, known ones from the store, the rest side by side.

A worker is a thread with a sandbox of its own; the work is done by the programs' processes. What a worker
finishes is stored at once, so that a killed job loses only the programs it was at.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

from evalooop.errors import UserError
from evalooop.sandbox.judgement import Judgement, judgement_from_json, judgement_to_json
from evalooop.sandbox.limits import REFERENCE_LIMITS, Limits
from evalooop.sandbox.runner import Infrastructure, Sandbox
from evalooop.store import Store, key_of
from evalooop.tasks import Task, task_to_json

SANDBOX = Path(__file__).parent / "sandbox"


@cache
def judge_version() -> str:
    """Return a hash of the code that decides verdicts: an edited judge never answers with the old one's verdicts."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(SANDBOX.rglob("*.py"))]
    return key_of("judge", sources)


class SandboxSettings(Protocol):
    """What a user sets (``evalooop.config.SandboxConfig``): limits, floors that a slow reference raises; isolation."""

    cpu_seconds: int
    test_cpu_seconds: int
    memory_mb: int
    isolation: str


@dataclass(frozen=True)
class Unjudged:
    """A program that could not be judged, because the sandbox failed twice; ``detail`` says how."""

    detail: str


@dataclass(frozen=True)
class Judged:
    """What became of a batch of programs.

    Attributes:
        results: one a program, in the order they were given.
        judged, stored: distinct programs that were run now, and that the store knew.
    """

    results: tuple[Judgement | Unjudged, ...]
    judged: int
    stored: int


@dataclass(frozen=True)
class _Job:
    key: str
    task: Task
    program: str
    limits: Limits
    weight: float
    all_tests: bool = False


def judge_programs(
    programs: Sequence[tuple[Task, str]],
    settings: SandboxSettings,
    store: Store,
    workers: int = 0,
    progress: Callable[[int], object] = lambda answered: None,
    all_tests: bool = False,
) -> Judged:
    """Judge programs on all suites of their tasks.

    The limits of a task grow with what its reference needed, where ``check_references`` has measured it.

    Args:
        programs: (task, source text) pairs; text without the task's preamble.
        workers: programs run side by side; 0 means one a core.
        progress: called with the number of programs answered since its last call.
        all_tests: go on after a program's first failing test, to name every one. Verdicts are the same.

    Raises:
        UserError: the sandbox cannot be built on this system.
    """
    hashes = _hashes(task for task, _ in programs)
    measured = _measured_references({id(task): task for task, _ in programs}.values(), hashes, settings, store)
    jobs = []
    for task, program in programs:
        reference = measured.get(id(task))
        limits = _floor(settings)
        if reference is not None:
            limits = limits.raised_for(reference.cpu_seconds, reference.slowest_test)
        weight = reference.cpu_seconds if reference is not None else 0.0
        key = _key(task, hashes[id(task)], program, limits, settings, all_tests)
        jobs.append(_Job(key, task, program, limits, weight, all_tests))
    return _answer(jobs, settings, store, workers, progress)


def check_references(
    tasks: Iterable[Task],
    settings: SandboxSettings,
    store: Store,
    workers: int = 0,
    progress: Callable[[int], object] = lambda answered: None,
) -> None:
    """Make sure that each task's own reference passes, and measure what it needs. Costs nothing the second time.

    Raises:
        UserError: some or all references do not pass; says which, and what that means.
    """
    tasks = list({id(task): task for task in tasks}.values())
    hashes = _hashes(tasks)
    limits = _reference_limits(settings)
    jobs = [
        _Job(_key(task, hashes[id(task)], task.reference, limits, settings), task, task.reference, limits, _tests(task))
        for task in tasks
    ]
    answers = _answer(jobs, settings, store, workers, progress).results
    broken = [f"{task.id}: {_why(answer)}" for task, answer in zip(tasks, answers, strict=True) if not _passed(answer)]
    if not broken:
        return
    shown = "; ".join(broken[:5]) + (f"; and {len(broken) - 5} more" if len(broken) > 5 else "")
    if len(broken) == len(tasks):
        raise UserError(f"no reference solution passes, so the sandbox or its Python is broken: {shown}")
    raise UserError(
        f"{len(broken)} of {len(tasks)} reference solutions do not pass; fetch the data set anew, "
        f"raise sandbox.memory_mb, or leave these tasks out: {shown}"
    )


# ---------------------------------------------------------------- keys and limits


def _floor(settings: SandboxSettings) -> Limits:
    return Limits(settings.cpu_seconds, settings.test_cpu_seconds, settings.memory_mb)


def _reference_limits(settings: SandboxSettings) -> Limits:
    return replace(REFERENCE_LIMITS, memory_mb=settings.memory_mb)


def _hashes(tasks: Iterable[Task]) -> dict[int, str]:
    """Return a hash of what a task's programs are run with and judged by, by ``id`` of the task."""
    hashes: dict[int, str] = {}
    for task in tasks:
        if id(task) not in hashes:
            hashes[id(task)] = key_of(task_to_json(task)["suites"], task.preamble, task.entry_point)
    return hashes


def _key(
    task: Task, task_hash: str, program: str, limits: Limits, settings: SandboxSettings, all_tests: bool = False
) -> str:
    judge = (judge_version(), list(sys.version_info[:3]), settings.isolation, all_tests)
    return key_of("verdict", judge, task.id, task_hash, program, vars(limits))


def _measured_references(
    tasks: Iterable[Task], hashes: Mapping[int, str], settings: SandboxSettings, store: Store
) -> dict[int, Judgement]:
    limits = _reference_limits(settings)
    keys = {id(task): _key(task, hashes[id(task)], task.reference, limits, settings) for task in tasks}
    known = _known(keys.values(), store)
    return {task: known[key] for task, key in keys.items() if key in known}


def _tests(task: Task) -> int:
    return sum(len(suite.inputs) for suite in task.suites)


def _passed(answer: Judgement | Unjudged) -> bool:
    return isinstance(answer, Judgement) and answer.passed


def _why(answer: Judgement | Unjudged) -> str:
    if isinstance(answer, Unjudged):
        return answer.detail
    return next(f"{suite.suite}: {suite.detail}" for suite in answer.suites if suite.verdict != "pass")


# ---------------------------------------------------------------- the store


def _known(keys: Iterable[str], store: Store) -> dict[str, Judgement]:
    """Return the stored judgements; an entry that is none counts as missing."""
    known = {}
    for key, row in store.get_many(keys).items():
        try:
            known[key] = judgement_from_json(row)
        except (ValueError, TypeError, KeyError):
            continue
    return known


def _answer(
    jobs: Sequence[_Job], settings: SandboxSettings, store: Store, workers: int, progress: Callable[[int], object]
) -> Judged:
    """Answer jobs from the store or by running them."""
    places: dict[str, list[int]] = {}
    for place, job in enumerate(jobs):
        places.setdefault(job.key, []).append(place)
    answers: dict[str, Judgement | Unjudged] = dict(_known(places, store))
    stored = len(answers)
    progress(sum(len(places[key]) for key in answers))
    for job, answer in _run(_unanswered(jobs, answers), workers, settings.isolation):
        if isinstance(answer, Judgement):
            store.put(job.key, judgement_to_json(answer))
        answers[job.key] = answer
        progress(len(places[job.key]))
    return Judged(tuple(answers[job.key] for job in jobs), len(answers) - stored, stored)


def _unanswered(jobs: Iterable[_Job], answers: Mapping[str, object]) -> list[_Job]:
    """Return each job without an answer once: heavy ones first, or the last worker ends alone; tasks together."""
    missing = {job.key: job for job in jobs if job.key not in answers}
    return sorted(missing.values(), key=lambda job: (-job.weight, job.task.id, job.key))


# ---------------------------------------------------------------- workers


def _run(jobs: Sequence[_Job], workers: int, isolation: str) -> Iterator[tuple[_Job, Judgement | Unjudged]]:
    """Yield each job with its answer as it comes. Programs that starved are run again at the end, alone."""
    starved = []
    for job, answer in _side_by_side(jobs, min(len(jobs), workers or _cores()), isolation):
        if isinstance(answer, Judgement) and answer.starved(job.limits.cpu_seconds):
            starved.append(job)
        else:
            yield job, answer
    yield from _side_by_side(starved, min(len(starved), 1), isolation)


def _side_by_side(jobs: Sequence[_Job], workers: int, isolation: str) -> Iterator[tuple[_Job, Judgement | Unjudged]]:
    waiting = deque(jobs)
    finished: queue.SimpleQueue[tuple[_Job, Judgement | Unjudged] | BaseException] = queue.SimpleQueue()
    sandboxes = [Sandbox(isolation=isolation) for _ in range(workers)]
    threads = [threading.Thread(target=_work, args=(box, waiting, finished), daemon=True) for box in sandboxes]
    try:
        for thread in threads:
            thread.start()
        for _ in jobs:
            item = finished.get()
            if isinstance(item, BaseException):
                raise item
            yield item
    except BaseException:  # Ctrl-C too: leave no program running
        waiting.clear()
        for sandbox in sandboxes:
            sandbox.stop()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _work(sandbox: Sandbox, waiting: deque[_Job], finished: queue.SimpleQueue) -> None:
    """Judge waiting jobs until there are none; whatever stops a worker is handed to the main thread."""
    try:
        with sandbox:
            while waiting:
                try:
                    job = waiting.popleft()
                except IndexError:
                    return
                finished.put((job, _judge(sandbox, job)))
    except BaseException as error:
        finished.put(error)


def _judge(sandbox: Sandbox, job: _Job) -> Judgement | Unjudged:
    try:
        return sandbox.run(job.program, job.task, job.limits, job.all_tests)
    except Infrastructure as error:
        return Unjudged(" ".join(str(error).split()))


def _cores() -> int:
    return len(os.sched_getaffinity(0))
