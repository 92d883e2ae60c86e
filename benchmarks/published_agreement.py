"""Judge the programs of the published transcripts again: do our verdicts agree with the authors'?

EVALOOOP_DATA=folder python -m benchmarks.published_agreement [--models o3-mini gpt-4o]

Prints a table of the models, then each disagreement with what was measured and its cause, as far as it has been
studied (``evalooop/published_disagreements.json``). Equal programs are judged once, over all models.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.measuring import heading, table
from evalooop.agreement import Causes, Comparison, claims, compare, read_causes
from evalooop.config import SandboxConfig
from evalooop.errors import UserError, exit_with_one_line
from evalooop.files import write_atomically
from evalooop.judging import Unjudged, check_references, judge_programs
from evalooop.published import find_transcripts, read_transcripts
from evalooop.sandbox.judgement import Judgement
from evalooop.store import Store
from evalooop.tasks import Task
from scripts.execute import bar, open_dataset

SETTINGS = SandboxConfig()


def main() -> None:
    arguments = parse_arguments()
    paths = find_transcripts()
    if missing := [model for model in arguments.models if model not in paths]:
        raise UserError(f"--models: no transcripts of {', '.join(missing)}; there are {', '.join(paths)}")
    models = arguments.models or list(paths)
    claimed = [claim for model in models for claim in claims(model, read_transcripts(paths[model]))]
    tasks = open_dataset("mbppplus")
    with Store(arguments.store) as store:
        with bar("references", len(tasks)) as shown:
            check_references(tasks.values(), SETTINGS, store, arguments.workers, shown.update)
        with bar("published programs", len(claimed)) as shown:
            compared = compare(claimed, tasks, SETTINGS, store, arguments.workers, shown.update)
        differing = [comparison for comparison in compared if not comparison.agrees]
        references = measured_references({row.claim.task for row in differing}, tasks, store, arguments.workers)
    causes = read_causes()
    rows = [disagreement(comparison, references[comparison.claim.task], causes) for comparison in differing]
    if arguments.out:
        write_atomically(arguments.out, "".join(json.dumps(row) + "\n" for row in rows))
    print(heading())
    print(model_table(compared))
    print(disagreement_table(rows))


def measured_references(
    ids: Iterable[str], tasks: Mapping[str, Task], store: Store, workers: int
) -> dict[str, Judgement]:
    """Return what the references of tasks used, judged as any program is."""
    chosen = [tasks[name] for name in sorted(ids)]
    judged = judge_programs([(task, task.reference) for task in chosen], SETTINGS, store, workers)
    return {task.id: answer for task, answer in zip(chosen, judged.results, strict=True)}


def disagreement(comparison: Comparison, reference: Judgement, causes: Causes) -> dict[str, object]:
    """Return one disagreement as a row: who said what, what was measured, and the cause if it is known."""
    claim, answer = comparison.claim, comparison.answer
    row = {
        "model": claim.model,
        "task": claim.task,
        "loop": claim.loop,
        "published": "pass" if claim.passed else "fail",
        "cause": causes.of(claim.model, claim.task, claim.loop),
        "program": claim.program,
    }
    if isinstance(answer, Unjudged):
        return {**row, "ours": "not judged", "why": answer.detail}
    failed = next((suite for suite in answer.suites if suite.verdict != "pass"), None)
    return {
        **row,
        "ours": "pass" if failed is None else f"{failed.suite} {failed.verdict}",
        "why": "" if failed is None else f"{failed.reason}, test {failed.test}: {failed.detail}",
        "cpu_seconds": answer.cpu_seconds,
        "slowest_test": answer.slowest_test,
        "reference_cpu_seconds": reference.cpu_seconds,
        "reference_slowest_test": reference.slowest_test,
        "peak_mb": answer.peak_mb,
        "flags": list(answer.flags),
    }


def model_table(compared: Sequence[Comparison]) -> str:
    """Return a row a model, and one for all."""
    models = dict.fromkeys(comparison.claim.model for comparison in compared)
    groups = {model: [row for row in compared if row.claim.model == model] for model in models}
    if len(groups) > 1:
        groups["all"] = list(compared)
    columns = ("model", "cycles", "distinct programs", "agreement", "disagreements", "not judged")
    return table(columns, [(model, *counts(rows)) for model, rows in groups.items()])


def counts(compared: Sequence[Comparison]) -> tuple[object, ...]:
    distinct = len({(row.claim.task, row.claim.program) for row in compared})
    lost = sum(isinstance(row.answer, Unjudged) for row in compared)
    agreeing = sum(row.agrees for row in compared)
    return len(compared), distinct, f"{agreeing / len(compared):.3%}", len(compared) - agreeing - lost, lost


def disagreement_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a row a disagreement, and how often each cause was found, with the evidence."""
    if not rows:
        return "No disagreements.\n"
    columns = ("model", "task", "loop", "published", "ours", "CPU s (reference)", "slowest test (reference)", "flags")
    shown = [
        (row["model"], row["task"], row["loop"], row["published"], row["ours"], *measured(row), row["cause"])
        for row in rows
    ]
    evidence = read_causes().evidence
    counted = Counter(str(row["cause"]) for row in rows).most_common()
    tally = [(number, cause, evidence.get(cause, "")) for cause, number in counted]
    return table((*columns, "cause"), shown) + "\n" + table(("disagreements", "cause", "evidence"), tally)


def measured(row: Mapping[str, object]) -> tuple[str, str, str]:
    """Return the measured columns: times of the program with the reference's beside them, and flags."""
    if "cpu_seconds" not in row:
        return "", "", str(row["why"])
    return (
        f"{row['cpu_seconds']:.2f} ({row['reference_cpu_seconds']:.2f})",
        f"{row['slowest_test']:.2f} ({row['reference_slowest_test']:.2f})",
        " ".join(row["flags"]),
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published_agreement",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", nargs="+", default=[], metavar="MODEL", help="default: all that are there")
    parser.add_argument(
        "--store", type=Path, default=Path("resources/verdicts.sqlite"), help="verdict store (default %(default)s)"
    )
    parser.add_argument("--workers", type=int, default=0, help="programs judged side by side (default 0: one a core)")
    parser.add_argument("--out", type=Path, help="write the disagreements with their programs here (JSON lines)")
    return parser.parse_args()


if __name__ == "__main__":
    exit_with_one_line(main)
