"""Compute every run's scores from the chain table and the judge's replies."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import read_plan
from evalooop.records import Similarity, read_rows
from evalooop.scores import run_scores, score_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.score", description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    arguments = parser.parse_args()
    plan = read_plan(arguments.plan)
    chains = pl.read_parquet(arguments.chains)
    replies = read_rows(arguments.similarity, Similarity)
    runs = [
        run_scores(run, chains.filter(pl.col("run") == run.name), [row for row in replies if row.run == run.name])
        for run in plan.runs
    ]
    write_atomically(arguments.json, json.dumps({"experiment": plan.name, "runs": runs}, indent=1) + "\n")
    write_atomically(arguments.csv, score_table(runs).write_csv())


if __name__ == "__main__":
    exit_with_one_line(main)
