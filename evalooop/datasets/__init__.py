"""Benchmarks as lists of tasks. To add one: a module here with ``load()``, a YAML file in ``conf/dataset``.

A loader module offers ``load() -> list[Task]`` and, where some problems of the benchmark cannot be used,
``unusable() -> dict[str, str]``: the ids left out, or left without some of their tests, each with its reason.
What is wrong with a benchmark's own tests is written down in ``oracle_issues.json``, which anyone may extend.
Modules whose name starts with an underscore are not loaders but what loaders share.
"""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module, resources
from types import ModuleType

from evalooop.errors import UserError
from evalooop.tasks import Task


def known_loaders() -> list[str]:
    """Return the names that ``load`` accepts, sorted."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in names if not name.startswith("_"))


def load(loader: str) -> list[Task]:
    """Return every usable task of a benchmark, in the benchmark's order.

    Raises:
        UserError: no such loader, or its data is missing or not what it should be.
    """
    return _module(loader).load()


def unusable(loader: str) -> dict[str, str]:
    """Return what ``load`` leaves out: reasons by task id, empty where nothing is."""
    module = _module(loader)
    return module.unusable() if hasattr(module, "unusable") else {}


def oracle_issues(loader: str) -> dict[str, str]:
    """Return the tasks whose expected values are disputed, each with what is wrong: {} where none is known.

    Scores are given with and without these tasks.
    """
    text = (resources.files(__name__) / "oracle_issues.json").read_text(encoding="utf-8")
    return json.loads(text).get(loader, {})


def _module(loader: str) -> ModuleType:
    if loader not in known_loaders():
        raise UserError(f"no dataset loader {loader!r}: dataset.loader must be one of {', '.join(known_loaders())}")
    return import_module(f"{__name__}.{loader}")
