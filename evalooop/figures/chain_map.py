"""Chain map: every chain as a column of loops, coloured by what became of each loop; one panel a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator

from evalooop.config import FigureConfig
from evalooop.figures.outcomes import OUTCOMES, chain_ends
from evalooop.figures.style import (
    LABEL_LENGTH,
    MUTED,
    PAPER,
    message,
    new_figure,
    run_labels,
    shorten,
    styled,
)

CAPTION = (
    "Each column is a chain, climbing from loop 1; its colour says what became of every loop, and blank "
    "loops were not reached. Chains are sorted by loops survived. Where many end in loop 1, they share one "
    "band, divided by why they ended."
)

MOST_OPEN_FAILURES = 8
"""If more chains than this end in loop 1, these become one band, so that the living ones can be seen."""
BAND_SHARE = 0.16
MOST_NAMED = 48
MOST_STACKED = 4
"""With more panels than this they stand two abreast, without task names."""
ROW_INCHES = 0.11
TITLE_INCHES = 0.34
NAME_INCHES = 0.065
KEY_INCHES = 0.55
"""Room for one loop, a panel's title, one letter of a task's name, the key of colours."""
COLUMN_INSET = 0.06
"""Paper left free on either side of a column, as a share of it: parts columns however many there are."""


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a chain in the order drawn: run, task, sample, max_loops, survived, end."""
    return chain_ends(chains)


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a panel for each run that has chains, in the order of the runs."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, "no chain was attempted")
    labels = run_labels(metrics["runs"])
    panels = {run: part for run in labels if not (part := table.filter(run=run)).is_empty()}
    abreast = 1 if len(panels) <= MOST_STACKED else 2
    rows = -(-len(panels) // abreast)
    names = {run: _column_names(_split(panel)[0]) if abreast == 1 else [] for run, panel in panels.items()}
    # Only the first panel of a row sets its height: all panels of an experiment have nearly the same M.
    loops = [panel["max_loops"][0] for panel in list(panels.values())[::abreast]]
    letters = sum(max(map(len, column_names), default=0) for column_names in names.values())
    height = ROW_INCHES * sum(loops) + TITLE_INCHES * rows + NAME_INCHES * letters + KEY_INCHES
    figure = new_figure(settings, height)
    grid = figure.subplots(rows, abreast, squeeze=False, gridspec_kw={"height_ratios": loops})
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, (run, panel) in zip(grid.flat, panels.items(), strict=False):
        _draw_panel(axes, panel, names[run])
        axes.set_title(shorten(labels[run], LABEL_LENGTH // abreast + 5), fontweight="bold", pad=4)
        axes.set_title(_summary(panel, brief=abreast > 1), loc="right", color=MUTED, fontsize=7, pad=4)
    ends = set(table["end"]) | ({"passed"} if table["survived"].max() else set())
    keys = [Patch(color=outcome.color, label=outcome.words) for name, outcome in OUTCOMES.items() if name in ends]
    figure.legend(
        handles=keys, loc="outside upper left", ncols=min(len(keys), 4), frameon=False, fontsize=7,
        handlelength=0.9, handleheight=0.9, columnspacing=1.4,
    )  # fmt: skip
    return figure


def _split(panel: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the chains drawn as columns and those drawn together as a band (perhaps none)."""
    failed_first = panel["survived"] == 0
    if failed_first.sum() <= MOST_OPEN_FAILURES:
        return panel, panel.clear()
    return panel.filter(~failed_first), panel.filter(failed_first)


def _column_names(columns: pl.DataFrame) -> list[str]:
    """Return names to write below the columns, without the benchmark's prefix; none if there are too many."""
    if len(columns) > MOST_NAMED:
        return []
    several = columns["sample"].n_unique() > 1
    return [
        shorten(task.rsplit("/", 1)[-1], 18) + (f" #{sample}" if several else "")
        for task, sample in columns.select("task", "sample").iter_rows()
    ]


def _draw_panel(axes: Axes, panel: pl.DataFrame, names: list[str]) -> None:
    columns, band = _split(panel)
    loops = panel["max_loops"][0]
    # One unit of x is a column. A band of its own unit scale takes a fixed share of the panel.
    width = max(len(columns), 1 if band.is_empty() else 0)
    band_width = (width * BAND_SHARE / (1 - BAND_SHARE) if width else 1.0) if len(band) else 0.0
    gap = 0.12 * band_width if width else 0.0
    survived, ends = columns["survived"].to_numpy(), columns["end"].to_numpy()
    place = np.arange(len(columns))
    _fill(axes, "passed", place, np.zeros(len(columns)), survived)
    for name in OUTCOMES.keys() - {"passed"}:
        chosen = ends == name
        _fill(axes, name, place[chosen], survived[chosen], np.ones(chosen.sum()))
    if len(band):
        _draw_band(axes, band, width + gap, band_width, loops)
    axes.hlines(range(1, loops), 0, width + gap + band_width, color=PAPER, linewidth=0.7)
    axes.set(xlim=(0, width + gap + band_width), ylim=(0, loops), ylabel="loop")
    axes.yaxis.set_major_locator(FixedLocator([0.5, *np.arange(4.5, loops - 0.5, 5), loops - 0.5]))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y + 0.5:.0f}")
    axes.tick_params(axis="y", length=0)
    axes.set_xticks(place[: len(names)] + 0.5, names, rotation=90, fontsize=5.5)
    axes.tick_params(axis="x", length=0, pad=1)


def _fill(axes: Axes, name: str, left: np.ndarray, bottom: np.ndarray, height: np.ndarray) -> None:
    """Draw all boxes of one outcome as a single path: hundreds of chains stay a small vector file."""
    boxes = [
        _box(x + COLUMN_INSET, y, 1 - 2 * COLUMN_INSET, rows)
        for x, y, rows in zip(left, bottom, height, strict=True)
        if rows
    ]
    if boxes:
        axes.add_patch(PathPatch(Path.make_compound_path(*boxes), facecolor=OUTCOMES[name].color, linewidth=0))


def _box(x: float, y: float, width: float, height: float) -> Path:
    return Path([(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)], closed=True)


def _draw_band(axes: Axes, band: pl.DataFrame, left: float, width: float, loops: int) -> None:
    """Draw the chains that ended in loop 1 as one cell, divided in proportion to why they did."""
    x = left
    for name in OUTCOMES:
        share = (band["end"] == name).sum() / len(band) * width
        if share:
            axes.add_patch(PathPatch(_box(x, 0, share, 1), facecolor=OUTCOMES[name].color, linewidth=0))
            x += share
    axes.text(
        left + width / 2,
        1.3,
        f"{len(band)} ended\nin loop 1",
        ha="center",
        va="bottom",
        fontsize=7,
        color=MUTED,
    )


def _summary(panel: pl.DataFrame, brief: bool) -> str:
    loops = panel["max_loops"][0]
    passed, through = (panel["survived"] > 0).sum(), (panel["survived"] == loops).sum()
    if brief:
        return f"{through} of {len(panel)} passed all {loops}"
    return f"{len(panel)} chains, {passed} passed loop 1, {through} passed all {loops}"
