"""Engines answer prompts. An engine is loaded once per session and knows nothing of tasks or loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from evalooop.config import ModelConfig
from evalooop.models import ModelCard

Stop = Literal["stop", "length", "error"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True)
class Decoding:
    """How an answer is drawn: everything that changes it besides the prompt and the model.

    Attributes:
        max_new_tokens: at least 1.
        temperature: 0 is greedy (and then ``top_p`` and ``stream`` are without effect).
        top_p: nucleus mass in (0, 1].
        stream: names the noise of this one answer, such as ``(seed, task, loop, step, sample)``; None when greedy.
    """

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stream: tuple[int | str, ...] | None = None


@dataclass(frozen=True)
class Request:
    """One rendered prompt to be answered."""

    prompt: str
    decoding: Decoding


@dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        text: the answer without the prompt and without special tokens; "" if ``stop`` is ``error``.
        stop: ``stop`` at an end token, ``length`` at ``max_new_tokens``, ``error`` if it could not be had.
        prompt_tokens, new_tokens: lengths in tokens, the end token not counted; a server's as it counts them, 0 where
            it does not.
        seconds: this answer's share of the time its batch (or the requests under way beside it) took.
        detail: the reason of an ``error`` in one line.
        attempts: how often it was asked for until it came.
    """

    text: str
    stop: Stop
    prompt_tokens: int
    new_tokens: int
    seconds: float
    detail: str = ""
    attempts: int = 1


class Engine(Protocol):
    """What the loop asks of an engine.

    ``fingerprint`` says everything about the loaded model that changes its answers (source, revision or
    content hash, dtype, quantization); it is part of every completion's key.
    """

    fingerprint: str

    def render(self, messages: list[Message]) -> str:
        """Return the exact prompt text for a conversation (chat template and generation prompt included)."""
        ...

    def complete(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        """Yield each request with its answer as soon as it is there, in any order. Loads the model if need be."""
        ...


def open_engine(card: ModelCard, model: ModelConfig) -> Engine:
    """Return the engine of a fetched model. Weights are loaded at the first question, not here."""
    if model.server is not None:
        from evalooop.engines.openai import OpenAIEngine

        return OpenAIEngine(card, model.server)
    # torch and transformers take seconds to import: only a stage with something to ask pays for them.
    from evalooop.engines.hf import HFEngine

    return HFEngine(card, model.dtype, model.batch_size)
