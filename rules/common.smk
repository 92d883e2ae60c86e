# What all rules share: the plan behind a target's name, and how a stage is called.

import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from evalooop.errors import UserError
from evalooop.models import path_state
from evalooop.plan import judge_model, session_to_json
from scripts.workflow import Experiments, clear_stale_lock, prepare_environment, sources

prepare_environment()
# A job on another machine must not judge by this machine's processes.
LOCK = None if workflow.remote_exec else clear_stale_lock(Path(".snakemake"))

# More threads than any machine has: Snakemake gives a job as many as --cores allows.
ALL_CORES = 1024

try:
    EXPERIMENTS = Experiments(Path("conf"), Path("results"), config)
except UserError as error:
    sys.exit(f"error: {error}")


wildcard_constraints:
    experiment="[^/]+",
    session="[^/]+",
    model="[^/]+",
    loader="[^/]+",
    figure="[^/]+",
    loop=r"\d+",


def plan(wildcards):
    """Return the plan of a target's experiment."""
    try:
        return EXPERIMENTS.plan(wildcards.experiment)
    except UserError as error:
        # Any other exception of an input function is reported with a traceback and Snakemake's own words around it.
        sys.exit(f"error: {error}")


def loop_files(wildcards, name):
    """Return one file of each loop of each session."""
    return [
        f"results/{wildcards.experiment}/{session}/loop{loop:02d}/{name}"
        for session in plan(wildcards).sessions
        for loop in range(1, plan(wildcards).max_loops(session) + 1)
    ]


def dataset_files(wildcards):
    return [
        f"resources/datasets/{loader}.jsonl"
        for loader in plan(wildcards).loaders(wildcards.session)
    ]


def session_files(wildcards):
    """Return the runs.json of each session."""
    return [
        f"results/{wildcards.experiment}/{session}/runs.json"
        for session in plan(wildcards).sessions
    ]


def card_files(wildcards):
    """Return the card of each model."""
    return [
        f"results/{wildcards.experiment}/models/{model}.json"
        for model in plan(wildcards).models
    ]


def model_folder(model):
    """Return the folder of a converted model: another for each origin, whatever the name in the configuration."""
    origin = hashlib.sha256(
        repr((model.id, model.file, model.sha256)).encode()
    ).hexdigest()
    return f"resources/models/{model.name}-{origin[:8]}"


def gpus(models):
    """Return how many GPUs a job needs that asks these models: none if none of them runs here."""
    return int(any(model.source not in ("server", "transcripts") for model in models))


def judging_models(wildcards):
    """Return the models that judge the runs of an experiment."""
    runs, judges = plan(wildcards).runs, plan(wildcards).judges
    found = [judge_model(run, judge) for run in runs for judge in judges]
    return [model for _, model in filter(None, found)]


def judges(wildcards):
    """Return the JSON of each judge, first the one whose scores count."""
    return [json.dumps(asdict(judge)) for judge in plan(wildcards).judges]


def settings(name):
    """Return a function of wildcards: the JSON of one part of the experiment's settings."""
    return lambda wildcards: json.dumps(asdict(getattr(plan(wildcards).settings, name)))


def previous_loop(wildcards):
    """Return what the loop before left, nothing for loop 1."""
    if int(wildcards.loop) == 1:
        return []
    folder = f"results/{wildcards.experiment}/{wildcards.session}/loop{int(wildcards.loop) - 1:02d}"
    return [f"{folder}/generated.jsonl", f"{folder}/verdicts.jsonl"]
