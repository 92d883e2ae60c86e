"""Every number of a run: ASL and its kin with intervals, what infrastructure took, what the judge said."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalooop import metrics
from evalooop.chains import fates
from evalooop.config import ScoreConfig
from evalooop.families import family_of, size_of
from evalooop.plan import Run
from evalooop.records import FLAGGED, Similarity
from evalooop.samples import pass_at_k
from evalooop.statistics import interval, variance_components

# Parts that some runs do not have: a column of them would hold nothing.
NESTED = ("variance", "published")


def judged_fates(chains: pl.DataFrame, similarities: Iterable[Similarity]) -> pl.DataFrame:
    """Return the fate of each chain (``evalooop.chains.fates``) with what the judge said of its boundary.

    Further columns: ``asked`` (whether the judge gave a reply), ``similarity`` in [0, 1] or null.
    """
    replies = pl.DataFrame(
        [(row.run, row.task, row.sample, True, row.score) for row in similarities if not row.error],
        schema={
            "run": pl.String,
            "task": pl.String,
            "sample": pl.Int64,
            "asked": pl.Boolean,
            "similarity": pl.Float64,
        },
        orient="row",
    )
    joined = fates(chains).join(replies, on=["run", "task", "sample"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("asked").fill_null(False))


def run_scores(
    run: Run, chains: pl.DataFrame, fate: pl.DataFrame, judge: str, settings: ScoreConfig, disputed: Mapping[str, str]
) -> dict[str, Any]:
    """Return the scores of one run as a JSON-able object; a number that does not exist is None.

    Chains that infrastructure ended (``infra``), or that pass where their recording ends (``censored``), are left
    out of T and every n_i; ``bounds`` gives unweighted ASL had each of them failed there, or survived to M, and ASL
    had the judge found nothing alike at any boundary (with everything alike it is the unweighted one).

    Args:
        chains: this run's rows of the chain table.
        fate: this run's rows of ``judged_fates``.
        judge: its name.
        disputed: tasks whose expected values are disputed, with the reason; ``undisputed`` holds scores without them.
    """
    max_loops = run.config.loop.max_loops
    counted = fate.filter("counted")
    lasted = counted["sustained"].to_numpy()
    spread = variance_components(lasted, counted["task"].to_list())
    unflagged = counted.filter(~pl.col("flagged"))
    undisputed = counted.filter(~pl.col("task").is_in(list(disputed)))
    asked_tasks = set(fate["task"])
    lost = fate.filter(~pl.col("counted"))["sustained"].to_numpy()
    return {
        "run": run.name,
        "model": run.config.model.name,
        "family": family_of(run.config.model.name),
        "size": size_of(run.config.model.name),
        "dataset": run.config.dataset.name,
        "prompt_variant": run.config.prompt.name,
        "perturbation": run.config.perturbation.name,
        "temperature": run.config.temperature,
        "seed": run.config.seed,
        "samples": run.config.samples,
        "max_loops": max_loops,
        "tasks": fate["task"].n_unique(),
        "attempted": len(counted),
        "infra": len(lost) - fate["censored"].sum(),
        "censored": fate["censored"].sum(),
        "histogram": metrics.histogram(lasted, max_loops).tolist(),
        "survival": _plain(metrics.survival(lasted, max_loops).tolist()),
        "hazard": _plain(metrics.hazard(lasted, max_loops).tolist()),
        "half_life": metrics.half_life(lasted, max_loops),
        "linear_mean": _plain(metrics.linear_mean(lasted, max_loops)),
        "scores": intervals(counted, max_loops, settings),
        "pass_at_k": pass_at_each_k(counted, run.config.samples),
        "variance": None if spread is None else asdict(spread),
        "bounds": {
            "asl_s0": _plain(metrics.asl(lasted, [0.0] * len(lasted), max_loops)),
            "asl_infra_failed": _plain(metrics.asl_unweighted([*lasted, *lost], max_loops)),
            "asl_infra_survived": _plain(metrics.asl_unweighted([*lasted, *[max_loops] * len(lost)], max_loops)),
        },
        "flagged": {
            **{status: chains.filter(pl.col("status") == status).height for status in FLAGGED},
            "attempted": len(unflagged),
            "asl": _plain(metrics.asl(*_columns(unflagged), max_loops)),
        },
        "undisputed": {
            "without": {task: issue for task, issue in disputed.items() if task in asked_tasks},
            "attempted": len(undisputed),
            "asl": _plain(metrics.asl(*_columns(undisputed), max_loops)),
            "pass_at_1": _plain(metrics.pass_at_1(undisputed["sustained"].to_numpy(), max_loops)),
        },
        "judge": {
            "name": judge,
            "boundaries": counted.filter(pl.col("sustained").is_between(1, max_loops - 1)).height,
            "scored": fate["similarity"].is_not_null().sum(),
            "unreadable": (fate["asked"] & fate["similarity"].is_null()).sum(),
            "mean": fate["similarity"].mean(),
        },
    }


def pass_at_each_k(fate: pl.DataFrame, samples: int) -> dict[str, float | None]:
    """Return pass@k of loop 1 for k = 1..``samples``, by k: the mean over tasks of the unbiased estimator.

    None for a k of which some task has too few chains that count.
    """
    rows = fate.group_by("task").agg(pl.len().alias("asked"), (pl.col("sustained") > 0).sum().alias("passed"))
    fewest = rows["asked"].min() or 0
    counts = rows.select("asked", "passed").rows()
    return {
        str(k): float(np.mean([pass_at_k(asked, passed, k) for asked, passed in counts])) if k <= fewest else None
        for k in range(1, samples + 1)
    }


def intervals(fate: pl.DataFrame, max_loops: int, settings: ScoreConfig) -> dict[str, dict[str, float | None]]:
    """Return each headline score with its bootstrap interval over tasks.

    Args:
        fate: one row a chain, with columns task, sustained and similarity.
    """
    sustained, similarity = _columns(fate)
    table = np.column_stack([sustained, similarity])
    statistics: dict[str, Callable[[NDArray], float]] = {
        "asl": lambda rows: metrics.asl(rows[:, 0], rows[:, 1], max_loops),
        "asl_unweighted": lambda rows: metrics.asl_unweighted(rows[:, 0], max_loops),
        "asl_conditional": lambda rows: metrics.asl_conditional(rows[:, 0], max_loops),
        "pass_at_1": lambda rows: metrics.pass_at_1(rows[:, 0], max_loops),
        "pass_drop": lambda rows: metrics.pass_drop(rows[:, 0], max_loops),
    }
    tasks = fate["task"].to_list()
    found = {}
    for name, statistic in statistics.items():
        score = interval(statistic, table, tasks, settings.resamples, settings.confidence, settings.seed)
        found[name] = {key: _plain(value) for key, value in vars(score).items()}
    return found


def score_table(runs: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the runs' scores as a flat table, one row a run, bounds of a score as ``_low`` and ``_high``."""
    rows = []
    for run in runs:
        row = {key: value for key, value in run.items() if not isinstance(value, dict | list) and key not in NESTED}
        for name, score in run["scores"].items():
            row |= {name: score["value"], f"{name}_low": score["low"], f"{name}_high": score["high"]}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _columns(fate: pl.DataFrame) -> tuple[NDArray, NDArray]:
    return fate["sustained"].to_numpy(), fate["similarity"].cast(pl.Float64).fill_null(math.nan).to_numpy()


def _plain(value: Any) -> Any:
    """Return JSON's form of a number or a list of them: JSON has no NaN."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if math.isnan(value) else value
