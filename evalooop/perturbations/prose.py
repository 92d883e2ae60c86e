"""The prose of a prompt: what a perturbation may change without touching code, tests or names."""

from __future__ import annotations

import re
from collections.abc import Callable

from evalooop.tasks import Task

_QUOTES = re.compile(r"\"\"\"|'''")
# Words with an underscore, a digit, a bracket or an operator beside them are code in the midst of prose.
WORD = re.compile(r"(?<![\w.\[('\"`=<>/\\-])[A-Za-z][a-z]*(?![\w(\[=<>'\"`/\\-]|\.\w)")


def map_prose(prompt: str, change: Callable[[str], str]) -> str:
    """Return a prompt with each line of prose changed: lines of docstrings that are no doctest and no assert.

    Indentation and quotes stay. A prompt without a docstring has no prose that could be told from code.
    """
    lines = []
    inside = in_doctest = False
    for line in prompt.split("\n"):
        parts = _QUOTES.split(line)
        quotes = _QUOTES.findall(line)
        in_doctest = bool(line.strip()) and (in_doctest or line.lstrip().startswith(">>>"))
        is_code = in_doctest or line.lstrip().startswith("assert ")
        for number, part in enumerate(parts):
            if inside and part.strip() and not is_code:
                start = len(part) - len(part.lstrip())
                end = len(part.rstrip())
                parts[number] = part[:start] + change(part[start:end]) + part[end:]
            if number < len(quotes):
                inside = not inside
                in_doctest = False
        lines.append("".join(part + quote for part, quote in zip(parts, [*quotes, ""], strict=True)))
    return "\n".join(lines)


def names_of(task: Task) -> frozenset[str]:
    """Return the words that must stay as they are: the function's name, its arguments and whatever its line names."""
    return frozenset(re.findall(r"\w+", f"{task.entry_point} {task.signature}"))


def map_words(text: str, protected: frozenset[str], change: Callable[[str], str]) -> str:
    """Return a line of prose with each plain word changed that is not ``protected``."""
    return WORD.sub(lambda match: match[0] if match[0] in protected else change(match[0]), text)
