"""How many prompts are answered side by side when nobody says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig

# A step is bound by reading the weights up to about here; more rows only make the answers wait for each other
# (measured on two cores: benchmarks/README.md).
CPU_BATCH = 16
# Beyond it a GPU computes rather than reads, so that more rows would gain little.
MOST = 256
# The rest is for the prompts' activations, for fragments, and for the copy of a layer's cache that each step makes.
SHARE = 0.7


def rows_that_fit(free: int, tokens: int, config: PretrainedConfig, width: int) -> int:
    """Return how many answers a GPU has memory for, from 1 to MOST. An estimate: where it is too high, it is halved.

    Args:
        free: bytes left beside the weights.
        tokens: of the longest prompt and answer together.
        config: the model's; grouped heads are counted once a group.
        width: bytes of a number in the cache.
    """
    text = config.get_text_config(decoder=True)
    heads = text.num_attention_heads
    head = getattr(text, "head_dim", None) or text.hidden_size // heads
    groups = getattr(text, "num_key_value_heads", None) or heads
    cache = 2 * text.num_hidden_layers * groups * head * width * tokens
    # Logits, sorted logits, their masses and the noise, four bytes each.
    scores = 4 * 4 * text.vocab_size
    return max(1, min(MOST, int(SHARE * free / (cache + scores))))
