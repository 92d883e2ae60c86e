"""What an experiment consists of: its runs, expanded with Hydra's own sweep syntax, and their sessions.

This is the only module that touches Hydra. Its sweeper is internal to Hydra, hence the exact version in
``pyproject.toml`` and a test that holds this expansion equal to a real Hydra multirun.
"""

from __future__ import annotations

import itertools
import json
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evalooop.config import Config, JudgeConfig, ModelConfig, RunConfig, Settings, check, check_section
from evalooop.errors import UserError
from evalooop.perturbations import check_name
from evalooop.prompts import check_templates

Typed = TypeVar("Typed")
RUN_KEYS = {field.name for field in fields(RunConfig)}
# Keys that every run name shows; whatever else is swept is appended.
NAMED_KEYS = ("model", "model.name", "dataset", "prompt", "temperature", "seed")

# Recordings need no loading, so all their models share one session, and equal programs of them are judged once.
REPLAYED = "replayed"


@dataclass(frozen=True)
class Run:
    """One point of a sweep. ``name`` is also its folder-safe identifier."""

    name: str
    session: str
    config: RunConfig


@dataclass(frozen=True)
class Plan:
    """An experiment's runs, and the settings they share.

    Attributes:
        name: of the experiment, or of an ad-hoc variation of one; also its folder under ``results/``.
        overrides: what it was composed from, first ``experiment=...``.
        runs: in the order of the sweep, names unique.
        settings: how they are judged, scored and drawn.
    """

    name: str
    overrides: tuple[str, ...]
    runs: tuple[Run, ...]
    settings: Settings

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.session for run in self.runs))

    def runs_of(self, session: str) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.session == session)

    def max_loops(self, session: str) -> int:
        return max(run.config.loop.max_loops for run in self.runs_of(session))

    def loaders(self, session: str | None = None) -> tuple[str, ...]:
        """Return the dataset loaders that a session (or the whole experiment) needs."""
        runs = self.runs if session is None else self.runs_of(session)
        return tuple(dict.fromkeys(run.config.dataset.loader for run in runs))

    @property
    def models(self) -> dict[str, ModelConfig]:
        """The models to fetch, by card name: one a session, and the judges' if they are others."""
        models: dict[str, ModelConfig] = {}
        for run in self.runs:
            model = session_model(run)
            if models.setdefault(run.session, model) != model:
                raise UserError(f"two models of the sweep would both be session '{run.session}': run them apart")
        for judge in (judge.model for judge in self.judges if judge.model is not None):
            if models.setdefault(slug(judge.name), judge) != judge:
                raise UserError(f"the judge's model and another model are both called '{judge.name}' but differ")
        return models

    @property
    def judges(self) -> tuple[JudgeConfig, ...]:
        """The judge whose scores count first, then those it is compared with; none called ``none``."""
        judges = [self.settings.judge, *self.settings.judges.values()]
        return tuple(judge for judge in judges if judge.name != "none")

    def to_json(self) -> str:
        content = {"name": self.name, "overrides": self.overrides, "settings": asdict(self.settings)}
        return json.dumps(content | {"runs": _rows(self.runs)}, indent=1) + "\n"


def session_to_json(plan: Plan, session: str) -> str:
    """Return the content of a ``runs.json``: a session's runs, all that its jobs depend on, and where they are from."""
    return json.dumps({"overrides": plan.overrides, "runs": _rows(plan.runs_of(session))}, indent=1) + "\n"


def read_runs(paths: Iterable[Path]) -> tuple[Run, ...]:
    """Return the runs of some ``runs.json``, file by file."""
    return tuple(run for path in paths for run in _runs(json.loads(Path(path).read_text(encoding="utf-8"))["runs"]))


def read_plan(path: Path) -> Plan:
    """Return the plan of a ``plan.json``."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    settings = typed(Settings, content["settings"])
    return Plan(content["name"], tuple(content["overrides"]), _runs(content["runs"]), settings)


def typed(kind: type[Typed], content: Mapping[str, Any]) -> Typed:
    """Return a configuration object from its mapping.

    Raises:
        UserError: an unknown key or a wrong type.
    """
    try:
        return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(kind), OmegaConf.create(dict(content))))
    except OmegaConfBaseException as error:
        raise UserError(_one_line(error))


def from_option(kind: type[Typed], section: str, option: str, text: str) -> Typed:
    """Return a section of the configuration that a command was given as JSON.

    Raises:
        UserError: it is not a JSON object, or has an unknown key, a wrong type or a value out of range.
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise UserError("give a JSON object")
        value = typed(kind, content)
        check_section(section, value)
    except (ValueError, UserError) as error:
        raise UserError(f"{option} {text}: {error}")
    return value


def _rows(runs: Iterable[Run]) -> list[dict[str, Any]]:
    return [{"name": run.name, "session": run.session, "config": asdict(run.config)} for run in runs]


def _runs(rows: Iterable[Mapping[str, Any]]) -> tuple[Run, ...]:
    return tuple(Run(row["name"], row["session"], typed(RunConfig, row["config"])) for row in rows)


def expand(conf: Path, name: str, overrides: Sequence[str]) -> Plan:
    """Return the plan that Hydra's own multirun would make of these overrides.

    Args:
        conf: the folder of configuration groups.
        name: of the plan.
        overrides: in Hydra's syntax, sweeps included; those of a key replace the experiment's own.

    Raises:
        UserError: an unknown key, a wrong type, a value out of range, two runs that would share a name.
    """
    try:
        with initialize_config_dir(str(Path(conf).resolve()), version_base="1.3"):
            points, swept = _sweep(overrides)
            configs = _compose_all(conf, points)
    except OmegaConfBaseException as error:
        raise UserError(_one_line(error))
    except HydraException as error:
        cause = error.__cause__
        raise UserError(_one_line(cause if isinstance(cause, OmegaConfBaseException) else error))
    for config in configs:
        check(config)
        check_templates(config.prompt)
        check_name(config.perturbation.name)
        _make_greedy_plain(config)
    plan = Plan(name, tuple(overrides), _name_runs(configs, points, swept), _part(Settings, configs[0]))
    _ = plan.models  # refuses two models of one name
    names = [judge.name for judge in plan.judges]
    if len(set(names)) < len(names):
        raise UserError(f"two judges are both called '{max(names, key=names.count)}': give them names of their own")
    for run, judge in itertools.product(plan.runs, plan.judges):
        judge_model(run, judge)
    return plan


def session_model(run: Run) -> ModelConfig:
    """Return what a run's session loads: nothing but the recordings, one folder for all models, if it is replayed."""
    model = run.config.model
    return replace(model, name=run.session) if model.source == "transcripts" else model


def judge_model(run: Run, judge: JudgeConfig) -> tuple[str, ModelConfig] | None:
    """Return the name of the model card of a run's judge and its model, or None where nobody is asked."""
    if judge.name == "none":
        return None
    if judge.model is None:
        if run.config.model.source == "transcripts":
            raise UserError("configuration key 'judge': recorded models cannot judge themselves; name another judge")
        return run.session, run.config.model
    return slug(judge.model.name), judge.model


def slug(text: str) -> str:
    """Return a name that is safe as a path component and in a shell; ``unslug`` is its inverse."""
    return urllib.parse.quote(text, safe="").replace("%", "=")


def unslug(name: str) -> str:
    return urllib.parse.unquote(name.replace("=", "%"))


def _sweep(overrides: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Return the points of the sweep, each a list of overrides, and the keys that vary."""
    parser = OverridesParser.create()
    given = parser.parse_overrides(list(overrides))
    plain = [override.input_line for override in given if not override.is_sweep_override()]
    hydra = compose("config", overrides=plain, return_hydra_config=True).hydra
    own = hydra.sweeper.params or {}
    keys = {override.key_or_group for override in given}
    lines = [f"{key}={value}" for key, value in own.items() if key not in keys]
    parsed = parser.parse_overrides(lines) + given
    swept = [override.key_or_group for override in parsed if override.is_sweep_override()]
    (points,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    return points, swept


def _compose_all(conf: Path, points: Iterable[list[str]]) -> list[Config]:
    """Compose each point, once for each choice of groups: setting plain values afterwards is 20 times faster."""
    groups = {path.name for path in Path(conf).iterdir() if path.is_dir()}
    parser = OverridesParser.create()
    composed: dict[tuple[str, ...], DictConfig] = {}
    configs = []
    for point in points:
        overrides = parser.parse_overrides(point)
        later = [override for override in overrides if _is_plain_value(override, groups)]
        first = tuple(override.input_line for override in overrides if override not in later)
        if first not in composed:
            composed[first] = compose("config", overrides=list(first))
        config = composed[first].copy()
        for override in later:
            OmegaConf.update(config, override.key_or_group, override.value())
        configs.append(OmegaConf.to_object(config))
    return configs


def _is_plain_value(override: Override, groups: set[str]) -> bool:
    value = override.value()
    return (
        not (override.is_add() or override.is_force_add() or override.is_delete())
        and override.key_or_group.split("/")[0].split("@")[0] not in groups
        and isinstance(value, str | int | float | bool)
        and not (isinstance(value, str) and "${" in value)
    )


def _make_greedy_plain(config: Config) -> None:
    """A greedy run has no noise: whatever only shapes noise is set to one value, so equal runs look equal."""
    if config.temperature == 0:
        config.temperature, config.top_p, config.top_k, config.seed, config.samples = 0.0, 1.0, 0, 0, 1


def _name_runs(configs: Sequence[Config], points: Sequence[list[str]], swept: Sequence[str]) -> tuple[Run, ...]:
    for key in swept:
        if key.split(".")[0] not in RUN_KEYS:
            raise UserError(f"'{key}' cannot be swept: it is one setting of the whole experiment; give it one value")
    extra = [key for key in swept if key not in NAMED_KEYS]
    parser = OverridesParser.create()
    models_of_name: dict[str, set[str]] = {}
    for config in configs:
        models_of_name.setdefault(config.model.name, set()).add(repr(config.model))
    runs: dict[str, Run] = {}
    for config, point in zip(configs, points, strict=True):
        given = {one.key_or_group: one.value() for one in parser.parse_overrides(point)}
        values = {key: _value_of(config, key, given[key]) for key in extra}
        suffixes = {key: f"_{key.split('.')[-1]}-{slug(value)}" for key, value in values.items()}
        session = REPLAYED if config.model.source == "transcripts" else slug(config.model.name)
        if len(models_of_name[config.model.name]) > 1:
            session += "".join(suffix for key, suffix in suffixes.items() if key.startswith("model."))
        name = (
            f"{slug(config.model.name)}_{config.dataset.name}_{config.prompt.name}"
            f"_t{config.temperature:g}_s{config.seed}" + "".join(suffixes.values())
        )
        run = Run(name, session, _part(RunConfig, config))
        if name in runs and runs[name] != run:
            raise UserError(f"two runs of the sweep would both be called '{name}'; give their configs distinct names")
        runs[name] = run
    return tuple(runs.values())


def _value_of(config: Config, key: str, given: Any) -> str:
    """Return a swept key's value as the run has it: a greedy run does not have the noise settings it was given."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part, given)
    return str(given if is_dataclass(value) else value)


def _part(kind: type[Typed], config: Config) -> Typed:
    return kind(**{field.name: getattr(config, field.name) for field in fields(kind)})


def _one_line(error: Exception) -> str:
    """Return Hydra's message on one line, without what speaks of Hydra's insides."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = itertools.takewhile(lambda line: not line.startswith(("full_key:", "Config search path:")), lines)
    text = "; ".join(line for line in kept if line).replace(":; ", ": ")
    key = getattr(error, "full_key", None)
    return f"configuration key '{key}': {text}" if key else f"configuration: {text}"
