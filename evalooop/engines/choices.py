"""How likely a model finds each of a few answers: what it would say, had it to choose one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def probabilities(model: PreTrainedModel, prompt: Sequence[int], choices: Sequence[Sequence[int]]) -> list[float]:
    """Return the probability of each continuation of a prompt, normalised over the choices given.

    The prompt is read once; the choices, in tokens and none of them empty, follow it side by side.
    """
    import torch
    from transformers import DynamicCache

    from evalooop.engines.decoding import forward_options

    device = model.device
    cache = DynamicCache(config=model.config)
    options = forward_options(model, cache)
    with torch.inference_mode():
        logits = model(torch.tensor([list(prompt)], device=device), **options).logits[0, -1].float().log_softmax(-1)
        totals = torch.stack([logits[choice[0]] for choice in choices])
        length = max(map(len, choices))
        if length > 1:
            # Behind the end of a shorter choice stands anything: nothing that counts looks there.
            rows = [[*choice, *[0] * (length - len(choice))] for choice in choices]
            tokens = torch.tensor(rows, device=device)
            cache.batch_repeat_interleave(len(choices))
            every = {name: value for name, value in options.items() if name != "logits_to_keep"}
            later = model(tokens[:, :-1], **every).logits.float().log_softmax(-1)
            found = later.gather(-1, tokens[:, 1:, None])[..., 0]
            known = torch.tensor([[place < len(choice) for place in range(1, length)] for choice in choices])
            totals = totals + torch.where(known.to(device), found, 0.0).sum(-1)
        return totals.softmax(0).tolist()
