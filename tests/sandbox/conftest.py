"""Fixtures of the sandbox tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import corpus

from evalooop.sandbox.runner import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(corpus.LIMITS) as box:
        yield box


@pytest.fixture
def task():
    return corpus.square_perimeter_task()


def descendants(pid: int) -> list[int]:
    """Return the ids of all living processes below a process."""
    below = []
    for thread in _list(f"/proc/{pid}/task"):
        try:
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            below += [child, *descendants(child)]
    return below


def open_descriptors() -> int:
    return len(_list("/proc/self/fd"))


def is_running(pid: int) -> bool:
    """Say whether a process lives; one that is dead but not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _list(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
