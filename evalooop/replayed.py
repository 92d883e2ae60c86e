"""What was published of a replayed model, beside our own numbers, and where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from evalooop import metrics
from evalooop.agreement import Causes
from evalooop.published import SiteScore, Transcript


def published_scores(
    model: str, chains: pl.DataFrame, transcripts: Sequence[Transcript], site: SiteScore | None, causes: Causes
) -> dict[str, Any]:
    """Return what metrics.json holds of a replayed run besides its own scores.

    ``published`` is what the leaderboard shows, None if it does not show this model; ``recorded`` the scores of the
    loops that the transcripts say were sustained, without a judge, for loops 1..M of the run; ``disagreements`` one
    row for each program of the chain table on which the recorded verdict and ours differ.

    Args:
        chains: the run's rows of the chain table, at least one.
        transcripts: of its model, with every task of the run.
    """
    max_loops = chains["max_loops"][0]
    sustained_of = {row.task: min(row.successful_cycles, max_loops) for row in transcripts}
    sustained = [sustained_of[task] for task in chains["task"].unique().sort()]
    return {
        "published": None if site is None else asdict(site),
        "recorded": {
            "pass_at_1": metrics.pass_at_1(sustained, max_loops),
            "pass_drop": metrics.pass_drop(sustained, max_loops),
            "asl_unweighted": metrics.asl_unweighted(sustained, max_loops),
        },
        "disagreements": [
            {
                "task": row["task"],
                "loop": row["loop"],
                "published": "pass" if row["loop"] <= sustained_of[row["task"]] else "fail",
                "ours": "pass" if row["passed"] else f"{row['reason']}: {row['verdict_detail']}",
                "cause": causes.of(model, row["task"], row["loop"]),
            }
            for row in chains.filter(pl.col("passed").is_not_null()).iter_rows(named=True)
            if row["passed"] != (row["loop"] <= sustained_of[row["task"]])
        ],
    }
