"""Perturbations of whole sentences: said twice, said around, said in another order."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

from evalooop.perturbations.prose import map_prose
from evalooop.tasks import Task

REDUNDANT = (
    "Please read this carefully before you begin.",
    "This is a common task in everyday programming.",
    "The solution should do what is described here.",
    "Any correct program is welcome.",
    "There is no need to hurry.",
)
# A sentence that begins so leans on the one before it.
LEANING = re.compile(
    r"(?:it|this|that|these|those|they|for example|e\.g|note|so|then|otherwise|however|and|but)\b", re.I
)


def redundant_sentences(task: Task, draw: random.Random) -> Task:
    """Add sentences that say nothing, before and behind the first line of the prose."""
    before, behind = draw.sample(REDUNDANT, 2)
    return _first_line(task, lambda text: f"{before} {text} {behind}")


def restated(task: Task, draw: random.Random) -> Task:
    """Say the first line of the prose a second time."""
    return _first_line(task, lambda text: f"{text} In other words: {text[0].lower()}{text[1:]}")


def reordered_sentences(task: Task, draw: random.Random) -> Task:
    """Put the sentences of a line of prose in another order, those that lean on the one before with it."""

    def change(text: str) -> str:
        groups: list[str] = []
        for sentence in re.split(r"(?<=[a-z)][.!?])\s+(?=[A-Z])", text):
            if groups and LEANING.match(sentence):
                groups[-1] += f" {sentence}"
            else:
                groups.append(sentence)
        # A line that goes on in the next one must end with what goes on.
        whole = text.rstrip().endswith((".", "!", "?"))
        if len(groups) < 2 or not whole:
            return text
        turn = draw.randrange(1, len(groups))
        return " ".join(groups[turn:] + groups[:turn])

    return replace(task, prompt=map_prose(task.prompt, change))


def _first_line(task: Task, change: Callable[[str], str]) -> Task:
    done: list[str] = []

    def once(text: str) -> str:
        if done:
            return text
        done.append(text)
        return change(text)

    return replace(task, prompt=map_prose(task.prompt, once))
