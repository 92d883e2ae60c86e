"""Gather what each stage of an experiment took, and what each run's answers did."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.cost", description=__doc__)
    parser.add_argument("--timings", type=Path, nargs="+", required=True, help="timing files of the stages")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    stages = []
    for path in arguments.timings:
        timing = json.loads(path.read_text(encoding="utf-8"))
        stages += timing if isinstance(timing, list) else [timing]
    runs = by_run(stages)
    write_atomically(arguments.out, json.dumps({"stages": stages, "runs": runs}, indent=1) + "\n")


def by_run(stages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take the stages' numbers about single runs out of them; return their sums, a row a (run, stage)."""
    sums: dict[tuple[str, str], Counter[str]] = {}
    for stage in stages:
        for run, usage in stage.pop("runs", {}).items():
            sums.setdefault((run, stage["stage"]), Counter()).update(usage)
    return [{"run": run, "stage": stage, **usage} for (run, stage), usage in sorted(sums.items())]


if __name__ == "__main__":
    exit_with_one_line(main)
