"""Where an answer ends and where its thinking does, on a language whose tokens are pieces of text."""

from __future__ import annotations

import pytest

from evalooop.engines import Completion, Decoding
from evalooop.engines.draft import Draft, Language, Prompt, Thinking, cut

END = 0
THINKING = Thinking("<think>", "</think>", 6)


def write(pieces: list[str], thinking: Thinking | None = None, opened: bool = False, room: int = 99, **settings):
    """Add a token a piece (None is the end token) until the answer ends; return why, its text, thinking and lengths."""
    names = dict(enumerate((piece for piece in pieces if piece is not None), start=1))
    read = lambda ids: "".join(names[token] for token in ids)  # noqa: E731
    decoding = Decoding(**{"max_new_tokens": 4} | settings)
    draft = Draft(Prompt(7, [1], decoding, room, opened), Language(frozenset({END}), read, read, thinking))
    tokens = iter(names)
    for piece in pieces:
        stop = draft.add(END if piece is None else next(tokens))
        if stop:
            text, reasoning, reasoning_tokens = draft.read()
            return stop, text, reasoning, len(draft.ids), reasoning_tokens
    raise AssertionError("the answer did not end")


def test_an_end_token_ends_and_is_not_kept():
    assert write(["a", "b", None]) == ("stop", "ab", "", 2, 0)


def test_the_limit_ends():
    assert write(list("abcde")) == ("length", "abcd", "", 4, 0)
    assert write(list("abcde"), room=2) == ("length", "ab", "", 2, 0)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a", "STOP", "b"], "a"),
        (["a", "S", "TO", "P"], "a"),
        (["a", "xST", "OPy", "z"], "ax"),
        (["STOP"], ""),
        (["\u00e9", "ST", "\u00e9STOP"], "\u00e9ST\u00e9"),
    ],
)
def test_stop_texts(pieces, text):
    stop, found, *_ = write(pieces, stop=("nothing", "STOP"))
    assert (stop, found) == ("stop", text)


def test_the_first_stop_text_cuts():
    assert cut("one two three", ("three", "two")) == "one "
    assert cut("one", ("two",)) == "one"
    assert cut("one", ()) == "one"


class TestThinking:
    def test_is_split_off_and_has_a_budget_of_its_own(self):
        pieces = ["<think>", "hm", " so", "</think>", "a", "b", "c", "d", "e"]
        assert write(pieces, THINKING) == ("length", "abcd", "hm so", 8, 4)

    def test_markers_may_span_tokens(self):
        assert write(["<th", "ink>h", "m</", "think>a", "b", None], THINKING) == ("stop", "ab", "hm", 5, 4)

    def test_the_prompt_may_open_it(self):
        assert write(["hm", "</think>", "a", None], THINKING, opened=True) == ("stop", "a", "hm", 3, 2)

    @pytest.mark.parametrize("pieces", [["<think>", *"abcdefgh"], ["<think>", "a", None]])
    def test_unclosed_thinking_is_no_answer(self, pieces):
        stop, text, reasoning, count, reasoning_tokens = write(pieces, THINKING)
        assert (text, reasoning[0], count) == ("", "a", reasoning_tokens)
        assert count <= THINKING.tokens
        assert Completion(text, stop, 1, count, 0.0, "", reasoning, reasoning_tokens).only_thought

    def test_no_thinking_at_all(self):
        assert write(["\n", "<", "b", "c", "d"], THINKING) == ("length", "\n<bc", "", 4, 0)
        assert write(["a", None], THINKING) == ("stop", "a", "", 1, 0)

    def test_stop_texts_are_looked_for_in_the_answer_only(self):
        pieces = ["<think>", "x", "</think>", "a", "x", "b"]
        assert write(pieces, THINKING, stop=("x",)) == ("stop", "a", "x", 5, 3)

    def test_the_context_ends_thinking_and_answer(self):
        assert write(["<think>", "a", "b"], THINKING, room=2) == ("length", "", "a", 2, 2)
        assert write(["<think>", "</think>", "b"], THINKING, room=2) == ("length", "", "", 2, 2)
