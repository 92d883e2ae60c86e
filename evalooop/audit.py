"""What transcripts hold that is no model's honest answer, and what ASL would be without it.

Facts of the published transcripts that made this necessary: one loop in nine carries the program itself in its
"description", API errors were scored as programs, and some descriptions are empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from evalooop import metrics
from evalooop.replay import RECORDED

KINDS = {
    "leaked_code": "the description holds at least 80 % of its program's lines verbatim",
    "empty_description": "the description is empty",
    "leaked_thinking": "marks of a model's thinking stand in the description or the program",
    "leaked_fence": "a code fence stands in the description or the program",
    "api_error": "the text of a server's error was taken for a description or a program",
    "truncated": "an answer was cut off; where that was not recorded, a program that ends inside a bracket or text",
    "unchanged_prompt": "the words are those of the loop before, but for case and white space",
    "inconsistent_verdict": "the same program for the same task has another verdict elsewhere",
}
"""The findings, in the order in which they are shown."""

CORRECTIONS = ("scored", "without_infra", "without_leaked")
MOST_EXAMPLES = 3
EXCERPT = 160

_THINKING = r"(?i)</?(?:think|thinking|thought|reasoning)>|<\|(?:begin|end)_of_thought\|>|<\|channel\|>"
_API_ERROR = (
    r"(?i)\A\s*(?:error generating response\b|error: still received empty response\b|error code: [45]\d\d\b"
    r"|http(?:/[\d.]+)? [45]\d\d\b|[45]\d\d (?:internal|too many requests|bad gateway|service unavailable|gateway)"
    r"|internal server error\b|rate limit (?:reached|exceeded)\b)"
)
_UNFINISHED = r"SyntaxError: (?:'[\[({]' was never closed|unterminated triple-quoted|unexpected EOF)"


def find(chains: pl.DataFrame) -> pl.DataFrame:
    """Return the chain table's places with one Boolean column for each of ``KINDS``, in the table's order.

    Args:
        chains: the chain table; a column ``recorded_pass`` may hold verdicts that were published, null where there is
            none, and then goes before ``passed`` where equal programs are compared.
    """
    code, words, flags = pl.col("code").fill_null(""), pl.col("description"), pl.col("description_flags")
    cut = (pl.col("status") == "truncated") | flags.list.contains("truncated")
    unfinished = (pl.col("found") == RECORDED) & pl.col("verdict_detail").str.contains(_UNFINISHED)
    plain = pl.col("words").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    chain = ("run", "task", "sample")
    verdict = pl.coalesce("recorded_pass", "passed") if "recorded_pass" in chains.columns else pl.col("passed")
    differing = verdict.n_unique().over("task", "code") > 1
    return chains.select(
        *chain,
        "loop",
        flags.list.contains("leaked_code").alias("leaked_code"),
        flags.list.contains("empty").alias("empty_description"),
        (words.str.contains(_THINKING) | code.str.contains(_THINKING)).alias("leaked_thinking"),
        (words.str.contains("```", literal=True) | code.str.contains(r"(?m)^\s*```")).alias("leaked_fence"),
        (words.str.contains(_API_ERROR) | code.str.contains(_API_ERROR)).alias("api_error"),
        (cut | unfinished).alias("truncated"),
        ((plain == plain.shift(1).over(chain)) & (plain != "")).fill_null(False).alias("unchanged_prompt"),
        (verdict.is_not_null() & pl.col("code").is_not_null() & differing).alias("inconsistent_verdict"),
    )


def audit(chains: pl.DataFrame, fates: pl.DataFrame, cohorts: Mapping[str, int]) -> dict[str, Any]:
    """Return the findings of each run, ASL three ways, the rank each gives, and some examples, as JSON-able data.

    ``scored`` is ASL as it is; ``without_infra`` leaves out the chains that an API error ended; ``without_leaked``
    observes each chain until the first description that leaks its program (``evalooop.metrics.asl_until``): leaving
    out whole chains would favour short ones, which had fewer occasions to leak. ``attempted`` counts the chains that
    each rests on, for the last those that never leaked.

    Args:
        chains: the chain table, see ``find``.
        fates: one row a chain (``evalooop.scores.judged_fates``).
        cohorts: number of the cohort of each run; runs are ranked within theirs. Others get no rank.
    """
    found = find(chains)
    chain = ["run", "task", "sample"]
    by_chain = found.group_by(chain, maintain_order=True).agg(
        pl.col("loop").filter("leaked_code").min().alias("leaves"), pl.col("api_error").last().alias("lost")
    )
    marked = fates.filter("counted").join(by_chain, on=chain, how="left", maintain_order="left")
    rows = [
        {"run": name, **_findings(part), **_corrections(marked.filter(pl.col("run") == name))}
        for (name,), part in found.group_by("run", maintain_order=True)
    ]
    _add_ranks(rows, cohorts)
    return {"runs": rows, "examples": _examples(found, chains)}


def _findings(found: pl.DataFrame) -> dict[str, Any]:
    findings = {}
    for kind in KINDS:
        hit = found.filter(kind)
        number = len(hit)
        findings[kind] = {
            "rows": number,
            "chains": hit.select("task", "sample").n_unique() if number else 0,
            "share": number / len(found),
        }
    return {
        "rows": len(found),
        "chains": found.select("task", "sample").n_unique(),
        "findings": findings,
    }


def _corrections(fates: pl.DataFrame) -> dict[str, Any]:
    honest = fates.filter(~pl.col("lost"))
    scores = {"scored": _asl(fates), "without_infra": _asl(honest), "without_leaked": _asl(fates, until="leaves")}
    numbers = (len(fates), len(honest), fates["leaves"].is_null().sum())
    return {"asl": scores, "attempted": dict(zip(CORRECTIONS, numbers, strict=True))}


def _asl(fates: pl.DataFrame, until: str | None = None) -> float | None:
    """Return ASL of some chains, each observed up to the loop in a column where there is one; None if unknown."""
    if fates.is_empty():
        return None
    max_loops = fates["max_loops"][0]
    similarity = fates["similarity"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    sustained = fates["sustained"].to_numpy()
    if until is None:
        return metrics.asl(sustained, similarity, max_loops)
    score = metrics.asl_until(sustained, similarity, fates[until].fill_null(max_loops + 1).to_numpy(), max_loops)
    return None if np.isnan(score) else score


def _add_ranks(rows: list[dict[str, Any]], cohorts: Mapping[str, int]) -> None:
    """Add the rank each correction gives, and how many places it moves a run up among those it has a score for."""
    for row in rows:
        row["rank"] = dict.fromkeys(CORRECTIONS)
        row["move"] = dict.fromkeys(CORRECTIONS[1:])
    for number in set(cohorts.values()):
        members = [row for row in rows if cohorts.get(row["run"]) == number]
        for name in CORRECTIONS:
            known = [row for row in members if row["asl"][name] is not None]
            before = metrics.ranks([row["asl"]["scored"] for row in known])
            after = metrics.ranks([row["asl"][name] for row in known])
            for row, old, new in zip(known, before.tolist(), after.tolist(), strict=True):
                row["rank"][name] = new
                if name in row["move"]:
                    row["move"][name] = old - new


def _examples(found: pl.DataFrame, chains: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return up to ``MOST_EXAMPLES`` places of each kind, of different runs, with the beginning of what was found."""
    texts = chains.select(
        pl.col("description").str.strip_chars().alias("words"), pl.col("code").fill_null("").str.strip_chars()
    )
    everything = pl.concat([found, texts], how="horizontal")
    in_program = pl.col("code").str.contains(_API_ERROR) | (pl.col("words") == "")
    shown = {
        "inconsistent_verdict": pl.col("code"),
        "truncated": pl.col("code").str.tail(EXCERPT),
        "api_error": pl.when(in_program).then("code").otherwise("words"),
    }
    examples = {}
    for kind in KINDS:
        excerpt = shown.get(kind, pl.when(pl.col("words") == "").then("code").otherwise("words"))
        first = everything.filter(kind).unique("run", keep="first", maintain_order=True).head(MOST_EXAMPLES)
        columns = first.select("run", "task", "sample", "loop", excerpt.str.head(EXCERPT).alias("excerpt"))
        examples[kind] = columns.to_dicts()
    return examples
