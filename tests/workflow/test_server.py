"""A session asked of a server: the same chains as on disk, faults mended or told apart from what the model did."""

import json

import polars as pl
import pytest
import yaml

from evalooop.chains import fates
from evalooop.datasets import load
from evalooop.plan import expand
from tests.loopback import FAULTS, MODEL, right, serving
from tests.parrot import SUSTAINED, lines_of
from tests.workflow.conftest import ROOT

TARGET = "results/served/report.html"


@pytest.fixture(scope="module")
def speak():
    """Answer as the parrot does; as a judge, 0.4."""
    prompt = expand(ROOT / "conf", "test", ("prompt=plain_chat",)).runs[0].config.prompt
    spoken = lines_of({task.id: task for task in load("starter")}, prompt)
    lines = {turns([vars(message) for message in messages]): line for messages, line in spoken}
    return lambda body, before: right(lines.get(turns(body["messages"]), "0.4"))


def turns(messages):
    return json.dumps([message for message in messages if message["content"]], sort_keys=True)


def add_model(project, name, url):
    server = {"url": url, "attempts": 3, "timeout_seconds": 1.0}
    price = {"prompt": 1000, "completion": 10_000}
    content = {"name": name, "source": "server", "id": MODEL, "server": server, "price": price}
    project.path("conf", "model", f"{name}.yaml").write_text(yaml.safe_dump(content))


def rows(project, name):
    files = sorted(project.path("results", "served", "served").glob(f"loop*/{name}"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def lasted(project):
    fate = fates(pl.read_parquet(project.path("results/served/chains.parquet")))
    return {row["task"]: row["sustained"] for row in fate.iter_rows(named=True) if row["counted"]}


def test_a_faulty_server_gives_the_chains_of_a_sound_one(project, speak):
    faults = list(FAULTS.values())

    def answer(body, before):
        return speak(body, before) if before else faults[len(turns(body["messages"])) % len(faults)]

    with serving(answer) as loopback:
        add_model(project, "served", loopback.url)
        project.experiment("served", {"model": "served"})
        project.snakemake(TARGET)
        assert lasted(project) == SUSTAINED
        assert set(loopback.asked.values()) == {2}
    assert {row["status"] for row in rows(project, "generated.jsonl")} == {"ok"}
    timings = [json.loads(file.read_text()) for file in project.path("results/served").rglob("generated.timing.json")]
    assert sum(timing["retries"] for timing in timings) == sum(timing["asked"] for timing in timings) > 8
    assert json.loads(project.path("results/served/models/served.json").read_text())["folder"] == loopback.url
    assert project.scheduled(TARGET) == {}
    cost = json.loads(project.path("results/served/cost.json").read_text())
    usage = {row["stage"]: (row["answers"], row["usd"]) for row in cost["runs"]}
    # 11 tokens in and 3 out an answer: 4 chains, 3 of them described for loop 2, 2 for loop 3; 2 boundaries, and three
    # controls of each of the 3 tasks that passed a loop.
    assert usage == {"generate": (14, pytest.approx(14 * 0.041)), "judge": (11, pytest.approx(11 * 0.041))}
    assert "US$ 0.5740" in project.path("results/served/report.html").read_text()


def test_what_the_server_never_answered_is_no_failure_of_the_model(project, speak):
    """Row 67: lost answers are counted, left out of the scores, asked again, and cost the exit status."""
    mended = []

    def answer(body, before):
        lost = "def square" in turns(body["messages"]) and not mended
        return FAULTS["broken"] if lost else speak(body, before)

    with serving(answer) as loopback:
        add_model(project, "served", loopback.url)
        project.experiment("served", {"model": "served"})
        project.snakemake("results/served/served/loop01/verdicts.jsonl")
        (lost,) = [row for row in rows(project, "generated.jsonl") if row["status"] == "infra_error"]
        assert (lost["task"], lost["text"], lost["code"], lost["stop"]) == ("Starter/square", "", None, "error")
        assert "Starter/square" not in {row["task"] for row in rows(project, "verdicts.jsonl")}
        done = project.snakemake(TARGET, check=False)
        assert done.returncode != 0
        assert "1 of 4 chains lost to infrastructure errors (25%), most often: HTTP 500" in done.stdout
        assert lasted(project) == {task: loops for task, loops in SUSTAINED.items() if task != "Starter/square"}
        (run,) = json.loads(project.path("results/served/metrics.json").read_text())["runs"]
        assert (run["attempted"], run["infra"]) == (3, 1)
        assert project.path("results/served/report.incomplete.html").exists()
        before = loopback.asked.copy()
        mended.append(True)
        project.snakemake(TARGET)
        assert lasted(project) == SUSTAINED
        # The judge's controls are drawn anew from what there is now.
        again = [body for body in loopback.asked - before if "semantic similarity" not in body]
        assert all("def square" in body or "n times n" in body for body in again)


def test_a_server_that_is_away_costs_its_own_session_only(project, speak):
    with serving(speak) as away:
        pass
    with serving(speak) as loopback:
        add_model(project, "served", loopback.url)
        add_model(project, "away", away.url)
        project.experiment("served", {"model": "served,away"}, dataset={"tasks": ["Starter/total"]})
        done = project.snakemake(TARGET, check=False)
    assert done.returncode != 0
    assert "start the server" in done.stdout
    assert project.path("results/served/report.incomplete.html").exists()
    runs = {run["model"]: run for run in json.loads(project.path("results/served/metrics.json").read_text())["runs"]}
    assert (runs["served"]["attempted"], runs["served"]["infra"]) == (1, 0)
    assert (runs["away"]["attempted"], runs["away"]["infra"]) == (0, 1)
