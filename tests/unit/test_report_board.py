"""The leaderboard's rows and the panels of runs: places, letters of groups, what is said once."""

from __future__ import annotations

import pytest

from evalooop.report_board import board, correlation_words, letter, panels, shared_settings
from tests.synthetic import chain_table, metrics_of


@pytest.fixture(scope="module")
def metrics():
    return metrics_of(chain_table(runs=4, tasks=40))


def test_rows_stand_in_the_order_of_the_plan_or_best_first(metrics):
    assert [run["run"] for run in board(metrics, best_first=False)] == [run["run"] for run in metrics["runs"]]
    (ranking,) = metrics["rankings"]
    ordered = board(metrics, best_first=True)
    assert [run["run"] for run in ordered] == ranking["runs"]
    assert [run["place"]["rank"] for run in ordered] == [1, 2, 3, 4]
    assert [run["place"]["above_next"] for run in ordered] == [
        *(ranking["outranks"][place][place + 1] for place in range(3)),
        None,
    ]


def test_models_that_cannot_be_told_apart_share_a_letter(metrics):
    (ranking,) = metrics["rankings"]
    grouped = {**metrics, "rankings": [{**ranking, "groups": [[0, 1], [1, 3]]}]}
    assert [run["place"]["alike"] for run in board(grouped, best_first=True)] == ["a", "a b", "b", "b"]
    assert [letter(number) for number in (0, 25, 26, 52)] == ["a", "z", "aa", "ba"]


def test_runs_without_a_ranking_have_no_place(metrics):
    assert {run["place"] for run in board({**metrics, "rankings": []}, best_first=True)} == {None}
    assert correlation_words({**metrics, "rankings": []}) == ""
    assert "Across 4 models" in correlation_words(metrics)


def test_what_is_the_same_is_said_once(metrics):
    same, differing = shared_settings(metrics["runs"])
    assert same == ["dataset starter", "prompt plain_chat", "temperature 0", "seed 0", "10 loops"]
    assert differing == []
    hot = [{**metrics["runs"][0], "temperature": 0.8, "perturbation": "upper_case"}, metrics["runs"][1]]
    assert shared_settings(hot)[1] == ["perturbation", "temperature"]
    assert shared_settings([]) == ([], [])


def test_a_panel_tells_scores_place_and_findings(metrics):
    rows = board(metrics, best_first=False)
    found = {"rows": 3, "chains": 2, "share": 0.1}
    nothing = {"rows": 0, "chains": 0, "share": 0.0}
    kinds = ("leaked_code", "empty_description", "leaked_thinking", "leaked_fence", "api_error", "truncated")
    findings = dict.fromkeys((*kinds, "unchanged_prompt", "inconsistent_verdict"), nothing)
    audited = [{"run": rows[0]["run"], "rows": 30, "findings": findings | {"leaked_code": found}}]
    sampled = {**rows[0], "pass_at_k": {"1": 0.5, "2": 0.75}, "variance": {"task": 2.0, "sample": 0.5}}
    panel = panels([sampled], audited)[rows[0]["run"]]
    facts = dict(panel["facts"])
    assert panel["findings"] == [("leaked code", "3 of 30 loops, in 2 chains")]
    assert panel["survival"] == rows[0]["survival"]
    assert facts["rank"].startswith(str(rows[0]["place"]["rank"]))
    assert facts["pass@2"] == "75 %"
    assert facts["variance of the loops sustained"] == "2.00 between tasks, 0.50 between samples of a task"
