"""Judge programs in the sandbox, each on all suites of its task: those of one loop, or a file of samples."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tqdm import tqdm

from evalooop import datasets
from evalooop.config import SandboxConfig
from evalooop.errors import UserError, exit_with_one_line
from evalooop.files import write_atomically
from evalooop.judging import Judged, Unjudged, check_references, judge_programs
from evalooop.orphan import end_with_workflow
from evalooop.perturbations import perturb
from evalooop.plan import Run, from_option, read_runs
from evalooop.records import Step, Verdict, read_rows, write_rows
from evalooop.samples import read_samples, sample_rows, summary
from evalooop.sandbox.judgement import Judgement
from evalooop.store import Store
from evalooop.tasks import Task, read_tasks, write_tasks

DATASETS = Path("resources/datasets")


def main() -> int:
    arguments = parse_arguments()
    end_with_workflow()
    if arguments.samples:
        return judge_samples(arguments)
    judge_loop(arguments)
    return 0


def judge_samples(arguments: argparse.Namespace) -> int:
    """Judge a file of samples, write a row for each sample and suite, and print the table of pass@k.

    Returns the exit status: 1 if a sample could not be judged, for the table is then over the others.
    """
    tasks = open_dataset(arguments.dataset)
    samples = read_samples(arguments.samples, tasks)
    programs = [(sample.task, sample.program) for sample in samples]
    judged = judge(programs, arguments, arguments.samples.name)
    rows = sample_rows(samples, judged.results)
    write_atomically(arguments.out, "".join(json.dumps(row) + "\n" for row in rows))
    if arguments.sandbox.isolation != "namespaces":
        print(f"sandbox.isolation={arguments.sandbox.isolation}: programs ran in a weaker sandbox.")
    print(f"verdicts: {arguments.out}")
    print(summary(rows, list(tasks), datasets.oracle_issues(Path(arguments.dataset).stem)))
    return 1 if tell_lost(judged, arguments.samples.name) else 0


def judge_loop(arguments: argparse.Namespace) -> None:
    """Judge the programs of one loop of a session and write their verdicts."""
    started = time.monotonic()
    runs = {run.name: run for run in read_runs([arguments.runs])}
    # A description that was never begun leads to no program: it fails the loop in its place.
    steps = [
        step
        for step in read_rows(arguments.generated, Step)
        if step.step == "generate" or step.status == "incomplete_reasoning"
    ]
    tasks = {path.stem: read_tasks(path) for path in arguments.datasets} if steps else {}
    asked = [(step, find_task(step, runs, tasks, arguments.generated)) for step in steps]
    programs = [(task, step.code) for step, task in asked if step.code is not None]
    label = f"{arguments.session} loop {arguments.loop}"
    judged = judge(programs, arguments, label)
    write_rows(arguments.out, rows_of(asked, judged))
    # Equal programs share one judgement: its time was spent once.
    known = {id(answer): answer for answer in judged.results if isinstance(answer, Judgement)}.values()
    timing = {
        "session": arguments.session,
        "loop": arguments.loop,
        "stage": "execute",
        "seconds": time.monotonic() - started,
        "cpu_seconds": sum(answer.cpu_seconds for answer in known),
        "programs": len(judged.results),
        "judged": judged.judged,
        "stored": judged.stored,
        "lost": tell_lost(judged, label),
        "peak_mb": max((answer.peak_mb for answer in known), default=0.0),
    }
    write_atomically(arguments.timing, json.dumps(timing) + "\n")


def open_dataset(name: str) -> dict[str, Task]:
    """Return the tasks of a data set, by id: a file that fetch_dataset wrote, or the name of a loader."""
    path = Path(name) if name.endswith(".jsonl") else DATASETS / f"{name}.jsonl"
    if not path.exists():
        if path.parent != DATASETS:
            raise UserError(f"--dataset: there is no file {name}; write it with python -m scripts.fetch_dataset")
        write_tasks(path, datasets.load(name))
    return read_tasks(path)


def tell_lost(judged: Judged, label: str) -> int:
    """Say how many programs the sandbox failed on, and return that number."""
    lost = [answer for answer in judged.results if isinstance(answer, Unjudged)]
    if lost:
        print(f"{label}: {len(lost)} programs could not be judged: {lost[0].detail}", file=sys.stderr)
    return len(lost)


def find_task(step: Step, runs: dict[str, Run], tasks: dict[str, dict[str, Task]], source: Path) -> Task:
    """Return the task that a step is about, as its run asked it; the same object for the same task.

    Raises:
        UserError: the plan has no such run, or the data sets no such task.
    """
    if step.run not in runs:
        raise UserError(f"{source}: run '{step.run}' is not in the plan; delete the file and run the workflow again")
    config = runs[step.run].config
    loader, attack = config.dataset.loader, config.perturbation
    if loader not in tasks or step.task not in tasks[loader]:
        raise UserError(f"{source}: task '{step.task}' is not in data set '{loader}'; name its file in --datasets")
    perturbed = tasks.setdefault(f"{loader} {attack.name} {attack.seed}", {})
    if step.task not in perturbed:
        perturbed[step.task] = perturb(tasks[loader][step.task], attack.name, attack.seed)
    return perturbed[step.task]


def judge(programs: Sequence[tuple[Task, str]], arguments: argparse.Namespace, label: str) -> Judged:
    """Judge programs after making sure that the references of their tasks pass."""
    if not programs:
        return Judged((), 0, 0)
    references = list({id(task): task for task, _ in programs}.values())
    with Store(arguments.store) as store:
        with bar(f"{label} references", len(references)) as shown:
            check_references(references, arguments.sandbox, store, arguments.workers, shown.update)
        with bar(label, len(programs)) as shown:
            update, every = shown.update, arguments.all_tests
            return judge_programs(programs, arguments.sandbox, store, arguments.workers, update, every)


def bar(label: str, total: int) -> tqdm:
    return tqdm(desc=label, total=total, unit="program", file=sys.stderr, mininterval=1.0)


def rows_of(asked: Sequence[tuple[Step, Task]], judged: Judged) -> list[Verdict]:
    """Return one row a step and suite. What infrastructure lost, answer or verdict, has no row."""
    answers = iter(judged.results)
    rows = []
    for step, task in asked:
        if step.code is not None:
            answer = next(answers)
            if isinstance(answer, Judgement):
                rows += verdict_rows(step, answer)
        elif step.status != "infra_error":
            rows += [
                Verdict(*place(step), suite.name, "fail", None, step.status, "the answer holds no program")
                for suite in task.suites
            ]
    return rows


def verdict_rows(step: Step, answer: Judgement) -> list[Verdict]:
    return [
        Verdict(*place(step), suite.suite, suite.verdict, suite.test, suite.reason, suite.detail, answer.flags)
        for suite in answer.suites
    ]


def place(step: Step) -> tuple[str, str, int, int]:
    return (step.run, step.task, step.sample, step.loop)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.execute", description=__doc__)
    parser.add_argument(
        "--workers", type=number, default=0, help="programs judged side by side (default 0: one a core)"
    )
    parser.add_argument(
        "--store", type=Path, default=Path("resources/verdicts.sqlite"), help="verdict store (default %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, help="one row a program and suite, JSON lines (default for samples: beside them)"
    )
    parser.add_argument(
        "--sandbox",
        type=partial(from_option, SandboxConfig, "sandbox", "--sandbox"),
        default="{}",
        metavar="JSON",
        help="limits and isolation, such as '{\"memory_mb\": 2048}'",
    )
    alone = parser.add_argument_group("samples of your own")
    alone.add_argument("--samples", type=Path, help="JSON lines: task_id with solution, completion or response (raw)")
    alone.add_argument("--dataset", help="a loader's name, such as mbppplus, or a file that fetch_dataset wrote")
    alone.add_argument("--all-tests", action="store_true", help="name every failing test, not the first alone")
    loop = parser.add_argument_group("a loop of the workflow")
    loop.add_argument("--runs", type=Path, help="runs.json of the session")
    loop.add_argument("--session")
    loop.add_argument("--loop", type=int, help="from 1 on")
    loop.add_argument("--generated", type=Path, help="the loop's steps")
    loop.add_argument("--datasets", type=Path, nargs="+", help="one file a data set, named after its loader")
    loop.add_argument("--timing", type=Path)
    arguments = parser.parse_args()
    needed = (
        ("samples", "dataset")
        if arguments.samples or arguments.dataset
        else ("runs", "session", "loop", "generated", "datasets", "timing", "out")
    )
    if missing := [f"--{name}" for name in needed if getattr(arguments, name) is None]:
        parser.error(f"{', '.join(missing)} missing; give --samples and --dataset, or all options of a loop")
    arguments.out = arguments.out or arguments.samples.with_name(f"{arguments.samples.name}.verdicts.jsonl")
    if arguments.out.is_dir():
        parser.error(f"--out: {arguments.out} is a folder; name a file")
    return arguments


def number(text: str) -> int:
    """Return a whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 0 on")
    return int(text)


if __name__ == "__main__":
    exit_with_one_line(main)
