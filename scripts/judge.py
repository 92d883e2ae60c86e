"""Ask the judges about every boundary of an experiment, and about pairs whose likeness is known."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalooop.chains import boundaries
from evalooop.config import JudgeConfig, ModelConfig
from evalooop.controls import Pair, draw_controls
from evalooop.engines import open_engine
from evalooop.engines.embedding import Embedder
from evalooop.errors import UserError, exit_with_one_line
from evalooop.files import write_atomically
from evalooop.judge import embed_pairs, judge_pairs, lost_pairs
from evalooop.loop import Asker
from evalooop.models import read_card
from evalooop.orphan import end_with_workflow
from evalooop.plan import Run, from_option, judge_model, read_runs
from evalooop.progress import TokenBar
from evalooop.records import BOUNDARY, Similarity, write_rows
from evalooop.store import Store

Question = tuple[str, Pair]
"""A pair of rows of the chain table with its kind."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.judge", description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="runs.json of each session")
    parser.add_argument("--judges", nargs="*", default=[], help="JSON of JudgeConfig each")
    parser.add_argument("--main", required=True, help="name of the judge whose scores count; none if nobody's do")
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--cards", type=Path, required=True, help="folder of the model cards")
    parser.add_argument("--store", type=Path, required=True, help="completion store")
    parser.add_argument("--out", type=Path, required=True, help="what the main judge says of the boundaries")
    parser.add_argument("--others", type=Path, required=True, help="controls, and what the other judges say")
    parser.add_argument("--timing", type=Path, required=True)
    arguments = parser.parse_args()
    end_with_workflow()
    judges = [from_option(JudgeConfig, "judge", "--judges", text) for text in arguments.judges]
    rows: list[Similarity] = []
    timings = []
    if judges:
        chains = pl.read_parquet(arguments.chains)
        pairs = boundaries(chains)
        # One loop of a chain is material enough for controls, and all of them would be gigabytes.
        passed = chains.filter("passed").unique(["run", "task"], keep="first", maintain_order=True).to_dicts()
        runs = read_runs(arguments.runs)
        with Store(arguments.store) as store:
            for judge in judges:
                for name, (model, questions) in by_model(runs, judge, pairs, passed).items():
                    started = time.monotonic()
                    replies, counts = ask(judge, model, arguments.cards / f"{name}.json", questions, store)
                    rows += replies
                    took = {"seconds": time.monotonic() - started, **counts}
                    timings.append({"session": name, "stage": "judge", **took})
    counting = [row for row in rows if row.judge == arguments.main and row.kind == BOUNDARY]
    write_rows(arguments.out, counting)
    write_rows(arguments.others, [row for row in rows if row.judge != arguments.main or row.kind != BOUNDARY])
    write_atomically(arguments.timing, json.dumps(timings) + "\n")


def by_model(
    runs: Iterable[Run], judge: JudgeConfig, pairs: Iterable[Pair], passed: Iterable[dict[str, Any]]
) -> dict[str, tuple[ModelConfig, list[Question]]]:
    """Return what each model that judges is asked about, by the name of its card: its boundaries and its controls."""
    cards = {run.name: judge_model(run, judge) for run in runs}
    models = dict(card for card in cards.values() if card is not None)
    questions: dict[str, list[Question]] = {name: [] for name in models}
    material: dict[str, list[dict[str, Any]]] = {name: [] for name in models}
    for first, second in pairs:
        if card := cards[first["run"]]:
            questions[card[0]].append((BOUNDARY, (first, second)))
    for row in passed:
        if card := cards[row["run"]]:
            material[card[0]].append(row)
    return {
        name: (model, [*questions[name], *draw_controls(material[name])])
        for name, model in models.items()
        if questions[name]
    }


def ask(
    judge: JudgeConfig, model: ModelConfig, card: Path, questions: Sequence[Question], store: Store
) -> tuple[list[Similarity], dict[str, Any]]:
    """Return one model's replies and what was asked of it. One that cannot be had leaves its boundaries unscored."""
    try:
        if judge.method == "embedding":
            return embed_pairs(judge.name, Embedder(read_card(card)), questions), {}
        with TokenBar(f"judge {model.name}") as bar:
            asker = Asker(open_engine(read_card(card), model), store, bar)
            return judge_pairs(judge.name, asker, questions, judge.max_new_tokens), asker.counts(model.price)
    except UserError as error:
        print(f"error: judge {model.name}: {error}", file=sys.stderr)
        return lost_pairs(judge.name, questions, str(error)), {}


if __name__ == "__main__":
    exit_with_one_line(main)
