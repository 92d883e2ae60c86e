"""The judge: how far had a chain's words drifted when it broke?

At a boundary the judge is shown both prompts as the model saw them, with the program each led to, and
answers with one number (prompt and scale: ``evalooop.similarity``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from evalooop.controls import Pair
from evalooop.engines import Decoding, Message, Request
from evalooop.engines.embedding import Embedder
from evalooop.loop import Asker
from evalooop.records import Similarity
from evalooop.similarity import judge_prompt, parse_score
from evalooop.store import key_of

PRINTABLE = tuple(f"{tenth / 10:.1f}" for tenth in range(11))
"""The scores whose probabilities make the expected score."""


def judge_pairs(name: str, asker: Asker, pairs: Sequence[tuple[str, Pair]], max_new_tokens: int) -> list[Similarity]:
    """Return a model's reply for each pair of rows of the chain table, given with its kind.

    A reply that cannot be read, or that could not be had, keeps a row without a score: it is left out of
    the means and counted, never taken for 0.
    """
    requests = [_request(asker, *pair, max_new_tokens) for _, pair in pairs]
    answers = asker.complete(requests)
    expected = expected_scores(asker, [request.prompt for request in requests])
    for (_, (first, _)), request in zip(pairs, requests, strict=True):
        asker.account(first["run"], answers[request])
    return [
        Similarity(
            *place(pair),
            reply=answers[request].text,
            score=parse_score(answers[request].text),
            error=answers[request].detail,
            expected=expected.get(request.prompt),
            judge=name,
            kind=kind,
        )
        for (kind, pair), request in zip(pairs, requests, strict=True)
    ]


def embed_pairs(name: str, embedder: Embedder, pairs: Sequence[tuple[str, Pair]]) -> list[Similarity]:
    """Return the likeness of the words of each pair by their embeddings; programs are not looked at."""
    scores = embedder.similarities([(first["words"], second["words"]) for _, (first, second) in pairs])
    return [
        Similarity(*place(pair), reply="", score=score, judge=name, kind=kind)
        for (kind, pair), score in zip(pairs, scores, strict=True)
    ]


def lost_pairs(name: str, pairs: Sequence[tuple[str, Pair]], reason: str) -> list[Similarity]:
    """Return a row without a score for each pair of a judge that could not be had."""
    return [Similarity(*place(pair), "", None, reason, judge=name, kind=kind) for kind, pair in pairs]


def place(pair: Pair) -> tuple[str, str, int, int]:
    first, _ = pair
    return (first["run"], first["task"], first["sample"], first["loop"])


def expected_scores(asker: Asker, prompts: Iterable[str]) -> dict[str, float]:
    """Return the mean of ``PRINTABLE`` weighted by the judge's probabilities, by prompt; known ones from the store.

    {} for an engine that does not tell probabilities.
    """
    choose = getattr(asker.engine, "choose", None)
    if choose is None:
        return {}
    keys = {prompt: _expected_key(asker, prompt) for prompt in prompts}
    known = asker.store.get_many(keys.values())
    found = {prompt: known[key]["expected"] for prompt, key in keys.items() if "expected" in known.get(key, {})}
    missing = [prompt for prompt in keys if prompt not in found]
    for prompt, shares in choose(missing, PRINTABLE):
        found[prompt] = sum(share * float(score) for share, score in zip(shares, PRINTABLE, strict=True))
        asker.store.put(keys[prompt], {"expected": found[prompt]}, maker=asker.engine.fingerprint)
    return found


def _expected_key(asker: Asker, prompt: str) -> str:
    return key_of("expected", asker.engine.fingerprint, prompt, list(PRINTABLE))


def _request(asker: Asker, first: dict[str, Any], second: dict[str, Any], max_new_tokens: int) -> Request:
    text = judge_prompt(first["words"], _program(first), second["words"], _program(second))
    return Request(asker.engine.render([Message("user", text)]), Decoding(max_new_tokens))


def _program(row: dict[str, Any]) -> str:
    """Return the program; where none was found, the answer stands in, as in the authors' transcripts."""
    return row["answer"] if row["code"] is None else row["code"]
