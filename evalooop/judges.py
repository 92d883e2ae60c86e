"""What the judges of an experiment are worth: their controls, and how far they agree with each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import krippendorff
import numpy as np
from scipy.stats import spearmanr

from evalooop.controls import ALIKE, FEWEST, KINDS, SEPARATES, separation
from evalooop.records import BOUNDARY, Similarity

FEWEST_SHARED = 3
"""Boundaries that two judges must both have scored for a correlation."""


def judge_scores(name: str, method: str, rows: Iterable[Similarity]) -> dict[str, Any]:
    """Return a judge's numbers as a JSON-able object: boundaries and controls, scored and missing, means, AUC.

    ``auc`` is of the printed scores, or of the expected ones where these tell more, which small judges need; ``words``
    says in a sentence whether the judge tells pairs that are alike from pairs that are not.
    """
    rows = list(rows)
    boundaries = [row for row in rows if row.kind == BOUNDARY]
    controls = {kind: _group([row for row in rows if row.kind == kind]) for kind in KINDS}
    aucs = {column: _auc(rows, column) for column in ("score", "expected")}
    known = [auc for auc in aucs.values() if auc is not None]
    enough = min(controls["unrelated"]["asked"], sum(controls[kind]["asked"] for kind in ALIKE)) >= FEWEST
    separates = bool(enough and known and max(known) >= SEPARATES)
    return {
        "name": name,
        "method": method,
        **{"boundaries" if key == "asked" else key: value for key, value in _group(boundaries).items()},
        "controls": controls,
        "auc": aucs["score"],
        "auc_expected": aucs["expected"],
        "separates": separates,
        "words": _verdict(name, separates, enough, aucs),
    }


def _group(rows: Sequence[Similarity]) -> dict[str, Any]:
    scores = [row.score for row in rows if row.score is not None]
    expected = [row.expected for row in rows if row.expected is not None]
    return {
        "asked": len(rows),
        "scored": len(scores),
        "missing": len(rows) - len(scores),
        "mean": float(np.mean(scores)) if scores else None,
        "expected_mean": float(np.mean(expected)) if expected else None,
    }


def _auc(rows: Iterable[Similarity], column: str) -> float | None:
    groups: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        value = getattr(row, column)
        if row.kind != BOUNDARY and value is not None:
            groups[row.kind in ALIKE].append(value)
    return separation(groups[True], groups[False])


def _verdict(name: str, separates: bool, enough: bool, aucs: dict[str, float | None]) -> str:
    if not enough:
        return f"There were too few controls to say whether the judge “{name}” tells like from unlike."
    told = {"score": "printed", "expected": "expected"}
    found = ", ".join(f"AUC {auc:.2f} by its {told[key]} scores" for key, auc in aucs.items() if auc is not None)
    found = found or "none of its replies could be read"
    if separates:
        return f"The judge “{name}” tells pairs that are alike from pairs about different tasks ({found})."
    return f"The judge “{name}” does not tell pairs that are alike from pairs about different tasks ({found})."


def agreement(rows: Iterable[Similarity], names: Sequence[str]) -> dict[str, Any] | None:
    """Return how far several judges agree on the boundaries, None for fewer than two.

    ``spearman`` is a matrix in the order of ``names``, None where two share fewer than ``FEWEST_SHARED`` boundaries or
    one is constant; ``alpha`` is Krippendorff's for interval data, which takes missing scores as missing.
    """
    if len(names) < 2:
        return None
    places: dict[tuple, int] = {}
    scores = [{} for _ in names]
    for row in rows:
        if row.kind == BOUNDARY and row.score is not None:
            place = places.setdefault((row.run, row.task, row.sample, row.loop), len(places))
            scores[names.index(row.judge)][place] = row.score
    table = np.array([[own.get(place, np.nan) for place in range(len(places))] for own in scores])
    spearman = [[_spearman(one, other) for other in table] for one in table]
    known = table[~np.isnan(table)]
    shared = (~np.isnan(table)).sum(0) >= 2
    comparable = shared.any() and len(np.unique(known)) > 1
    alpha = krippendorff.alpha(table, level_of_measurement="interval") if comparable else None
    return {"names": list(names), "boundaries": len(places), "spearman": spearman, "alpha": alpha}


def _spearman(one: np.ndarray, other: np.ndarray) -> float | None:
    both = ~np.isnan(one) & ~np.isnan(other)
    if both.sum() < FEWEST_SHARED or len(set(one[both])) == 1 or len(set(other[both])) == 1:
        return None
    return float(spearmanr(one[both], other[both]).statistic)
