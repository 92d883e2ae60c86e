"""How the next tokens are chosen, so that an answer does not depend on the batch it is in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import torch

from evalooop.engines import Decoding
from evalooop.engines.draft import Draft

# Batches of other sizes and other machines round sums differently, in float32 by about 1e-5 of a logit. A rival that
# is nearer than this may win there.
NEAR = 1e-4


def choose(logits: torch.Tensor, drafts: Sequence[Draft]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the next token of each draft, and whether another one was nearly as good.

    Logits are processed in transformers' order: repetition penalty, end tokens barred before the least length,
    temperature, top_k, top_p. At temperature 0 the largest is taken. Above, Gumbel noise is added first, which draws
    exactly from the softmax (Gumbel-max trick). The noise of a draft depends on its stream, its length and the token
    only, so neither the batch nor the order of requests can change an answer.

    Args:
        logits: float32 of shape (drafts, vocabulary); changed in place.

    Returns:
        Token ids, int64, and near ties, bool, both of shape (drafts,).
    """
    for row, draft in zip(logits, drafts, strict=True):
        _penalize(row, draft)
    drawn = [index for index, draft in enumerate(drafts) if draft.prompt.decoding.temperature > 0]
    if drawn:
        rows = torch.tensor(drawn, device=logits.device)
        logits[rows] = _noisy(logits[rows], [drafts[index] for index in drawn])
    best, tokens = logits.max(dim=-1, keepdim=True)
    return tokens[:, 0], (logits >= best - NEAR).sum(dim=-1) > 1


def _penalize(row: torch.Tensor, draft: Draft) -> None:
    """Apply what depends on the tokens so far to the logits of one draft, in place."""
    decoding = draft.prompt.decoding
    if decoding.repetition_penalty != 1:
        seen = torch.tensor(sorted({*draft.prompt.ids, *draft.ids}), device=row.device)
        scores = row[seen]
        penalty = decoding.repetition_penalty
        row[seen] = torch.where(scores < 0, scores * penalty, scores / penalty)
    if len(draft.ids) < decoding.min_new_tokens:
        row[list(draft.language.end_ids)] = -torch.inf


def _noisy(logits: torch.Tensor, drafts: Sequence[Draft]) -> torch.Tensor:
    """Return the scores whose largest is a draw from each row's distribution."""
    decodings = [draft.prompt.decoding for draft in drafts]
    scores = logits / logits.new_tensor([decoding.temperature for decoding in decodings])[:, None]
    if any(decoding.top_p < 1 or decoding.top_k for decoding in decodings):
        scores = _likeliest(scores, decodings)
    noise = np.stack([gumbel(noise_key(draft.prompt.decoding), len(draft.ids), logits.shape[-1]) for draft in drafts])
    return scores + torch.from_numpy(noise).to(logits.device)


def _likeliest(scores: torch.Tensor, decodings: Sequence[Decoding]) -> torch.Tensor:
    """Return scores, -inf for all but the ``top_k`` likeliest tokens and, of these, the fewest of mass ``top_p``."""
    size = scores.shape[-1]
    top_k = torch.tensor([decoding.top_k or size for decoding in decodings], device=scores.device)[:, None]
    top_p = scores.new_tensor([decoding.top_p for decoding in decodings])[:, None]
    ordered, tokens = scores.sort(dim=-1, descending=True, stable=True)
    cut = torch.arange(size, device=scores.device) >= top_k
    mass = ordered.masked_fill(cut, -torch.inf).softmax(dim=-1)
    cut = cut | ((mass.cumsum(dim=-1) - mass >= top_p) & (top_p < 1))
    return scores.masked_fill(torch.zeros_like(cut).scatter(-1, tokens, cut), -torch.inf)


def noise_key(decoding: Decoding) -> np.ndarray:
    """Return the 128-bit key, two words of 64 bits, of an answer's noise."""
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
