"""What every dataset must be: found by name, complete on disk, the same bytes in every process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evalooop import datasets
from evalooop.config import DatasetConfig
from evalooop.errors import UserError
from evalooop.tasks import Task, read_tasks, task_to_json, write_tasks
from evalooop.values import decode, encode

ROOT = Path(__file__).parents[2]
COUNTS = {"humaneval": 164, "starter": 42}


@pytest.fixture(scope="module", params=sorted(COUNTS))
def loader(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def tasks(loader) -> list[Task]:
    return datasets.load(loader)


def test_counts_and_unique_ids(loader, tasks):
    assert len(tasks) == COUNTS[loader]
    assert len({task.id for task in tasks}) == len(tasks)
    assert datasets.unusable(loader) == {}


def test_unknown_loader_is_one_line_that_lists_the_known():
    with pytest.raises(UserError, match=r"'humanevil'.*humaneval, humanevalplus, mbppplus, starter") as error:
        datasets.load("humanevil")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["starter.lists", "..config", "", "os"])
def test_only_modules_of_the_package_are_imported(name):
    with pytest.raises(UserError):
        datasets.load(name)


def test_oracle_issues_name_loaders_and_give_reasons():
    issues = json.loads((ROOT / "evalooop/datasets/oracle_issues.json").read_text(encoding="utf-8"))
    assert set(issues) <= set(datasets.known_loaders())
    assert all(reason for tasks in issues.values() for reason in tasks.values())
    assert datasets.oracle_issues("starter") == {}
    assert {"Mbpp/287", "Mbpp/737", "Mbpp/787", "Mbpp/794"} <= datasets.oracle_issues("mbppplus").keys()
    assert "HumanEval/0" in datasets.oracle_issues("humanevalplus")


def test_each_loader_has_its_config():
    configs = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "conf/dataset").glob("*.yaml"))]
    for config in configs:
        assert DatasetConfig(**config).loader in datasets.known_loaders()
    assert {config["loader"] for config in configs} == set(datasets.known_loaders())


def test_round_trip_through_a_file(tasks, tmp_path):
    write_tasks(tmp_path / "tasks.jsonl", tasks)
    read = read_tasks(tmp_path / "tasks.jsonl")
    assert list(read.values()) == tasks
    assert [repr(task.suites) for task in read.values()] == [repr(task.suites) for task in tasks]


def test_references_pass_every_suite(tasks):
    for task in tasks:
        namespace = {}
        exec(task.preamble, namespace)
        exec(task.reference, namespace)
        for suite in task.suites:
            results = [encode(namespace[task.entry_point](*args)) for args in _fresh(suite.inputs)]
            assert results == encode(list(suite.expected)), task.id


def test_no_suite_repeats_an_input(tasks):
    for task in tasks:
        seen = [json.dumps(encode(list(args))) for suite in task.suites for args in suite.inputs]
        assert len(seen) == len(set(seen)), task.id


def test_prompt_defines_the_signature_and_reference_extends_it(tasks):
    for task in tasks:
        assert task.prompt.endswith("\n")
        assert task.signature in task.prompt.splitlines()
        assert task.signature.startswith(f"def {task.entry_point}(")
        assert task.signature.endswith(":")
        assert task.reference.startswith(task.prompt)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_file_is_the_same_bytes_whatever_the_hash_seed(loader, tasks, tmp_path, hash_seed):
    out = tmp_path / "tasks.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "scripts.fetch_dataset", "--loader", loader, "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{loader}: {COUNTS[loader]} tasks, left out: nothing\n"
    assert out.read_text() == "".join(json.dumps(task_to_json(task)) + "\n" for task in tasks)


def test_script_refuses_an_unknown_loader_in_one_line(tmp_path):
    out = tmp_path / "tasks.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "scripts.fetch_dataset", "--loader", "nope", "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "'nope'" in done.stderr
    assert not out.exists()


def _fresh(inputs):
    """Arguments decoded anew, so that a reference that changes them leaves the task as it is."""
    return decode(encode(list(inputs)))
