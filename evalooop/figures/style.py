"""How every figure looks: colours that most colour-blind readers tell apart, type for a printed column."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from scipy.optimize import isotonic_regression

from evalooop.config import FigureConfig

INK = "#222222"
MUTED = "#6B6B6B"
FAINT = "#DDDDDD"
PAPER = "#FFFFFF"

# What the report puts in the place of these on a dark screen; the colours that carry meaning stay.
DARK = {INK: "#E4E3DF", MUTED: "#A09F9A", FAINT: "#3A3B3D", PAPER: "#17181A"}

# Okabe and Ito (2008) without black, which is the ink's, and yellow, too pale for a line on paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))

LABEL_LENGTH = 34

STYLE = {
    **mpl.rcParamsDefault,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    # Ids inside an SVG are salted hashes: a fixed salt makes equal figures equal bytes.
    "svg.hashsalt": "evalooop",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


def styled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a function under this style, whatever matplotlibrc the reader has."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        # The backend is left out: a Figure made without pyplot never asks for one.
        with mpl.rc_context({key: value for key, value in STYLE.items() if not key.startswith("backend")}):
            return function(*args, **kwargs)

    return run


def new_figure(settings: FigureConfig, height: float) -> Figure:
    """Return an empty figure of the column's width and this height in inches, laid out by constraints.

    It is made without pyplot, so no window system is ever looked for (known to crash workers).
    """
    return Figure(figsize=(settings.width, height), dpi=settings.dpi, layout="constrained")


def message(settings: FigureConfig, text: str) -> Figure:
    """Return a figure that only says why there is nothing to draw."""
    figure = new_figure(settings, 1.0)
    figure.text(0.5, 0.5, text, ha="center", va="center", color=MUTED)
    return figure


def run_labels(runs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return a short label for each run of a metrics table: the model and whatever else tells the runs apart.

    Runs that this leaves alike are called by their full name.
    """
    forms = {
        "model": "{}",
        "dataset": "{}",
        "prompt_variant": "{}",
        "perturbation": "{}",
        "temperature": "T = {:g}",
        "seed": "seed {}",
        "max_loops": "M = {}",
    }
    telling = [key for key in forms if len({run[key] for run in runs}) > 1] or ["model"]
    labels = {run["run"]: " · ".join(forms[key].format(run[key]) for key in telling) for run in runs}
    taken = list(labels.values())
    return {run: shorten(label if taken.count(label) == 1 else run) for run, label in labels.items()}


def shorten(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut the middle out of a text longer than ``length``: both ends of a name tell things apart."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[-(length - 1 - head) :]}"


def line_style(index: int) -> dict[str, Any]:
    """Return colour and dashes of the index-th of up to 18 lines."""
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": DASHES[index // len(PALETTE) % len(DASHES)]}


def label_lines(axes: Axes, ends: Iterable[tuple[float, float, str, str]], size: float = 7) -> None:
    """Write each line's name beside its end, moved apart where two would overlap, with a hairline to its end.

    Args:
        ends: (x and y of the line's last point in data units, text, colour), y within the axes' limits.
    """
    ends = sorted(ends, key=lambda end: end[1:])
    low, high = axes.get_ylim()
    inches = axes.figure.get_figheight() * 0.8
    gap = (size + 2.5) / 72 / inches * (high - low)
    # Least movement with a gap between neighbours is isotonic regression once the gaps are taken off.
    slack = max(high - (len(ends) - 1) * gap, low)
    moved = isotonic_regression([end[1] - place * gap for place, end in enumerate(ends)]).x.clip(low, slack)
    for place, (x, y, text, color) in enumerate(ends):
        hairline = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 2, "shrinkB": 3}
        axes.annotate(
            text,
            xy=(x, y),
            xytext=(1.04, moved[place] + place * gap),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=size,
            annotation_clip=False,
            arrowprops={**hairline, "relpos": (0, 0.5), "patchA": None},
        )


def label_points(
    axes: Axes, points: Iterable[tuple[float, float, str]], avoid: Iterable[tuple[float, float]], size: float = 6
) -> None:
    """Write a name beside each point, in the first free place around it; one that finds none is left out.

    To be called when the axes hold all they will: positions depend on their limits.

    Args:
        points: x and y in data units, text; those that matter most first.
        avoid: x and y of what no name may cover, the points themselves among them.
    """
    figure = axes.figure
    figure.draw_without_rendering()
    bounds = axes.get_window_extent()
    reach = 2 * figure.dpi / 72
    marks = [axes.transData.transform(point) for point in avoid]
    taken = [Bbox.from_extents(x - reach, y - reach, x + reach, y + reach) for x, y in marks]
    around = [(5, 0, "left"), (-5, 0, "right"), (0, 6, "center"), (0, -7, "center")]
    around += [(x, y, side) for y in (8, -9, 15, -16) for x, side in ((5, "left"), (-5, "right"))]
    for x, y, text in points:
        for dx, dy, side in around:
            place = {"xytext": (dx, dy), "textcoords": "offset points", "ha": side, "va": "center"}
            label = axes.annotate(text, (x, y), fontsize=size, annotation_clip=False, in_layout=False, **place)
            label.set_bbox({"facecolor": PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 0.4})
            box = label.get_window_extent()
            inside = bounds.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and bounds.y0 <= box.y0 and box.y1 <= bounds.y1
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            label.remove()
