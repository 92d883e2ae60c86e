"""What the Snakefile asks before any job runs: the plan behind a target, the sources of a stage, the lock."""

from __future__ import annotations

import ast
import difflib
import fcntl
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evalooop.config import NAME
from evalooop.errors import UserError
from evalooop.orphan import WORKFLOW_PID
from evalooop.plan import Plan, expand

DEFAULT = "demo"
CONFIG_KEYS = {"name", "experiment", "set"}


class Experiments:
    """Turns the experiment's name in a target path into its plan.

    A name is that of a file in ``conf/experiment``, or the ``name`` of an ad-hoc variation
    (``--config name=hot experiment=demo set='temperature=0.8'``), which its folder remembers.
    """

    def __init__(self, conf: Path, results: Path, config: Mapping[str, Any]) -> None:
        self.conf = conf
        self.results = results
        self.name = str(config.get("name", ""))
        self.own = [path.stem for path in sorted((conf / "experiment").glob("*.yaml"))]
        for name in self.own:
            if not NAME.fullmatch(name):
                raise UserError(f"{conf}/experiment/{name}.yaml: name it with letters, digits, '.', '_' and '-' only")
        unknown = set(config) - CONFIG_KEYS
        if unknown:
            raise UserError(f"--config knows name, experiment and set, not '{', '.join(sorted(unknown))}'")
        self.overrides = (
            f"experiment={config.get('experiment', DEFAULT)}",
            *shlex.split(str(config.get("set", ""))),
        )
        if self.name:
            self._guard()
        elif config:
            raise UserError(
                "--config needs a name of its own for these settings: name=NAME; results go to results/NAME"
            )
        self.plan = cache(self._plan)

    @property
    def default(self) -> str:
        return self.name or DEFAULT

    def _plan(self, name: str) -> Plan:
        if name == self.name:
            return expand(self.conf, name, self.overrides)
        if name in self.own:
            return expand(self.conf, name, (f"experiment={name}",))
        remembered = self._remembered(name)
        if remembered is None:
            raise UserError(
                f"there is no experiment '{name}'; conf/experiment has {', '.join(self.own)}; "
                f"for settings of your own: --config name={name} experiment=... set='key=value'"
            )
        return expand(self.conf, name, remembered)

    def _remembered(self, name: str) -> tuple[str, ...] | None:
        folder = self.results / name
        for path in (folder / "plan.json", *sorted(folder.glob("*/runs.json"))):
            if path.is_file():
                return tuple(json.loads(path.read_text(encoding="utf-8"))["overrides"])
        return None

    def _guard(self) -> None:
        """Refuse a name that stands for something else: its results would be overwritten."""
        if not NAME.fullmatch(self.name):
            raise UserError(f"name '{self.name}': use letters, digits, '.', '_' and '-' only")
        if self.name in self.own:
            raise UserError(f"name '{self.name}' is that of an experiment in conf/experiment; choose another")
        before = self._remembered(self.name)
        if before is not None and before != self.overrides:
            changes = [line for line in difflib.ndiff(before, self.overrides) if line[0] in "+-"]
            raise UserError(
                f"results/{self.name} was made with other settings ({'; '.join(changes)}); "
                f"choose another name, or remove results/{self.name}"
            )


@cache
def sources(module: str) -> list[str]:
    """Return the files of this project that a module is made of, found by following its imports.

    Snakemake sees a shell command, not the code behind it: declared as inputs, an edited stage reruns.
    """
    found: dict[str, None] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _module_file(name)
        if path is None and name == module:
            raise UserError(f"there is no module {module}; check the name in the configuration")
        if path is None or str(path) in found:
            continue
        found[str(path)] = None
        waiting += _imports(path)
    return sorted(found)


def _module_file(name: str) -> Path | None:
    stem = Path(*name.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def _imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] in ("evalooop", "scripts")]


def prepare_environment() -> None:
    """Have stages called with the Python that runs Snakemake, and let them know whose they are."""
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    os.environ[WORKFLOW_PID] = str(os.getpid())


def clear_stale_lock(folder: Path) -> Any:
    """Remove Snakemake's lock if nobody is left who could have taken it; return what must be kept open.

    Snakemake's lock outlives a killed process. Ours is the kernel's: every call shares it as long as it lives.
    Who gets it alone knows that no other call lives; otherwise Snakemake's lock is left to refuse us.
    """
    folder.mkdir(exist_ok=True)
    handle = open(folder / "evalooop.lock", "w")  # noqa: SIM115 - held for the life of the process
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder / "locks", ignore_errors=True)
    except BlockingIOError:
        pass
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle
