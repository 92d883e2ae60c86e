"""The judge: how far had a chain's words drifted when it broke?

At a boundary the judge is shown both prompts as the model saw them, with the program each led to, and
answers with one number (prompt and scale: ``evalooop.similarity``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalooop.engines import Decoding, Message, Request
from evalooop.loop import Asker
from evalooop.records import Similarity
from evalooop.similarity import judge_prompt, parse_score

Boundary = tuple[dict[str, Any], dict[str, Any]]


def judge_boundaries(asker: Asker, pairs: Iterable[Boundary], max_new_tokens: int) -> list[Similarity]:
    """Return the judge's reply for each pair of rows of the chain table (passed loop, failed loop).

    A reply that cannot be read, or that could not be had, keeps a row without a score: it is left out of
    the means and counted, never taken for 0.
    """
    pairs = list(pairs)
    requests = [_request(asker, passed, failed, max_new_tokens) for passed, failed in pairs]
    answers = asker.complete(requests)
    for (passed, _), request in zip(pairs, requests, strict=True):
        asker.account(passed["run"], answers[request])
    return [
        Similarity(
            run=passed["run"],
            task=passed["task"],
            sample=passed["sample"],
            loop=passed["loop"],
            reply=answers[request].text,
            score=parse_score(answers[request].text),
            error=answers[request].detail,
        )
        for (passed, _), request in zip(pairs, requests, strict=True)
    ]


def _request(asker: Asker, passed: dict[str, Any], failed: dict[str, Any], max_new_tokens: int) -> Request:
    text = judge_prompt(passed["words"], _program(passed), failed["words"], _program(failed))
    return Request(asker.engine.render([Message("user", text)]), Decoding(max_new_tokens))


def _program(row: dict[str, Any]) -> str:
    """Return the program; where none was found, the answer stands in, as in the authors' transcripts."""
    return row["answer"] if row["code"] is None else row["code"]
