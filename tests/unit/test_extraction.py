"""Programs taken from answers: every shape of answer that other tools are known to get wrong."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("decorator", ["@lru_cache", "@lru_cache(maxsize=None)", "@wraps(print)\n@lru_cache"])
def test_row_s1_decorated_function(decorator):
    code = f"from functools import lru_cache, wraps\n\n{decorator}\n{F}"
    extracted = extract(f"```python\n{code}\n```", "f")
    assert extracted.code == code
    assert value_of(extracted, 1) == 2


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

    def test_cut_inside_a_try(self):
        tried = "    try:\n" + "        x += 1\n" * 100
        assert extract(f"{F}\n{tried}", "f", True).code == F

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
