"""Programs taken from answers: every shape of answer that other tools are known to get wrong."""

from __future__ import annotations

import ast
import random
import string
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalooop import blocks, extraction
from evalooop.extraction import extract, split_reasoning

F = "def f(x):\n    return x + 1"


def value_of(extracted, *arguments, entry_point="f"):
    """Return what the extracted program's entry point gives. Only programs written in this file come here."""
    scope = {"__name__": "program"}
    exec(compile(extracted.code, "program", "exec"), scope)
    return scope[entry_point](*arguments)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        pytest.param(f"```python\n{F}\n```", "fence", id="plain fence"),
        pytest.param(f"Sure!\n\n```py\n{F}\n```\nIt adds one (to x).", "fence", id="prose around"),
        pytest.param(f"```\n{F}\n```", "fence", id="no tag"),
        pytest.param(f"```javascript\n{F}\n```", "fence", id="wrong tag"),
        pytest.param(f"```c++\n{F}\n```", "fence", id="tag with signs"),
        pytest.param(f'```python title="f.py"\n{F}\n```', "fence", id="tag with attributes"),
        pytest.param(f"```{{python}}\n{F}\n```", "fence", id="tag in braces"),
        pytest.param(f"~~~python\n{F}\n~~~", "fence", id="tildes"),
        pytest.param(f"Here: ```python\n{F}```", "fence", id="marks inside lines"),
        pytest.param("```python def f(x): return x + 1```", "fence", id="one line"),
        pytest.param(f"````markdown\n```python\n{F}\n```\n````", "fence", id="fence in a fence"),
        pytest.param(
            f"1. First:\n   ```python\n   {F.replace(chr(10), chr(10) + '   ')}\n   ```\n", "fence", id="in a list"
        ),
        pytest.param(f"Here is it:\n```python\n{F}", "unclosed_fence", id="unclosed"),
        pytest.param(f"```python\n{F}\n\nThis adds one.", "unclosed_fence", id="unclosed, prose after"),
        pytest.param(f"{F}\n```", "closing_fence", id="row 1: the prompt opened the fence"),
        pytest.param(f"{F}```", "closing_fence", id="row 1: closed on the last line of code"),
        pytest.param(f"{F}\n```\nIt adds one to x.\n```\nf(1)\n```", "closing_fence", id="closed, prose, example"),
        pytest.param(f"Here is the function:\n\n{F}\n```\nDone.", "closing_fence", id="prose and only a closing fence"),
        pytest.param(F, "no_fence", id="bare"),
        pytest.param(f"Here is it:\n\n{F}\n\nThis function adds 1 (one.", "no_fence", id="bare with prose"),
        pytest.param(f"It's simple (see below:\n{F}", "no_fence", id="open bracket and quote in prose"),
        pytest.param(f"python\n{F}", "no_fence", id="tag without its fence"),
        pytest.param(f"{F}\n\nTime: O(n)\n\nExplanation", "no_fence", id="prose that parses"),
        pytest.param(f"Solution (recursive)\n\n{F}", "no_fence", id="prose that parses as a call"),
        pytest.param(f"{F}\n\n### Explanation\nIt's short.", "no_fence", id="heading"),
        pytest.param(
            "The code:\n\n    def f(x):\n        return x + 1\n\nThat is all.", "no_fence", id="indented block"
        ),
        pytest.param("    def f(x):\n        return x + 1\n", "no_fence", id="S3: uniformly indented"),
        pytest.param(" def f(x):\n    return x + 1\nprint(f(1))", "no_fence", id="first line indented by one"),
        pytest.param(f"{F}\n```text\nO(n) time\n```", "closing_fence", id="code, then a text fence"),
        pytest.param(f"```python\n{F}\n```\n```text\nO(n) time\n```", "fence", id="row 3: text fence after the code"),
        pytest.param(f"```python\r\n{F}\r\n```".replace("):\n", "):\r\n"), "fence", id="CRLF"),
    ],
)
def test_shapes_of_answers(answer, found):
    extracted = extract(answer, "f")
    assert (extracted.status, extracted.found) == ("ok", found)
    assert value_of(extracted, 1) == 2
    assert extracted.code.startswith("def f(x):")
    assert "`" not in extracted.code
    assert "Explanation" not in extracted.code


def test_row_5_whole_chat_answer_is_kept():
    code = "from typing import List\n\ndef f(x: List[int]) -> int:\n    return sum(x)"
    assert extract(f"Here is the solution:\n```python\n{code}\n```", "f").code == code


@pytest.mark.parametrize(
    "token",
    [
        *("<|endoftext|>", "<|im_end|>", "</s>", "<|eot_id|>", "<end_of_turn>", "<|EOT|>", "<｜end▁of▁sentence｜>"),
        *("<|endofte", "<|im_", "<|", "</s", "<|im_end|>\n<|im_start|>user\nAnd now def f(x): 3", "</s></s>"),
    ],
)
@pytest.mark.parametrize("gap", ["", "\n"])
def test_row_7_special_tokens_are_removed(token, gap):
    assert extract(f"{F}{gap}{token}", "f").code == F
    assert extract(f"```python\n{F}\n```{gap}{token}", "f").code == F


def test_special_tokens_before_the_answer():
    assert extract(f"<|im_start|>assistant\n{F}<|im_end|>", "f").code == F
    assert extract(f"<|start_header_id|>assistant<|end_header_id|>\n\n{F}<|eot_id|>", "f").code == F
    assert extract(f"<|im_end|>\n{F}", "f").code == F


def test_tokens_in_strings_are_text():
    code = 'def f(x):\n    return x.replace("<|im_end|>", "").replace("</s>", "").replace("<think>", "")'
    assert value_of(extract(code, "f"), "a</s><think><|im_end|>") == "a"
    code = "def f(x):\n    return f'<s>{x}</s>'"
    assert extract(code, "f").code == code


def test_tokens_after_a_string_are_no_text():
    assert extract('def f(x):\n    return "a"<|endoftext|>', "f").code == 'def f(x):\n    return "a"'
    assert extract(f'<think>It gives "a"</think>{F}', "f").code == F
    assert extract(f"<think>```python\n{F}\n```</think>{F}", "f").code == F


def test_row_9_helper_nested_in_the_entry_point():
    code = (
        "def f(n):\n    def factorial(i):\n        return 1 if i == 0 else i * factorial(i - 1)\n\n"
        "    return [factorial(i) if i % 2 == 0 else sum(range(i + 1)) for i in range(1, n + 1)]"
    )
    assert extract(f"```python\n{code}\n```", "f").code == code


def test_row_11_conditional_definition():
    code = "import sys\nif sys.version_info > (3,):\n    def g(x):\n        return x + 1\n\ndef f(x):\n    return g(x)"
    assert extract(code, "f").code == code
    assert value_of(extract(f"Well:\n{code}\nIt's done", "f"), 1) == 2


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
    limit = __import__("sys").getrecursionlimit()
    try:
        value = value_of(extracted, argument)
    finally:
        __import__("sys").setrecursionlimit(limit)
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


@pytest.mark.parametrize(
    "wrong",
    [
        "def g(x):\n    return [x] * 1000\n\n\ndef h(x):\n    return g(g(x))",
        "def f(x):\n    return None  # a first attempt, much longer than the right one",
        "def f(x):\n    raise NotImplementedError",
    ],
)
def test_row_s3_the_last_definition_counts(wrong):
    extracted = extract(
        f"```python\n{wrong}\n```\nBetter:\n```python\n{F}\n```\nUse:\n```python\nprint(f(1))\n```", "f"
    )
    assert extracted.code == F


@pytest.mark.parametrize(
    "stub", ["def f(x):\n    ...", 'def f(x):\n    """Add one."""\n    pass', "from solution import f"]
)
def test_a_stub_or_import_after_the_function_does_not_count(stub):
    assert extract(f"```python\n{F}\n```\nIts interface:\n```python\n{stub}\n```", "f").code == F


def test_a_block_that_does_not_parse_does_not_hide_one_that_does():
    assert extract(f"```python\n{F}\n```\n```python\ndef f(x):\n    return x +\n```", "f").code == F


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


def test_fence_marks_inside_strings():
    code = 'def f(x):\n    """Like this:\n\n    ```python\n    f(1)\n    ```\n    """\n    return x + 1'
    assert extract(f"```python\n{code}\n```\nDone.", "f").code == code
    assert extract(code, "f").code == code


def test_smart_quotes_are_not_changed():
    extracted = extract("```python\ndef f(x):\n    y = 1\n    return “a”\n```", "f")
    assert '"a"' not in extracted.code
    assert extract("x = “a”", "f").code is None


class TestTruncated:
    def test_cut_inside_the_function(self):
        extracted = extract(
            "```python\nimport math\n\ndef f(x):\n    y = x + 1\n    return y\n    # and\n    if (x", "f", True
        )
        assert extracted.found == "unclosed_fence"
        assert value_of(extracted, 1) == 2
        assert extracted.code.startswith("import math")

    def test_cut_after_the_function(self):
        assert extract(f"{F}\n\ndef g(x):\n    return [x for x in", "f", True).code == F
        assert extract(f'{F}\n\ndef g(x):\n    """Some thi', "f", True).code == F

    def test_cut_deep_inside(self):
        headers = "".join("    " * depth + f"for i{depth} in x:\n" for depth in range(1, 7))
        extracted = extract(f"def f(x):\n    y = 1\n{headers}", "f", True)
        assert extracted.code == "def f(x):\n    y = 1"

    def test_a_finished_definition_is_trusted_more_than_the_last_cut_one(self):
        cut = "def f(x):\n    y = 0"
        assert extract(f"```python\n{F}\n```\nAgain:\n```python\n{cut}", "f", True).code == F
        assert extract(f"{F}\n\n{cut}", "f", True).code == F
        assert extract(f"```python\n{F}\n```\nAgain:\n```python\n{cut}", "f", False).code == cut

    def test_only_a_header_is_no_program(self):
        assert extract("```python\ndef f(x):", "f", True).status == "no_code"


class TestReasoning:
    def test_row_29_code_in_thinking_is_not_taken(self):
        answer = "<think>def f(x): return 0</think>```python\ndef f(x): return x+1``` "
        assert value_of(extract(answer, "f"), 1) == 2

    @pytest.mark.parametrize("tags", [("<think>", "</think>"), ("<THINKING>", "</THINKING>"), ("[THINK]", "[/THINK]")])
    def test_tags(self, tags):
        wrong = "```python\ndef f(x):\n    return 0\n```"
        assert extract(f"{tags[0]}\n{wrong}\n{tags[1]}\n{F}", "f").code == F
        assert extract(f"{wrong}\n{tags[1]}\n{F}", "f").code == F
        assert extract(f"{tags[0]}{wrong}{tags[1]}\n{F}\n{tags[0]}{wrong}{tags[1]}", "f").code == F

    @pytest.mark.parametrize(
        "answer",
        [
            f"<think>{F}",
            f"<think>\n```python\n{F}\n```",
            f"{F}\n<think>",
            f"<think>a</think><think>{F}",
            f"<think>{F}</thin",
        ],
    )
    def test_row_29_unclosed_thinking_is_never_executed(self, answer):
        extracted = extract(answer, "f")
        assert (extracted.code, extracted.found, extracted.status) == (None, "none", "incomplete_reasoning")

    def test_thinking_without_an_answer(self):
        assert extract(f"{F}</think>", "f").status == "no_code"
        assert extract(f"<think>{F}</think>", "f").status == "no_code"

    def test_thinking_about_tags(self):
        assert split_reasoning("<think>a <think> tag</think>b") == ("b", True)
        assert split_reasoning("<think>a <think>b</think> c</think>d") == ("d", True)
        assert split_reasoning("<think>a</think>b</think>\n") == ("b\n", True)
        assert split_reasoning('print("<think>")') == ('print("<think>")', True)


PROMPT = 'from typing import List\n\n\ndef f(x: List[int]) -> int:\n    """Sum.\n    >>> f([1])\n    1\n    """\n'


class TestContinuation:
    @pytest.mark.parametrize(
        "answer",
        [
            "    total = sum(x)\n    return total\n",
            "total = sum(x)\n    return total",
            "total = sum(x)\nreturn total",
            "```python\n    total = sum(x)\n    return total\n```",
            "    total = sum(x)\n    return total\n\nprint(f([1]))\n\ndef g(",
            "\n\n    total = sum(x)\n    return total<|endoftext|>",
            "    total = sum(x)\n    return total\n\nThis sums it's argument.",
        ],
    )
    def test_body_of_the_prompts_function(self, answer):
        extracted = extract(answer, "f", prompt=PROMPT)
        assert (extracted.found, extracted.status) == ("continuation", "ok")
        assert value_of(extracted, [1, 2]) == 3

    def test_an_answer_with_the_function_is_taken_as_it_is(self):
        assert extract(F, "f", prompt=PROMPT).code == F

    @pytest.mark.parametrize("answer", ["", "Sorry", "Sorry, I can't.", "I can't (really) say\nmore."])
    def test_prose_is_no_body(self, answer):
        assert extract(answer, "f", prompt=PROMPT).status == "no_code"

    def test_without_a_function_in_the_prompt(self):
        assert extract("    return x", "f", prompt='"""\nWrite f.\n"""\n').found == "no_entry_point"


class TestNoEntryPoint:
    def test_the_longest_program_is_taken(self):
        answer = "```python\nx = 1\n```\n```python\ndef g(x):\n    return x\n```\n"
        extracted = extract(answer, "f")
        assert (extracted.code, extracted.found, extracted.status) == (
            "def g(x):\n    return x",
            "no_entry_point",
            "ok",
        )

    @pytest.mark.parametrize(
        "answer",
        ["", " \n", "Yes", "Yes.", "I cannot do that.", "Note: this", "```\n```", "```python\n", "# Title", '"""a"""'],
    )
    def test_prose_is_no_code(self, answer):
        extracted = extract(answer, "f")
        assert (extracted.code, extracted.found, extracted.status) == (None, "none", "no_code")

    def test_a_method_is_not_the_entry_point(self):
        extracted = extract("class Solution:\n    def f(self, x):\n        return x", "f")
        assert extracted.found == "no_entry_point"


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
            assert ast.parse(extracted.code).body


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


def test_reading_stops_at_the_limit():
    answer = f"{F}\n" + "# \n" * extraction.MAX_CHARS + "def f(x):\n    return 0"
    assert value_of(extract(answer, "f"), 1) == 2
