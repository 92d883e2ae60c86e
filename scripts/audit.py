"""Find what transcripts hold that is no model's honest answer, and what ASL would be without it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from evalooop.audit import CORRECTIONS, KINDS, audit
from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.models import read_card
from evalooop.plan import Run, read_runs
from evalooop.published import read_transcripts
from evalooop.records import Similarity, read_rows
from evalooop.scores import judged_fates


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.audit", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="runs.json of each session")
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True, help="folder of the model cards")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    arguments = parser.parse_args()
    chains = pl.read_parquet(arguments.chains)
    fates = judged_fates(chains, read_rows(arguments.similarity, Similarity))
    rankings = json.loads(arguments.metrics.read_text(encoding="utf-8"))["rankings"]
    cohorts = {run: number for number, ranking in enumerate(rankings) for run in ranking["runs"]}
    recorded = recorded_verdicts(read_runs(arguments.runs), set(chains["run"]), arguments.cards)
    chains = chains.join(recorded, on=["run", "task", "loop"], how="left", maintain_order="left")
    found = audit(chains, fates, cohorts)
    write_atomically(arguments.json, json.dumps(found, indent=1) + "\n")
    write_atomically(arguments.csv, table(found["runs"]).write_csv())


def recorded_verdicts(runs: Iterable[Run], started: set[str], cards: Path) -> pl.DataFrame:
    """Return run, task, loop and ``recorded_pass`` of every program that was published with the runs' chains."""
    rows = []
    for run in runs:
        if run.config.model.source == "transcripts" and run.name in started:
            details = Path(read_card(cards / f"{run.session}.json").folder) / "details"
            for transcript in read_transcripts(details / f"{run.config.model.name}.json"):
                rows += [
                    (run.name, transcript.task, loop, loop <= transcript.successful_cycles)
                    for loop in range(1, len(transcript.cycles) + 1)
                ]
    columns = {"run": pl.String, "task": pl.String, "loop": pl.Int64, "recorded_pass": pl.Boolean}
    return pl.DataFrame(rows, columns, orient="row")


def table(runs: list[dict]) -> pl.DataFrame:
    """Return the audit as a flat table, one row a run."""
    rows = []
    for run in runs:
        row = {"run": run["run"], "rows": run["rows"], "chains": run["chains"]}
        row |= {kind: run["findings"][kind]["rows"] for kind in KINDS}
        for name in CORRECTIONS:
            row |= {f"asl_{name}": run["asl"][name], f"rank_{name}": run["rank"][name]}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


if __name__ == "__main__":
    exit_with_one_line(main)
