"""How alike conditions order models, or tasks: rank correlations of every pair of conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from evalooop.config import FigureConfig
from evalooop.figures.condition_heat import MISSING
from evalooop.figures.style import INK, message, new_figure, shorten, styled

CAPTION = (
    "Spearman's rank correlation between conditions with its interval: of ASL across models, or, where there are fewer "
    "than five models, of the loops sustained across tasks. 1 means that a condition changes no order."
)


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a pair of conditions: over what, how many pairs of values, Spearman and Kendall with intervals."""
    rows = []
    for study in metrics["reliability"]["studies"]:
        for pair in study["agreement"]:
            row = {"dataset": study["dataset"], "first": pair["first"], "second": pair["second"], "over": study["over"]}
            row["pairs"] = pair["pairs"]
            for name in ("spearman", "kendall"):
                row |= {
                    f"{name}{end}": pair[name][key] for end, key in (("", "value"), ("_low", "low"), ("_high", "high"))
                }
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw the lower half of the matrix for each benchmark."""
    found = [study for study in metrics["reliability"]["studies"] if study["agreement"]]
    if not found:
        return message(settings, MISSING)
    sizes = [len(study["conditions"]) for study in found]
    figure = new_figure(settings, sum(0.3 * size + 1.1 for size in sizes))
    grid = figure.subplots(len(found), 1, squeeze=False, height_ratios=sizes)
    for axes, study in zip(grid[:, 0], found, strict=True):
        labels = [condition["label"] for condition in study["conditions"]]
        cells = np.full((len(labels), len(labels)), np.nan)
        for pair in study["agreement"]:
            place = labels.index(pair["second"]), labels.index(pair["first"])
            rho = pair["spearman"]
            cells[place] = np.nan if rho["value"] is None else rho["value"]
            text = "–" if rho["value"] is None else f"{rho['value']:.2f}"
            if rho["low"] is not None and len(labels) <= 8:
                text += f"\n{rho['low']:.2f}–{rho['high']:.2f}"
            pale = rho["value"] is None or rho["value"] < 0.6
            axes.text(place[1], place[0], text, ha="center", va="center", fontsize=5.5, color=INK if pale else "white")
        axes.imshow(cells, cmap="Blues", vmin=-0.2, vmax=1, aspect="auto")
        axes.set_yticks(range(1, len(labels)), [shorten(label, 30) for label in labels[1:]])
        axes.set_xticks(range(len(labels) - 1), [shorten(label, 30) for label in labels[:-1]], rotation=40, ha="right")
        axes.set(xlim=(-0.5, len(labels) - 1.5), ylim=(len(labels) - 0.5, 0.5))
        axes.tick_params(length=0)
        axes.set_title(f"{study['dataset']}, across {study['over']}")
        for spine in axes.spines.values():
            spine.set_visible(False)
    return figure
