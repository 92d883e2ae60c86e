"""Forty-two small tasks written for this project, from ones a 135M-parameter model solves to ones it does not.

The easy ones are plain one-liners, so that a weak model has chains to break. Many of the others have a plain
core and one twist ("keep the first word in its place") that a short description can lose. Base cases are
written by hand; plus cases take their expected values from the reference, which the base cases check.
"""

from __future__ import annotations

from evalooop.datasets.starter import lists, machines, numbers, strings
from evalooop.datasets.starter.declaration import Declaration, build
from evalooop.tasks import Task


def declarations() -> list[Declaration]:
    """Return every declaration, easy ones first, in the order of the modules within a level."""
    found = [
        value
        for module in (numbers, strings, lists, machines)
        for value in vars(module).values()
        if isinstance(value, Declaration)
    ]
    return sorted(found, key=lambda declaration: declaration.level)


def load() -> list[Task]:
    """Return the forty-two tasks, easy ones first, each with the suites ``base`` and ``plus``."""
    return [build(declaration) for declaration in declarations()]
