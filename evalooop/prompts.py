"""From a task to the model's words and back: the templates of ``conf/prompt/*.yaml``.

Templates are Jinja and may name:

========  ======================================================================================
generate  ``words`` (the text that feeds the loop), ``entry_point``, ``signature``, ``carried``
describe  ``code`` (the program), ``entry_point``, ``signature``
frame     ``description`` (the model's words, stripped), ``signature``, ``carried``; makes the next loop's words
system    nothing; "" for no system message
========  ======================================================================================

``carried`` is what the dataset's ``carry`` takes along, ``signature`` always the ``def`` line of the task. The filter
``without_tests`` takes asserts and doctests out of a text: ``{{ words | without_tests }}``.
"""

from __future__ import annotations

import re
from functools import lru_cache

import jinja2

from evalooop.config import PromptConfig
from evalooop.engines import Message
from evalooop.errors import UserError
from evalooop.tasks import Task

# Undefined names are errors, and nothing is escaped or trimmed: prompts are bytes that models were tested on.
ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)


_QUOTES = re.compile(r"(\"\"\"|''')\s*$")
_ASSERT = re.compile(r"\s*assert\b")
_DOCTEST = re.compile(r"\s*>>>")
_HEADING = re.compile(r"\s*(?:for )?examples?:?\s*$", re.IGNORECASE)


def without_tests(text: str) -> str:
    """Return a text without its assert lines and its doctests, their outputs and headings; closing quotes stay.

    Examples in prose, such as ``f(2) should be 4``, are the task's words and stay.
    """
    kept: list[str] = []
    in_doctest = False
    for line in text.split("\n"):
        quotes = _QUOTES.search(line)
        if _DOCTEST.match(line):
            in_doctest = True
            if kept and _HEADING.match(kept[-1]):
                kept.pop()
        in_doctest = in_doctest and bool(line.strip())
        if not in_doctest and not _ASSERT.match(line):
            kept.append(line)
        elif quotes:
            kept.append(line[: len(line) - len(line.lstrip())] + quotes[1])
        in_doctest = in_doctest and not quotes
    return "\n".join(kept)


ENVIRONMENT.filters["without_tests"] = without_tests


def generate_messages(prompt: PromptConfig, task: Task, words: str, carried: str) -> list[Message]:
    """Return the conversation that asks for a program. ``words``: the task's prompt, or a framed description."""
    names = {"words": words, "entry_point": task.entry_point, "signature": task.signature, "carried": carried}
    return _conversation(prompt, _render(prompt, "generate", **names))


def describe_messages(prompt: PromptConfig, task: Task, code: str) -> list[Message]:
    """Return the conversation that asks for a description of a program."""
    names = {"code": code, "entry_point": task.entry_point, "signature": task.signature}
    return _conversation(prompt, _render(prompt, "describe", **names))


def next_words(prompt: PromptConfig, task: Task, description: str, carried: str) -> str:
    """Return what feeds the next loop: the stripped description and what is carried, in their frame."""
    return _render(prompt, "frame", description=description.strip(), signature=task.signature, carried=carried)


def check_templates(prompt: PromptConfig) -> None:
    """Render each template once.

    Raises:
        UserError: a template is malformed or names something it is not given.
    """
    _render(prompt, "generate", words="", entry_point="f", signature="", carried="")
    _render(prompt, "describe", code="", entry_point="f", signature="")
    _render(prompt, "frame", description="", signature="", carried="")


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
