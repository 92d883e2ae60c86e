"""Hostile programs get their verdict, harm nothing and leave nothing, whoever runs the judge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import corpus
import pytest
from conftest import descendants

from evalooop.sandbox.runner import Sandbox

ROOT = Path(__file__).parents[2]
SLOW = set(corpus.SLEEPERS)
NOBODY = "65534"


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, marks=[pytest.mark.slow] if entry["name"] in SLOW else [], id=entry["name"])
        for entry in corpus.read_index()
    ],
)
def test_attack_gets_its_verdict(entry, sandbox):
    assert corpus.judge(sandbox, entry) == ""
    # The sandbox itself is two processes: bubblewrap and the zygote.
    assert len(descendants(sandbox._process.pid)) == 1


def test_index_names_every_program_once():
    files = [entry["file"] for entry in corpus.read_index()]
    assert sorted(files) == sorted(path.name for path in corpus.FOLDER.glob("*.py"))
    assert {entry["required"] for entry in corpus.read_index()} == {"pass", "fail", "timeout", "any"}


@pytest.mark.slow
def test_attacks_behind_landlock():
    """The weaker sandbox, for systems without namespaces: the same verdicts but for what its docstring says."""
    with Sandbox(corpus.LIMITS, "landlock") as box:
        outcome = {
            entry["name"]: corpus.judge(box, entry) for entry in corpus.read_index() if entry["name"] not in SLOW
        }
        assert descendants(box._process.pid) == []
    assert {name: wrong for name, wrong in outcome.items() if wrong} == {}


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["namespaces", "landlock"])
def test_attacks_as_an_ordinary_user(isolation):
    """The whole corpus again under a user without any rights, with Debian's own Python."""
    if os.geteuid() != 0:
        pytest.skip("these tests already run as an ordinary user")
    python, setpriv = "/usr/bin/python3", shutil.which("setpriv")
    if setpriv is None or not os.access(python, os.X_OK):
        pytest.skip("needs setpriv (util-linux) and /usr/bin/python3")
    as_nobody = [setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", python, "-B"]
    version = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True)
    if version.stdout.strip() != b"True":
        pytest.skip("/usr/bin/python3 is older than 3.11")
    folder = Path(tempfile.mkdtemp(prefix="corpus."))
    try:
        # The repository may lie where that user cannot look.
        shutil.copytree(ROOT / "evalooop", folder / "evalooop", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests/sandbox/attacks", folder / "attacks")
        shutil.copy(ROOT / "tests/sandbox/corpus.py", folder)
        subprocess.run(["chmod", "-R", "u=rwX,go=rX", folder], check=True)
        done = subprocess.run(
            [*as_nobody, folder / "corpus.py", isolation],
            capture_output=True,
            text=True,
            cwd=folder,
            env={"PATH": os.defpath},
        )
        assert done.returncode == 0, done.stderr
        outcome = json.loads(done.stdout)
    finally:
        shutil.rmtree(folder)
    assert outcome == {entry["name"]: "" for entry in corpus.read_index()}
