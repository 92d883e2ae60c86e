"""Perturbations of single words: case, typing errors, synonyms."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from evalooop.perturbations.prose import map_prose, map_words, names_of
from evalooop.tasks import Task

TYPING_ERRORS = 0.15
"""Share of the words of at least ``SHORTEST`` letters that get one."""
SHORTEST = 4

KEYBOARD = {
    "q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuh", "u": "yij", "i": "uok", "o": "ipl",
    "p": "o", "a": "qsz", "s": "adw", "d": "sfe", "f": "dgr", "g": "fht", "h": "gjy", "j": "hku", "k": "jli",
    "l": "ko", "z": "xa", "x": "zcs", "c": "xvd", "v": "cbf", "b": "vng", "n": "bmh", "m": "nj",
}  # fmt: skip

SYNONYMS = {
    "find": "determine",
    "write": "create",
    "return": "give back",
    "returns": "gives back",
    "check": "verify",
    "checks": "verifies",
    "given": "provided",
    "number": "numeral",
    "numbers": "numerals",
    "using": "by means of",
    "whether": "if",
    "remove": "delete",
    "calculate": "compute",
    "largest": "greatest",
    "smallest": "least",
    "biggest": "greatest",
    "convert": "turn",
    "count": "tally",
    "get": "obtain",
    "each": "every",
    "contains": "includes",
    "integer": "whole number",
    "integers": "whole numbers",
}


def upper_case(task: Task, draw: random.Random) -> Task:
    """Write the prose in capitals."""
    return _words(task, str.upper)


def random_case(task: Task, draw: random.Random) -> Task:
    """Write each letter of the prose large or small by the toss of a coin."""
    return _words(task, lambda word: "".join(draw.choice((letter.upper(), letter.lower())) for letter in word))


def swapped_letters(task: Task, draw: random.Random) -> Task:
    """Swap two neighbouring letters inside some words."""

    def change(word: str) -> str:
        if len(word) < SHORTEST or draw.random() > TYPING_ERRORS:
            return word
        place = draw.randrange(1, len(word) - 2)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

    return _words(task, change)


def typing_errors(task: Task, draw: random.Random) -> Task:
    """Hit a neighbouring key inside some words."""

    def change(word: str) -> str:
        if len(word) < SHORTEST or draw.random() > TYPING_ERRORS:
            return word
        place = draw.randrange(1, len(word))
        return word[:place] + draw.choice(KEYBOARD[word[place]]) + word[place + 1 :]

    return _words(task, change)


def synonyms(task: Task, draw: random.Random) -> Task:
    """Put other words of the same meaning, from a fixed table, in the place of common ones."""

    def change(word: str) -> str:
        other = SYNONYMS.get(word.lower(), word)
        return other[0].upper() + other[1:] if word[0].isupper() else other

    return _words(task, change)


def _words(task: Task, change: Callable[[str], str]) -> Task:
    names = names_of(task)
    return replace(task, prompt=map_prose(task.prompt, lambda text: map_words(text, names, change)))
