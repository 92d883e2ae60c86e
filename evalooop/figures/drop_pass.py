"""Drop against pass@1: do models that solve more tasks lose fewer of them on the way?"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from evalooop.config import FigureConfig
from evalooop.figures.cohort import MISSING, families_of, look_of, ranked_runs
from evalooop.figures.style import FAINT, label_points, message, new_figure, shorten, styled

CAPTION = (
    "Share of the tasks that a model solves at first and then loses on the way to the last loop, against the share it "
    "solves at first. Whiskers are bootstrap intervals over tasks."
)


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a model: pass@1 and pass drop in [0, 1] with the intervals of both."""
    rows = []
    for run in ranked_runs(metrics):
        row = {"run": run["run"], "model": run["model"], "family": run["family"]}
        for name in ("pass_at_1", "pass_drop"):
            score = run["scores"][name]
            row |= {name: score["value"], f"{name}_low": score["low"], f"{name}_high": score["high"]}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a point a model; the largest drops and the highest pass@1 are labelled."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, MISSING)
    figure = new_figure(settings, 3.2)
    axes = figure.subplots()
    for family in families_of(table.to_dicts()):
        part = table.filter(family=family)
        color, marker = look_of(family)
        axes.vlines(
            part["pass_at_1"], part["pass_drop_low"], part["pass_drop_high"], color=color, linewidth=0.6, alpha=0.6
        )
        axes.hlines(
            part["pass_drop"], part["pass_at_1_low"], part["pass_at_1_high"], color=color, linewidth=0.6, alpha=0.6
        )
        axes.plot(part["pass_at_1"], part["pass_drop"], marker, color=color, markersize=4, label=family)
    axes.set(xlabel="pass@1", ylabel="pass drop")
    axes.set_ylim(bottom=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
    steep = table.sort("pass_drop", descending=True).head(6)
    named = pl.concat([steep, table.sort("pass_at_1", descending=True).head(3)]).unique("run", maintain_order=True)
    names = [(row["pass_at_1"], row["pass_drop"], shorten(row["model"], 24)) for row in named.to_dicts()]
    label_points(axes, names, table.select("pass_at_1", "pass_drop").rows())
    return figure
