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


def test_forty_tasks_from_easy_to_hard():
    levels = [DECLARATIONS[task.entry_point].level for task in TASKS]
    assert levels == sorted(levels)
    assert Counter(levels) == {1: 15, 2: 15, 3: 10}


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
    shout = next(task for task in TASKS if task.entry_point == "shout")
    assert shout.prompt == (
        "def shout(text: str) -> str:\n"
        '    """Return the text in capital letters with an exclamation mark at the end.\n'
        "\n"
        '    >>> shout("hello")\n'
        "    'HELLO!'\n"
        '    """\n'
    )
    assert shout.signature == "def shout(text: str) -> str:"
    assert shout.assertion == "assert shout('hello') == 'HELLO!'"
    assert shout.reference == shout.prompt + '    return text.upper() + "!"\n'


@pytest.mark.parametrize(
    ("entry_point", "twistless"),
    [
        ("sum_distinct_evens", "lambda numbers: sum(n for n in numbers if n % 2 == 0)"),
        ("reverse_other_words", "lambda text: ' '.join(text.split()[::-1])"),
        ("round_half_up", "lambda x: round(x)"),
        ("clamp", "lambda value, low, high: max(low, min(value, high))"),
        ("clock_text", "lambda s: f'{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}'"),
        ("digit_sum", "lambda n: sum(int(d) for d in str(n) if d.isdigit() ) * (1 if n >= 0 else -1)"),
        ("count_whole_word", "lambda text, word: text.lower().count(word.lower())"),
        ("mask_text", "lambda text: '*' * len(text)"),
        ("last_longest_word", "lambda text: max(text.split(), key=len, default='')"),
        ("second_largest", "lambda numbers: sorted(numbers)[-2] if len(numbers) > 1 else None"),
        ("running_totals", "lambda numbers: [sum(numbers[: i + 1]) for i in range(len(numbers))]"),
        ("take_turns", "lambda a, b: [n for pair in zip(a, b) for n in pair]"),
        (
            "group_by_first_letter",
            "lambda ws: {k: [w for w in ws if w[:1] == k] for k in {w[:1] for w in ws}}",
        ),
        ("ranking", "lambda scores: sorted(scores, key=lambda name: -scores[name])"),
        ("split_in_groups", "lambda xs, n: [xs[i : i + abs(n)] for i in range(0, len(xs), abs(n) or 1)]"),
        ("run_account", "lambda balance, moves: (balance + sum(moves), 0)"),
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
