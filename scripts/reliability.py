"""Compare the conditions of a sweep: other prompts, temperatures, attacks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from evalooop.chains import fates
from evalooop.config import ScoreConfig
from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import from_option
from evalooop.reliability import studies


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.reliability", description=__doc__)
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--settings", required=True, help="JSON of ScoreConfig")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    settings = from_option(ScoreConfig, "score", "--settings", arguments.settings)
    runs = json.loads(arguments.metrics.read_text(encoding="utf-8"))["runs"]
    counted = fates(pl.read_parquet(arguments.chains)).filter("counted")
    by_run = {run["run"]: counted.filter(pl.col("run") == run["run"]) for run in runs}
    write_atomically(arguments.out, json.dumps({"studies": studies(runs, by_run, settings)}, indent=1) + "\n")


if __name__ == "__main__":
    exit_with_one_line(main)
