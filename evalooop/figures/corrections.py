"""Corrections: what ASL becomes without API errors and without descriptions that hold the program."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from evalooop.config import FigureConfig
from evalooop.figures.style import FAINT, INK, MUTED, PALETTE, message, new_figure, run_labels, styled

CAPTION = (
    "ASL as scored (dot), without the chains that an API error ended (triangle) and observed only until a description "
    "leaks its program (square), for the runs that a correction moves most; places gained or lost among the models "
    "compared are written beside."
)
MARKS = {"without_infra": ("^", PALETTE[2], "without API errors"), "without_leaked": ("s", PALETTE[1], "without leaks")}
LEAST = 0.005
MOST_RUNS = 30


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a run: ASL three ways, null where unknown, and the places each correction moves it up."""
    columns = {"run": pl.String} | dict.fromkeys(("scored", *MARKS), pl.Float64)
    columns |= {f"{name}_move": pl.Int64 for name in MARKS}
    rows = [
        (run["run"], *(run["asl"][name] for name in ("scored", *MARKS)), *(run["move"][name] for name in MARKS))
        for run in metrics["audit"]["runs"]
    ]
    return pl.DataFrame(rows, columns, orient="row")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a row a run that a correction changes, the largest change on top."""
    change = pl.max_horizontal((pl.col(name) - pl.col("scored")).abs() for name in MARKS)
    table = numbers(chains, metrics).with_columns(change.alias("change")).filter(pl.col("change") >= LEAST)
    if table.is_empty():
        return message(settings, "no correction changes a score: nothing was found that calls for one")
    table = table.sort("change", descending=True).head(MOST_RUNS)
    labels = run_labels(metrics["runs"])
    figure = new_figure(settings, 0.19 * len(table) + 0.9)
    axes = figure.subplots()
    for place, row in enumerate(table.iter_rows(named=True)):
        axes.plot(
            row["scored"], place, "o", color=INK, markersize=4, label="as scored" if place == 0 else None, zorder=3
        )
        right, moves = row["scored"], []
        for name, (marker, color, _) in MARKS.items():
            if row[name] is None or abs(row[name] - row["scored"]) < LEAST:
                continue
            axes.hlines(place, *sorted((row["scored"], row[name])), color=color, linewidth=1.2)
            axes.plot(row[name], place, marker, color=color, markersize=4)
            right = max(right, row[name])
            if row[f"{name}_move"]:
                moves.append((f"{row[f'{name}_move']:+d}", color))
        for number, (words, color) in enumerate(moves):
            offset = (7 + 15 * number, 0)
            axes.annotate(
                words, (right, place), offset, textcoords="offset points", va="center", fontsize=6, color=color
            )
    for marker, color, words in MARKS.values():
        axes.plot([], [], marker, color=color, markersize=4, label=words)
    axes.set_yticks(range(len(table)), [labels[run] for run in table["run"]])
    axes.set(ylim=(len(table) - 0.4, -0.6), xlabel="ASL")
    axes.set_xlim(0, axes.get_xlim()[1] * 1.03)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper right",
        ncols=3,
        fontsize=6.5,
        frameon=False,
        labelcolor=MUTED,
    )
    return figure
