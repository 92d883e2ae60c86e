"""Print what a finished experiment took, stage by stage, and what it scored, as Markdown for README.md beside this.

python -m benchmarks.stages results/demo
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.measuring import heading, table
from evalooop.errors import UserError, exit_with_one_line

# The audit and analyses are named as their rules; what an experiment does not have is left out.
STAGES = (
    "fetch_model",
    "plan",
    "generate",
    "execute",
    "chains",
    "judge",
    "score",
    "audit",
    "reliability",
    "manifest",
    "figure",
    "report",
)


@dataclass(frozen=True)
class Stage:
    """What the jobs of one stage took: seconds of wall and CPU time in all, and MiB of the largest."""

    name: str
    jobs: int
    wall: float
    cpu: float
    peak_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("results/demo"), help="default: %(default)s")
    folder = parser.parse_args().folder
    if not (folder / "metrics.json").is_file():
        raise UserError(f"{folder} holds no metrics.json: run the workflow first")
    print(heading())
    print(stage_table(read_stages(folder)))
    runs = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["runs"]
    print(table(("run", "chains", "pass@1", "ASL", "unweighted", "n_0..n_M"), map(scored, runs)))


def read_stages(folder: Path) -> list[Stage]:
    """Return the stages of an experiment from the files of Snakemake's ``benchmark`` directive."""
    stages = []
    for name in STAGES:
        paths = sorted((folder / "benchmarks").glob(f"{name}*.tsv"))
        if paths:
            jobs = pl.concat([pl.read_csv(path, separator="\t", infer_schema=False) for path in paths])
            numbers = jobs.select(pl.col("s", "cpu_time", "max_rss").cast(pl.Float64, strict=False))
            stages.append(
                Stage(name, len(jobs), numbers["s"].sum(), numbers["cpu_time"].sum(), numbers["max_rss"].max())
            )
    return stages


def stage_table(stages: list[Stage]) -> str:
    rows = [(it.name, it.jobs, f"{it.wall:.1f}", f"{it.cpu:.1f}", f"{it.peak_mb or 0:.0f}") for it in stages]
    return table(("stage", "jobs", "wall s", "CPU s", "peak MiB of a job"), rows)


def scored(run: dict) -> tuple[object, ...]:
    shown = [interval(run["scores"][name]) for name in ("pass_at_1", "asl", "asl_unweighted")]
    return run["run"], run["attempted"], *shown, run["histogram"]


def interval(score: dict) -> str:
    return "–" if score["value"] is None else "{value:.3f} ({low:.3f} to {high:.3f})".format(**score)


if __name__ == "__main__":
    exit_with_one_line(main)
