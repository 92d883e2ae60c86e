"""Progress of a stage that asks a model, on standard error."""

from __future__ import annotations

import sys
import time

from tqdm import tqdm

from evalooop import processes
from evalooop.engines import Completion


class TokenBar:
    """Progress of a job whose questions become known as it goes: answers, new tokens a second, time left.

    Of several processes only the first one shows its part.
    """

    def __init__(self, label: str) -> None:
        self.bar = tqdm(desc=label, unit="answer", file=sys.stderr, mininterval=1.0, disable=not processes.is_first())
        self.tokens = 0
        self.started = time.monotonic()

    def __enter__(self) -> TokenBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def expect(self, questions: int) -> None:
        self.bar.total = (self.bar.total or 0) + questions
        self.bar.refresh()

    def add(self, completion: Completion) -> None:
        self.tokens += completion.new_tokens
        rate = self.tokens / max(time.monotonic() - self.started, 1e-9)
        self.bar.set_postfix_str(f"{rate:.0f} tokens/s", refresh=False)
        self.bar.update()
