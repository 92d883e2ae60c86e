"""Cost: tokens and time of each loop, over all sessions of the experiment."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from evalooop.config import FigureConfig
from evalooop.figures.style import PALETTE, message, new_figure, styled

CAPTION = (
    "What each loop cost, over all sessions: tokens read (prompts) and written (programs and descriptions), "
    "and wall time of the jobs that asked the model and ran its programs in the sandbox. What a store already held "
    "costs a job no time."
)

COLUMNS = {
    "session": pl.String,
    "loop": pl.Int64,
    "stage": pl.String,
    "seconds": pl.Float64,
    "model_seconds": pl.Float64,
    "cpu_seconds": pl.Float64,
    "prompt_tokens": pl.Int64,
    "new_tokens": pl.Int64,
    "usd": pl.Float64,
    "asked": pl.Int64,
    "asked_tokens": pl.Int64,
    "asked_seconds": pl.Float64,
    "stored": pl.Int64,
    "failed": pl.Int64,
    "retries": pl.Int64,
    "programs": pl.Int64,
}
TIME_UNITS = ((3600, "hours"), (60, "minutes"), (1, "seconds"))
BAR = 0.38


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a (session, loop, stage): seconds, tokens and counts, null where a stage has none."""
    stages = metrics.get("cost", {}).get("stages", [])
    rows = [tuple(stage.get(column) for column in COLUMNS) for stage in stages]
    return pl.DataFrame(rows, COLUMNS, orient="row").sort("session", "loop", "stage")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw tokens on the left and wall time on the right, two bars a loop each."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, "no chain was attempted")
    figure = new_figure(settings, 2.3)
    left, right = figure.subplots(1, 2)
    asked = _by_loop(table.filter(stage="generate"))
    judged = _by_loop(table.filter(stage="execute"))
    _bars(left, "tokens", PALETTE[:2], ("read", asked, "prompt_tokens", 1), ("written", asked, "new_tokens", 1))
    left.yaxis.set_major_formatter(EngFormatter(sep=""))
    longest = max((part["seconds"].max() or 0.0 for part in (asked, judged)), default=0.0)
    unit, name = next((unit for unit in TIME_UNITS if longest >= 2 * unit[0]), TIME_UNITS[-1])
    _bars(right, name, PALETTE[2:4], ("model", asked, "seconds", unit), ("sandbox", judged, "seconds", unit))
    return figure


def _by_loop(table: pl.DataFrame) -> pl.DataFrame:
    return table.group_by("loop").agg(pl.col("seconds", "prompt_tokens", "new_tokens").sum()).sort("loop")


def _bars(axes: Axes, title: str, colors: tuple[str, ...], *series: tuple[str, pl.DataFrame, str, float]) -> None:
    """Draw two bars a loop; a series is its name, its table by loop, its column, the unit to divide by."""
    for side, (name, table, column, unit) in enumerate(series):
        offset = (side - 0.5) * BAR
        heights = table[column].cast(pl.Float64).fill_null(0) / unit
        axes.bar(table["loop"] + offset, heights, width=BAR * 0.92, color=colors[side], label=name)
    axes.set(xlabel="loop", ylim=(0, None), title=title)
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.legend(
        frameon=False, fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 0.99), ncols=2, borderpad=0,
        handlelength=0.9, handleheight=0.9, columnspacing=1.2,
    )  # fmt: skip
