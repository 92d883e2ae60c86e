"""What the sandbox says about programs, and what becomes of it when something goes wrong."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import corpus
import pytest
from conftest import descendants, is_running, open_descriptors

from evalooop.errors import UserError
from evalooop.sandbox import bubblewrap
from evalooop.sandbox.limits import Limits
from evalooop.sandbox.runner import Infrastructure, Sandbox
from evalooop.tasks import Suite, Task

SPIN = "def square_perimeter(a):\n    while True: pass\n"


def make_task(entry_point: str, cases: list[tuple[tuple, object]], preamble: str = "", rule: str = "equal") -> Task:
    inputs, expected = (tuple(column) for column in zip(*cases, strict=True))
    return Task("Test/1", "", entry_point, preamble, "", "", "", (Suite("base", inputs, expected, rule=rule),))


def only(judgement):
    """Return the verdict on the first suite."""
    return judgement.suites[0]


# ---------------------------------------------------------------- verdicts


def test_pass_has_no_reason(sandbox, task):
    judgement = sandbox.run(corpus.HONEST, task)
    assert [(suite.suite, suite.verdict, suite.test, suite.reason) for suite in judgement.suites] == [
        ("base", "pass", None, ""),
        ("plus", "pass", None, ""),
    ]
    assert judgement.flags == ()
    assert 0 < judgement.cpu_seconds < 1
    assert 1 < judgement.peak_mb < 100


def test_base_and_plus_are_told_apart(sandbox, task):
    """A table of the visible tests passes base and fails plus; a failure in base takes plus along."""
    table = "def square_perimeter(a):\n    return {10: 40, 5: 20, 4: 16}.get(a)\n"
    base, plus = sandbox.run(table, task).suites
    assert (base.verdict, plus.verdict, plus.reason, plus.test) == ("pass", "fail", "wrong", 0)
    base, plus = sandbox.run("def square_perimeter(a):\n    return {10: 40}.get(a)\n", task).suites
    assert (base.verdict, base.test, plus.verdict, plus.reason) == ("fail", 1, "fail", "base")


@pytest.mark.parametrize(
    ("program", "reason", "detail"),
    [
        ("def f(x):\n    return x + 2\n", "wrong", "f(1) gave 3"),
        ("def f(x):\n    return x.y\n", "exception", "f(1) raised AttributeError: 'int' object has no attribute 'y'"),
        ("def f(x:\n", "load", "loading the program raised SyntaxError: '(' was never closed (<program>, line 1)"),
        ("def g(x):\n    return 2\n", "load", "loading the program raised NameError: the program defines no f"),
        ("", "load", "loading the program raised NameError: the program defines no f"),
        ("f = 3\n", "exception", "f(1) raised TypeError: 'int' object is not callable"),
        ("def f(x):\n    raise SystemExit\n", "exit", "f(1) raised SystemExit"),
        ("import os\ndef f(x): os._exit(0)\n", "exit", "f(1) ended the process"),
        ("import ctypes\ndef f(x): ctypes.string_at(0)\n", "crash", "f(1) ended the process with SIGSEGV"),
        ("def f(x):\n    return object()\n", "wrong", "f(1) gave an object of type object"),
        ("def f(x):\n    return input()\n", "exception", "f(1) raised EOFError: EOF when reading a line"),
    ],
)
def test_reason_and_detail(sandbox, program, reason, detail):
    verdict = only(sandbox.run(program, make_task("f", [((1,), 2)])))
    assert (verdict.verdict, verdict.reason, verdict.detail) == ("fail", reason, detail)


def test_expected_values_are_never_told(sandbox):
    verdict = only(sandbox.run("def f(x):\n    return x\n", make_task("f", [((1,), 987654321)])))
    assert "987654321" not in str(verdict)


def test_addresses_do_not_make_details_differ(sandbox):
    program = "def f(x):\n    raise ValueError(object())\n"
    verdict = only(sandbox.run(program, make_task("f", [((1,), 2)])))
    assert verdict.detail == "f(1) raised ValueError: <object object at 0x...>"


def test_memory_limit(sandbox):
    program = "def f(x):\n    return len(bytearray(10 << 30))\n"
    verdict = only(sandbox.run(program, make_task("f", [((1,), 10 << 30)])))
    assert (verdict.verdict, verdict.reason) == ("memory", "memory")


def test_failing_test_is_exact_though_the_program_was_killed(sandbox):
    """Results before the fatal call must not be lost in a buffer."""
    program = "def f(x):\n    return x if x < 500 else sum(range(10**13))\n"
    task = make_task("f", [((number,), number) for number in range(1000)])
    verdict = only(sandbox.run(program, task, Limits(cpu_seconds=1, test_cpu_seconds=1)))
    assert (verdict.verdict, verdict.test) == ("timeout", 500)


def test_borderline_is_flagged(sandbox):
    program = "import time\ndef f(x):\n    while time.process_time() < 1.65: pass\n    return x\n"
    task = make_task("f", [((1,), 1)])
    assert sandbox.run(program, task, Limits(2, 2)).flags == ("borderline",)
    assert sandbox.run(program, task, Limits(4, 4)).flags == ()


# ---------------------------------------------------------------- how programs are run


def test_main_guard_does_not_run_and_preamble_does(sandbox):
    program = "from __future__ import annotations\nif __name__ == '__main__': raise SystemExit\ndef f(x): return g(x)\n"
    task = make_task("f", [((1,), 2)], preamble="def g(x): return x + 1\n")
    assert sandbox.run(program, task).passed


def test_dataclasses_and_classes_work(sandbox):
    program = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import NamedTuple\n"
        "@dataclass\nclass P:\n    x: int\nclass Q(NamedTuple):\n    x: int\ndef f(x): return [P(x).x, Q(x)]\n"
    )
    assert sandbox.run(program, make_task("f", [((1,), [1, (1,)])])).passed


def test_each_call_gets_fresh_arguments(sandbox):
    """A program that sorts its argument in place changes no later call, even where the data shares objects."""
    shared = [3, 1, 2]
    program = "def f(x):\n    first = list(x)\n    x.sort()\n    return first\n"
    assert sandbox.run(program, make_task("f", [((shared,), [3, 1, 2]), ((shared,), [3, 1, 2])])).passed
    verdict = only(sandbox.run("def f(x):\n    x.clear()\n    return 0\n", make_task("f", [((shared,), 1)])))
    assert verdict.detail == "f([3, 1, 2]) gave 0"


def test_argument_values_arrive_unchanged(sandbox):
    values = [1, -(10**40), 1.5, float("inf"), "é\ud800\n", None, True, b"\x00\xff", 2 + 1j, (), (1, (2,)), {1, 2}]
    values += [{(1, 2): [3]}, {"a": {"b": set()}}, frozenset({3})]
    assert sandbox.run("def f(x):\n    return x\n", make_task("f", [((value,), value) for value in values])).passed


def test_results_of_odd_types_equal_what_python_says(sandbox):
    program = (
        "from collections import Counter, OrderedDict, defaultdict, deque, namedtuple\nfrom decimal import Decimal\n"
        "from fractions import Fraction\nfrom enum import IntEnum\nP = namedtuple('P', 'x y')\n"
        "class E(IntEnum):\n    A = 4\n"
        "RESULTS = [Counter('aa'), OrderedDict(a=1), defaultdict(int, a=1), P(1, 2), E.A, Decimal('0.5'),\n"
        "  Fraction(1, 2), bytearray(b'x'), {1: 2}.keys(), deque([1]), range(2), True, 4.0]\n"
        "def f(x): return RESULTS[x]\n"
    )
    equal = [{"a": 2}, {"a": 1}, {"a": 1}, (1, 2), 4, 0.5, 0.5, b"x", {1}]
    assert sandbox.run(program, make_task("f", [((n,), value) for n, value in enumerate(equal)])).passed
    assert sandbox.run(program, make_task("f", [((11,), 1), ((12,), 4)])).passed
    for number, unequal in ((9, [1]), (10, [0, 1])):
        assert only(sandbox.run(program, make_task("f", [((number,), unequal)]))).reason == "wrong"


def test_the_same_program_gives_the_same_result_every_time(sandbox):
    """Neither hash seeds, nor addresses, nor random numbers change from run to run."""
    program = (
        "import random\nclass A: pass\n"
        "def f(x): return [list({'a', 'b', 'c', None, (), 2.5}), random.random(), hash('x'), hash(None)]\n"
    )
    task = make_task("f", [((1,), None)])
    details = {only(sandbox.run(program, task)).detail for _ in range(3)}
    with Sandbox() as other:
        details.add(only(other.run(program, task)).detail)
    assert len(details) == 1


def test_set_rule_lists_iterables_inside(sandbox):
    task = make_task("f", [((1,), [1, 2])], rule="set_equal")
    assert sandbox.run("def f(x):\n    return (n for n in (2, 1, 1))\n", task).passed
    assert only(sandbox.run("def f(x):\n    return [[1], 2]\n", task)).reason == "wrong"
    endless = "import itertools\ndef f(x):\n    return itertools.repeat(1)\n"
    assert only(sandbox.run(endless, task)).verdict in ("timeout", "memory")


# ---------------------------------------------------------------- flags


@pytest.mark.parametrize(
    ("program", "flag"),
    [
        (
            "class E(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x): return E(2)\n",
            "custom_eq",
        ),
        ("import sys\ndef f(x): sys._getframe(1).f_locals; return 2\n", "frames"),
        ("import inspect\ndef f(x): inspect.currentframe(); return 2\n", "frames"),
        ("import gc\ndef f(x): gc.get_objects(); return 2\n", "frames"),
        ("def f(x):\n  try: open('/etc/passwd')\n  except OSError: return 2\n", "files"),
        ("from pathlib import Path\ndef f(x): list(Path('/opt').glob('*')); return 2\n", "files"),
        ("import os\ndef f(x): list(os.walk('/opt')); return 2\n", "files"),
        ("import ctypes\ndef f(x): ctypes.CDLL(None); return 2\n", "native"),
        ("import os\ndef f(x):\n  try: os.fork()\n  except OSError: return 2\n", "refused"),
        ("import socket\ndef f(x):\n  try: socket.socket()\n  except OSError: return 2\n", "refused"),
        ("import subprocess\ndef f(x):\n  try: subprocess.run('ls')\n  except OSError: return 2\n", "refused"),
    ],
)
def test_flags_of_programs_that_pass(sandbox, program, flag):
    judgement = sandbox.run(program, make_task("f", [((1,), 2)]))
    assert judgement.passed
    assert judgement.flags == (flag,)


def test_honest_use_of_the_standard_library_is_not_flagged(sandbox):
    program = (
        "import collections, typing, dataclasses, functools, heapq, itertools, math, random, re, string, json, bisect\n"
        "import unittest, datetime, copy, ast, fractions, statistics, zoneinfo, hashlib, uuid\n"
        "P = collections.namedtuple('P', 'a')\nT = typing.NamedTuple('T', [('a', int)])\n"
        "def f(x): return copy.deepcopy(2)\n"
    )
    assert sandbox.run(program, make_task("f", [((1,), 2)])).flags == ()


# ---------------------------------------------------------------- infrastructure


def zygote_of(sandbox: Sandbox) -> int:
    (zygote,) = descendants(sandbox._process.pid)
    return zygote


def test_killed_zygote_is_replaced(task):
    with Sandbox(corpus.LIMITS) as sandbox:
        os.kill(zygote_of(sandbox), signal.SIGKILL)
        assert sandbox.run(corpus.HONEST, task).passed


def test_zygote_killed_under_a_program_twice_is_no_verdict(task):
    with Sandbox(Limits(30, 30)) as sandbox:
        killed = []

        def kill_twice() -> None:
            while len(killed) < 2:
                time.sleep(0.1)
                process = sandbox._process
                below = descendants(process.pid) if process else []
                if len(below) == 2 and below[0] not in killed:  # the zygote and its program
                    killed.append(below[0])
                    os.kill(below[0], signal.SIGKILL)

        thread = threading.Thread(target=kill_twice)
        thread.start()
        with pytest.raises(Infrastructure):
            sandbox.run(SPIN, task)
        thread.join()
        assert sandbox.run(corpus.HONEST, task).passed


def test_silent_zygote_is_no_verdict(task, monkeypatch):
    monkeypatch.setattr("evalooop.sandbox.runner.GRACE_SECONDS", -1.0 - Limits(1).wall_seconds + 1.5)
    with Sandbox(Limits(1, 1)) as sandbox:
        os.kill(zygote_of(sandbox), signal.SIGSTOP)
        judgement = sandbox.run(corpus.HONEST, task)
        assert judgement.passed, "the second try has a sandbox that answers"


def test_stop_from_another_thread_ends_a_run_at_once(task):
    with Sandbox(Limits(60, 60)) as sandbox:
        threading.Timer(0.3, sandbox.stop).start()
        started = time.monotonic()
        with pytest.raises(Infrastructure):
            sandbox.run(SPIN, task)
        assert time.monotonic() - started < 20


def test_killed_runner_leaves_no_process():
    """The kernel and the closed socket end sandbox and program with the process that started them."""
    script = (
        "import sys; sys.path[:0] = sys.argv[1:]\nimport corpus\nfrom evalooop.sandbox.runner import Sandbox\n"
        f"with Sandbox() as s:\n    print('up', flush=True)\n    s.run({SPIN!r}, corpus.square_perimeter_task())\n"
    )
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    runner = subprocess.Popen([sys.executable, "-c", script, *paths], stdout=subprocess.PIPE)
    runner.stdout.readline()
    below = wait_for(lambda: len(found := descendants(runner.pid)) >= 3 and found)
    runner.kill()
    runner.wait()
    runner.stdout.close()
    assert wait_for(lambda: not any(map(is_running, below)))


def test_nothing_is_left_behind_by_many_programs(task):
    """Row 39. Five thousand programs with few descriptors to spare: no descriptor, process or memory piles up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = open_descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with Sandbox(corpus.LIMITS) as sandbox:
            programs = [corpus.HONEST, "import os\nos._exit(0)\n", "def square_perimeter(a):\n    return 0\n", "1/0"]
            for number in range(5000):
                assert sandbox.run(programs[number % 4], task).passed == (number % 4 == 0)
            assert len(descendants(sandbox._process.pid)) == 1
            assert open_descriptors() <= before + 2  # control socket and standard error
            assert resident_mb(zygote_of(sandbox)) < 60
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert open_descriptors() == before


def test_large_address_space_of_the_runner_does_not_matter(task):
    mapped = mmap.mmap(-1, 40 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
    with mapped, Sandbox() as sandbox:
        assert sandbox.run(corpus.HONEST, task).passed


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def wait_for(condition, seconds: float = 20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.05)
    return None


# ---------------------------------------------------------------- where it cannot be built


@pytest.fixture
def fake_bwrap(tmp_path, monkeypatch):
    """Return a function that puts a script in the place of bubblewrap."""

    def install(script: str) -> None:
        path = tmp_path / "bwrap"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))

    bubblewrap.command.cache_clear()
    yield install
    bubblewrap.command.cache_clear()


def test_refused_namespaces_are_explained(fake_bwrap):
    fake_bwrap("echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    with pytest.raises(UserError) as refused, Sandbox():
        pass
    assert "bwrap: No permissions to create new namespace" in str(refused.value)
    for remedy in ("max_user_namespaces", "unprivileged_userns_clone", "apparmor", "--security-opt"):
        assert remedy in str(refused.value)


def test_python_that_does_not_start_inside_is_explained(fake_bwrap):
    fake_bwrap("echo 'error while loading shared libraries: libx.so' >&2; exit 127")
    with pytest.raises(UserError, match=r"Python does not start inside the sandbox: .*libx\.so"), Sandbox():
        pass


def test_missing_bubblewrap_names_the_package(tmp_path, monkeypatch):
    bubblewrap.command.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt-get install bubblewrap"), Sandbox():
        pass
    bubblewrap.command.cache_clear()


def test_unknown_rule_is_refused(sandbox, task):
    odd = replace(task, suites=(replace(task.suites[0], rule="roughly"),))
    with pytest.raises(ValueError, match="unknown rule 'roughly'"):
        sandbox.run(corpus.HONEST, odd)
