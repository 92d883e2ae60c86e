"""The chain table: the whole story of an experiment, one row a (run, task, sample, loop)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evalooop.plan import Run
from evalooop.records import FLAGGED, Step, Verdict

SCHEMA: dict[str, Any] = {
    "run": pl.String,
    "model": pl.String,
    "dataset": pl.String,
    "prompt_variant": pl.String,
    "temperature": pl.Float64,
    "seed": pl.Int64,
    "task": pl.String,
    "sample": pl.Int64,
    "loop": pl.Int64,
    "max_loops": pl.Int64,
    "words": pl.String,
    "description": pl.String,
    "prompt": pl.String,
    "answer": pl.String,
    "code": pl.String,
    "found": pl.String,
    "status": pl.String,
    "detail": pl.String,
    "stop": pl.String,
    "passed": pl.Boolean,
    "base": pl.String,
    "plus": pl.String,
    "reason": pl.String,
    "failing_test": pl.Int64,
    "verdict_detail": pl.String,
    "flags": pl.List(pl.String),
    "description_flags": pl.List(pl.String),
    "prompt_tokens": pl.Int64,
    "new_tokens": pl.Int64,
    "describe_prompt_tokens": pl.Int64,
    "describe_new_tokens": pl.Int64,
}
# A description that repeats this share of its program's lines is a copy, not words (facts: 11 % of published loops).
LEAKED_SHARE = 0.8


def chain_table(runs: Iterable[Run], steps: Iterable[Step], verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """Return the chain table, columns as in ``SCHEMA``, sorted by run, task, sample and loop.

    ``passed`` is null where infrastructure failed: the chain then leaves the scores. ``words`` is what fed
    the loop, ``description`` the model's untouched words in it ("" in loop 1).
    """
    by_name = {run.name: run for run in runs}
    generated: dict[tuple, Step] = {}
    described: dict[tuple, Step] = {}
    for step in steps:
        (generated if step.step == "generate" else described)[(*step.chain, step.loop)] = step
    judged: dict[tuple, dict[str, Verdict]] = {}
    for verdict in verdicts:
        judged.setdefault((*verdict.chain, verdict.loop), {})[verdict.suite] = verdict
    rows = [
        _row(by_name[key[0]], key, generated.get(key), described.get(key), judged.get(key, {}))
        for key in sorted(generated.keys() | described.keys())
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _row(
    run: Run, key: tuple, program: Step | None, description: Step | None, verdicts: Mapping[str, Verdict]
) -> dict[str, Any]:
    last = program or description
    suites = [verdicts[name] for name in ("base", "plus") if name in verdicts]
    failing = next((row for row in suites if row.verdict != "pass"), None)
    return {
        "run": run.name,
        "model": run.config.model.name,
        "dataset": run.config.dataset.name,
        "prompt_variant": run.config.prompt.name,
        "temperature": run.config.temperature,
        "seed": run.config.seed,
        "task": key[1],
        "sample": key[2],
        "loop": key[3],
        "max_loops": run.config.loop.max_loops,
        "words": program.source if program else "",
        "description": description.text if description else "",
        "prompt": program.prompt if program else "",
        "answer": program.text if program else "",
        "code": program.code if program else None,
        "found": program.found if program else "",
        "status": last.status,
        "detail": last.detail,
        "stop": last.stop,
        "passed": failing is None if suites else None,
        "base": verdicts["base"].verdict if "base" in verdicts else None,
        "plus": verdicts["plus"].verdict if "plus" in verdicts else None,
        "reason": failing.reason if failing else "",
        "failing_test": failing.test if failing else None,
        "verdict_detail": failing.detail if failing else "",
        "flags": sorted({flag for row in suites for flag in row.flags}),
        "description_flags": description_flags(description, program.source if program else "") if description else [],
        "prompt_tokens": program.prompt_tokens if program else 0,
        "new_tokens": program.new_tokens if program else 0,
        "describe_prompt_tokens": description.prompt_tokens if description else 0,
        "describe_new_tokens": description.new_tokens if description else 0,
    }


def description_flags(step: Step, words: str) -> list[str]:
    """Return what is wrong with a description; it is used as it is all the same.

    ``empty``; ``truncated`` at its token limit; ``leaked_code``: at least ``LEAKED_SHARE`` of the described
    program's lines stand in it verbatim. ``words`` is the framed description, "" if it fed no loop.
    """
    flags = []
    if step.status != "infra_error" and not step.text.strip():
        flags.append("empty")
    if step.status == "truncated":
        flags.append("truncated")
    if leaked_share(step.source, step.text, words) >= LEAKED_SHARE:
        flags.append("leaked_code")
    return flags


def leaked_share(code: str, description: str, words: str = "") -> float:
    """Return the share of the program's non-blank lines found verbatim in the description, in [0, 1].

    Lines that the frame of ``words`` carries from loop to loop anyway, such as the assert, do not count.
    """
    told = {line.strip() for line in description.splitlines()}
    carried = {line.strip() for line in words.splitlines()} - told
    lines = [line for line in map(str.strip, code.splitlines()) if line and line not in carried]
    return sum(line in told for line in lines) / len(lines) if lines else 0.0


def fates(chains: pl.DataFrame) -> pl.DataFrame:
    """Return one row a chain: how long it lasted and whether it counts.

    Columns: run, task, sample, max_loops; ``sustained`` (0..M, loops passed before the first failure);
    ``censored`` (its recording ends before loop M although every program passed); ``counted`` (False where it is
    censored or infrastructure ended it); ``flagged`` (a program of it was truncated, missing or unclosed reasoning).
    """
    flagged = pl.col("status").is_in(FLAGGED)
    known = pl.col("passed").is_not_null().all()
    censored = pl.col("passed").all(ignore_nulls=False).fill_null(False) & (pl.len() < pl.col("max_loops").first())
    return chains.group_by("run", "task", "sample", maintain_order=True).agg(
        pl.col("max_loops").first(),
        pl.col("passed").fill_null(False).sum().cast(pl.Int64).alias("sustained"),
        censored.alias("censored"),
        (known & ~censored).alias("counted"),
        flagged.any().alias("flagged"),
    )


def boundaries(chains: pl.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the pairs of rows a judge compares: the last loop a chain passed, and the one it failed.

    A loop that no words led to, because its description was only thought, has nothing to compare.
    """
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    before: dict[str, Any] | None = None
    same = ("run", "task", "sample")
    for row in chains.iter_rows(named=True):
        if (
            before is not None
            and all(before[key] == row[key] for key in same)
            and before["passed"]
            and row["passed"] is False
            and row["words"]
        ):
            pairs.append((before, row))
        before = row
    return pairs
