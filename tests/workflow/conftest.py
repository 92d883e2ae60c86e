"""A copy of the project with a miniature experiment in it, whose model has learnt its lines."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from evalooop.datasets import load
from evalooop.plan import expand
from tests.parrot import SUSTAINED, build_parrot, lines_of
from tests.tiny import build_tiny_model

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "rules", "conf", "scripts", "evalooop", "envs", "profiles")


def pytest_collection_modifyitems(items):
    # Snakemake takes all cores it is given: one workflow at a time, beside the other tests.
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("workflow"))


@dataclass(frozen=True)
class Project:
    """A working copy in which workflows run."""

    folder: Path

    def command(self, *arguments):
        return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]

    def snakemake(self, *arguments, check=True):
        """Run Snakemake and return what it printed; with ``check``, a failure fails the test."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if check and done.returncode:
            pytest.fail(done.stdout[-5000:])
        return done

    def scheduled(self, *arguments):
        """Return how many jobs of each rule a dry run would start."""
        lines = iter(self.snakemake("-n", *arguments).stdout.splitlines())
        counts = {}
        for line in lines:
            if line.startswith("job ") and "count" in line:
                next(lines)
                for row in lines:
                    if row.startswith("total"):
                        return counts
                    rule, count = row.split()
                    counts[rule] = int(count)
        return counts

    def path(self, *parts):
        return self.folder.joinpath(*parts)

    def edit(self, path, change):
        file = self.folder / path
        file.write_text(change(file.read_text()))

    def experiment(self, name, sweep, **settings):
        """Write an experiment: the miniature, with this sweep and these settings."""
        content = {
            "defaults": [{"override /loop": "short"}],
            "loop": {"max_loops": 3, "generate_tokens": 48, "describe_tokens": 32},
            "dataset": {"tasks": list(SUSTAINED)},
            "figures": {"names": ["survival"]},
            "score": {"resamples": 200},
            "hydra": {"sweeper": {"params": sweep}},
            **settings,
        }
        text = "# @package _global_\n" + yaml.safe_dump(content, sort_keys=False)
        self.path("conf", "experiment", f"{name}.yaml").write_text(text)

    def model(self, name, folder, **settings):
        content = {"name": name, "source": "path", "id": str(folder), **settings}
        self.path("conf", "model", f"{name}.yaml").write_text(yaml.safe_dump(content))


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Folders of two models: a parrot that has learnt its lines, and one of random weights."""
    folder = tmp_path_factory.mktemp("models")
    prompt = expand(ROOT / "conf", "test", ("prompt=plain_chat",)).runs[0].config.prompt
    spoken = lines_of({task.id: task for task in load("starter")}, prompt)
    return {"parrot": build_parrot(folder / "parrot", spoken), "babble": build_tiny_model(folder / "babble")}


def make_project(folder, models):
    folder.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)
    project = Project(folder)
    for name, path in models.items():
        project.model(name, path, batch_size=2)
    project.experiment("mini", {"model": "parrot"})
    return project


@pytest.fixture
def project(tmp_path, models):
    """A fresh project in which nothing has run."""
    return make_project(tmp_path / "project", models)


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory, models):
    """A project whose miniature has run; not to be changed."""
    project = make_project(tmp_path_factory.mktemp("finished") / "project", models)
    project.snakemake("results/mini/report.html")
    return project


@pytest.fixture
def finished(tmp_path, finished_once):
    """A copy of a project whose miniature has run."""
    shutil.copytree(finished_once.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")
