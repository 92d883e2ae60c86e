"""Print the runs of an experiment, or write them as the plan that the other stages read.

python -m scripts.plan experiment=demo
python -m scripts.plan experiment=demo temperature=0,0.4
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically
from evalooop.plan import Plan, expand, session_to_json


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.plan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("overrides", nargs="*", help="in Hydra's syntax, such as experiment=demo temperature=0,0.4")
    parser.add_argument("-m", "--multirun", action="store_true", help="as in Hydra; sweeps are expanded either way")
    parser.add_argument("--conf", type=Path, default=Path("conf"), help="folder of configuration groups")
    parser.add_argument("--name", default="", help="name of the plan that is written")
    parser.add_argument("--session", help="write the runs of this session only")
    parser.add_argument("--out", type=Path, help="write the plan here instead of printing its runs")
    arguments = parser.parse_args()
    if arguments.session and not arguments.out:
        parser.error("--session needs --out")
    plan = expand(arguments.conf, arguments.name, arguments.overrides)
    if arguments.session:
        write_atomically(arguments.out, session_to_json(plan, arguments.session))
    elif arguments.out:
        write_atomically(arguments.out, plan.to_json())
    else:
        print(table(plan))


def table(plan: Plan) -> str:
    """Return the runs as aligned text, one a line."""
    rows = [("run", "session", "dataset", "prompt", "M", "temperature", "samples")]
    for run in plan.runs:
        config = run.config
        rows.append(
            (
                run.name,
                run.session,
                config.dataset.name,
                config.prompt.name,
                str(config.loop.max_loops),
                f"{config.temperature:g}",
                str(config.samples),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, f"{len(plan.runs)} runs in {len(plan.sessions)} sessions"])


if __name__ == "__main__":
    exit_with_one_line(main)
