"""Bootstrap intervals over tasks."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from evalooop import metrics
from evalooop.statistics import (
    Interval,
    Variance,
    interval,
    kendall,
    rank_correlation,
    spearman,
    variance_components,
)


def mean(rows):
    return float(np.mean(rows)) if len(rows) else math.nan


def ids(number: int) -> list[str]:
    return [f"Task/{i}" for i in range(number)]


def test_agrees_with_scipy_for_one_sample_a_task():
    values = np.random.default_rng(1).integers(0, 11, 200).astype(float)
    ours = interval(mean, values, ids(200), 4000, 0.95, 0)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=0).confidence_interval
    assert ours.value == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.05)


def test_agrees_with_the_normal_interval():
    values = np.random.default_rng(2).normal(size=400)
    ours = interval(mean, values, ids(400), 4000, 0.9, 0)
    half = stats.norm.ppf(0.95) * values.std() / 20
    assert (ours.low, ours.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.01)


def test_covers_the_truth_about_as_often_as_it_says():
    draws = np.random.default_rng(3)
    covered = [
        result.low <= 0.3 <= result.high
        for _ in range(200)
        for result in [interval(mean, draws.random(80) < 0.3, ids(80), 200, 0.9, 0)]
    ]
    assert 0.8 < np.mean(covered) < 0.97


def test_samples_of_a_task_are_no_independent_evidence():
    """Ten equal samples a task give the interval of one sample a task, not one that is three times as narrow."""
    values = np.random.default_rng(4).normal(size=50)
    once = interval(mean, values, ids(50), 500, 0.95, 0)
    ten = interval(mean, np.repeat(values, 10), np.repeat(ids(50), 10), 500, 0.95, 0)
    assert (ten.value, ten.low, ten.high) == pytest.approx((once.value, once.low, once.high))


def test_tasks_with_different_numbers_of_samples():
    """A task is drawn whole: a resample of these two holds 1.0 alone, 0.0 alone, or both in the ratio 1 to 3."""
    seen = set()

    def record(rows):
        seen.add((len(rows), round(float(rows.mean()), 3)))
        return mean(rows)

    interval(record, np.array([1.0, 0, 0, 0]), ["a", "b", "b", "b"], 200, 0.95, 0)
    assert seen == {(4, 0.25), (2, 1.0), (6, 0.0)}


def test_the_same_seed_gives_the_same_interval_in_any_order_of_rows():
    values = np.arange(30.0) ** 2
    first = interval(mean, values, ids(30), 200, 0.95, 7)
    assert interval(mean, values, ids(30), 200, 0.95, 7) == first
    backwards = interval(mean, values[::-1], ids(30)[::-1], 200, 0.95, 7)
    assert (backwards.low, backwards.high) == pytest.approx((first.low, first.high))
    assert interval(mean, values, ids(30), 200, 0.95, 8).low != first.low


def test_higher_confidence_is_wider():
    values = np.random.default_rng(5).normal(size=60)
    narrow, wide = (interval(mean, values, ids(60), 1000, level, 0) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_whole_rows_are_drawn_so_that_weights_are_estimated_anew():
    """Two chains share a bucket: each resample's s_1 is the mean of the scores drawn, 0, 0.5 or 1."""
    table = np.array([[1, 0.0], [1, 1.0]])
    seen = set()

    def asl(rows):
        score = metrics.asl(rows[:, 0].astype(int), rows[:, 1], 2)
        seen.add(round(score, 6))
        return score

    result = interval(asl, table, ["a", "b"], 200, 0.95, 0)
    assert result == Interval(0.25, 0.0, 0.5)
    assert seen == {0.0, 0.25, 0.5}


def test_asl_of_378_tasks_has_the_known_standard_error():
    """Published models have a standard error of unweighted ASL of 0.21 to 0.25 on 378 tasks."""
    sustained = np.array([0] * 90 + [1] * 20 + [2] * 10 + [10] * 258)
    result = interval(lambda rows: metrics.asl_unweighted(rows, 10), sustained, ids(378), 500, 0.95, 0)
    assert 0.2 < (result.high - result.low) / (2 * 1.96) < 0.26


def test_nothing_to_score():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = interval(mean, np.empty((0,)), [], 100, 0.95, 0)
        assert all(math.isnan(bound) for bound in (result.value, result.low, result.high))
        unknown = interval(lambda rows: math.nan, np.zeros(3), ids(3), 100, 0.95, 0)
        assert all(math.isnan(bound) for bound in (unknown.value, unknown.low, unknown.high))


def test_resamples_without_a_value_are_left_out():
    """One chain of three passes loop 1: resamples without it have no conditional score."""
    result = interval(lambda rows: metrics.asl_conditional(rows, 2), np.array([0, 0, 2]), ids(3), 100, 0.95, 0)
    assert result == Interval(2.0, 2.0, 2.0)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="3 rows but 2 tasks"):
        interval(mean, np.zeros(3), ids(2), 100, 0.95, 0)


def test_spread_between_tasks_and_between_samples_by_hand():
    """Two tasks with values 0, 2 and 4, 6: within, (2 + 2) / 2 = 2; between, 2 * (4 + 4) / 1 = 16; (16 - 2) / 2 = 7."""
    assert variance_components([0, 2, 4, 6], ["a", "a", "b", "b"]) == Variance(task=7.0, sample=2.0)
    assert variance_components([1, 2], ["a", "b"]) is None
    assert variance_components([1, 2], ["a", "a"]) is None
    assert variance_components([0, 4, 0, 4], ["a", "a", "b", "b"]) == Variance(task=0.0, sample=8.0)


def test_spread_is_found_again_with_uneven_samples():
    draws = np.random.default_rng(6)
    sizes = draws.integers(1, 6, 3000)
    tasks = np.repeat(np.arange(3000), sizes).astype(str)
    values = np.repeat(draws.normal(0, 3, 3000), sizes) + draws.normal(0, 1, sizes.sum())
    found = variance_components(values, tasks)
    assert found.task == pytest.approx(9, rel=0.1)
    assert found.sample == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(("ours", "theirs"), [(spearman, stats.spearmanr), (kendall, stats.kendalltau)])
def test_rank_correlations_are_scipys(ours, theirs):
    draws = np.random.default_rng(7)
    x, y = draws.integers(0, 6, (5, 20)), draws.normal(size=(5, 20))
    expected = [theirs(one, other).statistic for one, other in zip(x, y, strict=True)]
    assert ours(x, y) == pytest.approx(expected)
    assert math.isnan(ours(np.ones(5), np.arange(5.0)))


def test_the_interval_covers_a_planted_rank_agreement():
    """200 tables of 60 models whose scores under two conditions share a true skill, with noise planted on both.

    The agreement that was planted is the population's: of normal scores of correlation r, Spearman is 6/pi asin(r/2).
    """
    draws = np.random.default_rng(8)
    covered = 0
    for table in range(200):
        r = draws.uniform(0.5, 0.95)
        skill, *noise = draws.normal(size=(3, 60))
        first, second = (math.sqrt(r) * skill + math.sqrt(1 - r) * one for one in noise)
        found = rank_correlation(spearman, first, second, 1000, 0.95, table)
        assert found.low < found.value < found.high
        covered += found.low <= 6 / math.pi * math.asin(r / 2) <= found.high
    assert 180 <= covered <= 198


def test_a_perfect_order_and_too_few_pairs_have_no_spread():
    assert rank_correlation(spearman, range(6), range(6), 100, 0.95, 0) == Interval(1.0, 1.0, 1.0)
    assert math.isnan(rank_correlation(kendall, range(3), [1, 0, 2], 100, 0.95, 0).value)
    assert math.isnan(rank_correlation(spearman, range(6), [1] * 6, 100, 0.95, 0).low)
