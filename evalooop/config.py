"""The configuration's types and ranges. Hydra fills them from ``conf/`` and refuses unknown keys and wrong types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import reduce
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from evalooop.errors import UserError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SOURCES = ("wheel", "hub", "path", "server", "transcripts")
# Folders that stand beside the sessions' in an experiment's folder.
RESERVED = ("models", "figures", "logs", "benchmarks", "report_chains")


@dataclass
class ReasoningConfig:
    """How a model thinks before it answers.

    Attributes:
        tokens: most tokens of thinking; the answer's own limit comes on top.
        open, close: what stands before and behind the thinking; "" takes the tokenizer's own, or ``<think>``.
    """

    tokens: int = 4096
    open: str = ""
    close: str = ""


@dataclass
class ServerConfig:
    """How an OpenAI-compatible server is asked.

    Attributes:
        url: the part before ``/chat/completions``, such as ``http://localhost:8000/v1``.
        api: ``chat``, or ``completions`` for a base model, which is given plain text.
        key_variable: the environment variable that holds the key; "" for a server that wants none.
        concurrency: requests in flight at a time.
        timeout_seconds: how long a server may keep silent.
        attempts: tries of a request before its answer counts as lost.
        reasoning_tokens: for hosted models that think first (OpenAI's o-series, gpt-5): most tokens of thinking, on top
            of the answer's. Both are asked for as ``max_completion_tokens``; such models take no temperature or seed.
            0 for all others.
    """

    url: str = MISSING
    api: str = "chat"
    key_variable: str = ""
    concurrency: int = 8
    timeout_seconds: float = 600.0
    attempts: int = 6
    reasoning_tokens: int = 0


@dataclass
class PriceConfig:
    """US dollars for a million tokens read (prompts) and written (completions, thinking included)."""

    prompt: float = MISSING
    completion: float = MISSING


@dataclass
class ModelConfig:
    """What an engine loads or asks: the identity of a session.

    Attributes:
        source: ``wheel`` (PyPI), ``hub`` (Hugging Face), ``path`` (a local folder), ``server``, or ``transcripts``:
            nothing is asked, recorded chains are replayed (``evalooop.published``).
        id: hub repository, folder, ``package==version`` of the wheel, the model's name at the server, or the git
            repository of the transcripts.
        revision: commit or tag of a hub model; "" takes the default branch, and the commit found is recorded. The
            commit of the transcripts.
        file: for a wheel, the GGUF file inside it, or the model's folder ending in ``/``; sha256 is the wheel's.
        dtype: ``auto`` is bfloat16 on a GPU and float32 on a CPU.
        attention: transformers' implementation; ``auto`` is its own choice.
        batch_size: prompts answered side by side; 0 is as many as fit. Does not change fp32 answers.
        reasoning: null for a model that does not think before it answers.
        server: where and how to ask, for the source ``server`` only; what loading takes is that server's affair.
        price: what its tokens cost, if anything.
    """

    name: str = MISSING
    source: str = MISSING
    id: str = MISSING
    revision: str = ""
    file: str = ""
    sha256: str = ""
    dtype: str = "auto"
    attention: str = "auto"
    batch_size: int = 0
    reasoning: ReasoningConfig | None = None
    server: ServerConfig | None = None
    price: PriceConfig | None = None


@dataclass
class DatasetConfig:
    """A benchmark, and which of its tasks are asked.

    Attributes:
        loader: module of ``evalooop.datasets`` that reads it.
        carry: what is taken along from loop to loop: ``assert``, ``signature`` or ``none``.
        tasks: ids of the tasks to ask; empty means all.
        limit: at most this many tasks, from the first on; 0 means all.
    """

    name: str = MISSING
    loader: str = MISSING
    carry: str = "none"
    tasks: list[str] = field(default_factory=list)
    limit: int = 0


@dataclass
class PromptConfig:
    """The words around a task: Jinja templates, see ``evalooop.prompts`` for what they may name."""

    name: str = MISSING
    system: str = ""
    generate: str = MISSING
    describe: str = MISSING
    frame: str = MISSING


@dataclass
class PerturbationConfig:
    """A prompt attack on every task: its name, one of ``evalooop.perturbations`` or ``none``, and its seed."""

    name: str = "none"
    seed: int = 0


@dataclass
class LoopConfig:
    """How long chains may run and answers may be.

    Attributes:
        max_loops: M, at least 1.
        generate_tokens, describe_tokens: most new tokens of a program and of a description.
    """

    max_loops: int = 10
    generate_tokens: int = 512
    describe_tokens: int = 512


@dataclass
class SandboxConfig:
    """Limits of one judged program, and what holds it back.

    Attributes:
        cpu_seconds: for all its tests together.
        test_cpu_seconds: for one test.
        memory_mb: address space, in MiB.
        isolation: ``namespaces`` (bubblewrap); ``landlock`` is weaker, for systems without, and marked in the report.
    """

    cpu_seconds: int = 8
    test_cpu_seconds: int = 2
    memory_mb: int = 1024
    isolation: str = "namespaces"


@dataclass
class JudgeConfig:
    """Who says how far the words drifted at a boundary.

    Attributes:
        name: ``none`` gives every boundary the similarity 1.
        method: ``prompt`` asks a model; ``embedding`` compares the words' embeddings by an encoder.
        model: the judge's model; null means each run's own model.
        max_new_tokens: the published judge was given 10.
    """

    name: str = MISSING
    method: str = "prompt"
    model: ModelConfig | None = None
    max_new_tokens: int = 10


@dataclass
class ScoreConfig:
    """Bootstrap over tasks: number of resamples, confidence level in (0, 1), seed."""

    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 0


@dataclass
class FigureConfig:
    """What is drawn and how.

    Attributes:
        names: modules of ``evalooop.figures``.
        width: of a column, in inches.
        dpi: resolution of the PNG.
    """

    names: list[str] = field(default_factory=lambda: ["survival", "asl", "chain_map", "cost"])
    width: float = 6.5
    dpi: int = 200


@dataclass
class ReportConfig:
    """max_infra_share: above this share of chains lost to infrastructure the run counts as incomplete."""

    max_infra_share: float = 0.02


@dataclass
class RunConfig:
    """What a run is: one point of a sweep.

    Attributes:
        temperature: 0 is greedy. seed: names the noise of sampled answers.
        top_p, top_k, repetition_penalty, min_new_tokens, stop: see ``evalooop.engines.Decoding``.
        samples: chains a task. A greedy run has one, and no seed: see ``evalooop.plan``.
    """

    model: ModelConfig = MISSING
    dataset: DatasetConfig = MISSING
    prompt: PromptConfig = MISSING
    perturbation: PerturbationConfig = field(default_factory=PerturbationConfig)
    loop: LoopConfig = MISSING
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    min_new_tokens: int = 0
    stop: list[str] = field(default_factory=list)
    seed: int = 0
    samples: int = 1


@dataclass
class Settings:
    """How an experiment's runs are judged, scored and drawn: one for all of them, never swept.

    Attributes:
        judge: the one whose scores weigh in ASL.
        judges: others to compare it with, by any name; filled from ``conf/judge`` (``+judge@judges.b=embedding``).
    """

    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    judge: JudgeConfig = MISSING
    judges: dict[str, JudgeConfig] = field(default_factory=dict)
    score: ScoreConfig = field(default_factory=ScoreConfig)
    figures: FigureConfig = field(default_factory=FigureConfig)
    report: ReportConfig = field(default_factory=ReportConfig)


@dataclass
class Config(RunConfig, Settings):
    """The whole configuration, as Hydra composes it."""


# Ranges that types cannot express: dotted key -> (holds, what must hold).
RANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "model.name": (
        lambda name: NAME.fullmatch(name) and name not in RESERVED,
        f"letters, digits, '.', '_' and '-' only, and none of {', '.join(RESERVED)}",
    ),
    "dataset.name": (NAME.fullmatch, "letters, digits, '.', '_' and '-' only"),
    "prompt.name": (NAME.fullmatch, "letters, digits, '.', '_' and '-' only"),
    "judge.name": (NAME.fullmatch, "letters, digits, '.', '_' and '-' only"),
    "model.source": (SOURCES.__contains__, f"one of {', '.join(SOURCES)}"),
    "model.dtype": (
        ("auto", "float32", "bfloat16", "float16").__contains__,
        "one of auto, float32, bfloat16, float16",
    ),
    "model.attention": (
        ("auto", "eager", "sdpa", "flash_attention_2").__contains__,
        "one of auto, eager, sdpa, flash_attention_2",
    ),
    "model.batch_size": (lambda n: n >= 0, "0 (as many as fit) or more"),
    "model.reasoning": (
        lambda it: it is None or (it.tokens >= 1 and bool(it.open) == bool(it.close)),
        "null, or tokens at least 1 and both markers or neither",
    ),
    "model.server.url": (re.compile(r"https?://[^\s/]+(/\S*)?").fullmatch, "a URL such as http://localhost:8000/v1"),
    "model.server.api": (("chat", "completions").__contains__, "one of chat, completions"),
    "model.server.key_variable": (
        re.compile(r"[A-Za-z_][A-Za-z0-9_]*|").fullmatch,
        "the name of an environment variable, never the key itself",
    ),
    "model.server.concurrency": (lambda n: n >= 1, "at least 1"),
    "model.server.timeout_seconds": (lambda t: 0 < t < math.inf, "above 0"),
    "model.server.reasoning_tokens": (lambda n: n >= 0, "0 or more"),
    "model.server.attempts": (lambda n: n >= 1, "at least 1"),
    "model.price.prompt": (lambda price: 0 <= price < math.inf, "0 or more"),
    "model.price.completion": (lambda price: 0 <= price < math.inf, "0 or more"),
    "dataset.carry": (("assert", "signature", "none").__contains__, "one of assert, signature, none"),
    "dataset.limit": (lambda n: n >= 0, "0 (all) or more"),
    "loop.max_loops": (lambda n: n >= 1, "at least 1"),
    "loop.generate_tokens": (lambda n: n >= 1, "at least 1"),
    "loop.describe_tokens": (lambda n: n >= 1, "at least 1"),
    "temperature": (lambda t: 0 <= t < math.inf, "0 or more"),
    "top_p": (lambda p: 0 < p <= 1, "above 0 and at most 1"),
    "top_k": (lambda n: n >= 0, "0 (all tokens) or more"),
    "repetition_penalty": (lambda p: 0 < p < math.inf, "above 0"),
    "min_new_tokens": (lambda n: n >= 0, "0 or more"),
    "stop": (all, "a list of texts, none of them empty"),
    "seed": (lambda n: n >= 0, "0 or more"),
    "samples": (lambda n: n >= 1, "at least 1"),
    "sandbox.cpu_seconds": (lambda n: n >= 1, "at least 1"),
    "sandbox.test_cpu_seconds": (lambda n: n >= 1, "at least 1"),
    "sandbox.memory_mb": (lambda n: n >= 64, "at least 64"),
    "sandbox.isolation": (("namespaces", "landlock").__contains__, "one of namespaces, landlock"),
    "judge.method": (("prompt", "embedding").__contains__, "one of prompt, embedding"),
    "judge.max_new_tokens": (lambda n: n >= 1, "at least 1"),
    "score.resamples": (lambda n: n >= 100, "at least 100"),
    "score.confidence": (lambda p: 0 < p < 1, "between 0 and 1"),
    "score.seed": (lambda n: n >= 0, "0 or more"),
    "figures.width": (lambda w: w >= 2, "at least 2 inches"),
    "figures.dpi": (lambda n: n >= 50, "at least 50"),
    "report.max_infra_share": (lambda p: 0 <= p <= 1, "between 0 and 1"),
}


def check(config: Config) -> None:
    """Refuse values out of range.

    Raises:
        UserError: names the key, its value and what must hold.
    """
    for key in RANGES:
        if "." not in key:
            _check_value(key, key, getattr(config, key))
    for field_ in fields(config):
        check_section(field_.name, getattr(config, field_.name))
    for key, judge in {"judge": config.judge, **{f"judges.{name}": it for name, it in config.judges.items()}}.items():
        check_section("judge", judge, shown=key)
        if judge.model is not None:
            check_section("model", judge.model, shown=f"{key}.model")
        elif judge.method == "embedding":
            raise UserError(f"configuration key '{key}.model': an embedding needs an encoder of its own")


def check_section(section: str, value: Any, shown: str = "") -> None:
    """Refuse values out of range in one section, such as ``sandbox``; ``shown``: how the message calls it."""
    shown = shown or section
    for key in RANGES:
        name, *parts = key.split(".")
        if name == section and parts:
            *outer, last = parts
            holder = reduce(lambda part, name: part and getattr(part, name), outer, value)
            if holder is not None:
                _check_value(key, ".".join([shown, *parts]), getattr(holder, last))
    if section == "model" and (value.source == "server") != (value.server is not None):
        raise UserError(f"configuration key '{shown}.server': give it for the source 'server', and for no other")


def _check_value(key: str, shown: str, value: Any) -> None:
    holds, demand = RANGES[key]
    if not holds(value):
        raise UserError(f"configuration key '{shown}' is {value!r}: must be {demand}")


ConfigStore.instance().store(name="schema", node=Config)
