"""Ask a session's model for everything one loop needs: descriptions of the survivors, then programs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from evalooop import processes
from evalooop.engines import open_engine
from evalooop.errors import UserError, exit_with_one_line
from evalooop.files import write_atomically
from evalooop.loop import Asker, lost_steps, open_chains, survivors
from evalooop.models import read_card
from evalooop.orphan import end_with_workflow
from evalooop.plan import read_runs
from evalooop.progress import TokenBar
from evalooop.records import Step, Verdict, read_rows, write_rows
from evalooop.replay import Replay
from evalooop.store import Store
from evalooop.tasks import read_tasks


def main() -> None:
    arguments = parse_arguments()
    end_with_workflow()
    started = time.monotonic()
    tasks = {path.stem: read_tasks(path) for path in arguments.datasets}
    chains = open_chains(read_runs([arguments.runs]), tasks)
    if arguments.loop == 1:
        alive = [(chain, chain.task.prompt) for chain in chains]
    else:
        steps = read_rows(arguments.previous / "generated.jsonl", Step)
        verdicts = read_rows(arguments.previous / "verdicts.jsonl", Verdict)
        alive = survivors(chains, arguments.loop, steps, verdicts)
    rows, timing = ask(arguments, alive) if alive else ([], {})
    cpu = processes.add_up({"cpu_seconds": time.process_time()})
    if not processes.is_first():
        return
    write_rows(arguments.out, rows)
    timing = {
        "session": arguments.session,
        "loop": arguments.loop,
        "stage": "generate",
        "seconds": time.monotonic() - started,
        **cpu,
        **timing,
    }
    write_atomically(arguments.timing, json.dumps(timing) + "\n")


def ask(arguments: argparse.Namespace, alive: list) -> tuple[list[Step], dict[str, Any]]:
    """Return the loop's steps. A model that cannot be had loses its chains, not the other sessions' runs."""
    label = f"{arguments.session} loop {arguments.loop}"
    model = alive[0][0].run.config.model
    with Store(arguments.store) as store, TokenBar(label) as bar:
        try:
            if model.source == "transcripts":
                return Replay(read_card(arguments.card)).steps(arguments.loop, alive), {}
            asker = Asker(open_engine(read_card(arguments.card), model), store, bar)
            if arguments.loop == 1:
                rows = asker.first_loop([chain for chain, _ in alive])
            else:
                rows = asker.next_loop(arguments.loop, alive)
        except UserError as error:
            print(f"error: {arguments.session}: {error}", file=sys.stderr)
            return lost_steps(arguments.loop, alive, str(error)), {}
    return rows, asker.counts(model.price)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.generate", description=__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="runs.json of the session")
    parser.add_argument("--session", required=True)
    parser.add_argument("--loop", type=int, required=True, help="from 1 on")
    parser.add_argument(
        "--datasets", type=Path, nargs="+", required=True, help="one file a dataset, named after its loader"
    )
    parser.add_argument("--card", type=Path, required=True, help="the model card that fetch_model wrote")
    parser.add_argument("--previous", type=Path, help="folder of the loop before; not for loop 1")
    parser.add_argument("--store", type=Path, required=True, help="completion store")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--timing", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    exit_with_one_line(main)
