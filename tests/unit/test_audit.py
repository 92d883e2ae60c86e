"""The audit finds what is no honest answer, spares what is, and says what ASL would be without it."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from evalooop import metrics
from evalooop.audit import KINDS, audit, find
from evalooop.chains import SCHEMA, description_flags, fates
from evalooop.published import read_transcripts
from evalooop.records import Step
from evalooop.replay import RECORDED, words_of_model

PROGRAM = "def f(x):\n    return x + 1"
DEFAULTS = {
    "run": "r",
    "task": "t",
    "sample": 0,
    "loop": 1,
    "max_loops": 3,
    "words": "some words",
    "description": "Adds one.",
    "code": PROGRAM,
    "found": "fence",
    "status": "ok",
    "passed": True,
    "verdict_detail": "",
    "flags": [],
    "description_flags": [],
}


def table(*rows):
    filled = [{**dict.fromkeys(SCHEMA), **DEFAULTS, **row} for row in rows]
    return pl.DataFrame(filled, schema=SCHEMA, orient="row")


def kinds_of(row, **changes):
    found = find(table({**row, **changes})).row(0, named=True)
    return [kind for kind in KINDS if found[kind]]


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        ({}, []),
        ({"description_flags": ["leaked_code"]}, ["leaked_code"]),
        ({"description_flags": ["empty"], "description": ""}, ["empty_description"]),
        ({"description": "<think>hm</think> Adds one."}, ["leaked_thinking"]),
        ({"code": "</think>\n" + PROGRAM}, ["leaked_thinking"]),
        ({"description": "I think <that> is all."}, []),
        ({"description": "```python\nx\n```"}, ["leaked_fence"]),
        ({"code": PROGRAM + "\n```"}, ["leaked_fence"]),
        ({"code": "def f(x):\n    return '```'"}, []),
        ({"code": "Error: Still received empty response after multiple attempts."}, ["api_error"]),
        ({"code": "Error generating response: 'NoneType' object is not subscriptable"}, ["api_error"]),
        ({"description": "Error code: 500 - {'detail': 'x'}"}, ["api_error"]),
        ({"description": "HTTP 503 Service Unavailable"}, ["api_error"]),
        ({"description": "Error messages are counted by this function; 500 of them at most."}, []),
        ({"description": "500 is returned for an internal server error."}, []),
        ({"code": "Error = ValueError\n" + PROGRAM}, []),
        ({"status": "truncated"}, ["truncated"]),
        ({"description_flags": ["truncated"]}, ["truncated"]),
        ({"found": RECORDED, "verdict_detail": "loading: SyntaxError: '(' was never closed (<program>"}, ["truncated"]),
        ({"found": RECORDED, "verdict_detail": "loading: SyntaxError: invalid syntax"}, []),
        ({"found": "fence", "verdict_detail": "loading: SyntaxError: '(' was never closed"}, []),
        ({"code": None, "status": "no_code"}, []),
    ],
)
def test_each_kind_is_found_and_its_neighbours_are_not(row, kinds):
    assert kinds_of(row) == kinds


def test_words_that_did_not_change():
    rows = [{"loop": 1, "words": "Add  ONE.\n"}, {"loop": 2, "words": "add one."}, {"loop": 3, "words": "add two."}]
    other = {"task": "u", "words": "add two."}
    assert find(table(*rows, other))["unchanged_prompt"].to_list() == [False, True, False, False]


def test_equal_programs_of_a_task_with_different_verdicts():
    rows = [{"run": "a"}, {"run": "b", "passed": False}, {"run": "c", "task": "u"}, {"run": "d", "passed": None}]
    assert find(table(*rows))["inconsistent_verdict"].to_list() == [True, True, False, False]
    # A published verdict goes before ours, which is the same for equal programs.
    recorded = table({"run": "a"}, {"run": "b"}).with_columns(pl.Series("recorded_pass", [True, False]))
    assert find(recorded)["inconsistent_verdict"].to_list() == [True, True]


def judged(chains):
    return fates(chains).with_columns(pl.lit(None, pl.Float64).alias("similarity"))


def chain(task, passes, run="r", leak=None, error=False):
    rows = []
    for loop, passed in enumerate(passes, start=1):
        row = {"run": run, "task": task, "loop": loop, "passed": passed}
        rows.append(row | {"description_flags": ["leaked_code"] if loop == leak else []})
    if error:
        rows[-1]["code"] = "Error generating response: Connection error."
    return rows


def test_asl_without_api_errors_and_without_leaks():
    """M = 3. Chains that sustain 3, 3, 1 and 0 loops; the last was lost to an API error."""
    rows = [
        *chain("a", (True, True, True)),
        *chain("b", (True, True, True), leak=3),
        *chain("c", (True, False)),
        *chain("d", (False,), error=True),
    ]
    chains = table(*rows)
    (run,) = audit(chains, judged(chains), {"r": 0})["runs"]
    assert run["asl"]["scored"] == pytest.approx((9 + 9 + 1) / 12)
    assert run["asl"]["without_infra"] == pytest.approx((9 + 9 + 1) / 9)
    # Observed: 3 of 4 pass loop 1, 2 of 3 pass loop 2, and of the one still observed all pass loop 3.
    assert run["asl"]["without_leaked"] == pytest.approx((1 / 4 * 1 + 2 / 4 * 9) / 3)
    assert run["attempted"] == {"scored": 4, "without_infra": 3, "without_leaked": 3}
    assert (run["rows"], run["chains"]) == (9, 4)
    assert run["findings"]["api_error"] == {"rows": 1, "chains": 1, "share": 1 / 9}


def test_ranks_move_among_the_runs_that_have_the_score():
    rows = [
        *chain("a", (True, True, True), run="leaky", leak=2),
        *chain("a", (True, False), run="plain"),
        *chain("a", (False,), run="lost", error=True),
        *chain("b", (True, True, True), run="lost"),
        *chain("a", (True, True, True), run="alone"),
    ]
    chains = table(*rows)
    found = audit(chains, judged(chains), {"leaky": 0, "plain": 0, "lost": 0})["runs"]
    runs = {row["run"]: row for row in found}
    assert [runs[name]["rank"]["scored"] for name in ("leaky", "lost", "plain", "alone")] == [1, 2, 3, None]
    # Nothing of `leaky` is observed after loop 1, so it has no score without leaks and is in nobody's way.
    assert (runs["leaky"]["asl"]["without_leaked"], runs["leaky"]["move"]["without_leaked"]) == (None, None)
    assert (runs["lost"]["rank"]["without_leaked"], runs["lost"]["move"]["without_leaked"]) == (1, 0)
    assert runs["lost"]["asl"]["without_infra"] == 3.0
    assert {name: runs[name]["move"]["without_infra"] for name in ("leaky", "lost", "plain")} == {
        "leaky": 0,
        "lost": 0,
        "plain": 0,
    }


def test_examples_lead_to_their_chains():
    chains = table({"description_flags": ["empty"], "description": " "}, {"task": "u", "code": PROGRAM + "\n```"})
    examples = audit(chains, judged(chains), {})["examples"]
    assert examples["empty_description"] == [{"run": "r", "task": "t", "sample": 0, "loop": 1, "excerpt": PROGRAM}]
    assert [row["task"] for row in examples["leaked_fence"]] == ["u"]


class TestObservedUntil:
    def test_chains_observed_to_their_end_give_asl(self):
        sustained, similarity = [0, 1, 2, 3, 3], [float("nan"), 0.5, 0.8, float("nan"), float("nan")]
        expected = metrics.asl(sustained, similarity, 3)
        assert (
            metrics.asl_until(sustained, similarity, [4] * 5, 3) == pytest.approx(expected) == pytest.approx(22.1 / 15)
        )

    def test_what_happens_after_a_chain_left_is_without_effect(self):
        leaves = [3, 4, 4, 4]
        one, other = (metrics.asl_until([last, 3, 1, 0], [0.9] * 4, leaves, 3) for last in (2, 3))
        assert one == other

    def test_survival_that_nobody_shows_is_unknown(self):
        assert metrics.asl_until([3, 3], [0.5] * 2, [2, 3], 3) != metrics.asl_until([3, 3], [0.5] * 2, [2, 3], 3)  # NaN
        assert metrics.asl_until([0, 0], [0.5] * 2, [4, 4], 3) == 0.0


# ---------------------------------------------------------------- the published transcripts


DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data")) / "leaderboard"


def published_chains(model):
    """Return a chain table of a model's transcripts, passes as recorded."""
    path = DATA / "assets" / "data" / "details" / f"{model}.json"
    if not path.is_file():
        pytest.skip(f"no published transcripts in {DATA}")
    rows = []
    for transcript in read_transcripts(path):
        words, before = transcript.initial_prompt, None
        carried = words.splitlines()[-2]
        for loop, cycle in enumerate(transcript.cycles, start=1):
            description = words_of_model(words, carried) if loop > 1 else ""
            flags = []
            if loop > 1:
                place = ("r", transcript.task, 0, loop, "describe")
                flags = description_flags(Step(*place, before, "", description, None, "", "ok", "", "", 0, 0), words)
            passed = loop <= transcript.successful_cycles
            row = {"task": transcript.task, "loop": loop, "max_loops": 10, "words": words, "description": description}
            rows.append(row | {"code": cycle.code, "found": RECORDED, "passed": passed, "description_flags": flags})
            words, before = cycle.description, cycle.code
    return table(*rows)


@pytest.mark.parametrize(
    ("model", "chains", "first"),
    [("gemini-2.5-pro", 34, 28), ("gemini-2.5-flash", 38, None), ("deepseek-r1-0528", 41, None)],
)
def test_published_chains_that_api_errors_ended(model, chains, first):
    """Facts: 34 (28 in loop 1), 38 and 41 chains end in the text of an error."""
    table = published_chains(model)
    ended = table.filter(find(table)["api_error"], ~pl.col("passed"), pl.col("code").str.starts_with("Error"))
    assert len(ended) == chains
    assert first is None or (ended["loop"] == 1).sum() == first


@pytest.mark.parametrize(
    ("model", "kind", "low", "high"),
    [
        ("phi-4-mini-instruct", "leaked_code", 0.8, 0.97),
        ("qwen3-coder-30b-a3b-instruct", "leaked_code", 0.9, 0.98),
        ("llama-3.1-405b-instruct", "leaked_code", 0.7, 0.74),
        ("o3-mini", "leaked_code", 0.0, 0.001),
        ("gpt-4o", "leaked_code", 0.0, 0.0),
        ("nextcoder-7b", "empty_description", 0.89, 0.96),
        ("baichuan-m2-32b", "leaked_thinking", 0.95, 1.0),
    ],
)
def test_published_shares(model, kind, low, high):
    """Facts: 95, 97 and 72 % of the loops leak code, 1,443 of 1,608 are empty, 97 % hold thinking.

    The facts count the descriptions that fed no loop as well, so ours come close, no more.
    """
    table = published_chains(model)
    later = find(table).filter(pl.col("loop") > 1)
    assert low <= later[kind].mean() <= high
