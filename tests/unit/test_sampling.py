"""The choice of a token: drawn from the right distribution, by noise that is the answer's own."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evalooop.engines import Decoding
from evalooop.engines.draft import Draft, Language, Prompt

torch = pytest.importorskip("torch")


def draft(decoding: Decoding, before: str = "", new: int = 0, end_ids: frozenset[int] = frozenset()) -> Draft:
    """Return a draft after so many new tokens. ``before``: the prompt, a digit a token."""
    language = Language(end_ids, str, str)
    return Draft(Prompt(0, [int(digit) for digit in before], decoding, 10_000), language, ids=[0] * new)


def tokens_of(logits: list[float], drafts: list[Draft]) -> list[int]:
    from evalooop.engines.sampling import choose

    return choose(torch.tensor([logits] * len(drafts)), drafts)[0].tolist()


def draws(logits: list[float], count: int, **decoding) -> Counter[int]:
    drawn = Decoding(1, **{"temperature": 1.0, "stream": ("a",)} | decoding)
    return Counter(tokens_of(logits, [draft(drawn, new=step) for step in range(count)]))


def test_drawn_tokens_follow_the_softmax():
    logits = [2.0, 1.0, 0.5, -1.0, 1.5]
    found = draws(logits, 5000, temperature=0.7)
    expected = (torch.tensor(logits) / 0.7).softmax(0).numpy()
    shares = np.array([found[token] for token in range(5)]) / 5000
    assert np.all(np.abs(shares - expected) < 4 * np.sqrt(expected * (1 - expected) / 5000))


@pytest.mark.parametrize(
    ("top_p", "top_k", "tokens"),
    [
        (0.4, 0, {1}),
        (0.7, 0, {1, 3}),
        (0.9, 0, {0, 1, 3}),
        (1.0, 0, {0, 1, 2, 3}),
        (1.0, 1, {1}),
        (1.0, 2, {1, 3}),
        (1.0, 9, {0, 1, 2, 3}),
        # Of the two likeliest, 0.5 and 0.3, the first has 0.625 of the mass that is left.
        (0.6, 2, {1}),
        (0.7, 2, {1, 3}),
    ],
)
def test_only_the_likeliest_are_drawn(top_p, top_k, tokens):
    logits = torch.tensor([0.15, 0.5, 0.05, 0.3]).log().tolist()
    assert set(draws(logits, 400, top_p=top_p, top_k=top_k)) == tokens


def test_top_k_and_top_p_keep_what_transformers_keeps():
    from transformers import TopKLogitsWarper, TopPLogitsWarper

    from evalooop.engines.sampling import _likeliest

    scores = torch.randn(4, 200, generator=torch.Generator().manual_seed(0))
    for top_k, top_p in ((5, 1.0), (200, 0.8), (20, 0.6)):
        expected = TopPLogitsWarper(top_p)(None, TopKLogitsWarper(top_k)(None, scores))
        found = _likeliest(scores, [Decoding(1, 1.0, top_p, top_k=top_k)] * 4)
        assert torch.equal(found, expected)


def test_tokens_that_were_used_are_penalized():
    logits = [2.0, 1.5, -1.0, -1.5]
    plain, penalized = Decoding(1), Decoding(1, repetition_penalty=1.5)
    assert tokens_of(logits, [draft(plain, "0"), draft(penalized, "0"), draft(penalized, "3")]) == [0, 1, 0]
    assert tokens_of(logits, [draft(penalized, "1", new=1)]) == [0]
    assert tokens_of([-1.0, -1.2], [draft(penalized, "0"), draft(penalized, "1")]) == [1, 0]


def test_no_end_token_before_the_least_length():
    decoding = Decoding(9, min_new_tokens=2)
    drafts = [draft(decoding, new=new, end_ids=frozenset({1, 2})) for new in (0, 1, 2)]
    assert tokens_of([0.0, 2.0, 1.0], drafts) == [0, 0, 1]


def test_rivals_within_a_ten_thousandth_are_near_ties():
    from evalooop.engines.sampling import choose

    logits = torch.tensor([[1.0, 1.00005, 0.0], [1.0, 1.001, 0.0], [1.0, 1.0, 1.0]])
    tokens, near = choose(logits, [draft(Decoding(1))] * 3)
    assert tokens.tolist()[:2] == [1, 1]
    assert near.tolist() == [True, False, True]


def test_noise_is_a_function_of_stream_and_step():
    from evalooop.engines.sampling import gumbel, noise_key

    first, second = noise_key(Decoding(1, 1.0, stream=(0, "a"))), noise_key(Decoding(1, 1.0, stream=("0", "a")))
    assert np.array_equal(gumbel(first, 3, 50), gumbel(first, 3, 50))
    assert not np.array_equal(gumbel(first, 3, 50), gumbel(first, 4, 50))
    assert not np.array_equal(gumbel(first, 3, 50), gumbel(second, 3, 50))
    # A standard Gumbel variable has the mean 0.5772 (Euler's constant) and the variance pi**2 / 6.
    many = gumbel(first, 0, 100_000)
    assert abs(many.mean() - 0.5772) < 0.02
    assert abs(many.var() - np.pi**2 / 6) < 0.04
