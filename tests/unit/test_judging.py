"""Judging many programs: each once, known ones from the store, infrastructure apart from verdicts."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import pytest

from evalooop import judging
from evalooop.config import SandboxConfig
from evalooop.errors import UserError
from evalooop.judging import Unjudged, check_references, judge_programs
from evalooop.sandbox.judgement import Judgement, SuiteVerdict, judgement_from_json, judgement_to_json
from evalooop.sandbox.limits import REFERENCE_LIMITS, Limits
from evalooop.sandbox.runner import Infrastructure
from evalooop.store import Store
from evalooop.tasks import Suite, Task

SETTINGS = SandboxConfig(cpu_seconds=8, test_cpu_seconds=2, memory_mb=512)


def make_task(name: str = "T/1", reference: str = "good", expected: int = 1, preamble: str = "") -> Task:
    return Task(name, "", "f", preamble, reference, "", "", (Suite("base", ((1,),), (expected,)),))


def judgement(verdict="pass", reason="", cpu_seconds=0.1, slowest_test=0.05) -> Judgement:
    suites = (SuiteVerdict("base", verdict, None if verdict == "pass" else 0, reason, "f(1) gave 2"),)
    return Judgement(suites, (), cpu_seconds, cpu_seconds, slowest_test, 20.0)


@dataclass
class FakeSandbox:
    """Answers by the program's text: ``good``, ``slow`` (good), ``bad``, ``starved``, ``dead``, ``unbuilt``."""

    runs: list
    lock = threading.Lock()
    stopped = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def stop(self):
        self.stopped = True

    def run(self, program, task, limits, all_tests):
        with self.lock:
            self.runs.append((task.id, program, limits))
            again = sum(run[:2] == (task.id, program) for run in self.runs) > 1
        match program:
            case "good":
                return judgement()
            case "slow":
                return judgement(cpu_seconds=10.0, slowest_test=3.0)
            case "starved":
                return judgement() if again else judgement("timeout", "idle")
            case "sleeps":
                return judgement("timeout", "idle")
            case "dead":
                raise Infrastructure("the sandbox is gone:\n it ended")
            case "unbuilt":
                raise UserError("the sandbox cannot be built")
        return judgement("fail", "wrong")


@pytest.fixture
def runs(monkeypatch):
    """The (task, program, limits) that sandboxes were asked to run."""
    asked: list = []
    monkeypatch.setattr(judging, "Sandbox", lambda isolation: FakeSandbox(asked))
    return asked


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "verdicts.sqlite") as opened:
        yield opened


def programs_of(runs: list) -> list[str]:
    return [program for _, program, _ in runs]


def test_results_are_in_the_order_of_the_programs(runs, store):
    task = make_task()
    judged = judge_programs([(task, "good"), (task, "bad"), (task, "good")], SETTINGS, store, workers=2)
    assert [answer.passed for answer in judged.results] == [True, False, True]
    assert (judged.judged, judged.stored) == (2, 0)


def test_a_program_is_run_once_and_known_ever_after(runs, store):
    task = make_task()
    judge_programs([(task, "good")] * 3, SETTINGS, store, workers=2)
    judged = judge_programs([(make_task(), "good"), (task, "bad")], SETTINGS, store, workers=2)
    assert sorted(programs_of(runs)) == ["bad", "good"]
    assert (judged.judged, judged.stored) == (1, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"id": "T/2"},
        {"preamble": "import math\n"},
        {"entry_point": "g"},
        {"suites": make_task(expected=2).suites},
        {"suites": (replace(make_task().suites[0], rule="evalplus"),)},
        {"suites": (replace(make_task().suites[0], atol=1e-6),)},
    ],
)
def test_whatever_changes_a_verdict_changes_the_key(runs, store, change):
    judge_programs([(make_task(), "good")], SETTINGS, store)
    judge_programs([(replace(make_task(), **change), "good")], SETTINGS, store)
    assert len(runs) == 2


def test_what_changes_no_verdict_changes_no_key(runs, store):
    judge_programs([(make_task(), "good")], SETTINGS, store)
    judge_programs([(replace(make_task(), prompt="other words", assertion="assert f(1)"), "good")], SETTINGS, store)
    assert len(runs) == 1


def test_how_a_program_is_judged_is_part_of_the_key(runs, store, monkeypatch):
    changes = ({}, {"cpu_seconds": 9}, {"memory_mb": 600}, {"isolation": "landlock"})
    for change in changes:
        judge_programs([(make_task(), "good")], replace(SETTINGS, **change), store)
    judge_programs([(make_task(), "good")], SETTINGS, store, all_tests=True)
    monkeypatch.setattr(judging, "judge_version", lambda: "other")
    judge_programs([(make_task(), "good")], SETTINGS, store)
    assert len(runs) == 6


def test_infrastructure_failure_is_no_verdict_and_not_stored(runs, store):
    judged = judge_programs([(make_task(), "dead"), (make_task(), "good")], SETTINGS, store, workers=1)
    assert judged.results[0] == Unjudged("the sandbox is gone: it ended")
    assert judged.results[1].passed
    judge_programs([(make_task(), "dead")], SETTINGS, store)
    assert programs_of(runs).count("dead") == 2


def test_starved_programs_are_run_again_alone_and_last(runs, store):
    task = make_task()
    judged = judge_programs([(task, "starved"), (task, "good"), (task, "sleeps")], SETTINGS, store, workers=2)
    assert [answer.passed for answer in judged.results] == [True, True, False]
    assert sorted(programs_of(runs)[3:]) == ["sleeps", "starved"]
    judge_programs([(task, "sleeps"), (task, "starved")], SETTINGS, store)
    assert len(runs) == 5, "the second result is final"


def test_limits_grow_with_the_reference(runs, store):
    slow, quick = make_task("T/slow", "slow"), make_task("T/quick")
    check_references([slow, quick], SETTINGS, store)
    assert {limits for _, _, limits in runs} == {replace(REFERENCE_LIMITS, memory_mb=512)}
    judge_programs([(quick, "bad"), (slow, "bad")], SETTINGS, store, workers=1)
    assert runs[2:] == [
        ("T/slow", "bad", Limits(cpu_seconds=64, test_cpu_seconds=16, memory_mb=512)),
        ("T/quick", "bad", Limits(cpu_seconds=8, test_cpu_seconds=2, memory_mb=512)),
    ], "heavy tasks come first"


def test_measuring_again_gives_the_same_limits():
    floor = Limits(8, 2, 512)
    assert {floor.raised_for(seconds, seconds / 10) for seconds in (5.5, 6.0, 7.5, 9.0)} == {Limits(32, 4, 512)}
    assert floor.raised_for(0.01, 0.001) == floor
    assert floor.raised_for(1e6, 1e6).cpu_seconds == 64
    assert Limits(100, 90).raised_for(1e6, 1e6) == Limits(100, 90)


def test_preflight_passes_and_costs_nothing_the_second_time(runs, store):
    for _ in range(2):
        check_references([make_task(), make_task("T/2")], SETTINGS, store)
    assert len(runs) == 2


def test_preflight_names_single_broken_references(runs, store):
    with pytest.raises(UserError, match=r"1 of 2 reference solutions .*T/2: base: f\(1\) gave 2"):
        check_references([make_task(), make_task("T/2", "bad")], SETTINGS, store)


def test_preflight_tells_a_broken_environment_from_broken_references(runs, store):
    with pytest.raises(UserError, match="no reference solution passes, so the sandbox or its Python is broken"):
        check_references([make_task(f"T/{n}", "dead") for n in range(9)], SETTINGS, store)


def test_a_worker_that_cannot_start_stops_the_run(runs, store):
    before = threading.enumerate()
    with pytest.raises(UserError, match="cannot be built"):
        judge_programs([(make_task(), "unbuilt"), (make_task(), "good")], SETTINGS, store, workers=2)
    assert threading.enumerate() == before


def test_full_disk_stops_the_run_and_its_workers(runs, store, monkeypatch):
    def no_space(key, value):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "put", no_space)
    before = threading.enumerate()
    with pytest.raises(OSError, match="No space left"):
        judge_programs([(make_task(f"T/{n}"), "good") for n in range(20)], SETTINGS, store, workers=2)
    assert threading.enumerate() == before


def test_progress_counts_every_program_once(runs, store):
    told = []
    task = make_task()
    programs = [(task, "good"), (task, "good"), (task, "bad"), (task, "starved")]
    judge_programs(programs, SETTINGS, store, workers=2, progress=told.append)
    assert sum(told) == 4
    told.clear()
    judge_programs(programs, SETTINGS, store, workers=2, progress=told.append)
    assert told == [4]


def test_damaged_store_entry_is_judged_anew(runs, store):
    task = make_task()
    judge_programs([(task, "good")], SETTINGS, store)
    key = store._connection.execute("SELECT key FROM entries").fetchone()[0]
    store.put(key, {"suites": [{"verdict": "pass"}]})
    assert judge_programs([(task, "good")], SETTINGS, store).judged == 1


def test_no_programs_start_no_sandbox(store, monkeypatch):
    monkeypatch.setattr(judging, "Sandbox", None)
    assert judge_programs([], SETTINGS, store).results == ()


def test_judgement_survives_json():
    for original in (judgement(), judgement("fail", "wrong")):
        assert judgement_from_json(judgement_to_json(original)) == original
