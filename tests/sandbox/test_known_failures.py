"""What users of other judges reported, by the number of the row in the project's list of known failures.

Rows that the corpus of hostile programs covers are not repeated: 41 (``daemon_straggler``), 43 and 61
(``prints_50_mb``, ``long_number_text``), 45 (``huge_power``, ``huge_product``), S15 (``redefines_builtins``).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import corpus
import pytest

from evalooop.config import SandboxConfig
from evalooop.datasets import humanevalplus, mbppplus
from evalooop.datasets._evalplus import read_rows
from evalooop.errors import UserError
from evalooop.judging import check_references
from evalooop.sandbox import bubblewrap
from evalooop.sandbox.limits import Limits
from evalooop.sandbox.runner import Sandbox
from evalooop.store import Store
from evalooop.tasks import Suite, Task

DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "mbppplus").is_dir() or not (DATA / "humanevalplus").is_dir(),
    reason="EVALOOOP_DATA names no folder with mbppplus/ and humanevalplus/",
)


@pytest.mark.slow
def test_row_31_a_busy_machine_changes_no_verdict(sandbox, task):
    """Limits count the program's own work: with four times as many busy processes as cores it still passes."""
    work = "import time\ndef square_perimeter(a):\n    end = time.process_time() + 0.25\n"
    program = work + "    while time.process_time() < end: pass\n    return 4 * a\n"
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * os.cpu_count())]
    try:
        limits = Limits(cpu_seconds=4, test_cpu_seconds=1)
        judgements = [sandbox.run(program, task, limits) for _ in range(3)]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert [judgement.suites for judgement in judgements] == [judgements[0].suites] * 3
    assert judgements[0].passed


def test_row_35_a_broken_environment_stops_before_any_program_is_judged(monkeypatch, tmp_path):
    whole = bubblewrap.command

    def broken(descriptor):
        """The sandbox with an empty file in place of a module of the standard library."""
        *arguments, socket = whole(descriptor)
        at = arguments.index("--remount-ro")
        library = next(path for path in arguments if path.endswith("/opt/python/lib") or path == "/usr/lib")
        module = f"{library}/python{sys.version_info[0]}.{sys.version_info[1]}/colorsys.py"
        return (*arguments[:at], "--ro-bind", "/dev/null", module, *arguments[at:], socket)

    monkeypatch.setattr(bubblewrap, "command", broken)
    reference = "from colorsys import rgb_to_hsv\ndef f(x):\n    return x\n"
    task = Task("T/1", "", "f", "", reference, "", "", (Suite("base", ((1,),), (1,)),))
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(UserError, match=r"no reference solution passes.*T/1"),
    ):
        check_references([task], SandboxConfig(), store)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_row_37_the_start_method_of_processes_does_not_matter(task, method):
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(method, force=True)
    try:
        with Sandbox(corpus.LIMITS) as box:
            assert box.run(corpus.HONEST, task).passed
            assert not box.run("def square_perimeter(a):\n    return a\n", task).passed
    finally:
        multiprocessing.set_start_method(before, force=True)


def test_row_47_what_escapes_python_harms_nothing(sandbox, task, tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("alive")
    home = Path.home() / "evalooop-canary"
    program = f"""
import os, pathlib
popen = [c for c in object.__subclasses__() if c.__name__ == "Popen"]
def square_perimeter(a):
    for harm in (lambda: os.remove({str(canary)!r}), lambda: pathlib.Path({str(home)!r}).write_text("here"),
                 lambda: os.system("rm {canary}"), lambda: __import__("shutil").rmtree({str(tmp_path)!r}),
                 lambda: __import__("subprocess").Popen(["/bin/rm", {str(canary)!r}])):
        try: harm()
        except Exception: pass
    return 4 * a
"""
    judgement = sandbox.run(program, task)
    assert canary.read_text() == "alive"
    assert not home.exists()
    assert {"files", "refused"} <= set(judgement.flags)


FLAGS = {
    "eq_always_true": "custom_eq",
    "frame_walk_expected": "frames",
    "read_dataset": "files",
    "write_anywhere": "files",
    "exec_shell": "native",
    "fork_bomb_small": "native",
    "exec_python": "refused",
    "kill_everyone": "refused",
    "network": "refused",
    "os_exit0_call": "exit",
    "sys_exit_toplevel": "exit",
    "forge_done": "forged",
    "write_all_fds": "forged",
}


@pytest.mark.parametrize(("name", "flag"), FLAGS.items())
def test_row_49_cheating_is_no_pass_and_is_flagged(sandbox, task, name, flag):
    judgement = sandbox.run((corpus.FOLDER / f"{name}.py").read_text(encoding="utf-8"), task)
    assert flag in judgement.flags
    required = next(entry["required"] for entry in corpus.read_index() if entry["name"] == name)
    assert required != "fail" or not judgement.passed


def test_row_51_a_table_of_the_visible_tests_passes_base_and_fails_plus(sandbox, task):
    base, plus = sandbox.run((corpus.FOLDER / "lookup_table.py").read_text(encoding="utf-8"), task).suites
    assert (base.verdict, plus.verdict, plus.reason) == ("pass", "fail", "wrong")


@pytest.mark.parametrize("solution", ["raise SystemExit(0)", "import os; os._exit(0)", "while True: pass"])
def test_row_s9_leaving_early_and_running_out_of_time_are_no_pass(sandbox, task, solution):
    judgement = sandbox.run(f"def square_perimeter(a):\n    {solution}\n", task, Limits(2, 1))
    assert [suite.verdict == "pass" for suite in judgement.suites] == [False, False]


def test_row_s19_arguments_changed_in_place_are_shown_as_the_data_has_them(sandbox):
    task = Task("T/1", "", "f", "", "", "", "", (Suite("base", (([3, 1, 2],),), ([1, 2],)),))
    verdict = sandbox.run("def f(values):\n    values.sort()\n    return values\n", task).suites[0]
    assert verdict.detail == "f([3, 1, 2]) gave [1, 2, 3]"


# ---------------------------------------------------------------- oracles


def from_data(loader, task_id: str, monkeypatch) -> Task:
    monkeypatch.setenv("EVALOOOP_DATA", str(DATA))
    return next(loader.task_from_row(row) for row in read_rows(loader.SOURCE) if row["task_id"] == task_id)


@needs_data
def test_row_53_the_exact_solution_of_a_float_reference_fails_plus_and_the_task_is_listed(sandbox, monkeypatch):
    from evalooop import datasets

    exact = "def square_Sum(n):\n    return 2 * n * (n + 1) * (2 * n + 1) // 3\n"
    task = from_data(mbppplus, "Mbpp/287", monkeypatch)
    base, plus = sandbox.run(exact, task, all_tests=True).suites
    assert (base.verdict, plus.verdict, len(plus.failed)) == ("pass", "fail", 17)
    assert "Mbpp/287" in datasets.oracle_issues("mbppplus")


@needs_data
@pytest.mark.parametrize(
    "expression",
    [
        "any(abs(a - b) < threshold for i, a in enumerate(numbers) for b in numbers[i + 1:])",
        "any(b - a < threshold for a, b in zip(sorted(numbers), sorted(numbers)[1:]))",
    ],
)
def test_row_55_both_usual_solutions_of_humaneval_0_pass(sandbox, monkeypatch, expression):
    program = f"def has_close_elements(numbers, threshold):\n    return {expression}\n"
    assert sandbox.run(program, from_data(humanevalplus, "HumanEval/0", monkeypatch)).passed


def test_row_59_the_order_of_a_list_matters(sandbox):
    task = Task("T/1", "", "f", "", "", "", "", (Suite("base", ((),), (["NO", "YES", "YES"],), rule="evalplus"),))
    assert sandbox.run("def f():\n    return ['NO', 'YES', 'YES']\n", task).passed
    assert not sandbox.run("def f():\n    return ['YES', 'NO', 'YES']\n", task).passed


@pytest.mark.parametrize(
    ("number", "name", "right", "wrong"),
    [
        (164, "are_equivalent", "return 'anything'", "raise ValueError"),
        (249, "intersection_array", "return [2, 1, 1]", "return [1]"),
        (295, "sum_div", "return 0", "return 1"),
    ],
)
def test_row_s7_rules_of_tasks_that_the_release_lacks(sandbox, number, name, right, wrong):
    """On rows of the benchmark's form: 164 accepts any value, 249 any order, 295 accepts 0."""
    from evalooop import datasets

    body = {"are_equivalent": "a == b", "intersection_array": "[x for x in a if x in b]", "sum_div": "a + b"}[name]
    arguments = [[1, 2, 3], [1, 2]] if number == 249 else [3, 4]
    row = {
        "task_id": f"Mbpp/{number}",
        "entry_point": name,
        "prompt": f'"""\nA task.\nassert {name}(1, 2)\n"""\n',
        "canonical_solution": f"def {name}(a, b):\n    return {body}\n",
        "base_input": [arguments],
        "plus_input": [arguments],
        "atol": 0,
    }
    task = mbppplus.task_from_row(json.loads(json.dumps(row)))
    assert sandbox.run(task.reference, task).passed
    assert sandbox.run(f"def {name}(a, b):\n    {right}\n", task).passed
    assert not sandbox.run(f"def {name}(a, b):\n    {wrong}\n", task).passed
    assert (f"Mbpp/{number}" in datasets.oracle_issues("mbppplus")) == (number != 249)
