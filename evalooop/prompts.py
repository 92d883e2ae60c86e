"""From a task to the model's words and back: the templates of ``conf/prompt/*.yaml``.

Templates are Jinja and may name:

========  ======================================================================================
generate  ``words`` (the text that feeds the loop), ``entry_point``, ``carried``
describe  ``code`` (the program), ``entry_point``
frame     ``description`` (the model's words, stripped), ``carried``; makes the next loop's words
system    nothing; "" for no system message
========  ======================================================================================
"""

from __future__ import annotations

from functools import lru_cache

import jinja2

from evalooop.config import PromptConfig
from evalooop.engines import Message
from evalooop.errors import UserError
from evalooop.tasks import Task

# Undefined names are errors, and nothing is escaped or trimmed: prompts are bytes that models were tested on.
ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)


def generate_messages(prompt: PromptConfig, task: Task, words: str, carried: str) -> list[Message]:
    """Return the conversation that asks for a program. ``words``: the task's prompt, or a framed description."""
    text = _render(prompt, "generate", words=words, entry_point=task.entry_point, carried=carried)
    return _conversation(prompt, text)


def describe_messages(prompt: PromptConfig, task: Task, code: str) -> list[Message]:
    """Return the conversation that asks for a description of a program."""
    return _conversation(prompt, _render(prompt, "describe", code=code, entry_point=task.entry_point))


def next_words(prompt: PromptConfig, description: str, carried: str) -> str:
    """Return what feeds the next loop: the stripped description and the carried line in their frame."""
    return _render(prompt, "frame", description=description.strip(), carried=carried)


def check_templates(prompt: PromptConfig) -> None:
    """Render each template once.

    Raises:
        UserError: a template is malformed or names something it is not given.
    """
    _render(prompt, "generate", words="", entry_point="f", carried="")
    _render(prompt, "describe", code="", entry_point="f")
    _render(prompt, "frame", description="", carried="")


def _conversation(prompt: PromptConfig, text: str) -> list[Message]:
    system = [Message("system", prompt.system)] if prompt.system else []
    return [*system, Message("user", text)]


def _render(prompt: PromptConfig, part: str, **names: str) -> str:
    try:
        return _template(getattr(prompt, part)).render(names)
    except jinja2.TemplateError as error:
        raise UserError(f"configuration key 'prompt.{part}' of prompt '{prompt.name}': {error}")


@lru_cache(maxsize=256)
def _template(source: str) -> jinja2.Template:
    return ENVIRONMENT.from_string(source)
