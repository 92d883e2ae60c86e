"""The project's own tasks: enough tests each, references checked by hand-written examples."""

import ast
import copy
import doctest
import json
from collections import Counter

import pytest

from evalooop.datasets.starter import declarations, load
from evalooop.tasks import Task
from evalooop.values import encode

TASKS = load()
DECLARATIONS = {declaration.function.__name__: declaration for declaration in declarations()}


@pytest.fixture(params=TASKS, ids=[task.entry_point for task in TASKS])
def task(request) -> Task:
    return request.param


def test_forty_two_tasks_from_easy_to_hard():
    levels = [DECLARATIONS[task.entry_point].level for task in TASKS]
    assert levels == sorted(levels)
    assert Counter(levels) == {1: 26, 2: 10, 3: 6}


def test_suites_are_large_enough(task):
    base, plus = task.suites
    assert (base.name, plus.name) == ("base", "plus")
    assert 3 <= len(base.inputs) <= 6
    assert len(plus.inputs) >= 15


def test_reference_gives_the_hand_written_values(task):
    namespace = _run(task)
    for args, want in DECLARATIONS[task.entry_point].examples:
        assert encode(namespace[task.entry_point](*copy.deepcopy(args))) == encode(want)


def test_examples_in_the_docstring_hold(task):
    namespace = _run(task)
    docstring = namespace[task.entry_point].__doc__
    found = doctest.DocTestParser().get_doctest(docstring, namespace, task.id, None, 0)
    assert len(found.examples) == 1
    assert doctest.DocTestRunner(verbose=False).run(found).failed == 0


def test_assertion_holds(task):
    assert task.assertion.startswith(f"assert {task.entry_point}(")
    exec(task.assertion, _run(task))


def test_prompt_is_definition_and_docstring_only(task):
    function = ast.parse(task.prompt).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert function.returns is not None
    assert all(argument.annotation is not None for argument in function.args.args)
    assert len(function.body) == 1
    assert task.prompt.endswith('    """\n')


def test_reference_leaves_its_arguments_alone(task):
    function = _run(task)[task.entry_point]
    for suite in task.suites:
        for args in suite.inputs:
            before = json.dumps(encode(list(args)))
            function(*args)
            assert json.dumps(encode(list(args))) == before


def test_answers_vary_so_that_a_constant_fails(task):
    for suite in task.suites:
        answers = Counter(repr(want) for want in suite.expected)
        assert len(answers) > 1


def test_prompt_bytes_of_one_task():
    to_upper = next(task for task in TASKS if task.entry_point == "to_upper")
    assert to_upper.prompt == (
        "def to_upper(text: str) -> str:\n"
        '    """Return the text in capital letters.\n'
        "\n"
        '    >>> to_upper("hello")\n'
        "    'HELLO'\n"
        '    """\n'
    )
    assert to_upper.signature == "def to_upper(text: str) -> str:"
    assert to_upper.assertion == "assert to_upper('hello') == 'HELLO'"
    assert to_upper.reference == to_upper.prompt + "    return text.upper()\n"


@pytest.mark.parametrize(
    ("entry_point", "twistless"),
    [
        ("absolute_difference", "lambda a, b: a - b"),
        ("average_of_two", "lambda a, b: (a + b) // 2"),
        ("remainder", "lambda a, b: a // b"),
        ("is_positive", "lambda n: n != 0"),
        ("largest", "lambda numbers: numbers[-1]"),
        ("contains", "lambda numbers, n: n in numbers[:-1]"),
        ("sort_numbers", "lambda numbers: sorted(set(numbers))"),
        ("sort_descending", "lambda numbers: numbers[::-1]"),
        ("keep_even", "lambda numbers: sorted(n for n in numbers if n % 2 == 0)"),
        ("keep_positive", "lambda numbers: [n for n in numbers if n >= 0]"),
        ("join_words", "lambda words: ''.join(words)"),
        ("fibonacci", "lambda n: round(((1 + 5**0.5) / 2) ** (n + 1) / 5**0.5)"),
        ("is_leap_year", "lambda year: year % 4 == 0"),
        ("is_prime", "lambda n: n == 2 or n % 2 == 1"),
        ("is_palindrome", "lambda text: text[:1] == text[-1:]"),
        ("count_words", "lambda text: len(text.split(' '))"),
        ("digit_sum", "lambda n: sum(int(d) for d in str(n) if d.isdigit()) * (1 if n >= 0 else -1)"),
        ("clamp", "lambda value, low, high: max(low, min(value, high))"),
        ("ticket_price", "lambda age: 0 if age <= 4 else 6 if age <= 18 else 8 if age > 65 else 12"),
        ("sum_distinct_evens", "lambda numbers: sum(n for n in numbers if n % 2 == 0)"),
        ("round_half_up", "lambda x: round(x)"),
        ("reverse_other_words", "lambda text: ' '.join(text.split()[::-1])"),
        ("second_largest", "lambda numbers: sorted(numbers)[-2] if len(numbers) > 1 else None"),
        ("merge_spans", "lambda spans: sorted(spans)"),
        ("walk_robot", "lambda commands: (0, min(4, commands.count('F')))"),
    ],
)
def test_plus_suite_catches_a_lost_twist(entry_point, twistless):
    plus = next(task for task in TASKS if task.entry_point == entry_point).suites[1]
    program = eval(twistless)
    wrong = [args for args, want in zip(plus.inputs, plus.expected, strict=True) if program(*args) != want]
    assert len(wrong) >= 2


def _run(task: Task) -> dict:
    namespace: dict = {}
    exec(task.reference, namespace)
    return namespace
