"""What became of a loop and of a chain, in the words and colours that figures and report share."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from evalooop.records import FLAGGED


@dataclass(frozen=True)
class Outcome:
    """One way a loop can end: name in tables, words for a reader, colour (after Okabe and Ito, 2008)."""

    name: str
    words: str
    color: str


OUTCOMES = {
    outcome.name: outcome
    for outcome in (
        Outcome("passed", "passed", "#56B4E9"),
        Outcome("base", "failed a base test", "#D55E00"),
        Outcome("plus", "failed a plus test", "#E69F00"),
        Outcome("limit", "out of time or memory", "#CC79A7"),
        Outcome("answer", "no usable answer", "#7F7F7F"),
        Outcome("infra", "infrastructure error", "#F0E442"),
        Outcome("censored", "not continued", "#009E73"),
    )
}
"""Outcomes by name. ``censored`` is never a loop's own: it is the end of a chain that passed every loop it
has but has fewer than M, as a replayed transcript may."""

LIMITS = ("timeout", "memory")


def with_outcome(chains: pl.DataFrame) -> pl.DataFrame:
    """Return the chain table with a column ``outcome``, a name in ``OUTCOMES``.

    A truncated answer may still hold a program that passes, so passing is asked first; a program that did not
    pass is put down to its answer where that was no whole program, else to the first suite it failed.
    """
    outcome = (
        pl.when(pl.col("passed").is_null())
        .then(pl.lit("infra"))
        .when(pl.col("passed"))
        .then(pl.lit("passed"))
        .when(pl.col("status").is_in(FLAGGED))
        .then(pl.lit("answer"))
        .when(pl.col("base").is_in(LIMITS))
        .then(pl.lit("limit"))
        .when(pl.col("base") == "fail")
        .then(pl.lit("base"))
        .when(pl.col("plus").is_in(LIMITS))
        .then(pl.lit("limit"))
        .otherwise(pl.lit("plus"))
    )
    return chains.with_columns(outcome.alias("outcome"))


def chain_ends(chains: pl.DataFrame) -> pl.DataFrame:
    """Return one row a chain, longest survivors first within each run.

    Columns: run, task, sample, max_loops, ``survived`` (loops passed in a row from loop 1 on, 0..M) and
    ``end`` (a name in ``OUTCOMES``: what stopped the chain, or ``passed`` if all M loops were passed).
    """
    stops = pl.col("loop").filter(pl.col("outcome") != "passed")
    ends = (
        with_outcome(chains)
        .sort("loop")
        .group_by("run", "task", "sample", maintain_order=True)
        .agg(
            pl.col("max_loops").first(),
            pl.coalesce(stops.min() - 1, pl.col("loop").max()).alias("survived"),
            pl.col("outcome").filter(pl.col("outcome") != "passed").first().alias("end"),
        )
    )
    unbroken = pl.when(pl.col("survived") < pl.col("max_loops")).then(pl.lit("censored")).otherwise(pl.lit("passed"))
    rank = pl.col("end").replace_strict({name: place for place, name in enumerate(OUTCOMES)}, return_dtype=pl.Int64)
    return ends.with_columns(pl.coalesce("end", unbroken)).sort(
        "run", "survived", rank, "task", "sample", descending=[False, True, False, False, False]
    )
