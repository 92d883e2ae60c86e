"""The decode loop: a batch of prompts to answers, drawn so that an answer does not depend on its batch."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from evalooop.engines import Decoding, Stop


@dataclass(frozen=True)
class Prompt:
    """Token ids to go on from, and how.

    ``key`` is the caller's: it comes back with the answer.
    """

    key: int
    ids: list[int]
    decoding: Decoding


@dataclass(frozen=True)
class Answer:
    """New token ids without the end token, why they end, and this prompt's share of the seconds its batch took."""

    key: int
    ids: list[int]
    stop: Stop
    seconds: float


@dataclass
class _Row:
    """A prompt being answered."""

    prompt: Prompt
    key: np.ndarray | None
    ids: list[int] = field(default_factory=list)
    seconds: float = 0.0


@torch.inference_mode()
def decode(model: PreTrainedModel, prompts: list[Prompt], end_ids: frozenset[int]) -> Iterator[Answer]:
    """Answer a batch of prompts side by side and yield each answer as soon as it ends.

    Prompts are padded on the left; an answer that ends leaves the batch, so the rest goes on faster.
    """
    rows = [_Row(prompt, noise_key(prompt.decoding)) for prompt in prompts]
    state = _State(model, [prompt.ids for prompt in prompts])
    while rows:
        started = time.perf_counter()
        logits = state.step()
        tokens = choose(logits, [row.prompt.decoding for row in rows], [row.key for row in rows], len(rows[0].ids))
        chosen = tokens.tolist()
        share = (time.perf_counter() - started) / len(rows)
        alive = []
        for index, (row, token) in enumerate(zip(rows, chosen, strict=True)):
            row.seconds += share
            stop = _advance(row, token, end_ids)
            if stop:
                yield Answer(row.prompt.key, row.ids, stop, row.seconds)
            else:
                alive.append(index)
        rows = [rows[index] for index in alive]
        if rows:
            state.feed(tokens, alive)


def _advance(row: _Row, token: int, end_ids: frozenset[int]) -> Stop | None:
    """Add a token to a row; return why the row ends, None if it goes on."""
    if token in end_ids:
        return "stop"
    row.ids.append(token)
    return "length" if len(row.ids) == row.prompt.decoding.max_new_tokens else None


class _State:
    """What the model has read so far, one row a prompt."""

    def __init__(self, model: PreTrainedModel, prompts: list[list[int]]) -> None:
        width = max(map(len, prompts))
        # The value at masked places is never seen.
        ids = [[0] * (width - len(prompt)) + prompt for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        self.model = model
        self.cache = DynamicCache(config=model.config)
        self.options = _forward_options(model, self.cache)
        self.ids = torch.tensor(ids, device=model.device)
        self.mask = torch.tensor(mask, device=model.device)
        self.positions = (self.mask.cumsum(dim=-1) - 1).clamp(min=0)

    def step(self) -> torch.Tensor:
        """Read the pending tokens and return the logits of the next one, float32 of shape (rows, vocabulary)."""
        output = self.model(
            input_ids=self.ids,
            attention_mask=self.mask,
            position_ids=self.positions,
            **self.options,
        )
        return output.logits[:, -1].float()

    def feed(self, tokens: torch.Tensor, alive: list[int]) -> None:
        """Make the chosen tokens (one a row) the pending ones, and keep the rows ``alive`` only."""
        self.ids = tokens[:, None].to(self.model.device)
        self.positions = self.positions[:, -1:] + 1
        if len(alive) < len(self.ids):
            # On the CPU, because the layers' caches may lie on several GPUs.
            keep = torch.tensor(alive)
            self.ids, self.positions, self.mask = self.ids[keep], self.positions[keep], self.mask[keep]
            self.cache.batch_select_indices(keep)
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(self.mask), 1)], dim=-1)


def _forward_options(model: PreTrainedModel, cache: DynamicCache) -> dict[str, Any]:
    """Return the arguments that every step passes, under the names this model knows them by."""
    known = inspect.signature(model.forward).parameters
    options: dict[str, Any] = {"cache" if "cache" in known else "past_key_values": cache, "use_cache": True}
    if "logits_to_keep" in known:
        # Logits of a whole batch of prompts would be gigabytes; only the last place is asked for.
        options["logits_to_keep"] = 1
    return options


def choose(logits: torch.Tensor, decodings: list[Decoding], keys: list[np.ndarray | None], step: int) -> torch.Tensor:
    """Return the next token of each row.

    At temperature 0 it is the most likely one. Above, the logits are divided by the temperature and cut to the
    nucleus of mass ``top_p``; then Gumbel noise is added and the largest is taken, which draws exactly from the
    softmax (Gumbel-max trick). The noise of a row depends on its key, the step and the token only, so neither the
    batch nor the order of requests can change an answer.

    Args:
        logits: float32 of shape (rows, vocabulary).
        decodings, keys: one a row; the key is None where the temperature is 0.
        step: how many tokens the answers have so far.
    """
    drawn = [index for index, key in enumerate(keys) if key is not None]
    tokens = logits.argmax(dim=-1)
    if not drawn:
        return tokens
    rows = torch.tensor(drawn, device=logits.device)
    temperature = logits.new_tensor([decodings[index].temperature for index in drawn])[:, None]
    top_p = logits.new_tensor([decodings[index].top_p for index in drawn])[:, None]
    scores = logits[rows] / temperature
    if (top_p < 1).any():
        scores = _nucleus(scores, top_p)
    noise = np.stack([gumbel(keys[index], step, logits.shape[-1]) for index in drawn])
    tokens[rows] = (scores + torch.from_numpy(noise).to(logits.device)).argmax(dim=-1)
    return tokens


def _nucleus(scores: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Return scores with all but the fewest likeliest tokens whose mass reaches ``top_p`` set to -inf."""
    ordered, tokens = scores.sort(dim=-1, descending=True, stable=True)
    mass = ordered.softmax(dim=-1)
    before = mass.cumsum(dim=-1) - mass
    cut = (before >= top_p) & (top_p < 1)
    return scores.masked_fill(cut.scatter(-1, tokens, cut), -torch.inf)


def noise_key(decoding: Decoding) -> np.ndarray | None:
    """Return the 128-bit key, two words of 64 bits, of an answer's noise; None for a greedy answer."""
    if decoding.temperature == 0:
        return None
    name = json.dumps(decoding.stream, ensure_ascii=True).encode()
    return np.frombuffer(hashlib.sha256(name).digest()[:16], dtype="<u8")


def gumbel(key: np.ndarray, step: int, size: int) -> np.ndarray:
    """Return ``size`` float32 numbers of the standard Gumbel distribution, a function of key and step alone.

    Philox is a counter-based generator (Salmon et al. 2011): the step is the counter's highest word, so no two
    steps share a number. Minus the logarithm of an exponential variable is a Gumbel variable.
    """
    generator = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, step]))
    waits = generator.standard_exponential(size, dtype=np.float32)
    return -np.log(np.maximum(waits, np.finfo(np.float32).tiny))
