"""Our verdicts on three models' published programs, all loops, agree with the authors' (all models: benchmarks/).

One task is left out, to fit into two minutes of two cores: its programs take two thirds of the time of all 378.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalooop.agreement import claims, compare, read_causes
from evalooop.config import SandboxConfig
from evalooop.datasets import mbppplus
from evalooop.datasets._evalplus import read_rows
from evalooop.judging import check_references
from evalooop.published import find_transcripts, read_transcripts
from evalooop.store import Store

DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
MODELS = ("claude-haiku-3", "phi-3-mini-4k-instruct", "qwen2.5-coder-0.5b-instruct")
LEFT_OUT = "Mbpp/599"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "leaderboard").is_dir(), reason=f"no published transcripts in {DATA}/leaderboard")
def test_published_verdicts_are_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALOOOP_DATA", str(DATA))
    rows = [row for row in read_rows(mbppplus.SOURCE) if row["task_id"] != LEFT_OUT]
    tasks = {row["task_id"]: mbppplus.task_from_row(row) for row in rows}
    paths = find_transcripts()
    claimed = [claim for model in MODELS for claim in claims(model, read_transcripts(paths[model]))]
    claimed = [claim for claim in claimed if claim.task in tasks]
    with Store(tmp_path / "verdicts.sqlite") as store:
        check_references(tasks.values(), SandboxConfig(), store, workers=2)
        compared = compare(claimed, tasks, SandboxConfig(), store, workers=2)
    known = read_causes().places
    unknown = [
        (row.claim, row.answer)
        for row in compared
        if not row.agrees and (row.claim.model, row.claim.task, row.claim.loop) not in known
    ]
    assert len(unknown) <= 0.001 * len(compared), unknown
