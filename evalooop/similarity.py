"""The judge of how far the words drifted at a boundary: its prompt and how its reply is read."""

from __future__ import annotations

import re

# The published prompt, byte for byte (the digest is tested): a newline before, two spaces behind {prompt2},
# none after "Score:".
TEMPLATE = (
    "\n"
    "Compare the semantic similarity of these two code generation prompts. "
    "Consider both the prompts themselves and their generated code outputs.\n"
    "\n"
    "Prompt 1: {prompt1}\n"
    "Generated Code 1: {code1}\n"
    "\n"
    "Prompt 2: {prompt2}  \n"
    "Generated Code 2: {code2}\n"
    "\n"
    "Return only a similarity score between 0 and 1, where:\n"
    "- 1.0 = semantically equivalent (same intent, requirements, and expected output)\n"
    "- 0.0 = completely different semantic meaning\n"
    "- Values between 0 and 1 represent partial semantic overlap\n"
    "\n"
    "Score:"
)

_PLACE = re.compile(r"\{(prompt1|code1|prompt2|code2)\}")
_NUMBER = r"[0-9]{0,20}\.?[0-9]{1,20}"
_LABEL = r"(?:(?:the\s+)?(?:semantic\s+)?(?:similarity(?:\s+score)?|score)\s*(?::|=|is)\s*)?"
_SCORE = re.compile(
    rf"{_LABEL}(?P<number>{_NUMBER})\s*(?:(?P<percent>%)|(?:/|out\s+of)\s*(?P<best>100|10|1)(?:\.0)?)?\.?",
    re.IGNORECASE,
)


def judge_prompt(prompt1: str, code1: str, prompt2: str, code2: str) -> str:
    """Return the question about a boundary i, for any texts (braces and placeholders in them stay as they are).

    Args:
        prompt1, code1: the framed words that fed loop i and the program that passed it.
        prompt2, code2: the framed words that fed loop i + 1 and the program that failed it.
    """
    texts = {"prompt1": prompt1, "code1": code1, "prompt2": prompt2, "code2": code2}
    return _PLACE.sub(lambda place: texts[place[1]], TEMPLATE)


def parse_score(reply: str) -> float | None:
    """Return the similarity in [0, 1] that a reply states, None if it does not state exactly one.

    Read are a number alone on the reply's first line (``0.85``, ``.85``, ``1``), with a final period, a label
    (``Score: 0.85``, ``The similarity score is 0.85``), Markdown emphasis or back quotes, and the scales
    ``85%``, ``9/10``, ``85/100``, ``0.85/1`` and ``9 out of 10``. Prose may follow on lines without any digit,
    and the same score may be repeated on a line of its own. Everything else is None: other scales, values out
    of range (never clamped), percentages and tenths below 1 (``0.9/10`` may mean two things), digits in prose.
    """
    lines = [line for line in (re.sub(r"[*_`]", "", line).strip() for line in _joined(reply).split("\n")) if line]
    scores = {_score(line) for number, line in enumerate(lines) if number == 0 or re.search(r"\d", line)}
    return scores.pop() if len(scores) == 1 else None


def _joined(reply: str) -> str:
    """Return a reply with a label that stands on a line of its own moved before its score."""
    return re.sub(r"\A(\W*(?:similarity\s+)?score\W*)\n\s*(?=\S)", r"\1 ", reply, flags=re.IGNORECASE)


def _score(line: str) -> float | None:
    match = _SCORE.fullmatch(line)
    if match is None:
        return None
    value = float(match["number"])
    best = 100 if match["percent"] else int(match["best"] or 1)
    ambiguous = best > 1 and 0 < value < 1
    return None if ambiguous or value > best else value / best
