"""What the report says of models beside each other: the leaderboard's rows, and a panel for each run."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

from evalooop.audit import KINDS

TOLD = {
    "dataset": "dataset {}",
    "prompt_variant": "prompt {}",
    "perturbation": "perturbation {}",
    "temperature": "temperature {:g}",
    "seed": "seed {}",
    "max_loops": "{} loops",
}
"""What a run is besides its model, and how it is said once where it is the same for all runs."""


def board(metrics: dict[str, Any], best_first: bool) -> list[dict[str, Any]]:
    """Return the runs with their ``place`` in their ranking, None for those that are in none.

    A place is rank, its bounds, rank change, ``alike`` (runs that share a letter cannot be told apart), and
    ``above_next``: the share of resamples in which the run stands above the next one, None for the last.
    """
    places = {run: place for ranking in metrics["rankings"] for run, place in _places(ranking)}
    runs = [{**run, "place": places.get(run["run"])} for run in metrics["runs"]]
    if best_first:
        runs.sort(key=lambda run: -(run["scores"]["asl"]["value"] or 0.0))
    return runs


def _places(ranking: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    keys = ("rank", "rank_low", "rank_high", "rank_change")
    for number, run in enumerate(ranking["runs"]):
        groups = [letter(place) for place, (first, last) in enumerate(ranking["groups"]) if first <= number <= last]
        below = ranking["outranks"][number][number + 1] if number + 1 < len(ranking["runs"]) else None
        yield run, {**{key: ranking[key][number] for key in keys}, "alike": " ".join(groups), "above_next": below}


def letter(number: int) -> str:
    """Return a, b, ... z, aa, ab, ... for 0, 1, ..."""
    first, last = divmod(number, 26)
    return (letter(first - 1) if first else "") + string.ascii_lowercase[last]


def shared_settings(runs: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return what is the same for all runs, in words, and the keys in which they differ."""
    differing = [key for key in TOLD if len({run[key] for run in runs}) > 1]
    same = [words.format(runs[0][key]) for key, words in TOLD.items() if runs and key not in differing]
    same = [words for words in same if words != "perturbation none"]
    return same, differing


def correlation_words(metrics: dict[str, Any]) -> str:
    """Return a sentence on how far pass@1 already tells the order by ASL; "" where there are too few models."""
    known = [ranking for ranking in metrics["rankings"] if ranking["spearman"]["value"] is not None]
    if not known:
        return ""
    ranking = max(known, key=lambda one: len(one["runs"]))
    rho, tau = ("{value:.2f} ({low:.2f}–{high:.2f})".format(**ranking[name]) for name in ("spearman", "kendall"))
    moved = sum(change != 0 for change in ranking["rank_change"])
    return (
        f"Across {len(ranking['runs'])} models, pass@1 and ASL agree to Spearman {rho}, Kendall {tau} "
        f"(intervals over models drawn with replacement); {moved} models change their rank."
    )


def panels(runs: Iterable[dict[str, Any]], audited: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is shown of a run above its chains, by run: facts as (term, words), survival, findings.

    Args:
        runs: rows of ``board``.
        audited: rows of the audit.
    """
    findings = {row["run"]: _findings(row) for row in audited}
    return {
        run["run"]: {
            "facts": _facts(run),
            "survival": run["survival"],
            "findings": findings.get(run["run"], []),
        }
        for run in runs
    }


def _facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    scores, place = run["scores"], run["place"]
    facts = [("ASL", format_number(scores["asl"]))]
    if place:
        change = f", {place['rank_change']:+d} against pass@1" if place["rank_change"] else ""
        facts.append(("rank", f"{place['rank']} ({place['rank_low']}–{place['rank_high']}){change}"))
        if place["above_next"] is not None:
            facts.append(("above the next model", f"in {place['above_next']:.0%} of the resamples"))
    facts += [("pass@1", format_share(scores["pass_at_1"])), ("pass drop", format_share(scores["pass_drop"]))]
    for k, share in run.get("pass_at_k", {}).items():
        if k != "1" and share is not None:
            facts.append((f"pass@{k}", f"{100 * share:.0f} %"))
    if run.get("variance"):
        spread = "{task:.2f} between tasks, {sample:.2f} between samples of a task".format(**run["variance"])
        facts.append(("variance of the loops sustained", spread))
    if run.get("half_life"):
        facts.append(("half of those that passed loop 1 are gone", f"in loop {run['half_life']}"))
    if run.get("published"):
        facts.append(("leaderboard", f"ASL {run['published']['asl']:.3f}, rank {run['published']['rank']}"))
    return facts


def _findings(row: dict[str, Any]) -> list[tuple[str, str]]:
    found = [(kind, row["findings"][kind]) for kind in KINDS if row["findings"][kind]["rows"]]
    return [
        (kind.replace("_", " "), f"{finding['rows']:,} of {row['rows']:,} loops, in {finding['chains']:,} chains")
        for kind, finding in found
    ]


def format_number(score: dict[str, float | None]) -> str:
    """Return a score with its interval, such as ``4.21 (3.90–4.52)``; a dash where there is none."""
    return _format_score(score, "{:.2f}")


def format_share(score: dict[str, float | None]) -> str:
    """Return a share of one with its interval in percent, such as ``73 % (60–85)``."""
    percent = {part: None if value is None else 100 * value for part, value in score.items()}
    return _format_score(percent, "{:.0f}", unit=" %")


def _format_score(score: dict[str, float | None], form: str, unit: str = "") -> str:
    value, low, high = score["value"], score.get("low"), score.get("high")
    if value is None:
        return "–"
    text = form.format(value) + unit
    return text if low is None or high is None else f"{text} ({form.format(low)}–{form.format(high)})"
