"""From a conversation to the exact prompt text, and from that text to token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalooop.engines import Message
from evalooop.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Some templates write today's date into the prompt. A run must ask the same tomorrow, so their clock stands still;
# transformers hands templates plain data only, no functions, so the clock is replaced inside the template.
STILL_CLOCK = "{% macro strftime_now(format) %}26 Jul 2024{% endmacro %}"

# What stands before and behind thinking in the models that have tokens for it.
MARKERS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)


def render(tokenizer: PreTrainedTokenizerBase, messages: list[Message]) -> str:
    """Return the prompt text for a conversation, generation prompt included, byte for byte as the template gives it.

    A system message that the template refuses, or leaves out without a word, is put before the first user turn.
    A tokenizer without a chat template belongs to a base model: the contents, one after the other, are the prompt.

    Raises:
        UserError: the template refuses the conversation even without a system message.
    """
    from jinja2 import TemplateError

    messages = [message for message in messages if message.role != "system" or message.content]
    if tokenizer.chat_template is None:
        return "\n\n".join(message.content for message in messages)
    system = _system(messages)
    try:
        text = _apply(tokenizer, messages)
    except TemplateError as error:
        if not system:
            raise UserError(f"the chat template of {tokenizer.name_or_path} refuses the conversation: {error}")
        return render(tokenizer, _merged(messages))
    return text if system.strip() in text else render(tokenizer, _merged(messages))


def knows_system(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether a template has a place for a system message."""
    turns = [Message("system", "Answer."), Message("user", "Hello.")]
    return tokenizer.chat_template is not None and render(tokenizer, turns) != render(tokenizer, _merged(turns))


def encode(tokenizer: PreTrainedTokenizerBase, prompt: str) -> list[int]:
    """Return the token ids of a rendered prompt.

    What the template wrote is the whole prompt, as when transformers applies a template straight to ids: special
    tokens (such as the beginning of sequence) are added only to a base model's prompt that does not bear one yet.
    """
    begun = tokenizer.bos_token is not None and prompt.startswith(tokenizer.bos_token)
    plain = tokenizer.chat_template is None and not begun
    return tokenizer(prompt, add_special_tokens=plain, verbose=False)["input_ids"]


def markers(tokenizer: PreTrainedTokenizerBase) -> tuple[str, str]:
    """Return what a tokenizer's model puts before and behind its thinking: a pair it has tokens for, or ``<think>``."""
    known = tokenizer.get_added_vocab()
    return next((pair for pair in MARKERS if pair[1] in known), MARKERS[0])


def _apply(tokenizer: PreTrainedTokenizerBase, messages: list[Message]) -> str:
    return tokenizer.apply_chat_template(
        [{"role": message.role, "content": message.content} for message in messages],
        add_generation_prompt=True,
        tokenize=False,
        chat_template=STILL_CLOCK + tokenizer.get_chat_template(),
    )


def _merged(messages: list[Message]) -> list[Message]:
    """Return the conversation with its system text at the head of the first user turn."""
    first, *rest = (message for message in messages if message.role != "system")
    return [Message(first.role, f"{_system(messages)}\n\n{first.content}"), *rest]


def _system(messages: list[Message]) -> str:
    return "\n\n".join(message.content for message in messages if message.role == "system")
