"""Perturbations of the layout: the same characters but for white space and the marks of a docstring."""

from __future__ import annotations

import random
import re
import textwrap
from dataclasses import replace

from evalooop.perturbations.prose import map_prose
from evalooop.tasks import Task

NARROW = 40


def wide_spaces(task: Task, draw: random.Random) -> Task:
    """Put one to three blanks between the words of the prose."""
    return replace(task, prompt=map_prose(task.prompt, lambda text: _spread(text, draw)))


def _spread(text: str, draw: random.Random) -> str:
    return re.sub(r" +", lambda _: " " * draw.randint(1, 3), text)


def narrow_lines(task: Task, draw: random.Random) -> Task:
    """Break the lines of the prose at 40 characters."""
    lines = []
    for line, changed in zip(task.prompt.split("\n"), _wrapped(task.prompt), strict=True):
        indent = line[: len(line) - len(line.lstrip())]
        lines += [part if number == 0 else indent + part for number, part in enumerate(changed.split("\0"))]
    return replace(task, prompt="\n".join(lines))


def _wrapped(prompt: str) -> list[str]:
    """Return the prompt's lines, those of prose with a mark where they are to be broken."""
    return map_prose(prompt, lambda text: "\0".join(textwrap.wrap(text, NARROW, break_long_words=False))).split("\n")


def deep_indentation(task: Task, draw: random.Random) -> Task:
    """Indent every line behind the first by eight blanks more."""
    first, *others = task.prompt.split("\n")
    return replace(task, prompt="\n".join([first, *(8 * " " + line if line.strip() else line for line in others)]))


def comments(task: Task, draw: random.Random) -> Task:
    """Write the docstring as comments, quotes left away."""
    lines = []
    inside = False
    for line in task.prompt.split("\n"):
        quotes = len(re.findall(r"\"\"\"|'''", line))
        text = re.sub(r"\"\"\"|'''", "", line)
        if (inside or quotes) and not _is_code(line, inside):
            indent = line[: len(line) - len(line.lstrip())]
            if text.strip():
                lines.append(f"{indent}# {text.strip()}")
        else:
            lines.append(text)
        inside ^= quotes % 2 == 1
    return replace(task, prompt="\n".join(lines))


def _is_code(line: str, inside: bool) -> bool:
    """Whether a line is the task's own code: outside the docstring, or the assert that it shows."""
    return line.lstrip().startswith("assert ") or (not inside and not re.match(r"\s*(?:\"\"\"|''')", line))
