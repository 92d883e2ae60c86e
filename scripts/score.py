"""Compute every run's scores from the chain table and the judge's replies."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from evalooop import datasets
from evalooop.config import ScoreConfig
from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import from_option, read_runs
from evalooop.records import Similarity, read_rows
from evalooop.scores import run_scores, score_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.score", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="runs.json of each session")
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--experiment", required=True)
    parser.add_argument("--judge", required=True, help="its name")
    parser.add_argument("--settings", required=True, help="JSON of ScoreConfig")
    arguments = parser.parse_args()
    settings = from_option(ScoreConfig, "score", "--settings", arguments.settings)
    chains = pl.read_parquet(arguments.chains)
    replies = read_rows(arguments.similarity, Similarity)
    runs = [
        run_scores(
            run,
            chains.filter(pl.col("run") == run.name),
            [row for row in replies if row.run == run.name],
            arguments.judge,
            settings,
            datasets.oracle_issues(run.config.dataset.loader),
        )
        for run in read_runs(arguments.runs)
    ]
    write_atomically(arguments.json, json.dumps({"experiment": arguments.experiment, "runs": runs}, indent=1) + "\n")
    write_atomically(arguments.csv, score_table(runs).write_csv())


if __name__ == "__main__":
    exit_with_one_line(main)
