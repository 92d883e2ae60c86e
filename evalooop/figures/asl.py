"""ASL: the headline score of each run with its interval, beside its unweighted form."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evalooop.config import FigureConfig
from evalooop.figures.style import FAINT, INK, MUTED, PALETTE, message, new_figure, run_labels, styled

CAPTION = (
    "Average sustainable loops (0 to M) with its bootstrap interval over tasks. The ring is the unweighted "
    "form, which takes the words at every boundary as true to the task."
)

COLUMNS = {
    "run": pl.String,
    "asl": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "unweighted": pl.Float64,
    "unweighted_low": pl.Float64,
    "unweighted_high": pl.Float64,
}


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a run: ASL and unweighted ASL with their intervals, null where nothing was attempted."""
    rows = []
    for run in metrics["runs"]:
        asl, unweighted = run["scores"]["asl"], run["scores"]["asl_unweighted"]
        rows.append((run["run"], *(score[part] for score in (asl, unweighted) for part in ("value", "low", "high"))))
    return pl.DataFrame(rows, COLUMNS, orient="row")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a dot and its whiskers for each run, in the order of the runs, first on top."""
    table = numbers(chains, metrics)
    if table["asl"].is_null().all():
        return message(settings, "no chain was attempted")
    labels = run_labels(metrics["runs"])
    figure = new_figure(settings, 0.24 * len(table) + 0.75)
    axes = figure.subplots()
    axes.set(
        ylim=(len(table) - 0.4, -0.6),
        xlabel="average sustainable loops: ASL with its interval (dot), unweighted ASL (ring)",
    )
    axes.set_yticks(range(len(table)), [labels[run] for run in table["run"]])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    for place, row in enumerate(table.iter_rows(named=True)):
        if row["asl"] is None:
            axes.annotate("  no chain attempted", (0, place), va="center", color=MUTED, fontsize=7)
            continue
        if row["low"] is not None:
            axes.hlines(place, row["low"], row["high"], color=PALETTE[0], linewidth=1.4)
        hollow = {"markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 0.7}
        axes.plot(row["unweighted"], place, "o", markersize=6.5, **hollow)
        axes.plot(row["asl"], place, "o", markersize=3.6, color=PALETTE[0])
        right = max(value for value in (row["high"], row["unweighted"], row["asl"]) if value is not None)
        axes.annotate(f"{row['asl']:.2f}", (right, place), (7, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    return figure
