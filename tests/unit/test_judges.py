"""Judges: expected scores, pairs whose likeness is known, and what several of them agree on."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evalooop.config import JudgeConfig
from evalooop.controls import KINDS, MOST, draw_controls, paraphrase, separation
from evalooop.engines import Completion
from evalooop.errors import UserError
from evalooop.judge import PRINTABLE, judge_pairs
from evalooop.judges import agreement, judge_scores
from evalooop.loop import Asker
from evalooop.plan import expand
from evalooop.records import BOUNDARY, Similarity
from evalooop.similarity import parse_score
from evalooop.store import Store
from scripts.judge import by_model

ROW = {"run": "r", "sample": 0, "loop": 1, "passed": True, "answer": "", "code": "def f(): pass"}


def rows(number):
    return [
        {**ROW, "task": f"t{place}", "words": f'"""\nFind the number {place}.\nassert f() == 1\n"""\n'}
        for place in range(number)
    ]


# ---------------------------------------------------------------- controls


def test_controls_are_drawn_from_different_tasks_the_same_every_time():
    material = rows(30) + [{**row, "loop": 2} for row in rows(30)]
    controls = draw_controls(material)
    assert controls == draw_controls(material)
    for kind in KINDS:
        pairs = [pair for name, pair in controls if name == kind]
        assert len(pairs) == MOST
        assert len({first["task"] for first, _ in pairs}) == MOST
        same = [first["task"] == second["task"] for first, second in pairs]
        assert not any(same) if kind == "unrelated" else all(same)
    assert all(first == second for kind, (first, second) in controls if kind == "identical")
    assert all(first["words"] != second["words"] for kind, (first, second) in controls if kind == "paraphrase")


def test_a_single_task_has_no_unrelated_one_and_failed_loops_are_no_material():
    assert [kind for kind, _ in draw_controls(rows(1))] == ["identical", "paraphrase"]
    assert draw_controls([{**row, "passed": False} for row in rows(3)]) == []


def test_a_paraphrase_keeps_code_and_identifiers():
    code = 'assert find(1) == "Write a function to"\n"""\n'
    words = f'"""\nWrite a python function to find the largest of finders.\n{code}'
    other = f'"""\nImplement a function that is able to work out the biggest of finders.\n{code}'
    assert paraphrase(words) == other
    assert paraphrase('"""\nSum it up.\nassert f(1)\n"""\n') == '"""\nIn other words: Sum it up.\nassert f(1)\n"""\n'
    assert paraphrase("assert f(1)\n") == "assert f(1)\n"


def test_separation_is_the_area_under_the_curve():
    assert separation([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert separation([0.5, 0.5], [0.5]) == 0.5
    assert separation([0.2, 0.6], [0.4]) == 0.5
    assert separation([], [0.4]) is None


# ---------------------------------------------------------------- what a judge is worth


def said(judge, kind, score, task="t", expected=None):
    return Similarity("r", task, 0, 1, "", score, expected=expected, judge=judge, kind=kind)


def controls_of(judge, alike, unlike, number=6, expected=(None, None)):
    made = []
    for place in range(number):
        made.append(said(judge, "identical", alike, f"t{place}", expected[0]))
        made.append(said(judge, "unrelated", unlike, f"t{place}", expected[1]))
    return made


def test_a_judge_that_tells_like_from_unlike():
    scores = judge_scores("good", "prompt", [*controls_of("good", 1.0, 0.1), said("good", BOUNDARY, 0.4)])
    assert (scores["auc"], scores["separates"], scores["mean"], scores["boundaries"]) == (1.0, True, 0.4, 1)
    assert "tells pairs" in scores["words"]


def test_a_judge_that_says_the_same_of_everything():
    scores = judge_scores("flat", "prompt", controls_of("flat", 0.8, 0.8))
    assert (scores["auc"], scores["separates"]) == (0.5, False)
    assert "does not tell" in scores["words"]


def test_a_judge_whose_printed_scores_tell_nothing_may_be_saved_by_expected_ones():
    scores = judge_scores("small", "prompt", controls_of("small", 0.8, 0.8, expected=(0.7, 0.5)))
    assert (scores["auc"], scores["auc_expected"], scores["separates"]) == (0.5, 1.0, True)


def test_unreadable_replies_are_missing_not_zero():
    """Rows 69 and 71: neither similar nor different, and counted."""
    scores = judge_scores(
        "mute", "prompt", [said("mute", BOUNDARY, None), said("mute", BOUNDARY, 0.5), *controls_of("mute", None, None)]
    )
    assert (scores["missing"], scores["scored"], scores["mean"]) == (1, 1, 0.5)
    assert (scores["auc"], scores["separates"]) == (None, False)
    assert "could be read" in scores["words"]
    assert parse_score("There are 5 reasons, score: 9/10") in (None, 0.9)


def test_few_controls_say_nothing():
    assert "too few" in judge_scores("new", "prompt", controls_of("new", 1.0, 0.0, number=2))["words"]


def test_agreement_of_judges_is_krippendorffs_alpha():
    """Interval data of Krippendorff's textbook example (2011, four observers, twelve units): alpha 0.849."""
    table = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    names = [f"j{place}" for place in range(4)]
    made = [
        said(name, BOUNDARY, score, f"t{unit}")
        for name, row in zip(names, table, strict=True)
        for unit, score in enumerate(row)
    ]
    found = agreement(made, names)
    assert found["alpha"] == pytest.approx(0.849, abs=0.0005)
    assert found["boundaries"] == 12
    assert found["spearman"][0][0] == pytest.approx(1.0)
    assert found["spearman"][0][1] == pytest.approx(found["spearman"][1][0])
    assert found["spearman"][0][1] < 0.99
    assert agreement(made, names[:1]) is None


def test_judges_that_share_nothing_have_no_agreement():
    made = [said("a", BOUNDARY, 0.1, "t1"), said("b", BOUNDARY, 0.2, "t2")]
    found = agreement(made, ["a", "b"])
    assert (found["alpha"], found["spearman"][0][1]) == (None, None)


# ---------------------------------------------------------------- expected scores


class Silent:
    def expect(self, questions): ...
    def add(self, completion): ...


class Telling:
    """An engine that prints 0.5 and finds 0.2 and 1.0 equally likely."""

    fingerprint = "telling"

    def __init__(self):
        self.chosen = []

    def render(self, messages):
        return messages[0].content

    def complete(self, requests):
        for request in requests:
            yield request, Completion("0.5", "stop", 1, 1, 0.0)

    def choose(self, prompts, choices):
        assert (
            tuple(choices) == PRINTABLE == ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0")
        )
        for prompt in prompts:
            self.chosen.append(prompt)
            yield prompt, [0.5 if choice in ("0.2", "1.0") else 0.0 for choice in choices]


def test_expected_scores_stand_beside_printed_ones_and_are_asked_once(tmp_path):
    engine = Telling()
    pairs = draw_controls(rows(3))
    with Store(tmp_path / "store.sqlite") as store:
        for _ in range(2):
            made = judge_pairs("j", Asker(engine, store, Silent()), pairs, 10)
            assert {(row.score, round(row.expected, 9), row.judge) for row in made} == {(0.5, 0.6, "j")}
            assert [row.kind for row in made] == [kind for kind, _ in pairs]
    assert len(engine.chosen) == len(set(engine.chosen)) == len(pairs)


def test_engines_without_probabilities_have_no_expected_score(tmp_path):
    engine = Telling()
    engine.choose = None
    with Store(tmp_path / "store.sqlite") as store:
        (row, *_) = judge_pairs("j", Asker(engine, store, Silent()), draw_controls(rows(3)), 10)
    assert (row.score, row.expected) == (0.5, None)


def test_probabilities_are_those_of_the_models_own_logits(engine):
    """By hand: one pass over prompt and answer each, without a cache."""
    import torch

    choices = ("a", "bc", "0.25")
    prompt = "what is it?"
    ((found_prompt, shares),) = engine.choose([prompt], choices)
    assert found_prompt == prompt
    encode = engine._tokenizer.encode
    ids = encode(prompt, add_special_tokens=False)
    totals = []
    for choice in choices:
        answer = encode(choice, add_special_tokens=False)
        with torch.inference_mode():
            logits = engine._model(torch.tensor([[*ids, *answer]])).logits[0].log_softmax(-1)
        totals.append(sum(logits[len(ids) - 1 + place, token].item() for place, token in enumerate(answer)))
    weights = [math.exp(total) for total in totals]
    assert shares == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-4)
    assert sum(shares) == pytest.approx(1.0)


# ---------------------------------------------------------------- who is asked what


def plan(*overrides):
    return expand(Path("conf"), "test", overrides)


def test_judges_are_named_once_and_compared():
    judges = plan("judge=embedding", "+judge@judges.small=smollm2").judges
    assert [(judge.name, judge.method) for judge in judges] == [("embedding", "embedding"), ("smollm2", "prompt")]
    assert plan("judge=none").judges == ()
    assert [judge.name for judge in plan("judge=none", "+judge@judges.b=embedding").judges] == ["embedding"]
    assert "all-minilm-l6-v2" in plan("judge=embedding").models
    with pytest.raises(UserError, match="two judges are both called 'embedding'"):
        plan("judge=embedding", "+judge@judges.b=embedding")
    with pytest.raises(UserError, match=r"'judge.model': an embedding needs an encoder"):
        plan("judge=self", "judge.method=embedding")
    with pytest.raises(UserError, match=r"judge\.method"):
        plan("judge=self", "judge.method=guess")


def test_a_model_is_asked_about_its_own_boundaries_and_controls():
    runs = plan("model=smollm2-135m", "temperature=0,0.5").runs
    passed = [{**row, "run": run.name} for run in runs for row in rows(4)]
    pairs = [(passed[0], {**passed[0], "passed": False})]
    asked = by_model(runs, JudgeConfig("self"), pairs, passed)
    (questions,) = (questions for _, questions in asked.values())
    assert [kind for kind, _ in questions].count(BOUNDARY) == 1
    assert {kind for kind, _ in questions} == {BOUNDARY, *KINDS}
    assert by_model(runs, JudgeConfig("self"), [], passed) == {}
