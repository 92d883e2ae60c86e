"""The engine that runs a model here, with transformers: on a GPU where there is one, on the CPU otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from evalooop import processes
from evalooop.config import ModelConfig
from evalooop.engines import Completion, Message, Request, capacity, chat
from evalooop.engines.draft import Language, Prompt, Thinking
from evalooop.errors import UserError
from evalooop.models import ModelCard

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from evalooop.engines.decoding import Answer


class HFEngine:
    """Answers prompts with a model from disk. Tokenizer and weights are loaded when they are first needed.

    Decoding is what a request says and nothing else: sampling defaults and repetition penalties that a model's
    ``generation_config.json`` may hold are not applied, only its end tokens are. In float32 an answer depends
    neither on the batch nor on the order of requests; in half precision sums are rounded differently in other
    batches, so near ties between two tokens may go the other way. A batch is halved for good when a GPU runs out of
    memory; what it had not answered is asked again.
    """

    def __init__(self, card: ModelCard, model: ModelConfig) -> None:
        """Prepare an engine; nothing is loaded yet."""
        # Read by the thread library when torch is imported. By default waiting threads spin, and on a machine that is
        # busy with other work that takes ten times as long (measured on two cores).
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        self._card = card
        self._settings = model
        self._batch_size = model.batch_size
        self._setup = ""

    @cached_property
    def fingerprint(self) -> str:
        parts = [self._card.fingerprint, self._resolved_dtype]
        if self._settings.attention != "auto":
            parts.append(self._settings.attention)
        if self._settings.reasoning is not None:
            parts.append(repr(self._settings.reasoning))
        return ":".join(parts)

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
                prompts.append(Prompt(key, ids, request.decoding, room, self._opens_thinking(request.prompt)))
            elif ids:
                # The words grew beyond what the model reads: its own doing, and the same at every try.
                yield request, Completion("", "length", len(ids), 0, 0.0)
            else:
                yield request, _failed(0, "the prompt is empty")
        prompts.sort(key=lambda prompt: (-len(prompt.ids), prompt.ids, repr(prompt.decoding)))
        for answer in self._answers(prompts):
            yield requests[answer.draft.prompt.key], _completion(answer, self._setup)

    def choose(self, prompts: Iterable[str], choices: Sequence[str]) -> Iterator[tuple[str, list[float]]]:
        """Yield each prompt with the probabilities of a few answers to it, which add up to 1.

        One prompt at a time, so nothing depends on the batch. A prompt that leaves no room for an answer is left out.
        """
        from evalooop.engines.choices import probabilities

        texts = [self._tokenizer.encode(choice, add_special_tokens=False) for choice in choices]
        for prompt in prompts:
            ids = chat.encode(self._tokenizer, prompt)
            if ids and len(ids) + max(map(len, texts)) <= self._context:
                yield prompt, probabilities(self._model, ids, texts)

    def _answers(self, prompts: list[Prompt]) -> Iterator[Answer]:
        """Answer prompts; where they are too many for the GPU's memory, those not answered yet by half as many."""
        import torch

        from evalooop.engines.decoding import Answer, Draft, decode

        while prompts:
            size = min(len(prompts), self._batch_size or self._roomy_batch_size(prompts))
            self._setup = self._describe(size)
            answered = set()
            fits = True
            try:
                for answer in decode(self._model, prompts, self._language, size):
                    answered.add(answer.draft.prompt.key)
                    yield answer
            except torch.OutOfMemoryError:
                fits = False
            prompts = [prompt for prompt in prompts if prompt.key not in answered]
            if not fits:
                # Outside the handler: only now nothing holds on to the tensors of the batch that failed.
                torch.cuda.empty_cache()
                self._batch_size = max(1, size // 2)
                if size == 1:
                    yield Answer(Draft(prompts.pop(0), self._language), "error")

    def _roomy_batch_size(self, prompts: list[Prompt]) -> int:
        import torch

        if not torch.cuda.is_available():
            return capacity.CPU_BATCH
        longest = max(len(prompt.ids) + self._most_new(prompt) for prompt in prompts)
        devices = {parameter.device for parameter in self._model.parameters()}
        free = sum(torch.cuda.mem_get_info(device)[0] for device in devices)
        return capacity.rows_that_fit(free, longest, self._model.config, self._model.dtype.itemsize)

    def _describe(self, size: int) -> str:
        """Return what may change an answer in half precision, in words."""
        import torch

        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
        attention = self._model.config._attn_implementation
        system = "" if chat.knows_system(self._tokenizer) else ", system text in the user turn"
        return f"{self._resolved_dtype}, {attention}, {device}, batch {size}{system}"

    def _most_new(self, prompt: Prompt) -> int:
        thinking = self._language.thinking
        return min(prompt.room, prompt.decoding.max_new_tokens + (thinking.tokens if thinking else 0))

    def _opens_thinking(self, prompt: str) -> bool:
        thinking = self._language.thinking
        return thinking is not None and prompt.rstrip().endswith(thinking.open)

    @cached_property
    def _language(self) -> Language:
        # Cleaning up spaces would change code.
        decode = partial(self._tokenizer.decode, clean_up_tokenization_spaces=False)
        reasoning = self._settings.reasoning
        thinking = None
        if reasoning is not None:
            opening, closing = (reasoning.open, reasoning.close) if reasoning.open else chat.markers(self._tokenizer)
            thinking = Thinking(opening, closing, reasoning.tokens)
        return Language(self._end_ids, partial(decode, skip_special_tokens=True), decode, thinking)

    @cached_property
    def _resolved_dtype(self) -> str:
        if self._settings.dtype != "auto":
            return self._settings.dtype
        import torch

        return "bfloat16" if torch.cuda.is_available() else "float32"

    @cached_property
    def _tokenizer(self) -> PreTrainedTokenizerBase:
        from transformers import AutoTokenizer

        return load(self._card, AutoTokenizer.from_pretrained)

    @cached_property
    def _config(self) -> PretrainedConfig:
        from transformers import AutoConfig

        return load(self._card, AutoConfig.from_pretrained)

    @cached_property
    def _model(self) -> PreTrainedModel:
        import torch
        from transformers import AutoModelForCausalLM

        model, info = load(
            self._card,
            AutoModelForCausalLM.from_pretrained,
            dtype=getattr(torch, self._resolved_dtype),
            device_map=_device_map() if torch.cuda.is_available() else None,
            attn_implementation=None if self._settings.attention == "auto" else self._settings.attention,
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


def _device_map() -> str | dict[str, int]:
    """Return where weights go: over all GPUs if need be, or to the one that belongs to this process of several."""
    return "auto" if processes.COUNT == 1 else {"": processes.LOCAL_RANK}


def _completion(answer: Answer, setup: str) -> Completion:
    draft = answer.draft
    if answer.stop == "error":
        return _failed(len(draft.prompt.ids), "the GPU's memory is too small for this prompt alone")
    text, reasoning, reasoning_tokens = draft.read()
    return Completion(
        text,
        answer.stop,
        prompt_tokens=len(draft.prompt.ids),
        new_tokens=len(draft.ids),
        seconds=draft.seconds,
        reasoning=reasoning,
        reasoning_tokens=reasoning_tokens,
        near_ties=draft.near_ties,
        setup=setup,
    )


def _failed(prompt_tokens: int, reason: str) -> Completion:
    return Completion("", "error", prompt_tokens, 0, 0.0, reason)


def load(card: ModelCard, loader: Callable[..., Any], **options: Any) -> Any:
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
