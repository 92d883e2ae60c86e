"""Whose a model is and how large, as its name says: what figures colour and arrange models by."""

from __future__ import annotations

import re

# Beginnings of names, the longer of two that fit first.
FAMILIES = {
    "claude": "Claude",
    "gpt": "GPT",
    "o1": "GPT",
    "o3": "GPT",
    "o4": "GPT",
    "gemini": "Gemini",
    "gemma": "Gemma",
    "qwen": "Qwen",
    "codeqwen": "Qwen",
    "deepseek": "DeepSeek",
    "llama": "Llama",
    "meta-llama": "Llama",
    "codellama": "Llama",
    "hermes": "Llama",
    "mistral": "Mistral",
    "ministral": "Mistral",
    "mixtral": "Mistral",
    "codestral": "Mistral",
    "pixtral": "Mistral",
    "phi": "Phi",
    "glm": "GLM",
    "seed-coder": "Seed",
    "nextcoder": "NextCoder",
    "smollm": "SmolLM",
}
OTHER = "other"

_BILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?!\w)", re.IGNORECASE)
_MILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)m(?!\w)", re.IGNORECASE)
# `17b-128e`: 128 experts of a model that uses 17 billion parameters at a time.
_EXPERTS = re.compile(r"b-\d+e(?!\w)", re.IGNORECASE)


def family_of(model: str) -> str:
    """Return the family of a model by the beginning of its name, ``other`` where that is none of ``FAMILIES``."""
    name = model.lower()
    fitting = [start for start in FAMILIES if name.startswith(start)]
    return FAMILIES[max(fitting, key=len)] if fitting else OTHER


def size_of(model: str, stated: float | None = None) -> float | None:
    """Return a model's billions of parameters, all experts counted; None where nothing tells.

    The name's own number goes before ``stated``: the leaderboard states one size for all members of some families.
    Names that count experts (``8x22b``, ``17b-128e``) do not tell the whole.
    """
    if not _EXPERTS.search(model):
        if billions := _BILLIONS.search(model):
            return float(billions[1])
        if millions := _MILLIONS.search(model):
            return float(millions[1]) / 1000
    return stated
