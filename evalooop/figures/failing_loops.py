"""Failing loops: in which loop the chains that passed loop 1 break."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from evalooop.config import FigureConfig
from evalooop.figures.cohort import families_of
from evalooop.figures.style import FAINT, INK, MUTED, PALETTE, message, new_figure, styled

CAPTION = (
    "Of the chains that passed loop 1 and broke later, the share that broke in each loop, by model family and for all "
    "together; in brackets the number of such chains. Loop 2 is the first that is fed by the model's own words."
)


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a (family, loop from 2 on): chains that failed in it, and their share of the family's; ``all``."""
    counts: dict[str, dict[int, int]] = {"all": {}}
    for run in metrics["runs"]:
        for name in ("all", run["family"]):
            for loop, number in enumerate(run["histogram"][1:-1], start=2):
                own = counts.setdefault(name, {})
                own[loop] = own.get(loop, 0) + number
    order = ["all", *families_of(metrics["runs"])]
    rows = [
        (name, loop, number, number / sum(counts[name].values()))
        for name in order
        if sum(counts[name].values())
        for loop, number in sorted(counts[name].items())
    ]
    columns = {"family": pl.String, "loop": pl.Int64, "chains": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, columns, orient="row")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a bar a family, divided by loops, the first of them darkest."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, "no chain passed loop 1 and broke later")
    families = table["family"].unique(maintain_order=True).to_list()
    if len(families) == 2:  # one family only is all there is
        families = families[:1]
    figure = new_figure(settings, 0.2 * len(families) + 0.8)
    axes = figure.subplots()
    loops = table["loop"].unique().sort().to_list()
    for place, family in enumerate(families):
        part = table.filter(family=family)
        left = 0.0
        for loop, share in part.select("loop", "share").iter_rows():
            fade = 1 - 0.85 * (loop - loops[0]) / max(len(loops) - 1, 1)
            axes.barh(
                place, share, left=left, height=0.72, color=PALETTE[0], alpha=fade, edgecolor="white", linewidth=0.4
            )
            if share > 0.06:
                ink = "white" if fade > 0.55 else INK
                axes.annotate(str(loop), (left + share / 2, place), ha="center", va="center", fontsize=6, color=ink)
            left += share
    totals = dict(table.group_by("family").agg(pl.col("chains").sum()).iter_rows())
    axes.set_yticks(range(len(families)), [f"{family} ({totals[family]:,})" for family in families])
    axes.set(xlim=(0, 1), ylim=(len(families) - 0.4, -0.6), xlabel="share of the chains that broke, by loop")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_title("numbers in the bars are loops", color=MUTED, fontsize=6.5)
    return figure
