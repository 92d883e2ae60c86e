"""Scores of a set of chains. Source: the EvaLooop paper (arXiv 2505.12185) and its authors' published metrics.

Throughout, ``sustained`` holds one integer a chain, shape (T,): the loops it passed before its first failure,
0..M. 0 failed in loop 1, M never failed. T counts every chain attempted, n_i those with ``sustained == i``, and M
is ``max_loops``. ``similarity`` holds one judge score a chain, shape (T,), in [0, 1]: how much the words that fed
the last passed loop and those that fed the failing one mean the same; NaN where there is none. Only the scores of
chains with 1 <= sustained < M count. No chains at all give NaN, never an error or a warning.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def histogram(sustained: ArrayLike, max_loops: int) -> NDArray[np.int64]:
    """Return n_0..n_M, shape (M + 1,).

    Raises:
        ValueError: M is below 1, or a value lies outside 0..M.
    """
    values = np.asarray(sustained, dtype=np.int64)
    if max_loops < 1 or (values.size and not 0 <= values.min() <= values.max() <= max_loops):
        raise ValueError(f"loops sustained must lie in 0..{max_loops} with at least one loop: {values}")
    return np.bincount(values, minlength=max_loops + 1)


def pass_at_1(sustained: ArrayLike, max_loops: int) -> float:
    """Return the share of chains that pass loop 1, (T - n_0) / T, in [0, 1]."""
    counts = histogram(sustained, max_loops)
    return _ratio(counts[1:].sum(), counts.sum())


def pass_drop(sustained: ArrayLike, max_loops: int) -> float:
    """Return the share of all chains lost between loop 1 and loop M, (T - n_0 - n_M) / T, in [0, 1]."""
    counts = histogram(sustained, max_loops)
    return _ratio(counts[1:-1].sum(), counts.sum())


def boundary_weights(sustained: ArrayLike, similarity: ArrayLike, max_loops: int) -> NDArray[np.float64]:
    """Return s_0..s_M, shape (M + 1,), each in [0, 1].

    s_i = (m_i + i - 1) / i for 1 <= i < M, where m_i is the mean score of the chains that sustained i loops;
    1 where no chain has a score, and s_M = 1. (s_0 is 1 and without effect.)
    """
    _, scored, total = tally(sustained, similarity, max_loops)
    return _weights(scored, total)


def tally(
    sustained: ArrayLike, similarity: ArrayLike, max_loops: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all that ASL depends on, three arrays of shape (M + 1,): n_i, and of the chains that sustained i loops
    and have a score at their boundary the number and the sum of scores. Tallies of disjoint chains add up.
    """
    counts = histogram(sustained, max_loops)
    values, scores = np.asarray(sustained, dtype=np.int64), np.asarray(similarity, dtype=np.float64)
    scored = ~np.isnan(scores) & (values >= 1) & (values < max_loops)
    number = np.bincount(values[scored], minlength=counts.size)
    return counts, number, np.bincount(values[scored], weights=scores[scored], minlength=counts.size)


def asl_of_tally(counts: ArrayLike, scored: ArrayLike, total: ArrayLike) -> NDArray[np.float64]:
    """Return ASL for many tallies at once: arrays of shape (..., M + 1) to one of shape (...); NaN without chains."""
    counts = np.asarray(counts)
    loops = np.arange(counts.shape[-1])
    points = (counts * loops**2 * _weights(np.asarray(scored), np.asarray(total))).sum(-1)
    possible = counts.sum(-1) * loops[-1]
    return np.divide(points, possible, out=np.full(points.shape, np.nan), where=possible > 0)


def _weights(scored: NDArray, total: NDArray) -> NDArray[np.float64]:
    loops = np.arange(scored.shape[-1])
    mean = np.divide(total, scored, out=np.ones(scored.shape), where=scored > 0)
    return np.where(scored > 0, (mean + loops - 1) / np.maximum(loops, 1), 1.0)


def contributions(sustained: ArrayLike, similarity: ArrayLike, max_loops: int) -> NDArray[np.float64]:
    """Return what each chain adds to T times ASL: i^2 s_i / M, shape (T,), each in [0, M]."""
    values = np.asarray(sustained, dtype=np.int64)
    return values**2 * boundary_weights(values, similarity, max_loops)[values] / max_loops


def asl(sustained: ArrayLike, similarity: ArrayLike, max_loops: int) -> float:
    """Return the average sustainable loops, ASL = sum_i n_i i^2 s_i / (T M), in [0, M].

    s_i is a mean over the chains given, so a bootstrap resample has its own s_i: hand whole rows
    (sustained and similarity) to the resampling, not fixed contributions.
    """
    return float(asl_of_tally(*tally(sustained, similarity, max_loops)))


def asl_unweighted(sustained: ArrayLike, max_loops: int) -> float:
    """Return ASL with every s_i = 1, sum_i n_i i^2 / (T M), in [0, M]; never below ``asl``."""
    counts = histogram(sustained, max_loops)
    return _ratio(_squares(counts), counts.sum() * max_loops)


def asl_conditional(sustained: ArrayLike, max_loops: int) -> float:
    """Return unweighted ASL among the chains that pass loop 1, sum_i n_i i^2 / ((T - n_0) M), in [1/M, M] or NaN."""
    counts = histogram(sustained, max_loops)
    return _ratio(_squares(counts), counts[1:].sum() * max_loops)


def asl_until(sustained: ArrayLike, similarity: ArrayLike, leaves: ArrayLike, max_loops: int) -> float:
    """Return ASL from chains some of which leave observation before they end, in [0, M].

    Survival is estimated loop by loop from the chains still observed (Kaplan and Meier 1958): P(pass loop i | passed
    i - 1) is the share of those in loop i that pass it, and sum_i P(sustained = i) i^2 s_i / M follows, with s_i from
    the boundaries observed. The estimate takes those that leave for no better or worse than those that stay. NaN where
    a loop that some must have reached is observed of none.

    Args:
        leaves: the first loop, 1..M, in which a chain is no longer observed; M + 1 if it is until its end. Shape (T,).
    """
    values, leaves = np.asarray(sustained, dtype=np.int64), np.asarray(leaves, dtype=np.int64)
    loops = np.arange(1, max_loops + 1)
    inside = (np.minimum(values + 1, leaves - 1)[:, None] >= loops).sum(0)
    observed = values + 1 < leaves
    failed = np.bincount(values[observed & (values < max_loops)], minlength=max_loops)[:max_loops]
    hazards = np.divide(failed, inside, out=np.full(max_loops, np.nan), where=inside > 0)
    reached = np.concatenate([[1.0], np.cumprod(1 - hazards)])
    if 0 in reached:
        reached[np.argmax(reached == 0) :] = 0.0
    ended = reached - np.append(reached[1:], 0.0)
    judged = np.where(observed, np.asarray(similarity, dtype=np.float64), np.nan)
    weights = boundary_weights(values, judged, max_loops)
    return float((ended * np.arange(max_loops + 1) ** 2 * weights).sum() / max_loops)


def survival(sustained: ArrayLike, max_loops: int) -> NDArray[np.float64]:
    """Return the share of all chains that pass loop i, for i = 1..M: sum_{k >= i} n_k / T, shape (M,), falling."""
    counts = histogram(sustained, max_loops)
    passing = np.cumsum(counts[::-1])[::-1]
    return np.divide(passing[1:], passing[0], out=np.full(max_loops, np.nan), where=passing[0] > 0)


def hazard(sustained: ArrayLike, max_loops: int) -> NDArray[np.float64]:
    """Return the share that fails in loop i of the chains that reach it, n_{i-1} / sum_{k >= i-1} n_k, i = 1..M.

    Shape (M,), each in [0, 1]; NaN for loops that no chain reaches.
    """
    counts = histogram(sustained, max_loops)
    reaching = np.cumsum(counts[::-1])[::-1][:-1]
    return np.divide(counts[:-1], reaching, out=np.full(max_loops, np.nan), where=reaching > 0)


def half_life(sustained: ArrayLike, max_loops: int) -> int | None:
    """Return the first loop, 2..M, that at most half of the chains pass which passed loop 1; None if there is none."""
    passing = survival(sustained, max_loops)
    gone = np.flatnonzero(passing <= passing[0] / 2)
    return int(gone[0]) + 1 if gone.size and passing[0] > 0 else None


def ranks(scores: ArrayLike, ties: ArrayLike | None = None) -> NDArray[np.int64]:
    """Return the place of each score, 1 for the highest, shape (R,); no place is shared.

    Equal scores stand in the order of ``ties`` (lower first), else as they come, as on the authors' leaderboard.
    """
    values = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((np.arange(values.size) if ties is None else np.asarray(ties), -values))
    places = np.empty(values.size, dtype=np.int64)
    places[order] = np.arange(1, values.size + 1)
    return places


def rank_change(pass_at_1: ArrayLike, rank: ArrayLike) -> NDArray[np.int64]:
    """Return how many places higher each model stands by ``rank`` than by pass@1, where ties follow ``rank``."""
    return ranks(pass_at_1, ties=rank) - np.asarray(rank)


def linear_mean(sustained: ArrayLike, max_loops: int) -> float:
    """Return the mean of the loops sustained, sum_i i n_i / T, in [0, M]: the score of the authors' early code."""
    counts = histogram(sustained, max_loops)
    return _ratio((np.arange(counts.size) * counts).sum(), counts.sum())


def _squares(counts: NDArray[np.int64]) -> int:
    return int((np.arange(counts.size) ** 2 * counts).sum())


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
