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
        max_new_tokens: of the answer, at least 1; thinking has a budget of its own (``ReasoningConfig``).
        temperature: 0 is greedy; ``top_p``, ``top_k`` and ``stream``, which would be without effect, are then unset.
        top_p: nucleus mass in (0, 1].
        stream: names the noise of this one answer, such as ``(seed, task, loop, step, sample)``; None when greedy.
        top_k: only so many of the likeliest tokens are drawn from; 0 for all.
        repetition_penalty: divides the positive and multiplies the negative logits of tokens that stand in the
            prompt or the answer (Keskar et al. 2019), above 0; 1 is none.
        min_new_tokens: no end token before so many tokens.
        stop: texts that end an answer, which is cut before the first of them.
    """

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    stream: tuple[int | str, ...] | None = None
    top_k: int = 0
    repetition_penalty: float = 1.0
    min_new_tokens: int = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.temperature == 0:
            # Equal answers must be equal requests, or they would be asked and stored twice.
            for name, value in {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "stream": None}.items():
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Request:
    """One rendered prompt to be answered."""

    prompt: str
    decoding: Decoding


@dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        text: the answer without the prompt, thinking and special tokens; "" if ``stop`` is ``error``.
        stop: ``stop`` at an end token or stop text, ``length`` at a limit of tokens, ``error`` if it could not be had.
        prompt_tokens, new_tokens: lengths in tokens, thinking included, the end token not counted; a server's as it
            counts them, 0 where it does not.
        seconds: this answer's share of the time its batch (or the requests under way beside it) took.
        detail: the reason of an ``error`` in one line.
        attempts: how often it was asked for until it came.
        reasoning: what a reasoning model thought before it answered, without its markers.
        reasoning_tokens: how many of the new tokens are thinking, markers included.
        near_ties: how many tokens had a rival so close that rounding may turn the choice in another batch or on
            another machine (``evalooop.engines.sampling.NEAR``).
        setup: under what the answer was made, for the manifest: such as ``bfloat16, sdpa, NVIDIA L4, batch 64``.
    """

    text: str
    stop: Stop
    prompt_tokens: int
    new_tokens: int
    seconds: float
    detail: str = ""
    attempts: int = 1
    reasoning: str = ""
    reasoning_tokens: int = 0
    near_ties: int = 0
    setup: str = ""

    @property
    def only_thought(self) -> bool:
        """Whether there is thinking and no word of an answer after it, as when the thinking was never closed."""
        return bool(self.reasoning) and not self.text.strip()


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

    return HFEngine(card, model)
