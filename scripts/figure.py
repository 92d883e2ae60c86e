"""Draw one figure of an experiment as svg, pdf and png, with the numbers behind it as csv."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from evalooop import figures
from evalooop.config import FigureConfig
from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import from_option


def main() -> None:
    options = parse_arguments()
    chains = pl.read_parquet(options.chains)
    metrics = json.loads(options.metrics.read_text(encoding="utf-8"))
    for name in ("cost", "audit", "reliability"):
        metrics[name] = json.loads(getattr(options, name).read_text(encoding="utf-8"))
    module = figures.module(options.name)
    figures.save(
        module.draw(chains, metrics, from_option(FigureConfig, "figures", "--settings", options.settings)),
        options.out_stem,
    )
    numbers = module.numbers(chains, metrics).write_csv()
    write_atomically(options.out_stem.with_name(f"{options.out_stem.name}.csv"), numbers)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.figure", description=__doc__)
    parser.add_argument("--name", required=True, help=f"which figure: {', '.join(figures.names())}")
    parser.add_argument("--chains", required=True, type=existing_file, help="chains.parquet of the experiment")
    parser.add_argument("--metrics", required=True, type=existing_file, help="metrics.json of the experiment")
    parser.add_argument("--cost", required=True, type=existing_file, help="cost.json of the experiment")
    parser.add_argument("--audit", required=True, type=existing_file, help="audit.json of the experiment")
    parser.add_argument("--reliability", required=True, type=existing_file, help="reliability.json of the experiment")
    parser.add_argument("--settings", default="{}", help="FigureConfig as JSON, such as '{\"width\": 3.3}'")
    parser.add_argument(
        "--out-stem", required=True, type=Path, help="path without suffix; .svg, .pdf, .png and .csv are added"
    )
    return parser.parse_args()


def existing_file(text: str) -> Path:
    """Return the path of a file that is there: argparse turns the error into one line."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


if __name__ == "__main__":
    exit_with_one_line(main)
