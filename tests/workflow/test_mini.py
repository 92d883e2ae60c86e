"""The miniature from model to report, and what runs again after which change."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from evalooop.chains import fates
from tests.parrot import ADDS, SUSTAINED

TARGET = "results/mini/report.html"


def timing(project, loop, experiment="mini", session="parrot"):
    path = project.path("results", experiment, session, f"loop{loop:02d}", "generated.timing.json")
    return json.loads(path.read_text())


def test_the_chains_last_as_long_as_the_model_keeps_its_words(finished_once):
    chains = pl.read_parquet(finished_once.path("results/mini/chains.parquet"))
    fate = fates(chains)
    assert dict(zip(fate["task"], fate["sustained"], strict=True)) == SUSTAINED
    assert fate["counted"].all()
    total = chains.filter(pl.col("task") == "Starter/total").sort("loop")
    assert total["words"][1].splitlines()[1] == ADDS
    assert total["words"][1] == total["words"][2] != total["words"][0]


def test_the_scores_are_those_of_a_hand_count(finished_once):
    """n = [1, 1, 1, 1], M = 3, no readable judge: ASL = (1 + 4 + 9) / (4 * 3)."""
    (run,) = json.loads(finished_once.path("results/mini/metrics.json").read_text())["runs"]
    assert run["histogram"] == [1, 1, 1, 1]
    assert run["scores"]["asl_unweighted"]["value"] == pytest.approx(14 / 12)
    assert run["scores"]["asl_conditional"]["value"] == pytest.approx(14 / 9)
    assert run["scores"]["pass_at_1"]["value"] == pytest.approx(3 / 4)
    assert run["scores"]["pass_drop"]["value"] == pytest.approx(2 / 4)
    assert run["judge"]["boundaries"] == run["judge"]["scored"] + run["judge"]["unreadable"] == 2


def test_every_rule_leaves_a_log_and_a_benchmark(finished_once):
    folder = finished_once.path("results/mini")
    rules = {"plan", "fetch_model", "generate", "execute", "chains", "judge", "score", "manifest", "figure", "report"}
    for kind in ("logs", "benchmarks"):
        left = {path.stem for path in (folder / kind).iterdir()}
        assert all(any(name.startswith(rule) for name in left) for rule in rules)


def test_loop_three_repeats_what_loop_two_asked(finished_once):
    """At temperature 0 equal words are asked once: the store answers the rest."""
    assert timing(finished_once, 1)["asked"] == 4
    assert timing(finished_once, 3)["stored"] >= 2


def test_a_second_call_has_nothing_to_do(finished_once):
    assert "Nothing to be done" in finished_once.snakemake(TARGET).stdout


def test_touched_files_rerun_nothing(finished):
    for part in ("scripts", "evalooop", "conf", "rules"):
        for path in finished.path(part).rglob("*.*"):
            os.utime(path)
    assert finished.scheduled(TARGET) == {}


def test_a_figure_setting_reruns_figures_and_page_only(finished):
    finished.edit("conf/experiment/mini.yaml", lambda text: text.replace("figures:", "figures:\n  width: 5"))
    assert set(finished.scheduled(TARGET)) == {"plan", "figure", "manifest", "report"}
    finished.snakemake(TARGET)
    assert finished.scheduled(TARGET) == {}


def test_an_added_temperature_asks_only_what_is_new(finished):
    before = finished.path("results/mini/parrot/loop01/generated.jsonl").read_text()
    finished.edit("conf/experiment/mini.yaml", lambda text: text + "temperature: 0.5\nsamples: 2\n")
    finished.edit(
        "conf/experiment/mini.yaml",
        lambda text: text.replace("model: parrot", 'temperature: "0,0.5"\n      model: parrot'),
    )
    finished.snakemake("results/mini/parrot/loop01/generated.jsonl")
    after = finished.path("results/mini/parrot/loop01/generated.jsonl").read_text()
    assert set(before.splitlines()) < set(after.splitlines())
    assert timing(finished, 1)["stored"] == 4
    assert timing(finished, 1)["asked"] == 8


def test_an_edited_prompt_reruns_its_session_and_asks_anew(finished):
    finished.edit("conf/prompt/plain_chat.yaml", lambda text: text.replace("Answer with", "Reply with"))
    jobs = finished.scheduled(TARGET)
    assert (jobs["generate"], jobs["execute"]) == (3, 3)
    assert "fetch_model" not in jobs
    assert "fetch_dataset" not in jobs
    finished.snakemake("results/mini/parrot/loop01/generated.jsonl")
    assert timing(finished, 1)["asked"] == 4


def test_a_change_of_one_session_leaves_the_other_alone(finished):
    """The second session of a sweep is added to a finished one, then changed."""
    finished.edit("conf/experiment/mini.yaml", lambda text: text.replace("model: parrot", "model: parrot,babble"))
    out = finished.snakemake("-n", TARGET).stdout
    assert "session=babble" in out
    assert "session=parrot" not in out


def test_an_edited_stage_reruns_but_asks_nothing(finished):
    """Row 77: the store answers."""
    finished.edit("evalooop/loop.py", lambda text: text + "\n# edited\n")
    assert finished.scheduled(TARGET)["generate"] == 3
    finished.snakemake("results/mini/parrot/loop02/generated.jsonl")
    assert [timing(finished, loop)["asked"] for loop in (1, 2)] == [0, 0]


def test_a_model_edited_in_place_is_noticed(finished, models, tmp_path):
    edited = shutil.copytree(models["parrot"], tmp_path / "edited")
    finished.model("parrot", edited, batch_size=2)
    finished.snakemake("results/mini/models/parrot.json")
    assert "generate" not in finished.scheduled("results/mini/models/parrot.json")
    shutil.copy(models["babble"] / "model.safetensors", edited / "model.safetensors")
    assert finished.scheduled(TARGET)["fetch_model"] == 1


def test_an_unfinished_experiment_is_extended_not_refused(finished):
    """Row 89: an edited experiment file is no other experiment."""
    finished.edit("conf/experiment/mini.yaml", lambda text: text.replace("max_loops: 3", "max_loops: 4"))
    assert finished.scheduled(TARGET)["generate"] == 4


def test_figures_need_no_display(finished):
    """Row 91."""
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MPLBACKEND")}
    folder = finished.path("results/mini")
    for path in (folder / "figures").iterdir():
        path.unlink()
    command = [sys.executable, "-m", "scripts.figure", "--name", "survival", "--settings", '{"width": 6.5, "dpi": 100}']
    files = [f"--{name}={folder / file}" for name, file in FILES.items()]
    stem = ["--out-stem", str(folder / "figures" / "survival")]
    subprocess.run([*command, *files, *stem], cwd=finished.folder, env=environment, check=True)
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".svg", ".pdf", ".png", ".csv"}


FILES = {name: f"{name}.json" for name in ("metrics", "cost", "audit", "reliability")}
FILES["chains"] = "chains.parquet"


def test_the_page_stays_small_whatever_the_chains_hold(finished_once):
    """Row 85: texts live in side files."""
    page = finished_once.path(TARGET).read_text()
    assert "return sum(numbers)" not in page
    sides = Path(finished_once.path("results/mini/report_chains")).glob("*.js")
    assert any("return sum(numbers)" in path.read_text() for path in sides)


@pytest.mark.slow
def test_two_processes_generate_the_same_files(project, finished_once):
    target = "results/mini/parrot/loop02/generated.jsonl"
    project.snakemake("--set-resources", "generate:processes=2", "--", target)
    for loop in ("loop01", "loop02"):
        path = f"results/mini/parrot/{loop}/generated.jsonl"
        assert project.path(path).read_bytes() == finished_once.path(path).read_bytes()
