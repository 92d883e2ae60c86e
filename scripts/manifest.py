"""Write down what made an experiment's results: settings, versions, fingerprints, and what could not be had."""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from evalooop import datasets
from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.loop import selected
from evalooop.models import read_card
from evalooop.perturbations import NONE, severity
from evalooop.plan import Plan, read_plan
from evalooop.records import Similarity, read_rows
from evalooop.report import JUDGE
from evalooop.tasks import read_tasks

PACKAGES = (
    "evalooop",
    "snakemake",
    "hydra-core",
    "torch",
    "transformers",
    "tokenizers",
    "accelerate",
    "openai",
    "numpy",
    "polars",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.manifest", description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--chains", type=Path, required=True)
    parser.add_argument("--similarity", type=Path, required=True)
    parser.add_argument("--cost", type=Path, required=True)
    parser.add_argument("--cards", type=Path, nargs="+", required=True)
    parser.add_argument("--datasets", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    plan = read_plan(arguments.plan)
    chains = pl.read_parquet(arguments.chains)
    manifest = {
        "experiment": plan.name,
        "overrides": list(plan.overrides),
        "settings": asdict(plan.settings),
        "runs": {run.name: asdict(run.config) for run in plan.runs},
        "models": {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in arguments.cards},
        "templates": {path.stem: template(path) for path in arguments.cards},
        "generation": setups(json.loads(arguments.cost.read_text(encoding="utf-8"))["stages"]),
        "datasets": {path.stem: dataset(path) for path in arguments.datasets},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "git": git_commit(),
        "perturbations": perturbations(plan, {path.stem: path for path in arguments.datasets}),
        "skipped": skipped(plan, chains, arguments.cards[0].parent),
        "failures": failures(plan, chains) + judge_failures(read_rows(arguments.similarity, Similarity)),
    }
    write_atomically(arguments.out, json.dumps(manifest, indent=1) + "\n")


def dataset(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    return {
        "tasks": content.count(b"\n"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "left_out": datasets.unusable(path.stem),
    }


def template(card: Path) -> str:
    """Return the sha256 of a model's chat template; "" for a model without one, or that is not to be had."""
    folder = json.loads(card.read_text(encoding="utf-8")).get("folder")
    if folder is None:
        return ""
    own, shared = Path(folder, "chat_template.jinja"), Path(folder, "tokenizer_config.json")
    if own.is_file():
        text = own.read_text(encoding="utf-8")
    elif shared.is_file():
        found = json.loads(shared.read_text(encoding="utf-8")).get("chat_template", "")
        text = found if isinstance(found, str) else json.dumps(found)
    else:
        text = ""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


def setups(stages: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return under what each session's answers were made: dtype, attention, device and batch size."""
    found: dict[str, set[str]] = {}
    for stage in stages:
        if stage["stage"] == "generate":
            found.setdefault(stage["session"], set()).update(stage.get("setups", ()))
    return {session: sorted(made) for session, made in found.items()}


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def git_commit() -> str:
    """Return the commit of the code, marked if files differ from it; "" outside a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def failures(plan: Plan, chains: pl.DataFrame) -> list[dict[str, str]]:
    """Return the sessions none of whose chains could be asked, each with the commonest reason."""
    lost = []
    for session in plan.sessions:
        first = chains.filter(pl.col("run").is_in([run.name for run in plan.runs_of(session)]), pl.col("loop") == 1)
        if len(first) and (first["status"] == "infra_error").all():
            lost.append({"session": session, "reason": first["detail"].mode().sort()[0]})
    return lost


def perturbations(plan: Plan, datasets: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Return how much the prompts of each attacked run were changed: mean severity in [0, 1], tasks left unchanged."""
    tasks = {loader: read_tasks(path) for loader, path in datasets.items()}
    found = {}
    for run in plan.runs:
        if run.config.perturbation.name != NONE:
            originals = tasks[run.config.dataset.loader]
            asked = selected(run, originals)
            severities = [severity(originals[task.id].prompt, task.prompt) for task in asked]
            found[run.name] = {
                "mean_severity": sum(severities) / len(severities) if severities else 0.0,
                "tasks": len(asked),
                "unchanged": severities.count(0.0),
            }
    return found


def skipped(plan: Plan, chains: pl.DataFrame, cards: Path) -> dict[str, str]:
    """Return why replayed runs have no chains, by run."""
    started = set(chains["run"].unique())
    reasons = {}
    for run in plan.runs:
        if run.config.model.source == "transcripts" and run.name not in started:
            card = read_card(cards / f"{run.session}.json")
            model = run.config.model.name
            lacking = "its transcript lacks tasks that the experiment asks"
            absent = "there is no transcript of it"
            reasons[run.name] = card.left_out.get(model) or (lacking if model in card.files else absent)
    return reasons


def judge_failures(replies: list[Similarity]) -> list[dict[str, str]]:
    """Return why the judge could not be asked, if so: then ASL lacks weights that a second call may bring."""
    errors = Counter(reply.error for reply in replies if reply.error)
    return [
        {"session": JUDGE, "reason": f"{number} of {len(replies)} boundaries could not be judged: {error}"}
        for error, number in errors.most_common(1)
    ]


if __name__ == "__main__":
    exit_with_one_line(main)
