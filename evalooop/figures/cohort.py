"""The models that a figure compares: the largest cohort of runs that differ in their model alone, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MISSING = "a comparison needs at least two models that were asked the same"

# One colour and marker for a family in all figures (colours after Paul Tol's muted scheme, safe for most eyes).
FAMILY_LOOKS = {
    "Claude": ("#CC6677", "o"),
    "GPT": ("#117733", "o"),
    "Gemini": ("#5B4BC4", "o"),
    "Gemma": ("#5B4BC4", "^"),
    "Qwen": ("#AA4499", "o"),
    "DeepSeek": ("#4477AA", "s"),
    "Llama": ("#882255", "s"),
    "Mistral": ("#E69F00", "s"),
    "Phi": ("#44AA99", "D"),
    "GLM": ("#999933", "D"),
    "Seed": ("#88CCEE", "D"),
    "NextCoder": ("#44AA99", "^"),
    "SmolLM": ("#CC6677", "^"),
}
OTHER_LOOK = ("#777777", "v")


def look_of(family: str) -> tuple[str, str]:
    """Return the colour and the marker of a family."""
    return FAMILY_LOOKS.get(family, OTHER_LOOK)


def ranked_runs(metrics: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of the largest ranking, best first, each with its ``place`` there: rank and what goes with it.

    [] where no two models can be compared.
    """
    ranking = largest_ranking(metrics)
    if ranking is None:
        return []
    runs = {run["run"]: run for run in metrics["runs"]}
    keys = ("rank", "rank_low", "rank_high", "pass_rank", "rank_change")
    return [
        {**runs[name], "place": {key: ranking[key][number] for key in keys}}
        for number, name in enumerate(ranking["runs"])
    ]


def largest_ranking(metrics: dict[str, Any]) -> dict[str, Any] | None:
    """Return the ranking of the most runs, None if there is none."""
    return max(metrics.get("rankings", []), key=lambda ranking: len(ranking["runs"]), default=None)


def families_of(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the families of some runs, those with most runs first."""
    families = [run["family"] for run in runs]
    return sorted(set(families), key=lambda family: (-families.count(family), family))
