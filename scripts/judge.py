"""Ask the judge about every boundary of an experiment."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl

from evalooop.chains import boundaries
from evalooop.config import ModelConfig
from evalooop.engines import open_engine
from evalooop.errors import UserError, exit_with_one_line
from evalooop.judge import Boundary, judge_boundaries
from evalooop.loop import Asker
from evalooop.models import read_card
from evalooop.orphan import end_with_workflow
from evalooop.plan import Plan, judge_model, read_plan
from evalooop.progress import TokenBar
from evalooop.records import Similarity, write_rows
from evalooop.store import Store


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.judge", description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True, help="folder of the model cards")
    parser.add_argument("--store", type=Path, required=True, help="completion store")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    end_with_workflow()
    plan = read_plan(arguments.plan)
    rows: list[Similarity] = []
    with Store(arguments.store) as store:
        for name, (model, pairs) in by_judge(plan, boundaries(pl.read_parquet(arguments.chains))).items():
            rows += ask(model, arguments.cards / f"{name}.json", pairs, plan, store)
    write_rows(arguments.out, rows)


def by_judge(plan: Plan, pairs: list[Boundary]) -> dict[str, tuple[ModelConfig, list[Boundary]]]:
    """Return the pairs each judge is to be asked about, by the name of the judge's model card."""
    runs = {run.name: run for run in plan.runs}
    asked: dict[str, tuple[ModelConfig, list[Boundary]]] = {}
    for passed, failed in pairs:
        found = judge_model(runs[passed["run"]])
        if found is not None:
            name, model = found
            asked.setdefault(name, (model, []))[1].append((passed, failed))
    return asked


def ask(model: ModelConfig, card: Path, pairs: list[Boundary], plan: Plan, store: Store) -> list[Similarity]:
    """Return one judge's replies. A judge that cannot be had leaves its boundaries without a score."""
    tokens = plan.runs[0].config.judge.max_new_tokens
    with TokenBar(f"judge {model.name}") as bar:
        try:
            return judge_boundaries(Asker(open_engine(read_card(card), model), store, bar), pairs, tokens)
        except UserError as error:
            print(f"error: judge {model.name}: {error}", file=sys.stderr)
            return [
                Similarity(passed["run"], passed["task"], passed["sample"], passed["loop"], "", None)
                for passed, _ in pairs
            ]


if __name__ == "__main__":
    exit_with_one_line(main)
