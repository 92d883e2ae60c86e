"""Which model stands where, and how sure that is: runs that differ only in their model, compared on the same tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from evalooop import metrics
from evalooop.config import ScoreConfig
from evalooop.statistics import kendall, rank_correlation, spearman, task_weights

COHORT = ("dataset", "prompt_variant", "perturbation", "temperature", "seed", "max_loops")
"""What the runs of a ranking have in common."""


def rankings(
    runs: Iterable[dict[str, Any]], fates: dict[str, pl.DataFrame], settings: ScoreConfig
) -> list[dict[str, Any]]:
    """Return a ranking for each cohort of at least two runs with chains that count.

    Args:
        runs: scores of each run (``evalooop.scores.run_scores``).
        fates: by run, a row a chain with columns task, sustained and similarity; only the chains that count.
    """
    cohorts: dict[tuple, list[dict[str, Any]]] = {}
    for run in runs:
        if run["attempted"]:
            cohorts.setdefault(tuple(run[key] for key in COHORT), []).append(run)
    return [
        {"cohort": dict(zip(COHORT, cohort, strict=True)), **rank_models(members, fates, settings)}
        for cohort, members in cohorts.items()
        if len({run["model"] for run in members}) == len(members) > 1
    ]


def rank_models(
    runs: Sequence[dict[str, Any]], fates: dict[str, pl.DataFrame], settings: ScoreConfig
) -> dict[str, Any]:
    """Return the ranking of runs by ASL as a JSON-able object, best first.

    Tasks are drawn with replacement, the same for every run (paired), each with all its chains; a run's s_i are
    estimated anew in each resample. A chain that does not count is missing for its own run only.

    ``rank_low`` and ``rank_high`` bound the rank at the confidence level; ``outranks[i][j]`` is the share of resamples
    in which run i has the higher ASL than run j, ties half; ``groups`` are the longest stretches (first, last), from 0,
    of consecutive places no two of which can be told apart, which they can if one outranks the other in more than
    ``1 - (1 - confidence) / 2`` of the resamples. ``spearman`` and ``kendall`` relate pass@1 to ASL across models;
    their intervals are over models drawn with replacement (``evalooop.statistics.rank_correlation``).
    """
    ordered = sorted(runs, key=lambda run: -run["scores"]["asl"]["value"])
    asl = np.array([run["scores"]["asl"]["value"] for run in ordered])
    pass_at_1 = np.array([run["scores"]["pass_at_1"]["value"] for run in ordered])
    places = metrics.ranks(asl)
    estimates = _resampled_asl([fates[run["run"]] for run in ordered], ordered[0]["max_loops"], settings)
    low, high = _rank_bounds(estimates, settings.confidence)
    outranks = _outranks(estimates)
    return {
        "runs": [run["run"] for run in ordered],
        "rank": places.tolist(),
        "rank_low": low.tolist(),
        "rank_high": high.tolist(),
        "pass_rank": metrics.ranks(pass_at_1, ties=places).tolist(),
        "rank_change": metrics.rank_change(pass_at_1, places).tolist(),
        "outranks": outranks.round(4).tolist(),
        "groups": _groups(outranks, settings.confidence),
        "spearman": _correlation(spearman, pass_at_1, asl, settings),
        "kendall": _correlation(kendall, pass_at_1, asl, settings),
    }


def _resampled_asl(fates: Sequence[pl.DataFrame], max_loops: int, settings: ScoreConfig) -> NDArray[np.float64]:
    """Return the ASL of each run in each resample, shape (resamples, runs)."""
    tasks = sorted(set().union(*(fate["task"] for fate in fates)))
    place = {task: number for number, task in enumerate(tasks)}
    weights = task_weights(len(tasks), settings.resamples, settings.seed).astype(np.float64)
    estimates = np.empty((settings.resamples, len(fates)))
    for number, fate in enumerate(fates):
        tallies = np.zeros((3, len(tasks), max_loops + 1))
        for (task,), chains in fate.group_by("task", maintain_order=True):
            similarity = chains["similarity"].cast(pl.Float64).fill_null(np.nan).to_numpy()
            tallies[:, place[task]] = metrics.tally(chains["sustained"].to_numpy(), similarity, max_loops)
        estimates[:, number] = metrics.asl_of_tally(*(weights @ tally for tally in tallies))
    # A run none of whose tasks were drawn, as can be of a handful, has sustained nothing.
    return np.nan_to_num(estimates, nan=0.0)


def _rank_bounds(estimates: NDArray[np.float64], confidence: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    tail = (1 - confidence) / 2
    best = rankdata(-estimates, method="min", axis=1)
    worst = rankdata(-estimates, method="max", axis=1)
    low = np.quantile(best, tail, axis=0, method="inverted_cdf")
    high = np.quantile(worst, 1 - tail, axis=0, method="inverted_cdf")
    return low.astype(np.int64), high.astype(np.int64)


def _outranks(estimates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(row's ASL > column's), ties half, shape (runs, runs)."""
    above = [(estimates[:, [run]] > estimates).mean(0) for run in range(estimates.shape[1])]
    ties = [(estimates[:, [run]] == estimates).mean(0) for run in range(estimates.shape[1])]
    return np.array(above) + np.array(ties) / 2


def _groups(outranks: NDArray[np.float64], confidence: float) -> list[list[int]]:
    """Return the maximal stretches of consecutive places without a pair that can be told apart."""
    certain = 1 - (1 - confidence) / 2
    apart = np.maximum(outranks, outranks.T) > certain
    groups: list[list[int]] = []
    for first in range(len(outranks)):
        last = first
        while last + 1 < len(outranks) and not apart[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append([first, last])
    return groups


def _correlation(
    statistic: Callable[..., NDArray], x: NDArray, y: NDArray, settings: ScoreConfig
) -> dict[str, float | None]:
    found = rank_correlation(statistic, x, y, settings.resamples, settings.confidence, settings.seed)
    return {name: None if np.isnan(value) else value for name, value in asdict(found).items()}
