"""Figures: one module each, from the chain table and the scores to a matplotlib Figure.

A figure module has ``CAPTION`` (one or two sentences for the report), ``numbers(chains, metrics)`` (the table
behind the figure, written as csv beside it) and ``draw(chains, metrics, settings)``. To add a figure, add a
module: it is found by its name. ``chains`` is the chain table, one row a (run, task, sample, loop);
``metrics`` is the content of metrics.json, with those of cost.json, audit.json and reliability.json under the keys
``cost``, ``audit`` and ``reliability``.
"""

from __future__ import annotations

import importlib
import pkgutil
from io import BytesIO
from pathlib import Path
from types import ModuleType

from matplotlib.figure import Figure

from evalooop.errors import UserError
from evalooop.figures.style import styled
from evalooop.files import write_atomically

SUPPORT = {"style", "outcomes", "cohort"}

# Dates and version strings would make equal figures different bytes.
METADATA = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def names() -> list[str]:
    """Return the names of all figures, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SUPPORT)


def module(name: str) -> ModuleType:
    """Return the module that draws a figure.

    Raises:
        UserError: there is no such figure.
    """
    if name not in names():
        raise UserError(f"there is no figure {name!r}; there are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name}")


@styled
def save(figure: Figure, stem: Path) -> list[Path]:
    """Write ``stem``.svg, .pdf and .png; equal figures give equal bytes. Return the paths written."""
    paths = []
    for kind, metadata in METADATA.items():
        buffer = BytesIO()
        figure.savefig(buffer, format=kind, metadata=metadata)
        path = stem.with_name(f"{stem.name}.{kind}")
        write_atomically(path, buffer.getvalue())
        paths.append(path)
    return paths
