"""Bootstrap intervals over tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

FEWEST_PAIRS = 4
"""Pairs that a rank correlation is given for."""

# Resamples computed at a time: pairs of pairs of a hundred models would be gigabytes otherwise.
BATCH = 200


@dataclass(frozen=True)
class Interval:
    """A score with the bounds of its interval; all three are NaN if there was nothing to score."""

    value: float
    low: float
    high: float


def interval(
    statistic: Callable[[NDArray], float],
    table: ArrayLike,
    tasks: Sequence[str],
    resamples: int,
    confidence: float,
    seed: int,
) -> Interval:
    """Return a statistic of a table of chains with its percentile bootstrap interval over tasks.

    Tasks are drawn with replacement, each with all its chains, since samples of one task are no independent
    evidence. Everything the statistic estimates is estimated anew in each resample (the s_i of ASL too).
    The draws depend on seed and number of tasks only and tasks are taken in the order of their ids, so the
    order of rows is without effect, and the intervals of two runs over the same tasks rest on the same draws.

    ``scipy.stats.bootstrap`` would do the same for independent rows; it knows no clusters. Resamples for
    which the statistic is NaN (no chain passed loop 1, say) are left out.

    Args:
        statistic: from rows of the table, in any number, to a number.
        table: one row a chain, shape (chains, ...), such as columns (sustained, similarity).
        tasks: the task of each row, shape (chains,).
        resamples: how many, at least 1.
        confidence: level in (0, 1).
        seed: of the draws.

    Raises:
        ValueError: table and tasks differ in length.
    """
    rows = np.asarray(table)
    if len(rows) != len(tasks):
        raise ValueError(f"{len(rows)} rows but {len(tasks)} tasks")
    value = float(statistic(rows))
    if not len(rows):
        return Interval(value, float("nan"), float("nan"))
    names, task_of_row = np.unique(np.asarray(tasks), return_inverse=True)
    by_task = np.argsort(task_of_row, kind="stable")
    ordered, task_of_row = rows[by_task], task_of_row[by_task]
    weights = task_weights(len(names), resamples, seed)
    estimates = [statistic(np.repeat(ordered, times[task_of_row], axis=0)) for times in weights]
    return percentile_interval(value, estimates, confidence)


def task_weights(tasks: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Return how often each task is drawn in each resample, shape (resamples, tasks), rows adding up to ``tasks``."""
    draws = np.random.default_rng(seed)
    weights = np.empty((resamples, tasks), dtype=np.int64)
    for row in weights:
        row[:] = np.bincount(draws.integers(tasks, size=tasks), minlength=tasks)
    return weights


def percentile_interval(value: float, estimates: ArrayLike, confidence: float) -> Interval:
    """Return a value with the middle ``confidence`` of its resampled estimates; NaN among these are left out."""
    estimates = np.asarray(estimates, dtype=np.float64)
    known = estimates[~np.isnan(estimates)]
    if not known.size:
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


@dataclass(frozen=True)
class Variance:
    """Variance of a value between tasks and, within a task, between samples."""

    task: float
    sample: float


def variance_components(values: ArrayLike, tasks: Sequence[str]) -> Variance | None:
    """Return how much of the spread of a value is the tasks' and how much the samples', None without repetitions.

    Estimates of the one-way random-effects model by analysis of variance, tasks with any number of samples (Searle,
    Casella and McCulloch 1992, section 3.6); a negative estimate for tasks is given as 0.

    Args:
        values: one a chain, shape (chains,).
        tasks: the task of each chain.
    """
    numbers = np.asarray(values, dtype=np.float64)
    names, groups = np.unique(np.asarray(tasks), return_inverse=True)
    sizes = np.bincount(groups)
    if len(names) < 2 or len(numbers) == len(names):
        return None
    means = np.bincount(groups, weights=numbers) / sizes
    within = ((numbers - means[groups]) ** 2).sum() / (len(numbers) - len(names))
    between = (sizes * (means - numbers.mean()) ** 2).sum() / (len(names) - 1)
    size = (len(numbers) - (sizes**2).sum() / len(numbers)) / (len(names) - 1)
    return Variance(float(max(0.0, (between - within) / size)), float(within))


def spearman(x: NDArray, y: NDArray, axis: int = -1) -> NDArray[np.float64]:
    """Return Spearman's rank correlation along an axis, in [-1, 1]; NaN where one side is constant."""
    ranks = [stats.rankdata(values, axis=axis) for values in (x, y)]
    a, b = (rank - rank.mean(axis=axis, keepdims=True) for rank in ranks)
    scale = np.sqrt((a**2).sum(axis=axis) * (b**2).sum(axis=axis))
    return np.divide((a * b).sum(axis=axis), scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def kendall(x: NDArray, y: NDArray, axis: int = -1) -> NDArray[np.float64]:
    """Return Kendall's tau-b along the last axis, in [-1, 1]; NaN where one side is constant."""
    a, b = (np.sign(values[..., :, None] - values[..., None, :]) for values in (x, y))
    scale = np.sqrt((a**2).sum((-2, -1)) * (b**2).sum((-2, -1)))
    return np.divide((a * b).sum((-2, -1)), scale, out=np.full(scale.shape, np.nan), where=scale > 0)


def rank_correlation(
    statistic: Callable[..., NDArray], x: ArrayLike, y: ArrayLike, resamples: int, confidence: float, seed: int
) -> Interval:
    """Return ``spearman`` or ``kendall`` of paired values with its bootstrap interval over the pairs.

    Bias-corrected and accelerated (Efron 1987): a plain percentile interval covers too seldom, since the correlation of
    a resample, which holds some pairs twice, is biased. All NaN for fewer than ``FEWEST_PAIRS`` pairs or a constant
    side; without bounds where the bootstrap cannot give them (a perfect order).
    """
    pairs = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    value = float(statistic(*pairs)) if len(pairs[0]) >= FEWEST_PAIRS else float("nan")
    if np.isnan(value) or abs(value) == 1:
        return Interval(value, value, value)
    with warnings.catch_warnings():
        # Resamples of one model over and over have no correlation; they are few, and what they leave is checked below.
        warnings.simplefilter("ignore")
        found = stats.bootstrap(
            pairs,
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=resamples,
            batch=BATCH,
            confidence_level=confidence,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    bounds = found.confidence_interval
    if np.isnan([bounds.low, bounds.high]).any():
        return percentile_interval(value, found.bootstrap_distribution, confidence)
    return Interval(value, float(bounds.low), float(bounds.high))
