"""Row 63: ``kill -9`` loses at most the answers on their way; the rest is not asked again, and the end is the same."""

import dataclasses
import hashlib
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter

import pytest
import yaml

from evalooop.datasets import load
from evalooop.models import fetch, write_card
from evalooop.plan import expand, session_to_json
from evalooop.store import Store
from evalooop.tasks import write_tasks
from tests.loopback import MODEL, right, serving
from tests.workflow.conftest import ROOT

KILLS = 10
TASKS, SAMPLES = 40, 5


@pytest.fixture
def command(tmp_path):
    """Return the command that asks a server for 200 programs, as a function of its folder and the server's URL."""

    def build(folder, url):
        conf = shutil.copytree(ROOT / "conf", folder / "conf")
        server = {"url": url, "concurrency": 4}
        content = {"name": "served", "source": "server", "id": MODEL, "server": server}
        (conf / "model" / "served.yaml").write_text(yaml.safe_dump(content))
        overrides = ("model=served", f"dataset.limit={TASKS}", "temperature=0.8", f"samples={SAMPLES}")
        plan = expand(conf, "kill", overrides)
        (folder / "runs.json").write_text(session_to_json(plan, "served"))
        write_tasks(folder / "starter.jsonl", load("starter"))
        write_card(folder / "card.json", fetch(plan.models["served"], folder))
        options = {
            "runs": "runs.json", "session": "served", "loop": "1", "datasets": "starter.jsonl", "card": "card.json",
            "store": "store.sqlite", "out": "generated.jsonl", "timing": "timing.json",
        }  # fmt: skip
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [sys.executable, "-m", "scripts.generate", *words]

    return build


def answer(body, before):
    """Say something that only this request is answered with; slowly enough to be killed meanwhile."""
    name = name_of(json.dumps(body, sort_keys=True))
    return dataclasses.replace(right(f"```python\ndef f():\n    return {name!r}\n```"), seconds=0.02)


def name_of(body):
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def stored(folder):
    """Return the names of the requests whose answers are in a store."""
    if not (folder / "store.sqlite").exists():
        return set()
    with Store(folder / "store.sqlite") as store:
        values = [json.loads(text) for _, text in store._connection.execute("SELECT key, value FROM entries")]
    return {value["text"].split("'")[1] for value in values}


def start(command, folder):
    environment = {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_ten_kills_cost_no_stored_answer_and_change_no_byte(command, tmp_path):
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    straight.mkdir()
    killed.mkdir()
    moments = random.Random(63)
    with serving(answer) as loopback:
        build = command(straight, loopback.url)
        assert start(build, straight).wait() == 0
        assert set(loopback.asked.values()) == {1}
        assert len(loopback.asked) == TASKS * SAMPLES
        loopback.asked.clear()

        build = command(killed, loopback.url)
        for left in range(KILLS, 0, -1):
            kept, before = stored(killed), Counter(loopback.asked)
            # Ten times within the run, whatever is left of it.
            most = max(1, 2 * (TASKS * SAMPLES - len(kept)) // (left + 1))
            process = start(build, killed)
            enough = before.total() + moments.randint(1, most)
            while loopback.asked.total() < enough:
                assert process.poll() is None
                time.sleep(0.001)
            process.kill()
            process.wait()
            assert_not_asked_again(kept, loopback.asked - before)
        kept, before = stored(killed), Counter(loopback.asked)
        assert 0 < len(kept) < TASKS * SAMPLES
        assert start(build, killed).wait() == 0
        assert_not_asked_again(kept, loopback.asked - before)
    assert len(loopback.asked) == TASKS * SAMPLES
    assert (killed / "generated.jsonl").read_bytes() == (straight / "generated.jsonl").read_bytes()
    timing = json.loads((killed / "timing.json").read_text())
    assert (timing["stored"], timing["asked"]) == (len(kept), TASKS * SAMPLES - len(kept))


def assert_not_asked_again(kept, asked):
    assert not kept & {name_of(body) for body in asked}
