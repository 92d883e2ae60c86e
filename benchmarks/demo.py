"""Print what a finished experiment took, stage by stage, and what it scored, as Markdown for README.md beside this.

python benchmarks/demo.py results/demo
"""

import datetime
import json
import os
import sys
from pathlib import Path

import polars as pl

STAGES = ("fetch_model", "plan", "generate", "execute", "chains", "judge", "score", "manifest", "figure", "report")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/demo")
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"{datetime.date.today()}, {os.cpu_count()} cores, load average {load} when printed\n")
    print("| stage | jobs | wall seconds | CPU seconds |\n|---|---|---|---|")
    for stage in STAGES:
        tables = [pl.read_csv(path, separator="\t") for path in (folder / "benchmarks").glob(f"{stage}*.tsv")]
        wall = sum(table["s"].sum() for table in tables)
        processor = sum(table["cpu_time"].cast(pl.Float64, strict=False).sum() for table in tables)
        print(f"| {stage} | {len(tables)} | {wall:.1f} | {processor:.1f} |")
    print("\n| run | chains | pass@1 | ASL | unweighted | n_0..n_M |\n|---|---|---|---|---|---|")
    for run in json.loads((folder / "metrics.json").read_text())["runs"]:
        shown = [interval(run["scores"][name]) for name in ("pass_at_1", "asl", "asl_unweighted")]
        print("|", " | ".join([run["run"], str(run["attempted"]), *shown, str(run["histogram"])]), "|")


def interval(score: dict) -> str:
    return "–" if score["value"] is None else "{value:.3f} ({low:.3f} to {high:.3f})".format(**score)


if __name__ == "__main__":
    main()
