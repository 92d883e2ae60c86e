"""Gather what each stage of an experiment took."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from evalooop.errors import exit_with_one_line
from evalooop.files import write_atomically


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.cost", description=__doc__)
    parser.add_argument("--timings", type=Path, nargs="+", required=True, help="timing files of the stages")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    stages = []
    for path in arguments.timings:
        timing = json.loads(path.read_text(encoding="utf-8"))
        stages += timing if isinstance(timing, list) else [timing]
    write_atomically(arguments.out, json.dumps({"stages": stages}, indent=1) + "\n")


if __name__ == "__main__":
    exit_with_one_line(main)
