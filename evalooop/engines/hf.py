"""The engine that runs a model here, with transformers: on a GPU where there is one, on the CPU otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalooop.engines import Completion, Message, Request, chat
from evalooop.errors import UserError
from evalooop.models import ModelCard

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from evalooop.engines.decoding import Answer, Prompt


class HFEngine:
    """Answers prompts with a model from disk. Tokenizer and weights are loaded when they are first needed.

    Decoding is what a request says and nothing else: sampling defaults and repetition penalties that a model's
    ``generation_config.json`` may hold are not applied, only its end tokens are. In float32 an answer depends
    neither on ``batch_size`` nor on the order of requests; in half precision sums are rounded differently in
    other batches, so near ties between two tokens may go the other way.
    """

    def __init__(self, card: ModelCard, dtype: str, batch_size: int) -> None:
        """Prepare an engine; nothing is loaded yet.

        Args:
            card: the model, see ``evalooop.models``.
            dtype: ``float32``, ``bfloat16``, ``float16``, or ``auto``: bfloat16 on a GPU and float32 on a CPU.
            batch_size: prompts answered side by side, at least 1; halved for good when a GPU runs out of memory.
        """
        # Read by the thread library when torch is imported. By default waiting threads spin, and on a machine that is
        # busy with other work that takes ten times as long (measured on two cores).
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._card = card
        self._dtype = dtype
        self._batch_size = batch_size

    @cached_property
    def fingerprint(self) -> str:
        return f"{self._card.fingerprint}:{self._resolved_dtype}"

    def render(self, messages: list[Message]) -> str:
        """Return the exact prompt text for a conversation, see ``evalooop.engines.chat.render``."""
        return chat.render(self._tokenizer, messages)

    def complete(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        """Yield each request with its answer as soon as it ends.

        Long prompts go first, each among prompts of about its length. An answer ends with ``length`` where the
        model's context does, at once where the prompt leaves no room for one. An empty prompt, or one for which a
        GPU's memory is too small even alone, gets ``stop`` = ``error``.

        Raises:
            UserError: the model does not load.
        """
        requests = list(requests)
        if not requests:
            return
        prompts = []
        for key, request in enumerate(requests):
            ids = chat.encode(self._tokenizer, request.prompt)
            room = self._context - len(ids)
            if ids and room > 0:
                prompts.append(_prompt(key, ids, request, room))
            elif ids:
                # The words grew beyond what the model reads: its own doing, and the same at every try.
                yield request, Completion("", "length", len(ids), 0, 0.0)
            else:
                yield request, _failed(0, "the prompt is empty")
        prompts.sort(key=lambda prompt: (-len(prompt.ids), prompt.ids, repr(prompt.decoding)))
        lengths = {prompt.key: len(prompt.ids) for prompt in prompts}
        for answer in self._answers(prompts):
            yield requests[answer.key], self._completion(answer, lengths[answer.key])

    def _answers(self, prompts: list[Prompt]) -> Iterator[Answer]:
        """Answer prompts batch by batch; a batch that is too large for the GPU's memory is cut in half."""
        import torch

        from evalooop.engines.decoding import Answer, decode

        while prompts:
            batch = prompts[: self._batch_size]
            answered = set()
            fits = True
            try:
                for answer in decode(self._model, batch, self._end_ids):
                    answered.add(answer.key)
                    yield answer
            except torch.OutOfMemoryError:
                fits = False
            if not fits:
                # Outside the handler: only now nothing holds on to the tensors of the batch that failed.
                torch.cuda.empty_cache()
                self._batch_size = max(1, len(batch) // 2)
                if len(batch) == 1:
                    answered.add(batch[0].key)
                    yield Answer(batch[0].key, [], "error", 0.0)
            prompts = [prompt for prompt in batch if prompt.key not in answered] + prompts[len(batch) :]

    def _completion(self, answer: Answer, prompt_tokens: int) -> Completion:
        if answer.stop == "error":
            return _failed(prompt_tokens, "the GPU's memory is too small for this prompt alone")
        # Cleaning up spaces would change code.
        text = self._tokenizer.decode(answer.ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Completion(text, answer.stop, prompt_tokens, len(answer.ids), answer.seconds)

    @cached_property
    def _resolved_dtype(self) -> str:
        if self._dtype != "auto":
            return self._dtype
        import torch

        return "bfloat16" if torch.cuda.is_available() else "float32"

    @cached_property
    def _tokenizer(self) -> PreTrainedTokenizerBase:
        from transformers import AutoTokenizer

        return _load(self._card, AutoTokenizer.from_pretrained)

    @cached_property
    def _config(self) -> PretrainedConfig:
        from transformers import AutoConfig

        return _load(self._card, AutoConfig.from_pretrained)

    @cached_property
    def _model(self) -> PreTrainedModel:
        import torch
        from transformers import AutoModelForCausalLM

        model, info = _load(
            self._card,
            AutoModelForCausalLM.from_pretrained,
            dtype=getattr(torch, self._resolved_dtype),
            device_map="auto" if torch.cuda.is_available() else None,
            output_loading_info=True,
        )
        # Without this check the gaps would be filled with random numbers and a warning.
        if info["missing_keys"]:
            lacking = sorted(info["missing_keys"])
            raise UserError(
                f"model {self._card.name}: {self._card.folder} lacks {len(lacking)} weights, {lacking[0]} first"
            )
        return model.eval()

    @property
    def _context(self) -> int:
        """Most tokens of prompt and answer together."""
        return getattr(self._config.get_text_config(decoder=True), "max_position_embeddings", None) or sys.maxsize

    @cached_property
    def _end_ids(self) -> frozenset[int]:
        configured = self._model.generation_config.eos_token_id
        ids = configured if isinstance(configured, list) else [configured]
        return frozenset(token for token in (*ids, self._tokenizer.eos_token_id) if token is not None)


def _prompt(key: int, ids: list[int], request: Request, room: int) -> Prompt:
    from evalooop.engines.decoding import Prompt

    most = min(request.decoding.max_new_tokens, room)
    return Prompt(key, ids, replace(request.decoding, max_new_tokens=most))


def _failed(prompt_tokens: int, reason: str) -> Completion:
    return Completion("", "error", prompt_tokens, 0, 0.0, reason)


def _load(card: ModelCard, loader: Callable[..., Any], **options: Any) -> Any:
    """Return what a transformers ``from_pretrained`` makes of the model's folder.

    Raises:
        UserError: it makes nothing of it; the reason in one line.
    """
    from safetensors import SafetensorError
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        # Code that comes with a model is never run.
        return loader(card.folder, local_files_only=True, trust_remote_code=False, **options)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, ImportError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            f"model {card.name} in {card.folder} does not load: {reason}; fetch it again or check its files"
        )
