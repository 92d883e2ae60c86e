"""A made-up but plausible experiment for tests of figures and report: a chain table and what goes with it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import polars as pl

from evalooop.chains import SCHEMA
from evalooop.config import (
    DatasetConfig,
    JudgeConfig,
    LoopConfig,
    ModelConfig,
    PromptConfig,
    ReportConfig,
    RunConfig,
    ScoreConfig,
    Settings,
)
from evalooop.judges import judge_scores
from evalooop.plan import Plan, Run
from evalooop.ranking import rankings
from evalooop.records import Similarity
from evalooop.scores import judged_fates

# name -> description, body of a program of that name with the argument `values`
BANK = {
    "running_total": (
        "returns the running totals of a list of numbers",
        """    total, out = 0, []
    for x in values:
        total += x
        out.append(total)
    return out
""",
    ),
    "count_vowels": (
        "counts the vowels in a string, in either case",
        "    return sum(1 for c in values.lower() if c in 'aeiou')\n",
    ),
    "is_palindrome": (
        "checks if a text reads the same backwards",
        "    values = values.replace(' ', '').lower()\n    return values == values[::-1]\n",
    ),
    "clamp_all": (
        "limits every number of a list to the range from 0 to 100",
        "    return [min(100, max(0, x)) for x in values]\n",
    ),
    "second_largest": (
        "finds the second largest distinct value of a list, or None",
        "    ordered = sorted(set(values))\n    return ordered[-2] if len(ordered) > 1 else None\n",
    ),
    "digits_sum": (
        "adds up the decimal digits of a whole number",
        "    return sum(int(d) for d in str(abs(values)))\n",
    ),
}

FAMILIES = ("Qwen", "Llama", "other")

# status, passed, base, plus, reason, failing test, detail: how a loop can end
ENDS = {
    "base": ("ok", False, "fail", "fail", "wrong", 2, "returned None for (['a', 'b'],)"),
    "plus": ("ok", False, "pass", "fail", "wrong", 13, "returned [] for ([],)"),
    "exception": ("ok", False, "fail", "fail", "exception", 0, "NameError: name 'numbers' is not defined"),
    "timeout": ("ok", False, "timeout", "fail", "cpu", 1, "more than 4 CPU seconds"),
    "no_code": ("no_code", False, "fail", "fail", "load", None, "no program"),
    "truncated": ("truncated", False, "fail", "fail", "load", None, "SyntaxError: '(' was never closed"),
    "infra": ("infra_error", None, None, None, "", None, ""),
}
WEIGHTS = {"base": 8, "plus": 4, "exception": 4, "timeout": 1, "no_code": 2, "truncated": 2, "infra": 0.4}


def chain_table(runs: int = 1, tasks: int = 24, max_loops: int = 10, samples: int = 1, seed: int = 0) -> pl.DataFrame:
    """Return a chain table; the odds of passing differ from run to run and task to task."""
    draw = random.Random(seed)
    rows = []
    for number in range(runs):
        settings = {
            "run": f"model-{number}-starter-plain_chat-t0-s0",
            "model": f"model-{number}",
            "dataset": "starter",
            "prompt_variant": "plain_chat",
            "temperature": 0.0,
            "seed": 0,
            "max_loops": max_loops,
        }
        skill = 0.25 + 0.6 * (number + 1) / runs
        for task in range(tasks):
            name = list(BANK)[task % len(BANK)]
            odds = (skill, draw.choice((0.55, 0.8, 0.97)))
            for sample in range(samples):
                chain = {**settings, "task": f"starter/{name}_{task}", "sample": sample}
                rows += [{**chain, **step} for step in _steps(draw, name, odds, max_loops)]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def _steps(draw: random.Random, name: str, odds: tuple[float, float], max_loops: int) -> Iterator[dict[str, Any]]:
    """Yield the loops of one chain; ``odds`` are those of passing loop 1 and any later loop."""
    for loop in range(1, max_loops + 1):
        passes = draw.random() < odds[loop > 1]
        end = "passed" if passes else draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        yield _step(draw, name, loop, end)
        if not passes:
            return


def _step(draw: random.Random, name: str, loop: int, end: str) -> dict[str, Any]:
    status, passed, base, plus, reason, test, detail = ENDS.get(end, ("ok", True, "pass", "pass", "", None, ""))
    says, body = BANK[name]
    description = f"Write a python function to {says}{draw.choice(('', ' as before'))}." if loop > 1 else ""
    head = f"def {name}(values):\n"
    words = f'"""\n{description}\n{head}"""\n' if loop > 1 else f'{head}    """It {says}."""\n'
    code = None if end in ("no_code", "infra") else head + body
    answer = {"no_code": "I cannot do that.", "infra": ""}.get(
        end, f"Here it is:\n\n```python\n{code}```\n\nIt {says}."
    )
    return {
        "loop": loop,
        "words": words,
        "description": description,
        "prompt": f"<|user|>\n{words}Write the Python function `{name}`.\n<|assistant|>\n",
        "answer": answer,
        "code": code,
        "found": "fence" if code else "",
        "status": status,
        "detail": "HTTP 503 after 5 tries" if end == "infra" else "",
        "stop": {"infra": "error", "truncated": "length"}.get(end, "stop"),
        "passed": passed,
        "base": base,
        "plus": plus,
        "reason": reason,
        "failing_test": test,
        "verdict_detail": detail,
        "flags": ["borderline"] if draw.random() < 0.03 else [],
        "description_flags": ["leaked_code"] if loop > 1 and draw.random() < 0.05 else [],
        "prompt_tokens": len(words) // 4,
        "new_tokens": len(answer) // 4,
        "describe_prompt_tokens": 0 if loop == 1 else 60,
        "describe_new_tokens": len(description) // 4,
    }


def metrics_of(chains: pl.DataFrame) -> dict[str, Any]:
    """Return metrics of the shape of metrics.json for a made-up chain table (intervals are made up too)."""
    parts = [run for _, run in chains.group_by("run", maintain_order=True)]
    runs = [_run_metrics(run, place) for place, run in enumerate(parts)]
    fate = judged_fates(chains, similarity_of(chains)).filter("counted")
    fates = {run: rows for (run,), rows in fate.group_by("run", maintain_order=True)}
    return {
        "experiment": "synthetic",
        "runs": runs,
        "rankings": rankings(runs, fates, ScoreConfig(resamples=100)),
        "judges": [judge_scores("self", "prompt", similarity_of(chains))],
        "judge_agreement": None,
    }


def _run_metrics(run: pl.DataFrame, place: int) -> dict[str, Any]:
    loops = run["max_loops"][0]
    keys = ("run", "model", "dataset", "prompt_variant", "temperature", "seed", "max_loops")
    chains = [chain["passed"] for _, chain in run.group_by("task", "sample", maintain_order=True)]
    lengths = [passed.sum() for passed in chains if not passed.null_count()]
    total, infra = len(lengths), len(chains) - len(lengths)
    alive = [sum(length >= loop for length in lengths) for loop in range(loops + 1)]
    squares = sum(length**2 for length in lengths)
    asl = _ratio(squares, total * loops)
    return {
        **{key: run[key][0] for key in keys},
        "perturbation": "none",
        "family": FAMILIES[place % len(FAMILIES)],
        "size": 1.5 ** (place % 16),
        "samples": run["sample"].n_unique(),
        "tasks": run["task"].n_unique(),
        "attempted": total,
        "infra": infra,
        "censored": 0,
        "histogram": [lengths.count(length) for length in range(loops + 1)],
        "scores": {
            "asl": _score(_ratio(0.98 * squares, total * loops), 0.6),
            "asl_unweighted": _score(asl, 0.6),
            "asl_conditional": _score(_ratio(squares, alive[1] * loops), 0.9),
            "pass_at_1": _score(_ratio(alive[1], total), 0.1),
            "pass_drop": _score(_ratio(alive[1] - alive[loops], total), 0.1),
        },
        "bounds": {
            "asl_s0": 0.9 * asl if asl is not None else None,
            "asl_infra_failed": _ratio(squares, len(chains) * loops),
            "asl_infra_survived": _ratio(squares + infra * loops**2, len(chains) * loops),
        },
        "flagged": {
            "truncated": run.filter(status="truncated").height,
            "no_code": run.filter(status="no_code").height,
            "incomplete_reasoning": 0,
            "attempted": total,
            "asl": asl,
        },
        "undisputed": {
            "without": {"clamp_all": "the prompt does not say where the range ends"},
            "attempted": total - 1,
            "asl": asl,
            "pass_at_1": _ratio(alive[1], total),
        },
        "judge": {
            "name": "self",
            "boundaries": alive[1] - alive[loops],
            "scored": alive[1] // 2,
            "unreadable": 1,
            "mean": 0.8,
        },
        "survival": [_ratio(count, total) for count in alive[1:]],
    }


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _score(value: float | None, spread: float) -> dict[str, float | None]:
    if value is None:
        return {"value": None, "low": None, "high": None}
    return {"value": value, "low": max(0.0, value - spread), "high": value + spread}


def similarity_of(chains: pl.DataFrame) -> list[Similarity]:
    """Return a judge's reply for every boundary of the table; every fourth cannot be read."""
    broken = chains.filter(~pl.col("passed"), pl.col("loop") > 1).select("run", "task", "sample", "loop")
    replies = [("0.85", 0.85), ("0.6", 0.6), ("1.0", 1.0), ("about the same", None)]
    return [
        Similarity(run, task, sample, loop - 1, *replies[place % 4])
        for place, (run, task, sample, loop) in enumerate(broken.iter_rows())
    ]


def cost_of(chains: pl.DataFrame) -> dict[str, Any]:
    """Return cost.json's content for a table whose runs all belong to one session."""
    stages: list[dict[str, Any]] = []
    for (loop,), part in chains.group_by("loop"):
        written = part["new_tokens"].sum()
        generate = {
            "stage": "generate",
            "seconds": 0.02 * written + 4,
            "model_seconds": 0.02 * written,
            "prompt_tokens": part["prompt_tokens"].sum(),
            "new_tokens": written,
            "asked": len(part),
            "asked_tokens": written,
            "asked_seconds": 0.02 * written,
            "stored": 0,
            "failed": 0,
            "retries": 2,
            "usd": 1e-6 * written,
        }
        execute = {
            "stage": "execute",
            "seconds": 0.3 * len(part) + 1,
            "cpu_seconds": 0.2 * len(part),
            "programs": len(part),
        }
        stages += [{"session": "session-a", "loop": loop, **stage} for stage in (generate, execute)]
    runs = [
        {
            "run": run,
            "stage": "generate",
            "answers": len(part),
            "prompt_tokens": part["prompt_tokens"].sum(),
            "new_tokens": part["new_tokens"].sum(),
            "model_seconds": 0.02 * part["new_tokens"].sum(),
            "usd": 1e-6 * part["new_tokens"].sum(),
        }
        for (run,), part in chains.group_by("run", maintain_order=True)
    ]
    return {"stages": sorted(stages, key=lambda stage: stage["loop"]), "runs": runs}


def manifest() -> dict[str, Any]:
    """Return a manifest without failures."""
    return {
        "settings": {
            "temperature": 0.0,
            "loop": {"name": "paper", "max_loops": 10},
            "experiment": "synthetic",
            "sandbox": {"memory_mb": 1024, "isolation": "namespaces"},
        },
        "datasets": {"starter": {"tasks": 6, "left_out": {"starter/odd": "its answer is too large"}}},
        "versions": {"evalooop": "0.1.0", "python": "3.11.7", "polars": "2.1.0"},
        "fingerprints": {
            "session-a": "wheel:model==1.0@0123456789abcdef float32",
            "starter": "sha256:fedcba9876543210",
        },
        "failures": [],
    }


def plan_of(chains: pl.DataFrame, **settings: Any) -> Plan:
    """Return a plan with the runs of a table, all in one session; ``settings`` are fields of ReportConfig."""
    runs = []
    for (name, model), part in chains.group_by("run", "model", maintain_order=True):
        config = RunConfig(
            model=ModelConfig(name=model, source="path", id="somewhere"),
            dataset=DatasetConfig(name="starter", loader="starter"),
            prompt=PromptConfig(name="plain_chat", generate="{{ words }}", describe="{{ code }}", frame=""),
            loop=LoopConfig(max_loops=part["max_loops"][0]),
        )
        runs.append(Run(name, "session-a", config))
    return Plan(
        "synthetic",
        ("experiment=synthetic",),
        tuple(runs),
        Settings(judge=JudgeConfig(name="self"), report=ReportConfig(**settings)),
    )
