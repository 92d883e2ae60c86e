"""Survival: the share of tasks that still pass after each loop, one line a run."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from evalooop.config import FigureConfig
from evalooop.figures.cohort import look_of
from evalooop.figures.style import FAINT, MUTED, label_lines, line_style, message, new_figure, run_labels, styled

CAPTION = (
    "Share of the attempted tasks that passed this loop and every loop before it. "
    "The height at loop 1 is pass@1; a level line means that the model keeps what it understood. Of many models, those "
    "that end highest, end lowest or lose most are named."
)

# Beyond so many lines only the telling ones are named.
MOST_LABELLED = 14


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a (run, loop): run, loop (1..M), share in [0, 1] or null where nothing was attempted."""
    rows = [(run["run"], loop, share) for run in metrics["runs"] for loop, share in enumerate(run["survival"], start=1)]
    return pl.DataFrame(rows, {"run": pl.String, "loop": pl.Int64, "share": pl.Float64}, orient="row")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw one directly labelled line a run."""
    table = numbers(chains, metrics).drop_nulls("share")
    if table.is_empty():
        return message(settings, "no chain was attempted")
    labels = run_labels(metrics["runs"])
    crowded = table["run"].n_unique() > MOST_LABELLED
    named = _telling(table) if crowded else set(labels)
    figure = new_figure(settings, max(2.6, 0.16 * len(named) + 1.4))
    axes = figure.subplots()
    last_loop = table["loop"].max()
    axes.set(xlim=(1, last_loop + 0.0001), ylim=(0, _top(table["share"].max())))
    axes.set(xlabel="loop", ylabel="tasks still passing")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_locator(MaxNLocator(last_loop, integer=True))
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    ends = []
    families = {run["run"]: run["family"] for run in metrics["runs"]}
    for index, run in enumerate(labels):
        line = table.filter(run=run)
        if line.is_empty():
            continue
        if run not in named:
            axes.plot(line["loop"], line["share"], color=MUTED, alpha=0.35, linewidth=0.7, clip_on=False)
            continue
        look = {"color": look_of(families[run])[0]} if crowded else line_style(index)
        axes.plot(line["loop"], line["share"], **look, marker="o", markersize=2.5, clip_on=False)
        ends.append((line["loop"][-1], line["share"][-1], f"{labels[run]}  {line['share'][-1]:.0%}", look["color"]))
    label_lines(axes, ends)
    return figure


def _telling(table: pl.DataFrame) -> set[str]:
    """Return the runs that are named where all cannot be: those that end highest and lowest, and that lose most."""
    ends = table.sort("loop").group_by("run", maintain_order=True).agg(pl.col("share").first().alias("first"), "share")
    ends = ends.with_columns(pl.col("share").list.last(), (pl.col("first") - pl.col("share").list.last()).alias("lost"))
    steepest = ends.sort("lost", descending=True).head(4)
    by_end = ends.sort("share")
    return {*by_end.head(3)["run"], *by_end.tail(3)["run"], *steepest["run"]}


def _top(share: float) -> float:
    """Return the upper end of the axis: the next fifth above a high curve, the next tenth above a low one."""
    steps = 5 if share > 0.4 else 10
    return max(math.ceil(share * steps), 1) / steps
