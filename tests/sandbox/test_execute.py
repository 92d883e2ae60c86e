"""The stage: from a loop's steps to its verdicts, with real programs in real sandboxes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import corpus
import pytest
from conftest import descendants, is_running

from evalooop.config import DatasetConfig, LoopConfig, ModelConfig, PromptConfig, RunConfig, Settings
from evalooop.errors import UserError
from evalooop.plan import Plan, Run, session_to_json
from evalooop.records import Step, Verdict, read_rows, write_rows
from evalooop.store import Store
from evalooop.tasks import write_tasks
from scripts import execute

ROOT = Path(__file__).parents[2]
WRONG = "def square_perimeter(a):\n    return 0\n"
# Works for half a second, so that a job can be caught at it; the number makes each a program of its own.
BUSY = "import time\nwhile time.process_time() < 0.5: pass\ndef square_perimeter(a):\n    return 4 * a  # {}\n"


def step(sample: int, code: str | None, status: str = "ok", run: str = "r", task: str = "Mbpp/17") -> Step:
    found = "fence" if code is not None else ""
    return Step(run, task, sample, 1, "generate", "words", "prompt", "text", code, found, status, "", "stop", 1, 1)


@pytest.fixture
def stage(tmp_path):
    """Return a function that writes the inputs of the stage and returns its command line."""

    def prepare(steps: list[Step]) -> list[str]:
        config = RunConfig(
            model=ModelConfig("m", "path", "m"),
            dataset=DatasetConfig("squares", "squares"),
            prompt=PromptConfig("p", "", "", "", ""),
            loop=LoopConfig(),
        )
        (tmp_path / "runs.json").write_text(session_to_json(Plan("x", (), (Run("r", "s", config),), Settings()), "s"))
        write_tasks(tmp_path / "squares.jsonl", [corpus.square_perimeter_task()])
        write_rows(tmp_path / "generated.jsonl", steps)
        options = {
            "--runs": "runs.json",
            "--generated": "generated.jsonl",
            "--datasets": "squares.jsonl",
            "--store": "verdicts.sqlite",
            "--out": "verdicts.jsonl",
            "--timing": "verdicts.timing.json",
        }
        paths = [part for option, name in options.items() for part in (option, str(tmp_path / name))]
        limits = '{"cpu_seconds": 4, "test_cpu_seconds": 2}'
        return ["--session", "s", "--loop", "1", "--workers", "2", "--sandbox", limits, *paths]

    return prepare


def call(command: list[str], monkeypatch) -> tuple[list[Verdict], dict]:
    monkeypatch.setattr(sys, "argv", ["execute", *command])
    execute.main()
    out, timing = (Path(command[command.index(option) + 1]) for option in ("--out", "--timing"))
    return read_rows(out, Verdict), json.loads(timing.read_text())


def test_rows_of_all_kinds_of_steps(stage, monkeypatch):
    steps = [
        step(0, corpus.HONEST),
        step(1, WRONG),
        step(2, None, "no_code"),
        step(3, None, "incomplete_reasoning"),
        step(4, None, "infra_error"),
        step(5, corpus.HONEST, "truncated"),
        replace(step(6, None), step="describe"),
        replace(step(7, None, "incomplete_reasoning"), step="describe"),
    ]
    rows, timing = call(stage(steps), monkeypatch)
    got = {(row.sample, row.suite): (row.verdict, row.reason, row.test) for row in rows}
    assert got == {
        (0, "base"): ("pass", "", None),
        (0, "plus"): ("pass", "", None),
        (1, "base"): ("fail", "wrong", 0),
        (1, "plus"): ("fail", "base", None),
        (2, "base"): ("fail", "no_code", None),
        (2, "plus"): ("fail", "no_code", None),
        (3, "base"): ("fail", "incomplete_reasoning", None),
        (3, "plus"): ("fail", "incomplete_reasoning", None),
        (5, "base"): ("pass", "", None),
        (5, "plus"): ("pass", "", None),
        (7, "base"): ("fail", "incomplete_reasoning", None),
        (7, "plus"): ("fail", "incomplete_reasoning", None),
    }
    assert [row.order for row in rows] == sorted(row.order for row in rows)
    assert (timing["programs"], timing["judged"], timing["stored"], timing["lost"]) == (3, 2, 0, 0)
    assert timing["cpu_seconds"] > 0


def test_second_call_runs_nothing_and_writes_the_same_bytes(stage, monkeypatch):
    command = stage([step(0, corpus.HONEST), step(1, WRONG)])
    call(command, monkeypatch)
    first = Path(command[command.index("--out") + 1]).read_bytes()
    monkeypatch.setattr("evalooop.judging.Sandbox", None)
    _, timing = call(command, monkeypatch)
    assert Path(command[command.index("--out") + 1]).read_bytes() == first
    assert (timing["judged"], timing["stored"]) == (0, 2)


def test_nothing_to_judge_starts_nothing(stage, monkeypatch):
    monkeypatch.setattr("evalooop.judging.Sandbox", None)
    rows, timing = call(stage([]), monkeypatch)
    assert rows == []
    assert timing["programs"] == 0


def test_unknown_task_or_run_is_refused(stage, monkeypatch):
    with pytest.raises(UserError, match=r"task 'Mbpp/18' is not in data set 'squares'"):
        call(stage([step(0, WRONG, task="Mbpp/18")]), monkeypatch)
    with pytest.raises(UserError, match=r"run 'other' is not in the plan"):
        call(stage([step(0, WRONG, run="other")]), monkeypatch)


def test_broken_reference_stops_before_judging(stage, monkeypatch, tmp_path):
    command = stage([step(0, corpus.HONEST)])
    write_tasks(tmp_path / "squares.jsonl", [replace(corpus.square_perimeter_task(), reference=WRONG)])
    with pytest.raises(UserError, match="no reference solution passes"):
        call(command, monkeypatch)
    assert not (tmp_path / "verdicts.jsonl").exists()


def test_samples_of_ones_own(tmp_path, monkeypatch, capsys):
    write_tasks(tmp_path / "squares.jsonl", [corpus.square_perimeter_task()])
    table = "def square_perimeter(a):\n    return {10: 40, 5: 20, 4: 16}.get(a)\n"
    lines = [{"task_id": "Mbpp/17", "solution": text} for text in (corpus.HONEST, table)]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = {"--dataset": "squares.jsonl", "--samples": "samples.jsonl", "--out": "out.jsonl", "--store": "v.sqlite"}
    command = [part for option, name in options.items() for part in (option, str(tmp_path / name))]
    monkeypatch.setattr(sys, "argv", ["execute", *command])
    execute.main()
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["sample"], row["suite"], row["verdict"], row["test"]) for row in rows] == [
        (0, "base", "pass", None),
        (0, "plus", "pass", None),
        (1, "base", "pass", None),
        (1, "plus", "fail", 0),
    ]
    assert [row["failed"] for row in rows] == [[], [], [], [0]]
    printed = capsys.readouterr().out
    assert "1 of 1 tasks have judged samples" in printed
    assert "base  pass@1    1.000" in printed
    assert "plus  pass@1    0.500" in printed


def test_all_tests_on_request(tmp_path, monkeypatch):
    write_tasks(tmp_path / "squares.jsonl", [corpus.square_perimeter_task()])
    wrong = "def square_perimeter(a):\n    return 4 * a if a % 2 else 1 // (a - 10)\n"
    (tmp_path / "samples.jsonl").write_text(json.dumps({"task_id": "Mbpp/17", "solution": wrong}) + "\n")
    options = {"--dataset": "squares.jsonl", "--samples": "samples.jsonl", "--out": "out.jsonl", "--store": "v.sqlite"}
    command = [part for option, name in options.items() for part in (option, str(tmp_path / name))]
    told = []
    for more in ([], ["--all-tests"]):
        monkeypatch.setattr(sys, "argv", ["execute", *command, *more])
        execute.main()
        told.append([json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()])
    first, every = told
    assert [row["failed"] for row in first] == [[0], []]
    assert [row["failed"] for row in every] == [[0, 2], [0, 2, 5, 6, 7]]
    same = ("suite", "verdict", "test", "reason", "detail")
    assert [[row[key] for key in same] for row in first] == [[row[key] for key in same] for row in every]


def test_raw_answers_of_ones_own_and_limits_as_text(tmp_path, monkeypatch):
    """Also row S5: a limit given as text is a number all the same."""
    write_tasks(tmp_path / "squares.jsonl", [corpus.square_perimeter_task()])
    answers = (f"Here it is:\n```python\n{corpus.HONEST}\n```\n", "I would rather not.")
    lines = [{"task_id": "Mbpp/17", "response": text} for text in answers]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = {"--dataset": "squares.jsonl", "--samples": "samples.jsonl", "--out": "out.jsonl", "--store": "v.sqlite"}
    command = [part for option, name in options.items() for part in (option, str(tmp_path / name))]
    limits = '{"cpu_seconds": "30", "test_cpu_seconds": "5", "memory_mb": "512"}'
    monkeypatch.setattr(sys, "argv", ["execute", *command, "--sandbox", limits, "--workers", "1"])
    execute.main()
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["sample"], row["found"], row["suite"], row["verdict"]) for row in rows] == [
        (0, "fence", "base", "pass"),
        (0, "fence", "plus", "pass"),
        (1, "no_code", "base", "fail"),
        (1, "no_code", "plus", "fail"),
    ]


def alone(tmp_path, content: bytes = b"", *more: str, name: str = "samples.jsonl") -> list[str]:
    """Return the command line that judges a file of samples with this content."""
    write_tasks(tmp_path / "squares.jsonl", [corpus.square_perimeter_task()])
    (tmp_path / name).write_bytes(content)
    paths = {"--dataset": "squares.jsonl", "--samples": name, "--store": "v.sqlite"}
    return ["execute", *(part for option, path in paths.items() for part in (option, str(tmp_path / path))), *more]


@pytest.mark.parametrize("limits", ["{", "[]", '{"cpu": 1}', '{"memory_mb": "1"}', '{"cpu_seconds": 0}'])
def test_bad_limits_are_refused(tmp_path, monkeypatch, limits):
    monkeypatch.setattr(sys, "argv", alone(tmp_path, b"", "--sandbox", limits))
    with pytest.raises(UserError, match="--sandbox"):
        execute.main()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("samples.jsonl", b"", "holds no sample"),
        ("samples.jsonl", b"\xff\xfe", "UTF-8"),
        ("samples.jsonl", b"{", "not JSON"),
        ("samples.jsonl.gz", b"no gzip", "cannot be read"),
    ],
)
def test_bad_samples_are_one_clear_line(tmp_path, monkeypatch, name, content, words):
    monkeypatch.setattr(sys, "argv", alone(tmp_path, content, name=name))
    with pytest.raises(UserError, match=words):
        execute.main()


@pytest.mark.parametrize("more", [("--workers", "-3"), ("--out", ".")])
def test_bad_options_are_refused_before_anything_is_judged(tmp_path, monkeypatch, more):
    monkeypatch.setattr(sys, "argv", alone(tmp_path, b"{}", *more))
    with pytest.raises(SystemExit):
        execute.main()


def test_a_store_that_is_none_is_one_clear_line(tmp_path, monkeypatch):
    sample = json.dumps({"task_id": "Mbpp/17", "solution": corpus.HONEST}).encode()
    monkeypatch.setattr(sys, "argv", alone(tmp_path, sample))
    (tmp_path / "v.sqlite").write_text("this is no database, whatever its name says" * 50)
    with pytest.raises(UserError, match="cannot be opened as a store"):
        execute.main()


def test_verdicts_lie_beside_the_samples_and_a_weaker_sandbox_is_told(tmp_path, monkeypatch, capsys):
    sample = json.dumps({"task_id": "Mbpp/17", "solution": corpus.HONEST}).encode()
    monkeypatch.setattr(sys, "argv", alone(tmp_path, sample, "--sandbox", '{"isolation": "landlock"}'))
    assert execute.main() == 0
    assert len((tmp_path / "samples.jsonl.verdicts.jsonl").read_text().splitlines()) == 2
    assert "weaker sandbox" in capsys.readouterr().out


# ---------------------------------------------------------------- interrupted


def start(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "scripts.execute", *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )


def entries(tmp_path: Path) -> int:
    if not (tmp_path / "verdicts.sqlite").exists():
        return 0
    with Store(tmp_path / "verdicts.sqlite") as store:
        return len(store)


def wait_until(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_full_disk_loses_no_verdict_and_leaves_no_process(stage, tmp_path):
    """A file system of 400 kB, which bubblewrap makes, holds the store; four hundred verdicts do not fit."""
    detail = "x" * 250
    programs = [f"def square_perimeter(a):\n    raise ValueError('{detail}')  # {number}\n" for number in range(400)]
    command = stage([step(number, program) for number, program in enumerate(programs)])
    small = tmp_path / "small"
    small.mkdir()
    command[command.index("--store") + 1] = str(small / "verdicts.sqlite")
    limited = ["bwrap", "--dev-bind", "/", "/", "--size", "400000", "--tmpfs", str(small)]
    count = "from pathlib import Path; from evalooop.store import Store; print(len(Store(Path('verdicts.sqlite'))))"
    script = f'"$0" -m scripts.execute "$@"; echo "status $?"; cd {small}; "$0" -c "{count}"'
    before = descendants(os.getpid())
    shell = [*limited, "bash", "-c", script, sys.executable, *command]
    done = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, timeout=120)
    status, kept = done.stdout.split("\n")[:2]
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert status == "status 1", done.stderr
    assert len(errors) == 1
    assert "verdicts.sqlite" in errors[0]
    assert "make room" in errors[0]
    assert 0 < int(kept) < 400
    assert not (tmp_path / "verdicts.jsonl").exists()
    assert descendants(os.getpid()) == before


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_interrupted_job_loses_no_verdict_and_leaves_no_process(stage, monkeypatch, tmp_path, how):
    command = stage([step(number, BUSY.format(number)) for number in range(10)])
    job = start(command)
    wait_until(lambda: entries(tmp_path) >= 4)
    below = descendants(job.pid)
    os.kill(job.pid, how)
    _, errors = job.communicate(timeout=60)
    assert job.returncode != 0
    if how == signal.SIGINT:
        assert errors.splitlines()[-1].startswith("interrupted:")
    wait_until(lambda: not any(map(is_running, below)))
    known = entries(tmp_path)
    assert 4 <= known < 11
    rows, timing = call(command, monkeypatch)
    assert timing["stored"] == known - 1, "all that was stored, less the reference, is not run again"
    assert all(row.verdict == "pass" for row in rows)
    interrupted = (tmp_path / "verdicts.jsonl").read_bytes()
    (tmp_path / "verdicts.sqlite").unlink()
    call(command, monkeypatch)
    assert (tmp_path / "verdicts.jsonl").read_bytes() == interrupted
