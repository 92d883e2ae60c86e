"""What the benchmarks share: a heading that says when, on what and under which load, and Markdown tables."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable


def heading() -> str:
    """Return the line under which figures stand."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"{datetime.date.today()}, {os.cpu_count()} cores, load average {load}\n"


def table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    lines = [list(map(str, row)) for row in (columns, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
