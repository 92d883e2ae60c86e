"""The report: one page that opens from disk without a network, and side files with the texts of every chain.

The page holds scores, figures and settings. The texts of the chains (prompts, programs, descriptions) would make it
too large for a browser, so they lie beside it in script files, which the page loads when a reader opens a run or a
chain: browsers refuse to *fetch* from disk, but run a script from there. Everything a model wrote is data: it is
escaped here or set as text by the page's script, never as markup, and the page's content policy lets no other
script run and no request leave.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evalooop.agreement import read_causes
from evalooop.audit import KINDS
from evalooop.controls import SEPARATES
from evalooop.figures.outcomes import OUTCOMES
from evalooop.figures.style import DARK, run_labels
from evalooop.report_board import board, correlation_words, format_number, format_share, shared_settings

TEMPLATES = Path(__file__).parent / "report_template"
MOST_BOUNDS = 8
MOST_SUMMARIES = 4
"""Runs are introduced by a sentence each up to this many; beyond it the table says it better."""


SCRIPTS = ("theme", "tables", "chains")
"""The page's scripts, in the order in which they run."""

# What stands for a session where the judge is what failed.
JUDGE = "judge"


@dataclass(frozen=True)
class ReportFigure:
    """A figure to show: the text of its svg, and (name, link relative to the page) of its other forms."""

    name: str
    caption: str
    svg: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Failure:
    """Why an experiment is incomplete, and the session that must be asked again."""

    session: str
    reason: str


@dataclass(frozen=True)
class Report:
    """Everything the page shows.

    Attributes:
        chains: the chain table, one row a (run, task, sample, loop).
        metrics, audit, reliability, cost, manifest: the contents of the files of these names, such as metrics.json.
        index_files: name of the side file that is each run's index.
        chain_folder: link from the page to the folder of the side files.
        failures: what makes the experiment incomplete; empty if it is complete.
    """

    experiment: str
    chains: pl.DataFrame
    metrics: dict[str, Any]
    audit: dict[str, Any]
    reliability: dict[str, Any]
    cost: dict[str, Any]
    manifest: dict[str, Any]
    figures: tuple[ReportFigure, ...]
    index_files: dict[str, str]
    chain_folder: str
    failures: tuple[Failure, ...]


def find_failures(
    chains: pl.DataFrame,
    metrics: dict[str, Any],
    manifest: dict[str, Any],
    session_of: dict[str, str],
    max_infra_share: float,
) -> tuple[Failure, ...]:
    """Return what makes an experiment incomplete: sessions that failed, runs that lost too many chains.

    A run is named if more than ``max_infra_share`` of its chains, in [0, 1], ended in an infrastructure error,
    unless its whole session is. ``session_of`` gives the session of each run.
    """
    failures = [Failure(failure["session"], failure["reason"]) for failure in manifest["failures"]]
    failed = {failure.session for failure in failures}
    for run in metrics["runs"]:
        total = run["attempted"] + run["infra"]
        session = session_of[run["run"]]
        if session not in failed and total and run["infra"] / total > max_infra_share:
            lost = chains.filter(pl.col("run") == run["run"], pl.col("passed").is_null())
            reasons = Counter(detail or "the program could not be judged" for detail in lost["detail"])
            share = f"{run['infra']} of {total} chains lost to infrastructure errors ({run['infra'] / total:.0%})"
            often = f", most often: {reasons.most_common(1)[0][0]}" if reasons else ""
            failures.append(Failure(session, f"run {run['run']}: {share}{often}"))
    return tuple(failures)


def render_page(report: Report) -> str:
    """Return the whole page as HTML."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": format_number,
        "share": format_share,
        "image": image_source,
        "work": format_work,
        "usd": format_usd,
    }
    css = (TEMPLATES / "page.css").read_text("utf-8")
    script = "".join((TEMPLATES / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    runs = report.metrics["runs"]
    labels = run_labels(runs)
    same, telling = shared_settings(runs)
    rows = board(report.metrics, best_first=len(runs) > MOST_SUMMARIES)
    return environment.get_template("page.html.j2").render(
        report=report,
        runs=runs,
        labels=labels,
        board=rows,
        same=same,
        telling=telling,
        ranked=any(run["place"] for run in rows),
        judged=any(run["judge"]["scored"] for run in runs),
        published=any(run.get("published") for run in runs),
        partial=any(run["infra"] or run["censored"] for run in runs),
        correlation=correlation_words(report.metrics),
        judges=report.metrics["judges"],
        agree=report.metrics["judge_agreement"],
        bounds=judge_bounds(runs, labels) if report.metrics["judges"] else [],
        least=SEPARATES,
        ambiguous=ambiguous_runs(runs),
        summaries=runs if len(runs) <= MOST_SUMMARIES else [],
        description_flags=count_description_flags(report.chains),
        program_flags=count_program_flags(report.chains),
        flag_words=PROGRAM_FLAGS,
        disputed={task: issue for run in runs for task, issue in run["undisputed"]["without"].items()},
        left_out=left_out(report.manifest),
        mixed=mixed_datasets(report.chains),
        totals=stage_totals(report.cost),
        settings=settings_tables(report.manifest),
        unlike=unlike_setups(report.manifest),
        outcomes=OUTCOMES,
        kinds=KINDS,
        findings=[kind for kind in KINDS if any(run["findings"][kind]["rows"] for run in report.audit["runs"])],
        audited=most_moved(report.audit["runs"]),
        evidence=read_causes().evidence,
        policy=content_policy(css, script),
        css=Markup(css),
        script=Markup(script),
        data=page_data(report, labels),
    )


def most_moved(audited: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the audit's runs, those first whose place a correction changes most."""
    return sorted(audited, key=lambda run: -max(abs(move or 0) for move in run["move"].values()))


def judge_bounds(runs: list[dict[str, Any]], labels: dict[str, str]) -> list[str]:
    """Return for the first runs between what values of ASL a judge can decide: all s_i 0, and all 1."""
    found = []
    for run in runs[:MOST_BOUNDS]:
        low, high = run["bounds"]["asl_s0"], run["scores"]["asl_unweighted"]["value"]
        if low is not None:
            found.append(f"{labels[run['run']]} {low:.2f}–{high:.2f}")
    return found


def ambiguous_runs(runs: list[dict[str, Any]]) -> set[str]:
    """Return the runs that model and dataset alone do not name."""
    pairs = Counter((run["model"], run["dataset"]) for run in runs)
    return {run["run"] for run in runs if pairs[(run["model"], run["dataset"])] > 1}


def page_data(report: Report, labels: dict[str, str]) -> Markup:
    """Return the JSON that the page's script starts from, safe inside a script element."""
    data = {
        "folder": report.chain_folder,
        "runs": [{"run": run, "label": labels.get(run, run), "file": file} for run, file in report.index_files.items()],
        "outcomes": {name: {"words": it.words, "color": it.color} for name, it in OUTCOMES.items()},
    }
    return Markup(json.dumps(data).replace("<", "\\u003c"))


def content_policy(css: str, script: str) -> str:
    """Return a policy under which only the page's own style and script, and script files beside it, work.

    ``'self'`` is what a page on a web server calls its own place, ``file:`` one opened from disk.
    """
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script)
    )
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style_hash}'; "
        f"script-src 'sha256-{script_hash}' 'self' file:; base-uri 'none'; form-action 'none'"
    )


def image_source(svg: str) -> str:
    """Return an svg as a data URI; in dark surroundings its ink turns light and its paper transparent."""
    rules = "".join(
        f'[style*="{side}: {light.lower()}"]{{{side}:{dark}!important}}'
        for light, dark in DARK.items()
        for side in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"
    adapted = re.sub(r"(<svg\b[^>]*>)", lambda match: match[1] + style, svg, count=1)
    return "data:image/svg+xml;base64," + base64.b64encode(adapted.encode()).decode()


def count_description_flags(chains: pl.DataFrame) -> dict[str, Counter[str]]:
    """Return for each run how many descriptions bear each flag."""
    counts: dict[str, Counter[str]] = {}
    for run, flags in chains.select("run", "description_flags").iter_rows():
        counts.setdefault(run, Counter()).update(flags)
    return counts


PROGRAM_FLAGS = {
    "custom_eq": "returned an object that says itself what it equals",
    "frames": "looked into the frames or objects of other code",
    "files": "tried to open, list or change files",
    "native": "loaded native code",
    "refused": "tried to start a process, open a socket, send a signal or lift a limit: refused",
    "exit": "ended its process",
    "forged": "wrote into the channel of results",
    "borderline": "passed using at least 80 % of a CPU limit",
}
"""What the flags of a judgement say, in the order of the page."""


def count_program_flags(chains: pl.DataFrame) -> list[dict[str, Any]]:
    """Return run, flag, number of ``programs`` that bear it and of ``passing`` ones, and their tasks."""
    flagged = chains.select("run", "task", "passed", pl.col("flags").alias("flag")).explode("flag").drop_nulls("flag")
    counted = flagged.group_by("run", "flag", maintain_order=True).agg(
        pl.len().alias("programs"),
        pl.col("passed").fill_null(False).sum().alias("passing"),
        pl.col("task").unique(maintain_order=True).alias("tasks"),
    )
    order = list(PROGRAM_FLAGS)
    return sorted(counted.iter_rows(named=True), key=lambda row: (row["run"], order.index(row["flag"])))


def mixed_datasets(chains: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """Return the datasets of which runs asked different tasks: how many tasks any run asked, and how many all did."""
    mixed = {}
    for (dataset,), part in chains.group_by("dataset", maintain_order=True):
        asked = [set(tasks) for _, tasks in part.group_by("run").agg(pl.col("task").unique()).iter_rows()]
        if any(tasks != asked[0] for tasks in asked):
            mixed[dataset] = (len(set.union(*asked)), len(set.intersection(*asked)))
    return mixed


def left_out(manifest: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (dataset, task, reason) of what could not be used of the benchmarks."""
    return [
        (name, task, reason)
        for name, dataset in manifest["datasets"].items()
        for task, reason in dataset["left_out"].items()
    ]


def stage_totals(cost: dict[str, Any]) -> dict[str, Counter[str]]:
    """Return for each stage the sum of every number over sessions and loops."""
    totals: dict[str, Counter[str]] = {}
    for row in cost["stages"]:
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float) and key != "loop"}
        totals.setdefault(row["stage"], Counter()).update(numbers)
    return totals


def unlike_setups(manifest: dict[str, Any]) -> dict[str, list[str]]:
    """Return the setups of each session if they may have changed answers: they differ, and not all are float32.

    In half precision another batch size, device or attention rounds differently, which can turn an answer.
    """
    generation = manifest.get("generation", {})
    distinct = {setup for setups in generation.values() for setup in setups}
    exact = all(setup.startswith("float32") for setup in distinct)
    return {} if exact or len(distinct) < 2 else generation


WORK = {
    "asked": "answers asked for",
    "stored": "taken from the store",
    "failed": "not to be had",
    "retries": "asked again",
    "programs": "programs",
    "prompt_tokens": "tokens read",
    "new_tokens": "tokens written",
    "model_seconds": "s in the model",
    "cpu_seconds": "CPU s",
    "near_ties": "tokens that were near ties",
}


def format_work(total: Counter[str]) -> str:
    """Return what a stage did, such as ``41 programs, 98 CPU s``; what it did not do is not mentioned.

    Tokens a second are new tokens of the answers asked for, over the wall time until all were there.
    """
    parts = [f"{total[key]:,.0f} {words}" for key, words in WORK.items() if total[key]]
    if total["asked_seconds"]:
        parts.append(f"{total['asked_tokens'] / total['asked_seconds']:,.0f} tokens/s")
    if "usd" in total:
        parts.append(format_usd(total["usd"]))
    return ", ".join(parts)


def format_usd(usd: float) -> str:
    """Return US dollars, in cents from one dollar on and finer below."""
    return f"US$ {usd:,.2f}" if usd >= 1 else f"US$ {usd:.4f}"


def settings_tables(manifest: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Return the manifest as titled tables of (dotted key, value); what stands alone goes under ``general``."""
    tables: dict[str, list[tuple[str, str]]] = {"general": []}
    for key, value in manifest.items():
        if key in ("failures", "skipped"):
            continue
        if isinstance(value, dict | list):
            tables[key] = list(_flatten(value))
        else:
            tables["general"].append((key, _plain(value)))
    return {title: rows for title, rows in tables.items() if rows}


def _flatten(value: Any, path: str = ""):
    """Yield (dotted key, text) of every plain value inside a nested one."""
    nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, dict | list) for v in value))
    if not nested:
        yield path, ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value, start=1):
        yield from _flatten(item, f"{path}.{key}" if path else str(key))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
