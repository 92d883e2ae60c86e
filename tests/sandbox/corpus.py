"""The corpus of hostile and odd programs (``attacks/index.json``), and how to judge all of it.

Standard library only, so that ``python corpus.py`` runs under another user's bare Python. Required verdicts:
``pass``; ``timeout``; ``fail``, anything but a pass; ``any``, it must only do no harm.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from evalooop.sandbox.limits import Limits
from evalooop.sandbox.runner import Sandbox
from evalooop.tasks import Suite, Task

FOLDER = Path(__file__).with_name("attacks")
LIMITS = Limits(cpu_seconds=3, test_cpu_seconds=1, memory_mb=1024)
# Seconds by which every verdict must be there; what sleeps is given the time to.
PROMPT, SLEEPERS = 15.0, {"sleep_forever": 45.0, "main_thread_leaves": 45.0}
HONEST = "def square_perimeter(a):\n    return 4 * a\n"
# It is refused the signal it stops itself with, and answers wrong: better than the timeout it asks for.
REFUSED_INSTEAD = {"stop_self"}
# Landlock leaves names of files visible: this program passes by seeing that /proc/self exists, and reads nothing.
SEES_NAMES = {"look_around"}


def read_index() -> list[dict[str, str]]:
    return json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))


def square_perimeter_task() -> Task:
    """Return the task that all these programs are about (Mbpp/17)."""

    def suite(name: str, sides: list[int]) -> Suite:
        return Suite(name, tuple((side,) for side in sides), tuple(4 * side for side in sides))

    suites = (suite("base", [10, 5, 4]), suite("plus", [0, 1, 2, 3, 7, 100, 10**6, 10**20]))
    return Task("Mbpp/17", "", "square_perimeter", "", HONEST, "", "", suites)


def judge(sandbox: Sandbox, entry: dict[str, str]) -> str:
    """Judge one program of the corpus and an honest one after it; return what is wrong, "" if nothing is."""
    task = square_perimeter_task()
    started = time.monotonic()
    judgement = sandbox.run((FOLDER / entry["file"]).read_text(encoding="utf-8"), task)
    seconds = time.monotonic() - started
    verdict = next((suite.verdict for suite in judgement.suites if suite.verdict != "pass"), "pass")
    required = entry["required"]
    if entry["name"] in REFUSED_INSTEAD:
        required = "fail"
    if entry["name"] in SEES_NAMES and sandbox.isolation == "landlock":
        required = "any"
    if (required == "fail" and verdict == "pass") or (required in ("pass", "timeout") and verdict != required):
        return f"{required} required, but got {judgement}"
    if seconds > SLEEPERS.get(entry["name"], PROMPT):
        return f"took {seconds:.0f} s"
    after = sandbox.run(HONEST, task)
    return "" if after.passed and not after.flags else f"the honest program after it got {after}"


def main() -> None:
    """Judge the whole corpus, in the isolation that the command line names, and print {name: what is wrong}."""
    with Sandbox(LIMITS, *sys.argv[1:]) as sandbox:
        json.dump({entry["name"]: judge(sandbox, entry) for entry in read_index()}, sys.stdout)


if __name__ == "__main__":
    main()
