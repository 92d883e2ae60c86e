"""How experiments are named, and what is refused before anything runs."""

import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TARGET = "results/mini/report.html"
HOT = ("--config", "name=hot", "experiment=mini", "set=temperature=0.5 seed=7")


def refused(project, *arguments):
    done = project.snakemake("-n", *arguments, check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    return done.stdout


def test_settings_of_ones_own_need_a_name_of_their_own(project):
    assert "name=NAME" in refused(project, "--config", "experiment=mini", "set=temperature=0.5")
    assert "choose another" in refused(project, "--config", "name=mini", "set=temperature=0.5")
    assert "letters, digits" in refused(project, "--config", "name=a/b", "experiment=mini")
    assert "not 'temperature'" in refused(project, "--config", "temperature=0.5")


def test_a_name_used_again_with_other_settings_is_refused_with_the_difference(project):
    """Row 89."""
    assert project.scheduled(*HOT)["generate"] == 3
    project.snakemake("results/hot/plan.json", *HOT)
    assert project.scheduled(*HOT)["generate"] == 3
    other = refused(project, *HOT[:-1], "set=temperature=0.9 seed=7")
    assert "- temperature=0.5" in other
    assert "+ temperature=0.9" in other


def test_a_name_is_remembered(project):
    project.snakemake("results/hot/plan.json", *HOT)
    out = project.snakemake("-n", "results/hot/report.html").stdout
    assert "results/hot/parrot/loop03" in out


def test_an_unknown_experiment_is_answered_with_the_known_ones(project):
    out = refused(project, "results/nowhere/report.html")
    assert "no experiment 'nowhere'" in out
    assert "demo" in out


@pytest.mark.parametrize("setting", ["temprature=1", "temperature=hot", "loop.max_loops=0", "model=nowhere"])
def test_a_bad_setting_is_named_before_anything_runs(project, setting):
    out = refused(project, "--config", "name=bad", "experiment=mini", f"set={setting}")
    assert setting.split("=")[0].split(".")[-1] in out


def test_odd_names_are_safe_in_paths(project, models):
    """Rows 73 and 75: slashes do not reach paths, and dots, dashes and underscores work."""
    project.model("a.b-c_d", models["babble"])
    project.experiment("odd.name-x_y", {"model": "a.b-c_d,parrot", "model.id": "Qwen/A,Qwen--A"})
    out = project.snakemake("-n", "results/odd.name-x_y/report.html").stdout
    assert "a.b-c_d_id-Qwen=2FA/loop01" in out
    assert "a.b-c_d_id-Qwen--A/loop01" in out


def test_odd_characters_reach_a_stage_unchanged(project, models, tmp_path):
    """Row 87: from a YAML file, through the shell, to the model card and the prompt."""
    odd = "a|b=c,d'\" {x} $HOME ü"
    shutil.copytree(models["babble"], tmp_path / odd)
    project.model("odd", tmp_path / odd)
    prompt = {"name": "odd", "system": odd, "generate": "{{ words }}", "describe": "{{ code }}", "frame": odd}
    project.path("conf", "prompt", "odd.yaml").write_text(yaml.safe_dump(prompt))
    project.experiment("odd", {"model": "odd", "prompt": "odd"}, dataset={"limit": 1})
    project.snakemake("results/odd/odd/loop01/generated.jsonl")
    card = json.loads(project.path("results/odd/models/odd.json").read_text())
    assert card["id"] == str(tmp_path / odd)
    row = json.loads(project.path("results/odd/odd/loop01/generated.jsonl").read_text().splitlines()[0])
    assert odd in row["prompt"]


def test_the_workflow_is_clean(project):
    project.snakemake("-n", "results/mini/report.html")
    assert "digraph" in project.snakemake(TARGET, "--rulegraph").stdout
    project.snakemake("--lint")


class Resources(dict):
    __getattr__ = dict.__getitem__


@pytest.mark.parametrize("gpus", [1, 2])
def test_a_slurm_job_is_one_task_with_all_its_gpus(project, gpus):
    """Row 83: a forced task for each GPU broke jobs with two."""
    submit = pytest.importorskip("snakemake_executor_plugin_slurm.submit_string")
    from snakemake_executor_plugin_slurm.utils import set_gres_string

    profile = yaml.safe_load(project.path("profiles", "slurm", "config.yaml").read_text())
    assert "gpu=1" in project.snakemake("-n", "--workflow-profile", "profiles/slurm", TARGET).stdout
    resources = Resources(profile["set-resources"]["generate"], gpu=gpus)
    job = SimpleNamespace(resources=resources, threads=profile["set-threads"]["generate"], rule=SimpleNamespace())
    settings = dict.fromkeys(("account", "partition", "comment_str", "slurm_logfile", "workdir"), "")
    line = submit.get_submit_command(job, {"run_uuid": "run", **settings}) + set_gres_string(job)
    assert f"--gpus={gpus}" in line
    assert "--ntasks-per-gpu" not in line
    assert "-t 480" in line
    assert "--mem 32000" in line


def test_make_lists_its_targets():
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    out = subprocess.run(["make", "help"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    assert {"demo", "test"} <= {line.split()[0] for line in out.splitlines()}
