"""Models compared on the same tasks: ranks, how sure they are, and what cannot be told apart."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalooop import metrics
from evalooop.config import ScoreConfig
from evalooop.ranking import rankings
from evalooop.statistics import interval

SETTINGS = ScoreConfig(resamples=400)
M = 10


def fate(sustained, similarity=None, tasks=None):
    tasks = tasks or [f"Task/{number:03}" for number in range(len(sustained))]
    columns = {"task": tasks, "sustained": list(sustained), "similarity": similarity or [None] * len(sustained)}
    return pl.DataFrame(columns, schema={"task": pl.String, "sustained": pl.Int64, "similarity": pl.Float64})


def run(name, fates, **changes):
    sustained = fates["sustained"].to_numpy()
    similarity = fates["similarity"].fill_null(np.nan).to_numpy()
    scores = {
        "asl": {"value": metrics.asl(sustained, similarity, M)},
        "pass_at_1": {"value": metrics.pass_at_1(sustained, M)},
    }
    cohort = {
        "dataset": "d",
        "prompt_variant": "p",
        "perturbation": "none",
        "temperature": 0.0,
        "seed": 0,
        "max_loops": M,
    }
    return {"run": name, "model": name, "attempted": len(fates), "scores": scores, **cohort, **changes}


def ranking_of(**fates):
    (ranking,) = rankings([run(name, rows) for name, rows in fates.items()], fates, SETTINGS)
    return ranking


def test_models_far_apart_are_told_apart():
    ranking = ranking_of(weak=fate([0] * 60 + [10] * 4), strong=fate([10] * 60 + [0] * 4))
    assert ranking["runs"] == ["strong", "weak"]
    assert (ranking["rank_low"], ranking["rank_high"]) == ([1, 2], [1, 2])
    assert ranking["outranks"] == [[0.5, 1.0], [0.0, 0.5]]
    assert ranking["groups"] == []


def test_equal_models_are_tied_in_every_resample():
    same = fate([0, 10, 3, 10, 0, 1])
    ranking = ranking_of(a=same, b=same)
    assert ranking["outranks"] == [[0.5, 0.5], [0.5, 0.5]]
    assert (ranking["rank_low"], ranking["rank_high"], ranking["groups"]) == ([1, 1], [2, 2], [[0, 1]])


def test_the_same_tasks_are_drawn_for_every_model():
    """One model is better by one task of 40 that it alone passes: paired, it never stands below the other."""
    hard = [0] * 20 + [10] * 20
    ranking = ranking_of(a=fate([10, *hard[1:]]), b=fate(hard))
    drawn = 1 - (1 - 1 / 40) ** 40
    assert ranking["outranks"][0][1] == pytest.approx(drawn + (1 - drawn) / 2, abs=0.05)
    assert min(ranking["outranks"][0]) >= 0.5


def test_groups_are_the_longest_stretches():
    rng = np.random.default_rng(5)
    levels = {"a": 0.8, "b": 0.8, "c": 0.5, "d": 0.5, "e": 0.1}
    difficulty = rng.random(300)
    fates = {name: fate((difficulty < level).astype(int) * 10) for name, level in levels.items()}
    ranking = ranking_of(**fates)
    assert ranking["runs"] == ["a", "b", "c", "d", "e"]
    assert ranking["groups"] == [[0, 1], [2, 3]]


def test_resampled_asl_is_that_of_the_resampled_rows():
    """The tallies' ASL has the interval of the slow way, which draws whole rows and estimates s_i anew."""
    rng = np.random.default_rng(0)
    tasks = [f"Task/{number // 2:03}" for number in range(80)]
    rows = fate(rng.integers(0, 11, 80), rng.random(80).tolist(), tasks)
    table = np.column_stack([rows["sustained"], rows["similarity"]])
    slow = interval(lambda one: metrics.asl(one[:, 0], one[:, 1], M), table, tasks, 400, 0.95, 0)
    other = fate([0] * 80, tasks=tasks)
    ranking = ranking_of(a=rows, b=other)
    assert ranking["outranks"][0][1] == 1.0
    from evalooop.ranking import _resampled_asl

    estimates = _resampled_asl([rows], M, SETTINGS)[:, 0]
    assert np.quantile(estimates, [0.025, 0.975]) == pytest.approx([slow.low, slow.high])


def test_chains_that_do_not_count_are_missing_for_their_run_only():
    full = fate([10, 10, 0, 0])
    ranking = ranking_of(a=full, b=full.head(3))
    assert ranking["runs"] == ["b", "a"]


def test_only_runs_that_differ_in_their_model_alone_are_ranked():
    rows = fate([0, 10])
    fates = dict.fromkeys("abcd", rows)
    runs = [run("a", rows), run("b", rows, temperature=0.5), run("c", rows, dataset="e"), run("d", rows, attempted=0)]
    assert rankings(runs, fates, SETTINGS) == []
    twice = [run("a", rows), run("b", rows, model="a")]
    assert rankings(twice, fates, SETTINGS) == []


def test_correlation_of_pass_at_1_and_asl_over_models():
    fates = {f"m{level}": fate([10] * level + [0] * (20 - level)) for level in range(2, 18)}
    ranking = ranking_of(**fates)
    assert ranking["spearman"] == {"value": pytest.approx(1.0), "low": pytest.approx(1.0), "high": pytest.approx(1.0)}
    few = ranking_of(**{name: fates[name] for name in ("m2", "m3", "m4")})
    assert few["kendall"] == {"value": None, "low": None, "high": None}


def test_half_of_those_that_passed_are_gone():
    assert metrics.half_life([0, 0, 1, 1, 10, 10], M) == 2
    assert metrics.half_life([3, 3, 10, 10, 10], M) is None
    assert metrics.half_life([0, 0], M) is None
    assert metrics.half_life([1, 3, 4, 10, 10, 10], M) == 5


def test_ranks_and_changes_of_the_published_leaderboard():
    """All 101 ranks by ASL, and their change from pass@1 with its ties in the order of ASL."""
    data = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = data / "leaderboard" / "assets" / "data" / "results.json"
    if not path.is_file():
        pytest.skip(f"no published leaderboard in {data}")
    rows = json.loads(path.read_text(encoding="utf-8"))["models"]
    places = metrics.ranks([row["aslScore"] for row in rows])
    assert places.tolist() == [row["rank"] for row in rows]
    changes = metrics.rank_change([row["successRate"] for row in rows], places)
    assert changes.tolist() == [0 if row["rankChange"] == "=" else int(row["rankChange"]) for row in rows]
    assert len(rows) == 101
