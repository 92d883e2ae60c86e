"""The main table with intervals: rank, ASL, pass@1 and drop of every model, and which cannot be told apart."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evalooop.config import FigureConfig
from evalooop.figures.cohort import MISSING, largest_ranking, look_of, ranked_runs
from evalooop.figures.style import FAINT, INK, MUTED, message, new_figure, shorten, styled

CAPTION = (
    "Models by ASL, with bootstrap intervals over tasks for the score and for the rank. Bars on the right join "
    "neighbours no two of which can be told apart. In brackets, how many places a model gains on its rank by pass@1."
)
ROW = 0.145


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a model, best first: ranks with their interval, ASL with its interval, pass@1, drop."""
    rows = []
    for run in ranked_runs(metrics):
        asl, scores = run["scores"]["asl"], run["scores"]
        shares = {"pass_at_1": scores["pass_at_1"]["value"], "pass_drop": scores["pass_drop"]["value"]}
        interval = {"asl": asl["value"], "asl_low": asl["low"], "asl_high": asl["high"]}
        rows.append({"run": run["run"], "model": run["model"], **run["place"], **interval, **shares})
    return pl.DataFrame(rows, infer_schema_length=None)


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a row a model: its numbers as text, its ASL as dot and whiskers."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, MISSING)
    families = {run["run"]: run["family"] for run in metrics["runs"]}
    narrow = settings.width < 5
    figure = new_figure(settings, ROW * len(table) + 0.75)
    text, axes, bars = figure.subplots(1, 3, width_ratios=(3.4 if narrow else 2.6, 1.5, 0.4), sharey=True)
    text.set(xlim=(0, 1), ylim=(len(table) - 0.4, -1.1))
    columns, size = _columns(narrow), 5.5 if narrow else 6.5
    for x, title, _, side in columns:
        text.text(x, -0.85, title, fontsize=size - 0.5, color=MUTED, ha=side, va="center")
    for place, row in enumerate(table.iter_rows(named=True)):
        for x, _, words, side in columns:
            text.text(x, place, words(row), fontsize=size, ha=side, va="center")
        color, marker = look_of(families[row["run"]])
        axes.hlines(place, row["asl_low"], row["asl_high"], color=color, linewidth=1.1)
        axes.plot(row["asl"], place, marker, markersize=3, color=color)
    for side in (text, bars):
        side.axis("off")
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("ASL")
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _group_bars(bars, largest_ranking(metrics)["groups"])
    return figure


def _columns(narrow: bool) -> list[tuple[float, str, Any, str]]:
    """Return (place in [0, 1], title, text of a row, alignment) of the text columns."""
    columns = [
        (0.09, "rank", lambda row: f"{row['rank']}", "right"),
        (0.25 if narrow else 0.2, "", lambda row: f"{row['rank_low']}–{row['rank_high']}", "right"),
        (0.29 if narrow else 0.23, "model", lambda row: shorten(row["model"], 22 if narrow else 28), "left"),
        (0.99 if narrow else 0.71, "ASL", lambda row: f"{row['asl']:.2f}", "right"),
    ]
    if narrow:
        return columns
    passing = (0.9, "pass@1", lambda row: f"{row['pass_at_1']:.0%} ({row['rank_change']:+d})", "right")
    return [*columns, passing, (1.0, "drop", lambda row: f"{row['pass_drop']:.0%}", "right")]


def _group_bars(axes: Axes, groups: list[list[int]]) -> None:
    """Draw the stretches of models that cannot be told apart, side by side where they overlap."""
    ends: list[int] = []
    for first, last in groups:
        lane = next((number for number, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        axes.vlines(lane, first - 0.3, last + 0.3, color=INK, linewidth=1)
    axes.set_xlim(-0.8, max(len(ends) - 0.2, 3))
