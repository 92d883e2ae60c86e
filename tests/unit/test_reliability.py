"""Conditions compared: across models or tasks, the spread split up, attacks in their worst case, and their figures."""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
import polars as pl
import pytest

from evalooop import figures
from evalooop.chains import SCHEMA
from evalooop.config import FigureConfig, ScoreConfig
from evalooop.reliability import attack_scores, shares_of_variance, studies
from scripts import reliability as command

SETTINGS = ScoreConfig(resamples=200)


def fate(sustained):
    tasks = [f"t{place:02}" for place in range(len(sustained))]
    return pl.DataFrame({"task": tasks, "sustained": list(sustained)}, {"task": pl.String, "sustained": pl.Int64})


def run(name, asl, **changes):
    common = {"dataset": "d", "max_loops": 10, "prompt_variant": "p", "perturbation": "none", "temperature": 0.0}
    scores = {"asl": {"value": asl, "low": asl - 0.1, "high": asl + 0.1}}
    return {"run": name, "model": name.split("@")[0], "attempted": 1, "scores": scores, **common, **changes}


def study_of(models, temperatures=(0.0, 0.8), tasks=12, seed=0):
    """Return a study of models whose tasks last by skill and difficulty, hotter ones shorter, and its runs."""
    draws = np.random.default_rng(seed)
    runs, fates = [], {}
    for number, temperature in itertools.product(range(models), temperatures):
        name = f"m{number}@{temperature}"
        lasted = np.clip(np.arange(tasks) % 10 + number - 2 * temperature + draws.normal(size=tasks), 0, 10).round()
        fates[name] = fate(lasted.astype(int))
        runs.append(run(name, float((lasted**2).mean() / 10), temperature=temperature))
    return studies(runs, fates, SETTINGS), runs


def test_many_models_are_compared_by_their_order_and_few_by_that_of_the_tasks():
    ((many,), _), ((few,), _) = study_of(8), study_of(3)
    assert (many["over"], few["over"]) == ("models", "tasks")
    ((pair,), (other,)) = many["agreement"], few["agreement"]
    assert (pair["first"], pair["second"], pair["pairs"], other["pairs"]) == ("T = 0", "T = 0.8", 8, 12)
    assert pair["spearman"]["value"] > 0.8
    assert other["spearman"]["value"] > 0.8
    assert pair["spearman"]["low"] <= pair["spearman"]["value"] <= pair["spearman"]["high"]


def test_order_by_hand():
    runs = [run(f"m{place}@{side}", score, temperature=side) for side, order in ((0.0, "12345"), (0.5, "21345"))
            for place, score in enumerate(map(float, order))]  # fmt: skip
    (study,) = studies(runs, {one["run"]: fate([1, 2]) for one in runs}, SETTINGS)
    (pair,) = study["agreement"]
    assert pair["spearman"]["value"] == pytest.approx(0.9)
    assert pair["kendall"]["value"] == pytest.approx(0.8)


def test_one_condition_is_no_study_and_seeds_are_none():
    runs = [run("m@1", 5.0, seed=1), run("m@2", 6.0, seed=2), run("m@3", 7.0, dataset="other")]
    assert studies(runs, {one["run"]: fate([1]) for one in runs}, SETTINGS) == []
    runs.append(run("m@4", 7.0, prompt_variant="q", attempted=0))
    assert studies(runs, {one["run"]: fate([1]) for one in runs}, SETTINGS) == []


def test_tasks_that_differ_most_are_named():
    runs = [run("m@1", 5.0), run("m@2", 5.0, prompt_variant="q")]
    (study,) = studies(runs, {"m@1": fate([1, 2, 9, 4, 5]), "m@2": fate([1, 2, 0, 4, 6])}, SETTINGS)
    first, second, *_ = study["disagreement"]["tasks"]
    assert (first["task"], first["first"], first["second"], second["task"]) == ("t02", 9.0, 0.0, "t04")
    assert [condition["label"] for condition in study["conditions"]] == ["p", "q"]


def chains(rows):
    columns = ("model", "task", "prompt_variant", "perturbation", "temperature", "sustained")
    return pl.DataFrame(rows, columns, orient="row")


def test_shares_of_variance_by_hand():
    """Values 0, 2 for one task and 4, 6 for the other under two temperatures: total 20, tasks 16, temperatures 4."""
    rows = [("m", task, "p", "none", t, base + 2 * (t > 0)) for task, base in (("a", 0), ("b", 4)) for t in (0.0, 0.8)]
    assert shares_of_variance(chains(rows)) == pytest.approx({"task": 0.8, "temperature": 0.2, "interplay": 0.0})
    samples = [("m", "a", "p", "none", 0.0, value) for value in (1, 3)]
    assert shares_of_variance(chains(samples)) == pytest.approx({"sample": 1.0, "interplay": 0.0})
    assert shares_of_variance(chains(samples[:1])) == {}


def attacked():
    """Four tasks: all pass plainly but the last; capitals lose the first, comments lose none and win the last."""
    passes = {"none": (1, 1, 1, 0), "upper_case": (0, 1, 1, 0), "random_case": (0, 0, 1, 0), "comments": (1, 1, 1, 1)}
    return [
        ("m", f"t{place}", "p", name, 0.0, passed) for name, row in passes.items() for place, passed in enumerate(row)
    ]


def test_attacks_in_the_worst_case_and_by_family():
    (row,) = attack_scores(chains(attacked()))
    assert row["pass_at_1"] == {"none": 0.75, "upper_case": 0.5, "random_case": 0.25, "comments": 1.0}
    assert row["robust_pass_at_1"] == 0.25
    assert row["robust_drop"] == pytest.approx(2 / 3)
    assert row["families"] == pytest.approx({"case": ((1 - 2 / 3) + (1 - 1 / 3)) / 2, "layout": -1 / 3})
    assert attack_scores(chains([one for one in attacked() if one[3] != "none"])) == []


def test_tasks_lost_under_an_attack_count_for_none_and_samples_by_their_rate():
    (row,) = attack_scores(chains([one for one in attacked() if one[1:4:2] != ("t0", "comments")]))
    assert (row["pass_at_1"]["none"], row["robust_pass_at_1"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    sampled = [("m", "a", "p", name, 0.0, passed) for name in ("none", "comments") for passed in (1, 0)]
    (row,) = attack_scores(chains(sampled))
    assert (row["pass_at_1"], row["robust_pass_at_1"]) == ({"none": 0.5, "comments": 0.5}, 0.5)


# ---------------------------------------------------------------- figures and the stage


def with_study(found, runs):
    return {"runs": runs, "rankings": [], "reliability": {"studies": found}}


@pytest.mark.parametrize("name", ["condition_heat", "condition_agreement"])
@pytest.mark.parametrize(("models", "width"), [(1, 3.3), (8, 6.5)])
def test_conditions_are_drawn(name, models, width):
    metrics = with_study(*study_of(models, temperatures=(0.0, 0.3, 0.7, 1.0)))
    module = figures.module(name)
    table = module.numbers(None, metrics)
    assert len(table) == (models * 4 if name == "condition_heat" else 6)
    figure = module.draw(None, metrics, FigureConfig(width=width))
    figure.draw_without_rendering()
    written = [text.get_text() for axes in figure.axes for text in axes.texts]
    if name == "condition_heat":
        assert f"{table['asl'][0]:.2f}" in written[0]
    else:
        assert f"{table['spearman'][0]:.2f}" in written[0]


def test_attacks_are_drawn():
    study = {"dataset": "d", "attacks": attack_scores(chains(attacked()))}
    module = figures.module("attack_drop")
    metrics = {"reliability": {"studies": [study]}}
    rows = module.numbers(None, metrics).select("attack", "family", "pass_at_1").rows()
    assert ("upper_case", "case", 0.5) in rows
    assert ("all at once", "", 0.25) in rows
    figure = module.draw(None, metrics, FigureConfig())
    figure.draw_without_rendering()
    assert "upper case  (case)" in [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_the_stage_reads_chains_and_scores(tmp_path, monkeypatch):
    runs = [run("m@1", 5.0), run("m@2", 4.0, temperature=0.8)]
    blank = dict.fromkeys(SCHEMA) | {"sample": 0, "max_loops": 2, "status": "ok", "flags": [], "description_flags": []}
    rows = [
        {**blank, "run": one["run"], "task": f"t{task}", "loop": loop, "passed": loop <= task}
        for one in runs
        for task in range(6)
        for loop in range(1, min(task + 1, 2) + 1)
    ]
    pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(tmp_path / "chains.parquet")
    runs = [{**one, "max_loops": 2} for one in runs]
    (tmp_path / "metrics.json").write_text(json.dumps({"runs": runs}))
    files = [f"--chains={tmp_path}/chains.parquet", f"--metrics={tmp_path}/metrics.json", f"--out={tmp_path}/out.json"]
    monkeypatch.setattr(sys, "argv", ["reliability", *files, "--settings", '{"resamples": 100}'])
    command.main()
    (study,) = json.loads((tmp_path / "out.json").read_text())["studies"]
    (pair,) = study["agreement"]
    assert (study["over"], pair["spearman"]["value"], pair["pairs"]) == ("tasks", 1.0, 6)
