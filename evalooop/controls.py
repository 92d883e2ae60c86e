"""Controls of a judge: pairs whose likeness is known, asked in every judged run beside the boundaries.

A judge that cannot tell a text beside itself from a text about another task says nothing about drift.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from typing import Any

from scipy.stats import mannwhitneyu

ALIKE = ("identical", "paraphrase")
KINDS = (*ALIKE, "unrelated")
MOST = 12
"""Pairs of each kind."""

SEPARATES = 0.8
"""The least AUC at which a judge counts as telling like from unlike."""
FEWEST = 5

Pair = tuple[dict[str, Any], dict[str, Any]]

# Rewordings that keep the meaning; whole words of prose only.
_REWORDINGS = (
    (r"write a (?:python )?function to\b", "implement a function that is able to"),
    (r"write a (?:python )?function (?:that|which)\b", "implement a function which"),
    (r"check (?:whether|if)\b", "determine whether"),
    (r"finds?\b", "work out"),
    (r"returns\b", "gives back"),
    (r"the given\b", "the provided"),
    (r"a given\b", "a provided"),
    (r"the number of\b", "how many there are of"),
    (r"using\b", "by means of"),
    (r"largest\b", "biggest"),
    (r"all of the\b", "every one of the"),
)


def draw_controls(rows: Iterable[dict[str, Any]], seed: int = 0) -> list[tuple[str, Pair]]:
    """Return up to ``MOST`` pairs of each kind, drawn from the passed loops of a chain table, each with its kind.

    Identical pairs show one loop twice, paraphrases its words reworded, unrelated ones two loops of different tasks.
    """
    passed = [row for row in rows if row["passed"] and row["words"]]
    random.Random(seed).shuffle(passed)
    chosen = list({row["task"]: row for row in passed}.values())[:MOST]
    pairs: list[tuple[str, Pair]] = []
    for place, row in enumerate(chosen):
        pairs.append(("identical", (row, row)))
        pairs.append(("paraphrase", (row, {**row, "words": paraphrase(row["words"])})))
        if len(chosen) > 1:
            pairs.append(("unrelated", (row, chosen[(place + 1) % len(chosen)])))
    return pairs


def paraphrase(words: str) -> str:
    """Return words of the same meaning: lines of prose reworded, code, asserts and quotes left as they are."""
    lines = words.split("\n")
    changed = [line if _is_code(line) else _reword(line) for line in lines]
    if changed == lines:
        first = next((place for place, line in enumerate(lines) if line.strip() and not _is_code(line)), None)
        if first is not None:
            changed[first] = f"In other words: {lines[first]}"
    return "\n".join(changed)


def _is_code(line: str) -> bool:
    return bool(re.match(r"\s*(?:\"\"\"|'''|>>>|assert\b|def\b|```|$)", line))


def _reword(line: str) -> str:
    for pattern, words in _REWORDINGS:
        line = re.sub(rf"\b{pattern}", lambda match, words=words: _like(match[0], words), line, flags=re.IGNORECASE)
    return line


def _like(before: str, words: str) -> str:
    return words[0].upper() + words[1:] if before[0].isupper() else words


def separation(alike: Sequence[float], unlike: Sequence[float]) -> float | None:
    """Return the AUC: the probability that a pair alike scores above an unlike one, ties half; None without pairs.

    It is Mann and Whitney's U over the number of pairs (Hanley and McNeil 1982).
    """
    if not alike or not unlike:
        return None
    return float(mannwhitneyu(alike, unlike).statistic / (len(alike) * len(unlike)))
