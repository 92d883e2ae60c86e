"""Compute every run's scores from the chain table and the judge's replies."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import polars as pl

from evalooop import datasets
from evalooop.agreement import read_causes
from evalooop.config import JudgeConfig, ScoreConfig
from evalooop.errors import exit_with_one_line
from evalooop.families import size_of
from evalooop.files import write_atomically
from evalooop.judges import agreement, judge_scores
from evalooop.models import read_card
from evalooop.plan import Run, from_option, read_runs
from evalooop.published import read_results, read_transcripts
from evalooop.ranking import rankings
from evalooop.records import Similarity, read_rows
from evalooop.replayed import published_scores
from evalooop.scores import judged_fates, run_scores, score_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.score", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="runs.json of each session")
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True, help="folder of the model cards")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--experiment", required=True)
    parser.add_argument("--judges", nargs="*", default=[], help="JSON of JudgeConfig each")
    parser.add_argument("--main", required=True, help="name of the judge whose scores count; none if nobody's do")
    parser.add_argument("--others", type=Path, required=True, help="controls, and what the other judges say")
    parser.add_argument("--settings", required=True, help="JSON of ScoreConfig")
    arguments = parser.parse_args()
    settings = from_option(ScoreConfig, "score", "--settings", arguments.settings)
    judges = [from_option(JudgeConfig, "judge", "--judges", text) for text in arguments.judges]
    table = pl.read_parquet(arguments.chains)
    replies = read_rows(arguments.similarity, Similarity)
    all_fates = judged_fates(table, replies)
    runs = []
    fates = {}
    for run in read_runs(arguments.runs):
        chains, fate = (rows.filter(pl.col("run") == run.name) for rows in (table, all_fates))
        replayed = run.config.model.source == "transcripts"
        if replayed and chains.is_empty():
            continue  # no transcript of this model: the manifest says why
        disputed = datasets.oracle_issues(run.config.dataset.loader)
        scores = run_scores(run, chains, fate, arguments.main, settings, disputed)
        runs.append(scores | beside_published(run, chains, arguments.cards) if replayed else scores)
        fates[run.name] = fate.filter("counted")
    said = [*replies, *read_rows(arguments.others, Similarity)]
    metrics = {
        "experiment": arguments.experiment,
        "runs": runs,
        "rankings": rankings(runs, fates, settings),
        "judges": [judge_scores(it.name, it.method, (row for row in said if row.judge == it.name)) for it in judges],
        "judge_agreement": agreement(said, [it.name for it in judges]),
    }
    write_atomically(arguments.json, json.dumps(metrics, indent=1) + "\n")
    write_atomically(arguments.csv, score_table(runs).write_csv())


def beside_published(run: Run, chains: pl.DataFrame, cards: Path) -> dict[str, Any]:
    """Return what was published of a replayed run's model; its size as stated there where the name has none."""
    model = run.config.model.name
    folder = Path(read_card(cards / f"{run.session}.json").folder)
    results = folder / "results.json"
    site = read_results(results).get(model) if results.is_file() else None
    transcripts = read_transcripts(folder / "details" / f"{model}.json")
    found = published_scores(model, chains, transcripts, site, read_causes())
    return found | {"size": size_of(model, site.size if site else None)}


if __name__ == "__main__":
    exit_with_one_line(main)
