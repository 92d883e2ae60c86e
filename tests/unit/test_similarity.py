"""The judge's prompt, byte for byte, and the strict reading of its reply."""

from __future__ import annotations

import hashlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalooop import metrics
from evalooop.similarity import TEMPLATE, judge_prompt, parse_score


def test_template_is_the_published_one():
    digest = hashlib.sha256(TEMPLATE.encode()).hexdigest()
    assert digest == "95a405af1b020aba7ed26decf1baa63bf46575d5a8dc15d89a40fa5299aed9d0"


def test_prompt_holds_the_texts_in_their_places():
    prompt = judge_prompt("one", "a = 1", "two", "b = 2")
    assert prompt.startswith("\nCompare the semantic similarity")
    assert "Prompt 1: one\nGenerated Code 1: a = 1\n\nPrompt 2: two  \nGenerated Code 2: b = 2\n\n" in prompt
    assert prompt.endswith("\n\nScore:")


def test_braces_and_placeholders_in_code_stay_as_they_are():
    code = 'd = {"a": f"{x!r:>{w}}"} # {prompt1} {code2} {0} {'
    prompt = judge_prompt("{code1}", code, r"\1 \g<0>", "{prompt2}")
    assert f"Prompt 1: {{code1}}\nGenerated Code 1: {code}\n" in prompt
    assert "Prompt 2: \\1 \\g<0>  \nGenerated Code 2: {prompt2}\n" in prompt


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("0.85", 0.85),
        (" 0.85\n", 0.85),
        (".85", 0.85),
        ("0.85.", 0.85),
        ("1", 1.0),
        ("1.", 1.0),
        ("1.0", 1.0),
        ("0", 0.0),
        ("0.0", 0.0),
        ("Score: 0.85", 0.85),
        ("score = 0.85", 0.85),
        ("Similarity score: 0.85", 0.85),
        ("The semantic similarity score is 0.85.", 0.85),
        ("Score:\n0.85", 0.85),
        ("**0.85**", 0.85),
        ("**Score:** 0.85", 0.85),
        ("**Score: 0.85**", 0.85),
        ("`0.85`", 0.85),
        ("9/10", 0.9),
        ("8.5/10", 0.85),
        ("9 out of 10", 0.9),
        ("Score: 9/10", 0.9),
        ("85/100", 0.85),
        ("0.85/1", 0.85),
        ("0.85/1.0", 0.85),
        ("85%", 0.85),
        ("85 %.", 0.85),
        ("0.85\n\nThe two prompts ask for the same.", 0.85),
        ("0.85\n0.85", 0.85),
    ],
)
def test_replies_that_state_one_score(reply, score):
    assert parse_score(reply) == pytest.approx(score)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("There are 5 reasons, score: 9/10", id="row 69"),
        "",
        "   \n",
        "Score:",
        "I cannot say.",
        "high",
        "one",
        "1.5",
        "2",
        "10",
        "85",
        "-0.2",
        "+0.5",
        "11/10",
        "8/5",
        "0.9/10",
        "0.5%",
        "120%",
        "0.8 or 0.9",
        "0.8-0.9",
        "0.8\n0.9",
        "0.8\nbecause of 2 things",
        "0.8, because",
        "1.0 = semantically equivalent",
        "0.8.5",
        "0,85",
        "nan",
        "inf",
        "1e-1",
        "٠.٥",
        "1" * 5000,
    ],
)
def test_anything_else_is_missing(reply):
    assert parse_score(reply) is None


@given(st.text())
def test_any_reply_gives_a_score_in_range_or_none(reply):
    score = parse_score(reply)
    assert score is None or 0 <= score <= 1


@given(st.floats(0, 1).map(lambda value: round(value, 6)))
def test_a_plain_number_is_read_exactly(value):
    assert parse_score(f"{value:f}") == pytest.approx(value, abs=1e-9)


def test_row_71_a_missing_score_is_neither_good_nor_bad():
    """An unreadable reply leaves the boundary's mean as the readable ones give it, wherever that lies."""
    for readable in ("0.0", "0.3", "1"):
        replies = [readable, "There are 5 reasons"]
        scores = [math.nan if (score := parse_score(reply)) is None else score for reply in replies]
        assert metrics.boundary_weights([1, 1], scores, 3)[1] == pytest.approx(float(readable))
