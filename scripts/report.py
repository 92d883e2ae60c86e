"""Write the report of an experiment: one page that opens from disk, and side files with the texts of its chains.

Exits 1 where the experiment is incomplete, after writing what there is to a page of another name.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from evalooop import figures
from evalooop.errors import UserError, exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import Plan, read_plan
from evalooop.records import Similarity, read_rows
from evalooop.report import JUDGE, Failure, Report, ReportFigure, find_failures, render_page
from evalooop.report_board import board, panels
from evalooop.report_chains import RunFiles, chain_files
from scripts.figure import existing_file


def main() -> int:
    options = parse_arguments()
    plan = read_plan(options.plan)
    chains = pl.read_parquet(options.chains)
    metrics, audit = read_json(options.metrics), read_json(options.audit)
    reliability = read_json(options.reliability)
    cost, manifest = read_json(options.cost), read_json(options.manifest)
    session_of = {run.name: run.session for run in plan.runs}
    max_infra_share = plan.settings.report.max_infra_share
    failures = find_failures(chains, metrics, manifest, session_of, max_infra_share)
    incomplete_page, incomplete_folder = incomplete(options.out), incomplete(options.pages)
    # Snakemake deletes the declared outputs of a job that fails. The page about what did succeed must outlive
    # that, so an incomplete experiment is reported under names that no rule declares.
    page, folder = (incomplete_page, incomplete_folder) if failures else (options.out, options.pages)
    shown = panels(board(metrics, best_first=False), audit["runs"])
    index_files = write_folder(folder, chain_files(chains, read_rows(options.similarity, Similarity), shown))
    report = Report(
        experiment=plan.name,
        chains=chains,
        metrics=metrics,
        audit=audit,
        reliability=reliability,
        cost=cost,
        manifest=manifest,
        figures=tuple(read_figure(path, page.parent) for path in options.figures),
        index_files=index_files,
        chain_folder=relative_link(folder, page.parent),
        failures=failures,
    )
    write_atomically(page, render_page(report))
    if failures:
        return give_up(failures, page, files_to_retry(plan, failures, options.plan.parent))
    incomplete_page.unlink(missing_ok=True)
    remove_folder(incomplete_folder)
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.report", description=__doc__)
    parser.add_argument("--plan", required=True, type=existing_file, help="plan.json in the experiment's folder")
    for name in ("chains", "metrics", "similarity", "audit", "reliability", "cost", "manifest"):
        parser.add_argument(f"--{name}", required=True, type=existing_file, help=f"the experiment's {name} file")
    parser.add_argument(
        "--figures",
        nargs="*",
        default=[],
        type=existing_file,
        metavar="SVG",
        help="in order of appearance; other forms of a figure are linked if they lie beside it",
    )
    parser.add_argument("--out", required=True, type=Path, help="the page, such as results/demo/report.html")
    parser.add_argument("--pages", required=True, type=Path, help="folder of the side files, and of nothing else")
    return parser.parse_args()


def files_to_retry(plan: Plan, failures: Iterable[Failure], folder: Path) -> list[Path]:
    """Return what the failed sessions left in the experiment's folder: model cards and answers.

    What was answered is in the completion store: without these files the next call asks only what was lost.
    """
    sessions = dict.fromkeys(failure.session for failure in failures if failure.session != JUDGE)
    judged = []
    if any(failure.session == JUDGE for failure in failures):
        judges = [model for model in plan.models if model not in plan.sessions]
        judged = [folder / "similarity.jsonl", *(folder / "models" / f"{judge}.json" for judge in judges)]
    cards = [folder / "models" / f"{session}.json" for session in sessions]
    answers = [
        folder / session / f"loop{loop:02d}" / "generated.jsonl"
        for session in sessions
        for loop in range(1, plan.max_loops(session) + 1)
    ]
    return [path for path in (*judged, *cards, *answers) if path.exists()]


def read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: not JSON ({error}); delete the file and run again")


def read_figure(path: Path, page_folder: Path) -> ReportFigure:
    forms = [path.with_suffix(f".{kind}") for kind in ("svg", "pdf", "png", "csv")]
    return ReportFigure(
        name=path.stem,
        caption=figures.module(path.stem).CAPTION,
        svg=path.read_text(encoding="utf-8"),
        links=tuple((form.suffix[1:], relative_link(form, page_folder)) for form in forms if form.exists()),
    )


def relative_link(path: Path, start: Path) -> str:
    return Path(os.path.relpath(path, start)).as_posix()


def incomplete(path: Path) -> Path:
    """Return the name beside a path that its incomplete form bears, such as ``report.incomplete.html``."""
    return path.with_name(f"{path.stem}.incomplete{path.suffix}")


def write_folder(folder: Path, runs: Iterable[RunFiles]) -> dict[str, str]:
    """Write the side files, remove those an earlier call left, and return the index file of each run."""
    folder.mkdir(parents=True, exist_ok=True)
    index_files: dict[str, str] = {}
    written: set[str] = set()
    for run in runs:
        index_files[run.run] = run.index
        written |= run.contents.keys()
        for name, content in run.contents.items():
            write_atomically(folder / name, content)
    for file in folder.glob("*.js"):
        if file.name not in written:
            file.unlink()
    return index_files


def remove_folder(folder: Path) -> None:
    """Remove a folder of side files, if it is there; anything else in it is somebody's, and keeps it."""
    for file in folder.glob("*.js"):
        file.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def give_up(failures: tuple[Failure, ...], page: Path, retry: list[Path]) -> int:
    """Say what failed and delete what the next call must make again; return the exit status."""
    for failure in failures:
        print(f"incomplete: {failure.session}: {failure.reason}", file=sys.stderr)
    for path in retry:
        path.unlink(missing_ok=True)
    print(f"what there is stands in {page}; run the same command again to retry", file=sys.stderr)
    return 1


if __name__ == "__main__":
    exit_with_one_line(main)
