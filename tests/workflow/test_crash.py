"""A killed workflow goes on where it was, and ends in the same bytes as one that was not killed."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import psutil
import pytest
import yaml

TARGET = "results/crash/report.html"
# What differs from run to run: times, and what is drawn from them.
TIMED = ("logs", "benchmarks", "report.html", "cost.json")


@pytest.fixture
def prepare(models):
    def add_experiment(project):
        """Two models: the parrot's programs are judged, and babble talks long enough to be killed meanwhile."""
        loop = {"max_loops": 2, "generate_tokens": 200, "describe_tokens": 32}
        dataset = {"limit": 30}
        project.model("babble", models["babble"], batch_size=1)
        project.experiment("crash", {"model": "parrot,babble"}, loop=loop, dataset=dataset)
        return project

    return add_experiment


def entries(project, store):
    path = project.path("resources", store)
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM entries").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def kill_tree(pid):
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for process in processes:
        process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes)


def kill_when(project, ready, seconds=120):
    """Start the workflow, kill it with all it started as soon as ``ready()``, and wait until it is gone."""
    process = subprocess.Popen(
        project.command(TARGET), cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, "the workflow ended before it could be killed"
        assert time.monotonic() < end, "the moment to kill never came"
        time.sleep(0.01)
    kill_tree(process.pid)
    process.wait()


def running(project, stage):
    for process in psutil.process_iter(["cmdline", "cwd"]):
        line = process.info["cmdline"] or []
        if f"scripts.{stage}" in line and process.info["cwd"] == str(project.folder):
            return True
    return False


def results(project):
    """Return the bytes of every file of the experiment that must not depend on how often it was killed."""
    folder = project.path("results", "crash")
    files = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(TIMED) and not name.endswith("timing.json"):
            files[name] = path.read_bytes()
    return files


def test_killed_while_generating_and_while_executing(project, prepare, tmp_path):
    prepare(project)
    straight = type(project)(tmp_path / "straight")
    shutil.copytree(project.folder, straight.folder)
    straight.snakemake(TARGET)

    kill_when(project, lambda: entries(project, "completions.sqlite") >= 8)
    before = entries(project, "completions.sqlite")
    kill_when(project, lambda: running(project, "execute"))
    project.snakemake(TARGET)

    assert before < entries(project, "completions.sqlite") == entries(straight, "completions.sqlite")
    assert results(project) == results(straight)
    assert project.scheduled(TARGET) == {}


def test_a_resumed_generate_asks_only_what_was_not_answered(project, prepare):
    prepare(project)
    kill_when(project, lambda: entries(project, "completions.sqlite") >= 5)
    project.snakemake("results/crash/babble/loop01/generated.jsonl", "results/crash/parrot/loop01/generated.jsonl")
    timings = [
        json.loads(project.path(f"results/crash/{session}/loop01/generated.timing.json").read_text())
        for session in ("babble", "parrot")
    ]
    assert sum(timing["stored"] for timing in timings) >= 5
    assert sum(timing["asked"] + timing["stored"] for timing in timings) == 60


def test_a_live_lock_is_refused_and_a_stale_one_cleared(project, prepare):
    """Row 79: a killed workflow leaves Snakemake's lock behind; a running one holds it."""
    prepare(project)
    process = subprocess.Popen(
        project.command(TARGET), cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not entries(project, "completions.sqlite"):
        assert process.poll() is None
        time.sleep(0.02)
    second = project.snakemake(TARGET, check=False)
    assert second.returncode != 0
    assert "lock" in second.stdout.lower()
    assert process.poll() is None
    kill_tree(process.pid)
    process.wait()
    assert any(project.path(".snakemake", "locks").iterdir())
    project.snakemake("results/crash/plan.json")


def test_stages_end_with_the_workflow(project, prepare):
    """Killing Snakemake alone must not leave a stage working beside the next call's."""
    prepare(project)
    process = subprocess.Popen(
        project.command(TARGET), cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not entries(project, "completions.sqlite"):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 30
    while running(project, "generate"):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_model_that_cannot_be_had_does_not_cost_the_others_their_report(project, models, tmp_path):
    """Row 81: the report of the rest, a summary, an exit status, and a second call that tries again."""
    elsewhere = tmp_path / "not there yet"
    project.model("late", elsewhere)
    project.experiment("partly", {"model": "parrot,late"}, dataset={"tasks": ["Starter/total"]})
    target = "results/partly/report.html"
    done = project.snakemake(target, check=False)
    assert done.returncode != 0
    assert "not there yet" in done.stdout
    page = project.path("results/partly/report.incomplete.html")
    assert "late" in page.read_text()
    assert not project.path(target).exists()

    shutil.copytree(models["babble"], elsewhere)
    assert project.scheduled(target)["generate"] == 3
    project.snakemake(target)
    assert not page.exists()
    assert project.path(target).exists()


def test_a_judge_that_cannot_be_had_is_a_failure_and_is_asked_again(project, models, tmp_path):
    elsewhere = tmp_path / "judge"
    judge = {"name": "strange", "model": {"name": "strange", "source": "path", "id": str(elsewhere)}}
    project.path("conf", "judge", "strange.yaml").write_text(yaml.safe_dump(judge))
    project.experiment("judged", {"model": "parrot", "judge": "strange"})
    target = "results/judged/report.html"
    done = project.snakemake(target, check=False)
    assert done.returncode != 0
    assert "boundaries could not be judged" in done.stdout
    assert not project.path(target).exists()

    shutil.copytree(models["babble"], elsewhere)
    again = {"fetch_model", "judge", "cost", "score", "audit", "reliability", "manifest", "figure", "report"}
    assert set(project.scheduled(target)) == again
    project.snakemake(target)
    (run,) = json.loads(project.path("results/judged/metrics.json").read_text())["runs"]
    assert run["judge"]["boundaries"] == run["judge"]["unreadable"] + run["judge"]["scored"] == 2
