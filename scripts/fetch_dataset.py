"""Read a benchmark and write its tasks as JSON lines, one a task."""

from __future__ import annotations

import argparse
from pathlib import Path

from evalooop import datasets
from evalooop.errors import exit_with_one_line
from evalooop.tasks import write_tasks


def main() -> None:
    """Write the tasks of one benchmark; print how many there are and which problems were left out and why."""
    parser = argparse.ArgumentParser(prog="python -m scripts.fetch_dataset", description=__doc__)
    parser.add_argument("--loader", required=True, help=f"one of {', '.join(datasets.known_loaders())}")
    parser.add_argument("--out", type=Path, required=True, help="file to write, one task a line")
    arguments = parser.parse_args()
    tasks = datasets.load(arguments.loader)
    left_out = datasets.unusable(arguments.loader)
    write_tasks(arguments.out, tasks)
    print(f"{arguments.loader}: {len(tasks)} tasks, left out: {_reasons(left_out)}")


def _reasons(left_out: dict[str, str]) -> str:
    return "; ".join(f"{task} ({reason})" for task, reason in left_out.items()) or "nothing"


if __name__ == "__main__":
    exit_with_one_line(main)
