"""Sentence embeddings: how alike two texts are for a small encoder, without a judge's understanding of code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from evalooop.engines.hf import load
from evalooop.models import ModelCard

BATCH = 32
MOST_TOKENS = 256


class Embedder:
    """An encoder whose mean-pooled, normalised last layer is a text's embedding (Reimers and Gurevych 2019)."""

    def __init__(self, card: ModelCard) -> None:
        self._card = card

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the cosine of the embeddings of each pair of texts, negative ones as 0.

        Texts are cut at ``MOST_TOKENS`` tokens, which the encoder was trained for.

        Raises:
            UserError: the model does not load.
        """
        texts = sorted({text for pair in pairs for text in pair}, key=lambda text: (len(text), text))
        vectors: dict[str, Any] = {}
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            vectors.update(zip(batch, self._embed(batch), strict=True))
        return [min(1.0, max(0.0, float(vectors[one] @ vectors[other]))) for one, other in pairs]

    def _embed(self, texts: list[str]) -> Any:
        import torch

        inputs = self._tokenizer(texts, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
        with torch.inference_mode():
            states = self._model(**inputs.to(self._model.device)).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(means, dim=-1).cpu()

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return load(self._card, AutoTokenizer.from_pretrained)

    @cached_property
    def _model(self) -> Any:
        import torch
        from transformers import AutoModel

        device = "cuda" if torch.cuda.is_available() else "cpu"
        return load(self._card, AutoModel.from_pretrained, dtype=torch.float32).eval().to(device)
