"""The decode loop: prompts to answers, many side by side, none changed by its neighbours.

It is our own, on a GPU too: transformers' continuous batching (``generate_batch``) draws with ``torch.multinomial``
and takes no logits processor of a caller, so noise that belongs to an answer rather than to a batch has no way in.
"""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from evalooop.engines import Stop
from evalooop.engines.draft import Draft, Language, Prompt
from evalooop.engines.sampling import choose

# Waiting prompts enter once this share of the batch has ended, because reading them stops the others. It matters
# little: shares of 0.05 to 0.5 took the same CPU time on two cores, a tenth less than batch after batch.
REFILL_SHARE = 0.25


@dataclass(frozen=True)
class Answer:
    """A draft that has ended, and why."""

    draft: Draft
    stop: Stop


@torch.inference_mode()
def decode(model: PreTrainedModel, prompts: Iterable[Prompt], language: Language, size: int) -> Iterator[Answer]:
    """Answer prompts, at most ``size`` side by side, and yield each answer as soon as it ends.

    Prompts are padded on the left; an answer that ends leaves the batch, and waiting prompts take its place.
    """
    waiting = deque(prompts)
    drafts: list[Draft] = []
    state = None
    while drafts or waiting:
        free = size - len(drafts)
        if waiting and (state is None or (state.can_grow and free >= REFILL_SHARE * size)):
            entering = [Draft(waiting.popleft(), language) for _ in range(min(free, len(waiting)))]
            fresh = _State(model, [draft.prompt.ids for draft in entering])
            staying = yield from _step(fresh, entering)
            if staying:
                state = fresh if state is None else state.joined(fresh)
                drafts += staying
        else:
            drafts = yield from _step(state, drafts)
            state = state if drafts else None


def _step(state: _State, drafts: list[Draft]) -> Generator[Answer, None, list[Draft]]:
    """Give each draft its next token, yield those that end, and return the others, which alone stay in the state."""
    started = time.perf_counter()
    tokens, near = choose(state.step(), drafts)
    chosen = torch.stack([tokens, near]).tolist()
    share = (time.perf_counter() - started) / len(drafts)
    staying = []
    for index, (draft, token, tied) in enumerate(zip(drafts, *chosen, strict=True)):
        draft.seconds += share
        draft.near_ties += tied
        stop = draft.add(token)
        if stop:
            yield Answer(draft, stop)
        else:
            staying.append(index)
    if staying:
        state.feed(tokens, staying)
    return [drafts[index] for index in staying]


class _State:
    """What the model has read so far, one row a prompt."""

    def __init__(self, model: PreTrainedModel, prompts: list[list[int]]) -> None:
        width = max(map(len, prompts))
        # The value at masked places is never seen.
        ids = [[0] * (width - len(prompt)) + prompt for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        self.model = model
        self.cache = DynamicCache(config=model.config)
        self.options = forward_options(model, self.cache)
        self.ids = torch.tensor(ids, device=model.device)
        self.mask = torch.tensor(mask, device=model.device)
        self.positions = (self.mask.cumsum(dim=-1) - 1).clamp(min=0)

    @property
    def can_grow(self) -> bool:
        """Whether rows can join: layers that keep a sliding window or a running state cannot be padded afterwards."""
        return all(type(layer) is DynamicLayer for layer in self.cache.layers)

    def step(self) -> torch.Tensor:
        """Read the pending tokens and return the logits of the next one, float32 of shape (rows, vocabulary)."""
        output = self.model(
            input_ids=self.ids,
            attention_mask=self.mask,
            position_ids=self.positions,
            **self.options,
        )
        return output.logits[:, -1].float()

    def feed(self, tokens: torch.Tensor, staying: list[int]) -> None:
        """Make the chosen tokens (one a row) the pending ones, and keep the rows ``staying`` only."""
        self.ids = tokens[:, None].to(self.model.device)
        self.positions = self.positions[:, -1:] + 1
        if len(staying) < len(self.ids):
            # On the CPU, because the layers' caches may lie on several GPUs.
            keep = torch.tensor(staying)
            self.ids, self.positions, self.mask = self.ids[keep], self.positions[keep], self.mask[keep]
            self.cache.batch_select_indices(keep)
            if self.can_grow:
                self._pad(-int(self.mask.argmax(dim=-1).min()))
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], dim=-1)

    def joined(self, other: _State) -> _State:
        """Return this state with the rows of another one, both fed, behind its own."""
        width = max(self.mask.shape[-1], other.mask.shape[-1])
        for state in (self, other):
            state._pad(width - state.mask.shape[-1])
        for name in ("ids", "positions", "mask"):
            setattr(self, name, torch.cat([getattr(self, name), getattr(other, name)]))
        for layer, added in zip(self.cache.layers, other.cache.layers, strict=True):
            layer.keys = torch.cat([layer.keys, added.keys])
            layer.values = torch.cat([layer.values, added.values])
        return self

    def _pad(self, width: int) -> None:
        """Put so many masked places on the left of every row; less than 0 takes places away that are masked in all."""
        if width:
            self.mask = torch.nn.functional.pad(self.mask, (width, 0))
            for layer in self.cache.layers:
                layer.keys = torch.nn.functional.pad(layer.keys, (0, 0, width, 0))
                layer.values = torch.nn.functional.pad(layer.values, (0, 0, width, 0))


def forward_options(model: PreTrainedModel, cache: DynamicCache) -> dict[str, Any]:
    """Return the arguments that every step passes, under the names this model knows them by."""
    known = inspect.signature(model.forward).parameters
    options: dict[str, Any] = {"cache" if "cache" in known else "past_key_values": cache, "use_cache": True}
    if "logits_to_keep" in known:
        # Logits of a whole batch of prompts would be gigabytes; only the last place is asked for.
        options["logits_to_keep"] = 1
    return options
