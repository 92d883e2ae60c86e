"""Size against ASL: how much of robustness is size, and which models lie off the trend."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from scipy.stats import linregress, spearmanr, t

from evalooop.config import FigureConfig
from evalooop.figures.cohort import families_of, look_of, ranked_runs
from evalooop.figures.style import FAINT, INK, MUTED, label_points, message, new_figure, shorten, styled

CAPTION = (
    "ASL against the number of parameters (all experts counted), for models that say how large they are. The line is "
    "the least-squares fit on the logarithm of size, the band its 95 % confidence interval; below, how far each model "
    "lies off the line."
)
FEWEST = 4


def numbers(chains: pl.DataFrame, metrics: dict[str, Any]) -> pl.DataFrame:
    """Return one row a model of known size: billions of parameters, ASL, and its residual from the fit."""
    runs = [run for run in ranked_runs(metrics) if run["size"]]
    rows = [(run["run"], run["model"], run["family"], run["size"], run["scores"]["asl"]["value"]) for run in runs]
    columns = {"run": pl.String, "model": pl.String, "family": pl.String, "size": pl.Float64, "asl": pl.Float64}
    table = pl.DataFrame(rows, columns, orient="row")
    if table["size"].n_unique() < FEWEST:
        return table.with_columns(pl.lit(None, pl.Float64).alias("residual"))
    fit = linregress(np.log10(table["size"]), table["asl"])
    return table.with_columns((pl.col("asl") - fit.intercept - fit.slope * pl.col("size").log10()).alias("residual"))


@styled
def draw(chains: pl.DataFrame, metrics: dict[str, Any], settings: FigureConfig) -> Figure:
    """Draw the trend with its band above, the residuals below, the largest of them labelled."""
    table = numbers(chains, metrics)
    if table["residual"].is_null().all():
        return message(settings, f"a trend needs models of at least {FEWEST} known sizes")
    figure = new_figure(settings, 4.6)
    upper, lower = figure.subplots(2, 1, height_ratios=(1.3, 1), sharex=True)
    sizes, scores = table["size"].to_numpy(), table["asl"].to_numpy()
    _trend(upper, sizes, scores)
    for axes, column in ((upper, "asl"), (lower, "residual")):
        for family in families_of(table.to_dicts()):
            part = table.filter(family=family)
            color, marker = look_of(family)
            axes.plot(part["size"], part[column], marker, color=color, markersize=4, label=family, clip_on=False)
        axes.grid(color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)
    upper.set(xscale="log", ylabel="ASL")
    upper.set_ylim(bottom=0)
    rho = spearmanr(sizes, scores).statistic
    upper.set_title(f"{len(table)} models, Spearman {rho:.2f}", color=MUTED)
    lower.axhline(0, color=INK, linewidth=0.8)
    lower.set(xlabel="billions of parameters", ylabel="off the trend")
    lower.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    lower.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    lower.xaxis.set_minor_formatter(NullFormatter())
    furthest = table.sort(pl.col("residual").abs(), descending=True).head(8)
    names = [(row["size"], row["residual"], shorten(row["model"], 28)) for row in furthest.to_dicts()]
    label_points(lower, names, table.select("size", "residual").rows())
    upper.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
    return figure


def _trend(axes: Axes, sizes: np.ndarray, scores: np.ndarray) -> None:
    """Draw the fit and the confidence band of its mean (Student's t)."""
    x = np.log10(sizes)
    fit = linregress(x, scores)
    grid = np.linspace(x.min(), x.max(), 100)
    line = fit.intercept + fit.slope * grid
    spread = np.sqrt(((scores - fit.intercept - fit.slope * x) ** 2).sum() / max(len(x) - 2, 1))
    error = spread * np.sqrt(1 / len(x) + (grid - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum())
    half = t.ppf(0.975, max(len(x) - 2, 1)) * error
    axes.fill_between(10**grid, line - half, line + half, color=FAINT, linewidth=0)
    axes.plot(10**grid, line, color=INK, linewidth=1)
