"""ASL under every condition: prompts and attacks down, temperatures across, one panel a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from evalooop.config import FigureConfig
from evalooop.figures.style import INK, message, new_figure, shorten, styled

CAPTION = (
    "ASL with its interval under every prompt (and attack, where there are any) and temperature. One colour scale for "
    "all models: what differs less than the intervals are wide is no difference."
)
MISSING = "a study of conditions needs a sweep of prompts, temperatures or attacks"
MOST_MODELS = 12


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a run of a study: model, what it was asked with, ASL with its interval."""
    rows = []
    for study in metrics["reliability"]["studies"]:
        for run in metrics["runs"]:
            if (run["dataset"], run["max_loops"]) == (study["dataset"], study["max_loops"]) and run["attempted"]:
                words = run["prompt_variant"]
                words += "" if run["perturbation"] == "none" else f", {run['perturbation']}"
                asl = run["scores"]["asl"]
                rows.append(
                    (
                        study["dataset"],
                        run["model"],
                        words,
                        run["temperature"],
                        *(asl[k] for k in ("value", "low", "high")),
                    )
                )
    columns = {"dataset": pl.String, "model": pl.String, "words": pl.String, "temperature": pl.Float64}
    columns |= dict.fromkeys(("asl", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, columns, orient="row")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a grid of cells for each (benchmark, model), the score and its interval written in each."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, MISSING)
    panels = table.partition_by("dataset", "model", maintain_order=True)[:MOST_MODELS]
    rows = [panel["words"].n_unique() for panel in panels]
    figure = new_figure(settings, sum(0.36 * number + 0.62 for number in rows))
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=[number + 1 for number in rows])
    least, most = table["asl"].min(), max(table["asl"].max(), table["asl"].min() + 0.01)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        words = panel["words"].unique(maintain_order=True).to_list()
        temperatures = panel["temperature"].unique().sort().to_list()
        cells = np.full((len(words), len(temperatures)), np.nan)
        for row in panel.iter_rows(named=True):
            place = words.index(row["words"]), temperatures.index(row["temperature"])
            cells[place] = row["asl"]
            dark = (row["asl"] - least) / (most - least) > 0.6
            text = f"{row['asl']:.2f}" + ("" if row["low"] is None else f"\n{row['low']:.2f}–{row['high']:.2f}")
            axes.text(place[1], place[0], text, ha="center", va="center", fontsize=6, color="white" if dark else INK)
        axes.imshow(cells, cmap="Blues", vmin=least, vmax=most, aspect="auto")
        axes.set_xticks(range(len(temperatures)), [f"T = {value:g}" for value in temperatures])
        axes.set_yticks(range(len(words)), [shorten(text, 30) for text in words])
        axes.tick_params(length=0)
        axes.set_title(f"{panel['model'][0]} on {panel['dataset'][0]}")
        for spine in axes.spines.values():
            spine.set_visible(False)
    return figure
