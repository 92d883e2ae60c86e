"""How the workflow's time and memory grow with the number of replayed models, all verdicts known.

EVALOOOP_DATA=folder python -m benchmarks.published_scaling [--models 10 20 30]

Run ``results/published/report.html`` before, so that no program is judged here. Each number of models is an experiment
of its own (``results/scaling-N``), made from nothing.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measuring import heading, table
from benchmarks.stages import read_stages
from evalooop.errors import UserError, exit_with_one_line
from evalooop.published import find_transcripts


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published_scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", type=int, nargs="+", default=[10, 20, 30], metavar="N")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    names = sorted(find_transcripts())
    if max(options.models) > len(names):
        raise UserError(f"--models {max(options.models)}: there are transcripts of {len(names)} models only")
    print(heading())
    rows = [measured(names[:number], options.cores) for number in options.models]
    print(table(("models", "wall s", "wall s a model", "CPU s of the jobs", "largest job", "its peak MiB"), rows))


def measured(models: list[str], cores: int) -> tuple[object, ...]:
    folder = Path("results") / f"scaling-{len(models)}"
    shutil.rmtree(folder, ignore_errors=True)
    chosen = f"set=model.name={','.join(models)}"
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all"]
    started = time.monotonic()
    subprocess.run([*command, "--config", f"name={folder.name}", "experiment=published", chosen], check=True)
    wall = time.monotonic() - started
    stages = read_stages(folder)
    largest = max(stages, key=lambda stage: stage.peak_mb or 0)
    cpu = sum(stage.cpu for stage in stages)
    return len(models), f"{wall:.0f}", f"{wall / len(models):.2f}", f"{cpu:.0f}", largest.name, f"{largest.peak_mb:.0f}"


if __name__ == "__main__":
    exit_with_one_line(main)
