"""Rank shift: where models stand by pass@1 and where by ASL."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from evalooop.config import FigureConfig
from evalooop.figures.cohort import MISSING, look_of, ranked_runs
from evalooop.figures.style import MUTED, message, new_figure, shorten, styled

CAPTION = (
    "Left, the rank by pass@1, as usual benchmarks give it; right, the rank by ASL. Models that move by at least a "
    "tenth of the field are drawn in their family's colour."
)


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a model: its ranks by pass@1 and by ASL (1 is best), and how many places it gains."""
    rows = [
        (run["run"], run["model"], run["place"]["pass_rank"], run["place"]["rank"], run["place"]["rank_change"])
        for run in ranked_runs(metrics)
    ]
    columns = {"run": pl.String, "model": pl.String, "pass_rank": pl.Int64, "asl_rank": pl.Int64, "change": pl.Int64}
    return pl.DataFrame(rows, columns, orient="row")


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw a line a model between its two ranks, both ends labelled."""
    table = numbers(chains, metrics)
    if table.is_empty():
        return message(settings, MISSING)
    families = {run["run"]: run["family"] for run in metrics["runs"]}
    narrow = settings.width < 5
    notable = max(2, round(len(table) / 10))
    figure = new_figure(settings, 0.125 * len(table) + 0.5)
    axes = figure.subplots()
    axes.set(xlim=(-0.02, 1.02), ylim=(len(table) + 0.6, 0.2))
    axes.set_xticks([0, 1], ["by pass@1", "by ASL"] if narrow else ["rank by pass@1", "rank by ASL"])
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", length=0)
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    for row in table.sort(pl.col("change").abs()).iter_rows(named=True):
        moves = abs(row["change"]) >= notable
        color = look_of(families[row["run"]])[0] if moves else "#BBBBBB"
        ends = (row["pass_rank"], row["asl_rank"])
        axes.plot((0, 1), ends, color=color, linewidth=1.3 if moves else 0.7, marker="o", markersize=2.2)
        name = shorten(row["model"], 22 if narrow else 30)
        gained = f" ({row['change']:+d})" if row["change"] else ""
        ink = {"color": color if moves else MUTED, "fontsize": 6, "va": "center"}
        # In a narrow column the name stands once, where there is most room for the lines.
        left = f"{ends[0]}" if narrow else f"{name}  {ends[0]}"
        axes.annotate(left, (0, ends[0]), (-5, 0), textcoords="offset points", ha="right", **ink)
        axes.annotate(f"{ends[1]}  {name}{gained}", (1, ends[1]), (5, 0), textcoords="offset points", ha="left", **ink)
    return figure
