"""Ask the judge about every boundary of an experiment."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from evalooop.chains import boundaries
from evalooop.config import JudgeConfig, ModelConfig
from evalooop.engines import open_engine
from evalooop.errors import UserError, exit_with_one_line
from evalooop.files import write_atomically
from evalooop.judge import Boundary, judge_boundaries
from evalooop.loop import Asker
from evalooop.models import read_card
from evalooop.orphan import end_with_workflow
from evalooop.plan import Run, from_option, judge_model, read_runs
from evalooop.progress import TokenBar
from evalooop.records import Similarity, write_rows
from evalooop.store import Store


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.judge", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="runs.json of each session")
    parser.add_argument("--judge", required=True, help="JSON of JudgeConfig")
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True, help="folder of the model cards")
    parser.add_argument("--store", type=Path, required=True, help="completion store")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--timing", type=Path, required=True)
    arguments = parser.parse_args()
    end_with_workflow()
    started = time.monotonic()
    judge = from_option(JudgeConfig, "judge", "--judge", arguments.judge)
    pairs = boundaries(pl.read_parquet(arguments.chains))
    rows: list[Similarity] = []
    timings = []
    with Store(arguments.store) as store:
        for name, (model, own) in by_judge(read_runs(arguments.runs), judge, pairs).items():
            replies, counts = ask(model, arguments.cards / f"{name}.json", own, judge.max_new_tokens, store)
            rows += replies
            timings.append({"session": name, "stage": "judge", "seconds": time.monotonic() - started, **counts})
            started = time.monotonic()
    write_rows(arguments.out, rows)
    write_atomically(arguments.timing, json.dumps(timings) + "\n")


def by_judge(
    runs: Iterable[Run], judge: JudgeConfig, pairs: list[Boundary]
) -> dict[str, tuple[ModelConfig, list[Boundary]]]:
    """Return the pairs each judge is to be asked about, by the name of the judge's model card."""
    named = {run.name: run for run in runs}
    asked: dict[str, tuple[ModelConfig, list[Boundary]]] = {}
    for passed, failed in pairs:
        found = judge_model(named[passed["run"]], judge)
        if found is not None:
            name, model = found
            asked.setdefault(name, (model, []))[1].append((passed, failed))
    return asked


def ask(
    model: ModelConfig, card: Path, pairs: list[Boundary], max_new_tokens: int, store: Store
) -> tuple[list[Similarity], dict[str, Any]]:
    """Return one judge's replies and what was asked of it. One that cannot be had leaves its boundaries unscored."""
    with TokenBar(f"judge {model.name}") as bar:
        try:
            asker = Asker(open_engine(read_card(card), model), store, bar)
            replies = judge_boundaries(asker, pairs, max_new_tokens)
            return replies, asker.counts()
        except UserError as error:
            print(f"error: judge {model.name}: {error}", file=sys.stderr)
            lost = [
                Similarity(passed["run"], passed["task"], passed["sample"], passed["loop"], "", None, str(error))
                for passed, _ in pairs
            ]
            return lost, {}


if __name__ == "__main__":
    exit_with_one_line(main)
