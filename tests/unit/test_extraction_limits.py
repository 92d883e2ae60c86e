"""Extraction takes any text, and time in proportion to its length."""

from __future__ import annotations

import ast
import random
import string
import time
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalooop import blocks, extraction
from evalooop.extraction import extract

F = "def f(x):\n    return x + 1"


HOSTILE = {
    "null bytes": "def f(x):\0\n    return x",
    "lone surrogate": "def f(x):\n    return '\ud800'",
    "deep brackets": "def f(x):\n    return " + "(" * 100_000,
    "deep unary": "f = " + "-" * 100_000 + "1",
    "deep not": "f = " + "not " * 50_000 + "1",
    "long sum": "f = " + "+".join(["1"] * 50_000),
    "long attribute": "f = a" + ".b" * 100_000,
    "deep blocks": "def f(x):\n" + "".join(" " * depth + "if x:\n" for depth in range(1, 400)),
    "elif ladder": "if f:\n f = 1\n" + "elif f:\n f = 1\n" * 5_000,
    "lambda chain": "f = " + "lambda:" * 50_000 + "1",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_no_code(name):
    extracted = extract(HOSTILE[name], "f")
    assert (extracted.code, extracted.status) == (None, "no_code")
    assert extract(f"```python\n{HOSTILE[name]}\n```\n```python\n{F}\n```", "f").code == F


@pytest.mark.parametrize(
    "line", ["a" * 5_000_000, "`" * 5_000_000, "``` " * 1_250_000, "'\"\\" * 1_666_666, "<|" * 2_500_000]
)
def test_a_line_of_five_megabytes(line):
    assert extract(line, "f").status in ("ok", "no_code")
    assert extract(f"{F}\n{line}", "f").code == F


SCRAPS = [*"fx=()[]{}:'\"`\\\n\t @#<>|/~.,", "def f", "```", '"""', "return ", "if "]


@given(st.lists(st.sampled_from(SCRAPS)).map("".join))
def test_any_text_gives_a_program_that_parses_or_none(answer):
    extracted = extract(answer, "f")
    assert (extracted.status == "ok") == (extracted.code is not None)
    if extracted.code is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(extracted.code).body
        assert body
        assert extracted.found == "no_entry_point" or any(blocks.defines(statement, "f") for statement in body)


@given(st.text(alphabet=string.printable))
def test_prose_around_a_fence_does_not_matter(prose):
    prose = prose.replace("`", "").replace("~", "").replace("<", "").replace("[", "")
    assert extract(f"{prose}\n```python\n{F}\n```\n", "f").code == F


def answers_of(lines: int) -> dict[str, str]:
    """Answers of about so many lines, each of a kind that invites repeated parsing."""
    words = random.Random(0)
    prose = "\n".join(
        " ".join(words.choices(["it's", "(see", "code", "def", "x = 1", '"""'], k=5)) for _ in range(lines)
    )
    body = "    x = x + 1\n" * lines
    return {
        "one function": f"def f(x):\n{body}    return x",
        "function, broken end": f"def f(x):\n{body}    return (x",
        "function, prose after": f"{F}\n{prose}",
        "prose before function": f"{prose}\n{F}",
        "functions": "".join(f"def g{i}(x):\n    return f(x)\n" for i in range(lines // 2)) + F + "\nThat's it",
        "fences": f"```python\n{F}\n```\nIt's\n" * (lines // 5),
        "broken fences": "```python\ndef f(x):\n    return '(x\n```\n" * (lines // 4),
        "triple quotes": 'def f(x):\n    """\n' * (lines // 2),
        "decorators": "@a\n" * lines + "It's",
        "open brackets": "f = (\n" * lines,
        "assertions": F + "\n" + "assert f(1) == 2\n" * lines + "It's",
        "helpers elsewhere": "".join(f"h{i} = {i}\n" for i in range(lines))
        + "```python\ndef f(x):\n    return ["
        + ", ".join(f"h{i}" for i in range(lines))
        + "]\n```",
        "tries": "def f(x):\n    try:\n" + "        x = 1\n" * lines,
    }


@pytest.mark.parametrize("kind", answers_of(4))
def test_parsing_grows_linearly(kind, monkeypatch):
    """The parser sees at most so many times the answer's characters, however long the answer is."""
    seen = []
    real = ast.parse
    monkeypatch.setattr(blocks.ast, "parse", lambda source, *rest: (seen.append(len(source)), real(source, *rest))[1])
    effort = []
    for lines in (200, 2_000):
        seen.clear()
        answer = answers_of(lines)[kind]
        extract(answer, "f")
        effort.append(sum(seen) / len(answer))
    assert effort[0] < 2 * blocks.MAX_ATTEMPTS
    assert effort[1] < 1.5 * effort[0] + 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", answers_of(4))
def test_ten_times_the_lines_take_at_most_fifteen_times_as_long(kind):
    taken = []
    for lines in (2_000, 20_000):
        answer = answers_of(lines)[kind]
        times = []
        for _ in range(3):
            started = time.process_time()
            extract(answer, "f")
            times.append(time.process_time() - started)
        taken.append(min(times))
    assert taken[1] < 15 * taken[0]


def test_reading_stops_at_the_limit():
    answer = f"{F}\n" + "# \n" * extraction.MAX_CHARS + "def f(x):\n    return 0"
    extracted = extract(answer, "f")
    assert extracted.code.startswith(F)
    assert "return 0" not in extracted.code
