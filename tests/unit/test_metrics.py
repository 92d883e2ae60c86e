"""Scores: hand-computed cases, the published numbers, and what must hold for any chains."""

from __future__ import annotations

import csv
import json
import math
import os
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalooop import metrics

TOY = [0, 1, 2, 3, 3]
TOY_SCORES = [math.nan, 0.5, 0.8, math.nan, math.nan]
NO_SCORES = [math.nan] * 5


class TestToy:
    """The five-task case of the facts, M = 3; its fractions are worked out by hand."""

    def test_histogram(self):
        assert metrics.histogram(TOY, 3).tolist() == [1, 1, 1, 2]
        assert metrics.histogram([0, 0], 4).tolist() == [2, 0, 0, 0, 0]

    def test_scores(self):
        assert metrics.pass_at_1(TOY, 3) == pytest.approx(4 / 5)
        assert metrics.pass_drop(TOY, 3) == pytest.approx(2 / 5)
        assert metrics.asl_unweighted(TOY, 3) == pytest.approx(float(Fraction(23, 15)))
        assert metrics.asl_conditional(TOY, 3) == pytest.approx(float(Fraction(23, 12)))
        assert metrics.linear_mean(TOY, 3) == pytest.approx(9 / 5)

    def test_asl_weighs_each_boundary(self):
        assert metrics.boundary_weights(TOY, TOY_SCORES, 3) == pytest.approx([1, 0.5, 0.9, 1])
        assert metrics.contributions(TOY, TOY_SCORES, 3) == pytest.approx([0, 0.5 / 3, 3.6 / 3, 3, 3])
        assert metrics.asl(TOY, TOY_SCORES, 3) == pytest.approx((0.5 + 3.6 + 18) / 15)

    def test_without_scores_asl_is_unweighted(self):
        assert metrics.asl(TOY, NO_SCORES, 3) == pytest.approx(metrics.asl_unweighted(TOY, 3))

    def test_survival_and_hazard(self):
        assert metrics.survival(TOY, 3) == pytest.approx([4 / 5, 3 / 5, 2 / 5])
        assert metrics.hazard(TOY, 3) == pytest.approx([1 / 5, 1 / 4, 1 / 3])


def test_weight_of_the_authors_worked_example():
    """One task lost after loop 4 with judge score 0.85 among 378: 4 (3 + 0.85) / 3780."""
    sustained = [4] + [0] * 377
    scores = [0.85] + [math.nan] * 377
    assert metrics.asl(sustained, scores, 10) == pytest.approx(4 * 3.85 / 3780)


def test_a_bucket_has_the_mean_of_its_scores_and_missing_ones_are_left_out():
    sustained = [2, 2, 2, 2]
    assert metrics.boundary_weights(sustained, [0.2, 0.6, math.nan, math.nan], 5)[2] == pytest.approx((0.4 + 1) / 2)
    assert metrics.boundary_weights(sustained, [0.0, 0.0, 0.0, math.nan], 5)[2] == pytest.approx(0.5)


def test_scores_of_chains_without_a_boundary_do_not_count():
    assert metrics.boundary_weights([0, 3], [0.1, 0.1], 3) == pytest.approx([1, 1, 1, 1])


def test_one_loop_only():
    assert metrics.asl([0, 1, 1, 1], NO_SCORES[:4], 1) == pytest.approx(3 / 4)
    assert metrics.pass_drop([0, 1, 1, 1], 1) == 0


def test_the_denominator_is_the_tasks_attempted():
    """Row S11."""
    assert metrics.pass_at_1([1] * 5 + [0] * 3, 10) == 5 / 8
    assert metrics.asl_unweighted([10] + [0] * 377, 10) == pytest.approx(10 / 378)


def test_hazard_of_loops_nobody_reaches_is_unknown():
    hazard = metrics.hazard([0, 0, 1], 3)
    assert hazard[:2] == pytest.approx([2 / 3, 1])
    assert math.isnan(hazard[2])


def test_nobody_passes_loop_1():
    assert metrics.asl([0, 0], NO_SCORES[:2], 3) == 0
    assert math.isnan(metrics.asl_conditional([0, 0], 3))


def test_no_chains_give_nan_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for score in (metrics.pass_at_1, metrics.pass_drop, metrics.asl_unweighted, metrics.asl_conditional):
            assert math.isnan(score([], 3))
        assert math.isnan(metrics.linear_mean([], 3))
        assert math.isnan(metrics.asl([], [], 3))
        assert np.isnan(metrics.survival([], 3)).tolist() == [True] * 3
        assert np.isnan(metrics.hazard([], 3)).tolist() == [True] * 3
        assert metrics.contributions([], [], 3).tolist() == []
        assert metrics.histogram([], 3).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("sustained", "max_loops"), [([4], 3), ([-1], 3), ([0], 0)])
def test_impossible_values_are_refused(sustained, max_loops):
    with pytest.raises(ValueError, match="must lie in 0"):
        metrics.histogram(sustained, max_loops)


@st.composite
def chains(draw):
    max_loops = draw(st.integers(1, 12))
    score = st.one_of(st.just(math.nan), st.floats(0, 1))
    rows = draw(st.lists(st.tuples(st.integers(0, max_loops), score), min_size=1, max_size=30))
    return [row[0] for row in rows], [row[1] for row in rows], max_loops


@given(chains())
def test_ranges(case):
    sustained, scores, max_loops = case
    slack = 1e-9
    worst = metrics.asl(sustained, [0.0] * len(sustained), max_loops)
    weighted = metrics.asl(sustained, scores, max_loops)
    unweighted = metrics.asl_unweighted(sustained, max_loops)
    assert 0 <= worst <= weighted + slack <= unweighted + 2 * slack <= max_loops + 3 * slack
    assert 0 <= metrics.pass_drop(sustained, max_loops) <= metrics.pass_at_1(sustained, max_loops) <= 1
    assert unweighted <= metrics.linear_mean(sustained, max_loops) + slack
    if any(sustained):
        assert unweighted <= metrics.asl_conditional(sustained, max_loops) + slack


@given(chains())
def test_contributions_average_to_asl(case):
    assert metrics.contributions(*case).mean() == pytest.approx(metrics.asl(*case))


@given(chains())
def test_survival_falls_from_pass_at_1_and_follows_from_the_hazard(case):
    sustained, _, max_loops = case
    survival, hazard = metrics.survival(sustained, max_loops), metrics.hazard(sustained, max_loops)
    assert survival[0] == pytest.approx(metrics.pass_at_1(sustained, max_loops))
    assert survival[0] - survival[-1] == pytest.approx(metrics.pass_drop(sustained, max_loops))
    assert np.all(np.diff(survival) <= 0)
    assert np.cumprod(1 - np.nan_to_num(hazard)) == pytest.approx(survival)
    assert survival.sum() == pytest.approx(metrics.linear_mean(sustained, max_loops))


@given(chains(), st.data())
def test_one_more_loop_never_lowers_a_score(case, data):
    sustained, _, max_loops = case
    position = data.draw(st.integers(0, len(sustained) - 1))
    better = [*sustained]
    better[position] = min(better[position] + 1, max_loops)
    for score in (metrics.pass_at_1, metrics.asl_unweighted, metrics.linear_mean):
        assert score(better, max_loops) >= score(sustained, max_loops)


@given(chains(), st.randoms(use_true_random=False))
def test_the_order_of_chains_does_not_matter(case, shuffler):
    sustained, scores, max_loops = case
    order = [*range(len(sustained))]
    shuffler.shuffle(order)
    shuffled = metrics.asl([sustained[i] for i in order], [scores[i] for i in order], max_loops)
    assert shuffled == pytest.approx(metrics.asl(sustained, scores, max_loops))


DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "leaderboard"
GOLDEN = DATA / "golden_2025-09-08.csv"


@pytest.fixture(scope="module")
def published():
    """Rows of the golden table and loops sustained, by model, for the models whose transcripts are there."""
    if not GOLDEN.is_file():
        pytest.skip(f"no published leaderboard in {DATA}")
    with open(GOLDEN, encoding="utf-8", newline="") as file:
        golden = {row["model_id"]: row for row in csv.DictReader(file)}
    sustained = {}
    for path in sorted((DATA / "assets" / "data" / "details").glob("*.json")):
        if path.stem in golden:
            buckets = json.loads(path.read_text(encoding="utf-8"))
            sustained[path.stem] = [task["successful_cycles"] for tasks in buckets.values() for task in tasks]
    if not sustained:
        pytest.skip(f"no transcripts of the golden models in {DATA}")
    return {model: golden[model] for model in sustained}, sustained


class TestPublished:
    """The leaderboard of 2025-09-08, recomputed from the published transcripts, to the three decimals it shows."""

    @pytest.mark.parametrize(
        ("column", "score"),
        [
            ("pass_at_1", lambda values: metrics.pass_at_1(values, 10)),
            ("asl_unweighted", lambda values: metrics.asl_unweighted(values, 10)),
            ("asl_conditional", lambda values: metrics.asl_conditional(values, 10)),
            ("pass_drop_tasks", lambda values: metrics.pass_drop(values, 10) * len(values)),
        ],
    )
    def test_scores(self, published, column, score):
        golden, sustained = published
        assert all(len(values) == 378 for values in sustained.values())
        computed = {model: score(values) for model, values in sustained.items()}
        expected = {model: float(row[column]) for model, row in golden.items()}
        assert computed == pytest.approx(expected, abs=0.00051)

    def test_asl_lies_between_its_bounds(self, published):
        """The judge's scores were not published, so the weighted score can only be bounded."""
        golden, sustained = published
        for model, values in sustained.items():
            worst = metrics.asl(values, np.zeros(len(values)), 10)
            best = metrics.asl(values, np.ones(len(values)), 10)
            assert worst - 0.0005 <= float(golden[model]["asl"]) <= best + 0.0005
