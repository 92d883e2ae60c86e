"""Join all steps and verdicts of an experiment into its chain table."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from evalooop.chains import chain_table
from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import read_runs
from evalooop.records import Step, Verdict, read_rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.chains", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="runs.json of each session")
    parser.add_argument("--out", type=Path, required=True, help="the chain table (parquet)")
    arguments = parser.parse_args()
    folders = [
        path.parent / f"loop{loop:02d}"
        for path in arguments.runs
        for loop in range(1, max(run.config.loop.max_loops for run in read_runs([path])) + 1)
    ]
    steps = [row for folder in folders for row in read_rows(folder / "generated.jsonl", Step)]
    verdicts = [row for folder in folders for row in read_rows(folder / "verdicts.jsonl", Verdict)]
    buffer = io.BytesIO()
    chain_table(read_runs(arguments.runs), steps, verdicts).write_parquet(buffer)
    write_atomically(arguments.out, buffer.getvalue())


if __name__ == "__main__":
    exit_with_one_line(main)
