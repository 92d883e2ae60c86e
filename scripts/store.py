"""Show what a store of answers or verdicts holds, and remove what is no longer wanted; safe while others write."""

from __future__ import annotations

import argparse
import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from evalooop.errors import UserError, exit_with_one_line
from evalooop.store import Group, Store

DAY = 86_400


def main() -> None:
    arguments = parse_arguments()
    if not arguments.store.is_file():
        raise UserError(f"there is no store {arguments.store}; the workflow keeps its own in resources/")
    try:
        with Store(arguments.store) as store:
            dropped = prune(store, arguments)
            groups = store.groups()
    except sqlite3.DatabaseError as error:
        raise UserError(f"{arguments.store} cannot be used as a store ({error}); if it is damaged, delete it")
    if dropped is not None:
        print(f"removed {dropped} entries")
    print(table(groups, names(Path("results"))))
    print(
        f"{arguments.store}: {sum(group.entries for group in groups)} entries, {arguments.store.stat().st_size:,} bytes"
    )


def prune(store: Store, arguments: argparse.Namespace) -> int | None:
    """Remove what the options name; return the number of entries, or None if they name nothing."""
    if arguments.prune_unreadable:
        return store.drop_unreadable()
    if arguments.prune_model is not None:
        return store.drop_maker(one_maker(store.groups(), arguments.prune_model))
    if arguments.prune_older is not None:
        return store.drop_older(time.time() - arguments.prune_older * DAY)
    return None


def one_maker(groups: Sequence[Group], start: str) -> str:
    """Return the only maker whose fingerprint starts so."""
    found = [group.maker for group in groups if shown(group.maker).startswith(start)]
    if len(found) != 1 or not start:
        raise UserError(f"--prune-model {start}: {len(found)} fingerprints start so; give one as the table shows it")
    return found[0]


def names(results: Path) -> dict[str, str]:
    """Return the name of each model that has a card in a folder of results, by its fingerprint."""
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*/models/*.json"))]
    return {card["fingerprint"]: card["name"] for card in cards if "fingerprint" in card}


def table(groups: Sequence[Group], names: dict[str, str]) -> str:
    """Return a line for each maker: fingerprint, name if a card tells it, numbers and dates."""
    lines = [f"{'model':24} {'fingerprint':24} {'entries':>8} {'bytes':>12} {'unreadable':>10}  made"]
    for group in groups:
        name = names.get(group.maker.partition(":")[0], "-")
        dates = " to ".join(dict.fromkeys(map(date, (group.first, group.last))))
        lines.append(
            f"{name:24} {shown(group.maker) or '-':24} {group.entries:8} {group.size:12,}"
            f" {group.unreadable:10}  {dates}"
        )
    return "\n".join(lines)


def shown(maker: str) -> str:
    """Return a fingerprint as it is shown: enough of its digits, and what follows them, such as the dtype."""
    digits, colon, rest = maker.partition(":")
    return digits[:12] + colon + rest


def date(made: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(made)) if made else "undated"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.store", description=__doc__)
    parser.add_argument("store", type=Path, help="such as resources/completions.sqlite")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--prune-unreadable", action="store_true", help="remove half-written and garbled entries")
    action.add_argument(
        "--prune-model", metavar="FINGERPRINT", help="remove a model's answers; its first digits will do"
    )
    action.add_argument("--prune-older", metavar="DAYS", type=float, help="remove entries older than this, or undated")
    return parser.parse_args()


if __name__ == "__main__":
    exit_with_one_line(main)
