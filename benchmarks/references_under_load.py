"""Judge the references of MBPP+ and HumanEval+ on a busy machine, again and again: do verdicts depend on load?

python -m benchmarks.references_under_load [--loops 8] [--repeats 3]

Each repeat starts with an empty store: it measures the references, then judges them under the limits that follow.
While it runs, busy loops compete for the cores. Exits with 1 unless all pass each time with the same verdicts.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measuring import heading, table
from evalooop.config import SandboxConfig
from evalooop.errors import exit_with_one_line
from evalooop.judging import Unjudged, check_references, judge_programs
from evalooop.sandbox.judgement import Judgement
from evalooop.store import Store
from evalooop.tasks import Task
from scripts.execute import bar, open_dataset

BUSY = "while True: pass"


def main() -> int:
    arguments = parse_arguments()
    rows, wrong = [], []
    for name in arguments.datasets:
        tasks = list(open_dataset(name).values())
        with busy_loops(arguments.loops):
            first: dict[str, tuple] = {}
            for repeat in range(1, arguments.repeats + 1):
                label = f"{name} {repeat}"
                started = time.monotonic()
                answers = judge_references(tasks, label, arguments.workers)
                rows.append((name, repeat, *figures(answers), f"{time.monotonic() - started:.0f}"))
                said = {task.id: essence(answer) for task, answer in zip(tasks, answers, strict=True)}
                first = first or said
                wrong += [f"{label}: {task} {words}" for task, words in said.items() if words != first[task]]
                wrong += [f"{label}: {task.id}" for task, one in zip(tasks, answers, strict=True) if not passed(one)]
        print(f"{arguments.loops} busy loops; {heading()}")
        print(table(("references", "repeat", "passed", "of", "flags", "programs' CPU s", "wall s"), rows), flush=True)
        rows = []
    print("\n".join(["Not the same each time, or not passed:", *wrong]) if wrong else "All pass, the same each time.")
    return 1 if wrong else 0


def judge_references(tasks: Sequence[Task], label: str, workers: int) -> tuple[Judgement | Unjudged, ...]:
    """Measure references and judge them, both anew."""
    programs = [(task, task.reference) for task in tasks]
    with tempfile.TemporaryDirectory() as fresh, Store(Path(fresh, "verdicts.sqlite")) as store:
        with bar(f"{label} measured", len(tasks)) as shown:
            check_references(tasks, SandboxConfig(), store, workers, shown.update)
        with bar(f"{label} judged", len(tasks)) as shown:
            return judge_programs(programs, SandboxConfig(), store, workers, shown.update).results


def passed(answer: Judgement | Unjudged) -> bool:
    return isinstance(answer, Judgement) and answer.passed


def essence(answer: Judgement | Unjudged) -> tuple:
    """Return all that should not depend on load: verdicts with their reasons, and flags."""
    if isinstance(answer, Unjudged):
        return ("not judged", answer.detail)
    return (*((suite.suite, suite.verdict, suite.test, suite.reason) for suite in answer.suites), answer.flags)


def figures(answers: Sequence[Judgement | Unjudged]) -> tuple[object, ...]:
    judgements = [answer for answer in answers if isinstance(answer, Judgement)]
    flags = sum(bool(answer.flags) for answer in judgements)
    return sum(map(passed, answers)), len(answers), flags, f"{sum(one.cpu_seconds for one in judgements):.1f}"


@contextlib.contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Keep so many processes busy with nothing, meanwhile."""
    loops = [subprocess.Popen((sys.executable, "-c", BUSY)) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.references_under_load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", default=["mbppplus", "humanevalplus"], help="default: %(default)s")
    parser.add_argument("--loops", type=int, default=8, help="busy loops beside (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=0, help="programs judged side by side (default 0: one a core)")
    return parser.parse_args()


if __name__ == "__main__":
    exit_with_one_line(main)
