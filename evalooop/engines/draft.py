"""An answer while it is written: token by token, through its thinking, until something ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evalooop.engines import Decoding, Stop


@dataclass(frozen=True)
class Thinking:
    """What stands before and behind a model's thinking, and how many tokens of it are allowed, markers included."""

    open: str
    close: str
    tokens: int


@dataclass(frozen=True)
class Language:
    """What a model's tokens mean.

    Attributes:
        end_ids: tokens that end an answer.
        text: token ids to text without special tokens; ``raw``: with them.
        thinking: None for a model that answers straight away.
    """

    end_ids: frozenset[int]
    text: Callable[[list[int]], str]
    raw: Callable[[list[int]], str]
    thinking: Thinking | None = None


@dataclass(frozen=True)
class Prompt:
    """Token ids to go on from, and how.

    Attributes:
        key: the caller's; it comes back with the answer.
        room: most new tokens that the model's context has room for, at least 1.
        opened: whether the prompt ends inside thinking, because the chat template opens it.
    """

    key: int
    ids: list[int]
    decoding: Decoding
    room: int
    opened: bool = False


@dataclass
class Draft:
    """The answer to a prompt, as far as it is.

    Attributes:
        ids: the new tokens.
        began: whether thinking has begun.
        thought: how many of them are thinking; None while it lasts, and while it may yet begin.
        seconds: its share of the time of the steps so far.
        near_ties: how many of its tokens had a rival within ``evalooop.engines.sampling.NEAR``.
    """

    prompt: Prompt
    language: Language
    ids: list[int] = field(default_factory=list)
    began: bool = False
    thought: int | None = None
    seconds: float = 0.0
    near_ties: int = 0

    def __post_init__(self) -> None:
        self.began = self.prompt.opened
        if self.language.thinking is None:
            self.thought = 0

    def add(self, token: int) -> Stop | None:
        """Add a token; return why the answer ends, None if it goes on. An end token is not kept."""
        if token in self.language.end_ids:
            return "stop"
        self.ids.append(token)
        if self.thought is None and not self.began:
            self._begin()
        if self.thought is None:
            return self._add_thought()
        most = self.thought + self.prompt.decoding.max_new_tokens
        stop = self.prompt.decoding.stop
        if stop and completes(self.language.text, self.ids[self.thought :], stop):
            return "stop"
        return "length" if len(self.ids) >= min(most, self.prompt.room) else None

    def _begin(self) -> None:
        """Find out from the first tokens whether they are thinking; they may be too few to tell."""
        opening = self.language.thinking.open
        begun = self.language.raw(self.ids).lstrip()
        self.began = begun.startswith(opening)
        if not self.began and not opening.startswith(begun):
            self.thought = 0

    def _add_thought(self) -> Stop | None:
        """End the thinking if the last token does; return why the answer ends with it, if so."""
        thinking = self.language.thinking
        if completes(self.language.raw, self.ids, [thinking.close]):
            self.thought = len(self.ids)
            return "length" if len(self.ids) >= self.prompt.room else None
        return "length" if len(self.ids) >= min(thinking.tokens, self.prompt.room) else None

    def read(self) -> tuple[str, str, int]:
        """Return the answer's text up to its stop text, its thinking, and how many tokens that took."""
        thinking = self.language.thinking
        if thinking is None or self.thought == 0:
            return cut(self.language.text(self.ids), self.prompt.decoding.stop), "", 0
        count = len(self.ids) if self.thought is None else self.thought
        thoughts, _, rest = self.language.raw(self.ids[:count]).partition(thinking.close)
        text = rest + self.language.text(self.ids[count:])
        return cut(text, self.prompt.decoding.stop), thoughts.strip().removeprefix(thinking.open).strip(), count


def completes(text: Callable[[list[int]], str], ids: list[int], marks: Sequence[str]) -> bool:
    """Return whether one of the marks stands in the text that ends with the last token.

    A token holds at least one byte, so a mark that the last one completed has begun within as many tokens as it has
    bytes: reading only those keeps the cost of a token the same however long the answer is.
    """
    window = text(ids[-max(len(mark.encode()) for mark in marks) - 1 :])
    return any(mark in window for mark in marks)


def cut(text: str, stop: Sequence[str]) -> str:
    """Return the text before the first stop text in it."""
    places = [place for place in map(text.find, stop) if place >= 0]
    return text[: min(places)] if places else text
