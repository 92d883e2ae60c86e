"""The chain table, what becomes of a chain, and the scores of hand-made experiments."""

from pathlib import Path

import polars as pl
import pytest

from evalooop.chains import boundaries, chain_table, description_flags, fates, leaked_share
from evalooop.config import ScoreConfig
from evalooop.plan import expand
from evalooop.records import Similarity, Step, Verdict
from evalooop.scores import judged_fates, pass_at_each_k, run_scores, score_table

RUN = expand(Path("conf"), "test", ("loop.max_loops=3",)).runs[0]
SETTINGS = ScoreConfig(resamples=100)


def step(task, loop, kind="generate", status="ok", text="", code="pass", source="words"):
    code = code if kind == "generate" and status in ("ok", "truncated") else None
    return Step(RUN.name, task, 0, loop, kind, source, "prompt", text, code, "", status, "", "stop", 5, 2)


def verdicts(task, loop, base, plus=None):
    rows = [Verdict(RUN.name, task, 0, loop, "base", base, None, "" if base == "pass" else "wrong", "")]
    if plus:
        rows.append(Verdict(RUN.name, task, 0, loop, "plus", plus, 4, "" if plus == "pass" else "wrong", "f(4)"))
    return rows


STEPS = [
    step("always", 1),
    *[step("always", loop, kind, text="words") for loop in (2, 3) for kind in ("describe", "generate")],
    step("drifts", 1),
    step("drifts", 2, "describe", text="other words"),
    step("drifts", 2),
    step("never", 1, status="no_code"),
    step("lost", 1),
    step("lost", 2, "describe", status="infra_error"),
    step("unjudged", 1),
]
VERDICTS = [
    *[row for loop in (1, 2, 3) for row in verdicts("always", loop, "pass", "pass")],
    *verdicts("drifts", 1, "pass", "pass"),
    *verdicts("drifts", 2, "pass", "fail"),
    *verdicts("never", 1, "fail", "fail"),
    *verdicts("lost", 1, "pass", "pass"),
]


@pytest.fixture
def chains():
    return chain_table([RUN], STEPS, VERDICTS)


def test_what_becomes_of_a_chain(chains):
    fate = {row["task"]: (row["sustained"], row["counted"], row["flagged"]) for row in fates(chains).to_dicts()}
    assert fate == {
        "always": (3, True, False),
        "drifts": (1, True, False),
        "never": (0, True, True),
        "lost": (1, False, False),
        "unjudged": (0, False, False),
    }


def test_a_description_that_was_only_thought_fails_its_loop():
    steps = [step("ponders", 1), step("ponders", 2, "describe", status="incomplete_reasoning")]
    judged = [*verdicts("ponders", 1, "pass"), *verdicts("ponders", 2, "fail")]
    table = chain_table([RUN], steps, judged)
    (fate,) = fates(table).to_dicts()
    assert (fate["sustained"], fate["counted"], fate["flagged"]) == (1, True, True)
    assert boundaries(table) == []


def test_the_order_of_rows_is_without_effect(chains):
    assert chain_table([RUN], reversed(STEPS), reversed(VERDICTS)).equals(chains)


def test_a_row_tells_what_fed_the_loop_and_why_it_failed(chains):
    row = next(row for row in chains.to_dicts() if row["task"] == "drifts" and row["loop"] == 2)
    assert (row["description"], row["words"], row["passed"]) == ("other words", "words", False)
    assert (row["base"], row["plus"], row["failing_test"], row["verdict_detail"]) == ("pass", "fail", 4, "f(4)")


def test_boundaries_are_where_a_chain_that_had_passed_fails(chains):
    assert [(passed["task"], passed["loop"], failed["loop"]) for passed, failed in boundaries(chains)] == [
        ("drifts", 1, 2)
    ]


def test_scores_by_hand(chains):
    """Counted: 3, 1 and 0 of M = 3; the judge says 0.4: s_1 = 0.4. ASL = (1 * 0.4 + 9) / (3 * 3)."""
    scores = run_scores(
        RUN, chains, judged_fates(chains, [Similarity(RUN.name, "drifts", 0, 1, "0.4", 0.4)]), "none", SETTINGS, {}
    )
    assert (scores["tasks"], scores["attempted"], scores["infra"], scores["histogram"]) == (5, 3, 2, [1, 1, 0, 1])
    assert scores["scores"]["asl"]["value"] == pytest.approx(9.4 / 9)
    assert scores["scores"]["asl_unweighted"]["value"] == pytest.approx(10 / 9)
    assert scores["scores"]["asl_conditional"]["value"] == pytest.approx(10 / 6)
    assert scores["bounds"]["asl_infra_failed"] == pytest.approx((10 + 1) / 15)
    assert scores["bounds"]["asl_infra_survived"] == pytest.approx((10 + 18) / 15)
    assert scores["flagged"]["no_code"] == 1
    assert scores["flagged"]["asl"] == pytest.approx(9.4 / 6)
    assert scores["judge"] == {"name": "none", "boundaries": 1, "scored": 1, "unreadable": 0, "mean": 0.4}


def test_an_unreadable_judge_is_left_out_and_counted(chains):
    """Row 71: missing is neither similar nor different; a bucket without scores weighs 1."""
    scores = run_scores(
        RUN, chains, judged_fates(chains, [Similarity(RUN.name, "drifts", 0, 1, "very", None)]), "none", SETTINGS, {}
    )
    assert scores["scores"]["asl"] == scores["scores"]["asl_unweighted"]
    assert (scores["judge"]["scored"], scores["judge"]["unreadable"]) == (0, 1)


def test_scores_without_disputed_tasks(chains):
    """Without the chain of three loops there remain 1 and 0 of M = 3; a task that was not asked is not named."""
    scores = run_scores(RUN, chains, judged_fates(chains, []), "none", SETTINGS, {"always": "odd", "elsewhere": "odd"})
    assert scores["undisputed"] == {
        "without": {"always": "odd"},
        "attempted": 2,
        "asl": pytest.approx(1 / 6),
        "pass_at_1": pytest.approx(1 / 2),
    }


def test_nothing_attempted_gives_no_numbers():
    chains = chain_table([RUN], [step("lost", 1, status="infra_error")], [])
    scores = run_scores(RUN, chains, judged_fates(chains, []), "none", SETTINGS, {})
    assert scores["attempted"] == 0
    assert scores["scores"]["asl"] == {"value": None, "low": None, "high": None}
    assert score_table([scores])["asl"].to_list() == [None]


def test_flags_of_a_description():
    def flags(text, status="ok", source="a = 1\n\nb = 2\n"):
        return description_flags(step("t", 2, "describe", status, text, source=source), "")

    assert flags("It sets a and b.") == []
    assert flags(" \n") == ["empty"]
    assert flags("It sets", "truncated") == ["truncated"]
    assert flags("Like this:\n  a = 1\nb = 2") == ["leaked_code"]
    assert flags("", "infra_error") == []
    assert leaked_share("a = 1\nb = 2", "a = 1") == 0.5


def test_carried_lines_are_no_leak_and_no_excuse():
    """The frame carries the assert: a program that repeats it is judged by its other lines."""
    words = "Adds.\nassert f(1) == 2"
    code = "def f(x):\n    return x + 1\nassert f(1) == 2"
    assert leaked_share(code, "Adds.", words) == 0.0
    assert leaked_share(code, "def f(x):\n    return x + 1", "def f(x):\n    return x + 1\nassert f(1) == 2") == 1.0


def test_pass_at_k_of_a_runs_own_samples():
    """Two tasks of three samples that pass 1 and 0 times: pass@1 = 1/6, pass@2 = (1 - C(2,2)/C(3,2)) / 2 = 1/3."""
    fate = pl.DataFrame({"task": ["a"] * 3 + ["b"] * 3, "sustained": [2, 0, 0, 0, 0, 0]})
    assert pass_at_each_k(fate, 3) == pytest.approx({"1": 1 / 6, "2": 1 / 3, "3": 1 / 2})
    assert pass_at_each_k(fate.head(5), 3)["3"] is None
    assert pass_at_each_k(fate.clear(), 1) == {"1": None}
