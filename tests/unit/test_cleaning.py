"""What stays of a program that models wrote, and what is added to it."""

from __future__ import annotations

import sys

import pytest

from evalooop.extraction import extract

F = "def f(x):\n    return x + 1"


def value_of(extracted, *arguments, entry_point="f"):
    """Return what the extracted program's entry point gives. Only programs written in this file come here."""
    scope = {"__name__": "program"}
    exec(compile(extracted.code, "program", "exec"), scope)
    return scope[entry_point](*arguments)


@pytest.mark.parametrize(
    ("code", "argument", "expected"),
    [
        (
            "from functools import lru_cache\n\n@lru_cache(\n    maxsize=None,\n)\n@lru_cache\ndef f(x):\n    return x",
            1,
            1,
        ),
        ("f = lambda x: x + 1", 1, 2),
        ("def g(x):\n    return x + 1\n\nf = g", 1, 2),
        ("f, g = (lambda x: x + 1), 3", 1, 2),
        ("LOW, HIGH = 1, 2\n\ndef f(x):\n    return x + HIGH", 1, 3),
        ("def f(x):\n    yield from range(x)", 0, None),
        ("class Node:\n    def __init__(self, v):\n        self.v = v\n\n\ndef f(x):\n    return Node(x).v", 1, 1),
        (
            "try:\n    import nothing_of_the_kind\nexcept ImportError:\n    one = 1\n\ndef f(x):\n    return x + one",
            1,
            2,
        ),
        ("def f(x):\n    return x + one\n\none = 1", 1, 2),
        ("def f(x):\n    return table[x]\n\ntable = {}\nfor i in range(3):\n    table[i] = 2 * i", 2, 4),
        ("def f(x):\n    return seen[0] + x\n\nseen = []\nseen.append(1)", 1, 2),
        ("def g(x):\n    return x + one\n\ndef f(x):\n    return g(x)\n\none = make = 1", 1, 2),
        ("def f(x):\n    return f.cache + x\n\nf.cache = 1", 1, 2),
        ("def f(x):\n    return x\n\ninner = f\ndef f(x):\n    return inner(x) + 1", 1, 2),
        ("def f(x):\n# a comment at column 0\n    return x", 1, 1),
        ('def f(x):\n    s = """\nat column 0 (\n"""\n    return len(s)', 1, 15),
        ("def f(\n    x,\n):\n    return x", 1, 1),
        ("def f(x):\n    return x + \\\n1", 1, 2),
        ("import sys\n\ndef f(x):\n    return sys.getrecursionlimit()\n\nsys.setrecursionlimit(4321)", 1, 4321),
    ],
)
@pytest.mark.parametrize("frame", ["{}", "```python\n{}\n```", "It's this:\n\n{}\n\nIt isn't (much."])
def test_what_a_program_needs_is_kept(code, argument, expected, frame):
    extracted = extract(frame.format(code), "f")
    limit = sys.getrecursionlimit()
    try:
        value = value_of(extracted, argument)
    finally:
        sys.setrecursionlimit(limit)
    assert (next(value, None) if "yield" in code else value) == expected


DEMONSTRATIONS = [
    "print(f(1))",
    "f(1)",
    "assert f(1) == 3",
    "x = int(input())\nprint(f(x))",
    "n = int(input('n? '))\nprint([f(y + n) for y in range(3)])",
    "while True:\n    print(f(input()))",
    "for case in [1, 'a']:\n    print(f(case))",
    "result = f('wrong')",
    "import sys\nsys.exit()",
    "exit()",
    "raise SystemExit",
    'if __name__ == "__main__":\n    main()',
    'if "__main__" == __name__:\n    raise ValueError',
    "try:\n    f(None)\nexcept TypeError:\n    raise",
    "with open('nothing') as file:\n    print(f(file))",
    "def main():\n    print(f(data))\n\ndata = [int(c) for c in input()]\nmain()",
    "return f(2)",
    "import unittest\n\nclass TestF(unittest.TestCase):\n    def test(self):\n        self.fail()\n\nunittest.main()",
]


@pytest.mark.parametrize("demonstration", DEMONSTRATIONS)
@pytest.mark.parametrize("frame", ["{}", "```python\n{}\n```", "{}\n\nThat's all (folks."])
def test_demonstrations_after_the_function_are_dropped(demonstration, frame):
    extracted = extract(frame.format(f"{F}\n\n# Example usage:\n{demonstration}\n"), "f")
    assert value_of(extracted, 1) == 2
    if not demonstration.startswith(("import", "def")):
        assert extracted.code == F


@pytest.mark.parametrize(
    "before", ["print('hello')", "n = int(input())", "assert f(1) == 2", "import sys\ndata = sys.stdin.read()"]
)
def test_demonstrations_before_the_function_are_dropped(before):
    extracted = extract(f"{before}\n{F}", "f")
    assert value_of(extracted, 1) == 2
    assert before.split("\n")[-1] not in extracted.code


def test_preparation_before_the_function_is_kept():
    code = f"import random\nrandom.seed(0)\nLIMIT = 10\nprimes = list(range(LIMIT))\n\n{F}"
    assert extract(code, "f").code == code


def test_main_guard_inside_a_longer_program():
    code = f"{F}\n\nif __name__ == '__main__':\n    print(f(0))\n\ndef g(x):\n    return x"
    assert "__main__" not in extract(code, "f").code
    assert "def g" in extract(code, "f").code


def test_helpers_and_imports_of_other_blocks_are_prepended():
    answer = (
        "```python\nimport math\nprint(1)\n```\n```python\nONE = 1\n\n"
        "def helper(x):\n    return math.floor(x) + ONE\n\n"
        "def unused():\n    return 2\n```\nNow:\n```python\ndef f(x):\n    return helper(x) + last(x)\n```\n"
        "And:\n```python\ndef last(x):\n    return 0\n```"
    )
    extracted = extract(answer, "f")
    assert value_of(extracted, 1.5) == 2
    assert "unused" not in extracted.code
    assert "print" not in extracted.code


def test_nothing_is_prepended_that_is_not_missing():
    answer = f"```python\ndef g(x):\n    return 0\n```\n```python\ndef g(x):\n    return x\n\n{F}\n```"
    assert extract(answer, "f").code == f"def g(x):\n    return x\n\n{F}"


def test_helpers_stand_below_future_imports():
    answer = (
        "```python\ndef g(x):\n    return x\n```\n"
        "```python\nfrom __future__ import annotations\n\ndef f(x: Unknown):\n    return g(x)\n```"
    )
    assert value_of(extract(answer, "f"), 1) == 1
