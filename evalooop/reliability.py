"""Does a result hold under other prompts, temperatures and attacks? Conditions compared across models or tasks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalooop.config import ScoreConfig
from evalooop.perturbations import NONE, PERTURBATIONS
from evalooop.statistics import kendall, rank_correlation, spearman

CONDITION = ("prompt_variant", "perturbation", "temperature")
"""What makes a condition; runs that differ in seeds only are one."""

FORMS = {"prompt_variant": "{}", "perturbation": "{}", "temperature": "T = {:g}"}
FEWEST_MODELS = 5
"""Models from which on conditions are compared across models; below, across tasks."""
MOST_TASKS = 5


def studies(
    runs: Sequence[Mapping[str, Any]], fates: Mapping[str, pl.DataFrame], settings: ScoreConfig
) -> list[dict[str, Any]]:
    """Return a study for each benchmark that was asked under at least two conditions, as JSON-able data.

    ``agreement`` holds a row for each pair of conditions: how alike they order the models by ASL, with intervals over
    models, or, for fewer than ``FEWEST_MODELS``, how alike they order the tasks by the loops sustained, averaged over
    models, with intervals over tasks (``over`` says which). ``variance`` splits the spread of the loops sustained by
    ``shares_of_variance``. ``disagreement`` is the pair that agrees least, with the tasks that differ most.
    ``attacks``, where there are any, see ``attack_scores``.

    Args:
        runs: scores of each run (``evalooop.scores.run_scores``).
        fates: by run, a row a chain that counts, with columns task and sustained.
    """
    groups: dict[tuple, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["attempted"]:
            groups.setdefault((run["dataset"], run["max_loops"]), []).append(run)
    found = []
    for (dataset, max_loops), members in groups.items():
        conditions = list(dict.fromkeys(condition_of(run) for run in members))
        if len(conditions) > 1:
            found.append({"dataset": dataset, "max_loops": max_loops, **_study(members, conditions, fates, settings)})
    return found


def condition_of(run: Mapping[str, Any]) -> tuple:
    return tuple(run[key] for key in CONDITION)


def _study(
    runs: Sequence[Mapping[str, Any]], conditions: list[tuple], fates: Mapping[str, pl.DataFrame], settings: ScoreConfig
) -> dict[str, Any]:
    models = list(dict.fromkeys(run["model"] for run in runs))
    telling = [place for place in range(len(CONDITION)) if len({condition[place] for condition in conditions}) > 1]
    labels = [_label(condition, telling) for condition in conditions]
    chains = pl.concat(
        fates[run["run"]]
        .select("task", "sustained")
        .with_columns(
            pl.lit(run["model"]).alias("model"),
            pl.lit(labels[conditions.index(condition_of(run))]).alias("condition"),
            *(pl.lit(run[key]).alias(key) for key in CONDITION),
        )
        for run in runs
    )
    over = "models" if len(models) >= FEWEST_MODELS else "tasks"
    table = _asl_table(runs, models, conditions) if over == "models" else _task_table(chains, labels)
    pairs = [
        {"first": labels[i], "second": labels[j], **_agreement(table[:, i], table[:, j], settings)}
        for i, j in itertools.combinations(range(len(labels)), 2)
    ]
    known = [pair for pair in pairs if pair["spearman"]["value"] is not None]
    least = min(known, key=lambda pair: pair["spearman"]["value"], default=None)
    return {
        "conditions": [
            dict(zip(CONDITION, condition, strict=True), label=label)
            for condition, label in zip(conditions, labels, strict=True)
        ],
        "models": models,
        "over": over,
        "agreement": pairs,
        "variance": shares_of_variance(chains),
        "disagreement": None if least is None else _disagreement(chains, least),
        "attacks": attack_scores(chains) if len(set(chains["perturbation"])) > 1 else [],
    }


def _label(condition: tuple, telling: Sequence[int]) -> str:
    return " · ".join(list(FORMS.values())[place].format(condition[place]) for place in telling)


def _asl_table(runs: Sequence[Mapping[str, Any]], models: list[str], conditions: list[tuple]) -> NDArray[np.float64]:
    """Return ASL by model and condition, the mean over seeds; NaN where a model was not asked."""
    scores: dict[tuple[str, tuple], list[float]] = {}
    for run in runs:
        scores.setdefault((run["model"], condition_of(run)), []).append(run["scores"]["asl"]["value"])
    rows = [[np.mean(scores.get((model, condition), [np.nan])) for condition in conditions] for model in models]
    return np.array(rows, dtype=np.float64)


def _task_table(chains: pl.DataFrame, labels: list[str]) -> NDArray[np.float64]:
    """Return the mean loops sustained by task and condition; NaN where a task was not asked."""
    means = chains.group_by("task", "condition").agg(pl.col("sustained").mean()).sort("task")
    wide = means.pivot(on="condition", index="task", values="sustained", maintain_order=True)
    return wide.select(labels).cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _agreement(first: NDArray, second: NDArray, settings: ScoreConfig) -> dict[str, Any]:
    both = ~np.isnan(first) & ~np.isnan(second)
    found: dict[str, Any] = {"pairs": int(both.sum())}
    for name, statistic in (("spearman", spearman), ("kendall", kendall)):
        one = rank_correlation(
            statistic, first[both], second[both], settings.resamples, settings.confidence, settings.seed
        )
        found[name] = {key: None if np.isnan(value) else value for key, value in asdict(one).items()}
    return found


def shares_of_variance(chains: pl.DataFrame) -> dict[str, float]:
    """Return the share of the spread of the loops sustained that each factor explains alone (eta squared).

    For model, task, prompt, perturbation and temperature: the sum of squares of the means of its levels about the grand
    mean, over the total; for ``sample``, where there are several, what is left within a task under one condition of one
    model. What remains is their interplay, chance included where there is one sample only. Shares add up to 1 where all
    was asked of all (Fisher's analysis of variance); {} without a spread.
    """
    values = chains["sustained"]
    grand = values.mean()
    total = ((values - grand) ** 2).sum()
    if not total:
        return {}
    shares = {}
    for name in ("model", "task", *CONDITION):
        levels = chains.group_by(name).agg(pl.len().alias("size"), pl.col("sustained").mean())
        if len(levels) > 1:
            shares[name] = (levels["size"] * (levels["sustained"] - grand) ** 2).sum() / total
    cell = ("model", "task", *CONDITION)
    if len(chains) > chains.select(cell).n_unique():
        within = chains.select((pl.col("sustained") - pl.col("sustained").mean().over(cell)) ** 2).to_series().sum()
        shares["sample"] = within / total
    return {**shares, "interplay": max(0.0, 1 - sum(shares.values()))}


def _disagreement(chains: pl.DataFrame, pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pair of conditions with the tasks whose loops sustained differ most between them."""
    first, second = (
        chains.filter(pl.col("condition") == pair[side]).group_by("task").agg(pl.col("sustained").mean().alias(side))
        for side in ("first", "second")
    )
    joined = first.join(second, on="task").with_columns((pl.col("first") - pl.col("second")).alias("difference"))
    furthest = joined.sort(pl.col("difference").abs(), "task", descending=[True, False]).head(MOST_TASKS)
    return {"first": pair["first"], "second": pair["second"], "tasks": furthest.to_dicts()}


def attack_scores(chains: pl.DataFrame) -> list[dict[str, Any]]:
    """Return what attacks do to pass@1, a row a (model, prompt, temperature) that was asked without one, too.

    All is over the tasks that count under every attack. ``pass_at_1`` by attack; ``robust_pass_at_1``: the mean over
    tasks of the lowest pass rate under any attack and under none, with one sample the share of tasks that always pass,
    the worst case of ReCode (Wang et al. 2023, RP@1); ``robust_drop``: how much less that is than pass@1 without an
    attack, as a share of it; ``families``: the mean drop by family, in shares of pass@1.
    """
    rows = []
    for (model, prompt, temperature), part in chains.group_by(
        "model", "prompt_variant", "temperature", maintain_order=True
    ):
        everywhere = pl.col("perturbation").n_unique().over("task") == part["perturbation"].n_unique()
        rates = part.filter(everywhere).group_by("task", "perturbation", maintain_order=True)
        passed = rates.agg((pl.col("sustained") > 0).mean().alias("passed"))
        shares = dict(passed.group_by("perturbation", maintain_order=True).agg(pl.col("passed").mean()).iter_rows())
        plain = shares.get(NONE)
        if plain is None or len(shares) < 2:
            continue
        robust = passed.group_by("task").agg(pl.col("passed").min())["passed"].mean()
        drops: dict[str, list[float]] = {}
        for name, share in shares.items():
            if name != NONE and plain:
                drops.setdefault(PERTURBATIONS[name][0], []).append(1 - share / plain)
        rows.append(
            {
                "model": model,
                "prompt_variant": prompt,
                "temperature": temperature,
                "pass_at_1": shares,
                "robust_pass_at_1": robust,
                "robust_drop": 1 - robust / plain if plain else None,
                "families": {family: float(np.mean(found)) for family, found in drops.items()},
            }
        )
    return rows
