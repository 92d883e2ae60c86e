"""What answers take: tokens, time in the model, and money at the model's price."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from evalooop.config import PriceConfig
from evalooop.engines import Completion

MILLION = 1_000_000


@dataclass
class Usage:
    """A sum over answers: number, tokens, near ties among these, shares (s) of the time that asking took."""

    answers: int = 0
    prompt_tokens: int = 0
    new_tokens: int = 0
    model_seconds: float = 0.0
    near_ties: int = 0

    def add(self, completion: Completion) -> None:
        self.answers += 1
        self.prompt_tokens += completion.prompt_tokens
        self.new_tokens += completion.new_tokens
        self.model_seconds += completion.seconds
        self.near_ties += completion.near_ties

    def __iadd__(self, other: Usage) -> Usage:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self

    def row(self, price: PriceConfig | None) -> dict[str, float]:
        """Return the numbers for a timing file, with ``usd`` (US dollars) where there is a price."""
        if price is None:
            return asdict(self)
        usd = (self.prompt_tokens * price.prompt + self.new_tokens * price.completion) / MILLION
        return asdict(self) | {"usd": usd}
