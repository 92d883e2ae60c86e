"""A content-addressed store: what was asked or judged once is never asked or judged again.

A key is the hash of everything that determines the value, so entries are never updated and any number of
processes of one machine may share a file. On a file system shared by machines, WAL's memory is not: set
``EVALOOOP_STORE_JOURNAL=DELETE`` there. Entries are written one by one as they are made: a killed process loses the
one it was at.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalooop.errors import UserError

SCHEMA = "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
# Not part of what an entry is, only of who made it and when (Unix time, s); stores of before do not know it.
LATER_COLUMNS = {"maker": "TEXT NOT NULL DEFAULT ''", "made": "INTEGER NOT NULL DEFAULT 0"}
JOURNAL = "EVALOOOP_STORE_JOURNAL"
# SQLite takes at most 32,766 parameters in a statement; this also keeps single reads short.
CHUNK = 500


def key_of(*parts: Any) -> str:
    """Return the sha256 of the canonical JSON of the parts. 0 and 0.0 differ: give numbers their type before."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Group:
    """The entries of one maker, such as a model's fingerprint ("" for none): number, bytes, unreadable among them.

    ``first`` and ``last`` are Unix times in s; 0 where nobody noted it.
    """

    maker: str
    entries: int
    size: int
    unreadable: int
    first: int
    last: int


class Store:
    """A map from key to JSON object in one SQLite file (WAL mode), safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        """Open a store, or make one.

        Raises:
            UserError: the file is no store, or cannot be made.
        """
        self._path = Path(path)
        self._lock = threading.Lock()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
            self._connection.execute(f"PRAGMA journal_mode={os.environ.get(JOURNAL, 'WAL')}")
            # FULL would wait for the disk at each entry; NORMAL loses at most the last ones in a power cut.
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(SCHEMA)
            self._add_columns()
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{path} cannot be opened as a store ({error}): name another file, or remove this one")
        self._connection.create_function("readable", 1, lambda text: _parsed(text) is not None, deterministic=True)

    def _add_columns(self) -> None:
        if self._columns() >= LATER_COLUMNS.keys():
            return
        # Of several processes that open an old store at once, one adds the columns and the others find them.
        self._connection.execute("BEGIN IMMEDIATE")
        for name in LATER_COLUMNS.keys() - self._columns():
            self._connection.execute(f"ALTER TABLE entries ADD COLUMN {name} {LATER_COLUMNS[name]}")
        self._connection.execute("COMMIT")

    def _columns(self) -> set[str]:
        return {row[1] for row in self._connection.execute("PRAGMA table_info(entries)")}

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get_many(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the entries that are there. One that does not decode counts as missing, with one warning."""
        keys = list(dict.fromkeys(keys))
        found: dict[str, dict[str, Any]] = {}
        broken = 0
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, value FROM entries WHERE key IN ({marks})"
            with self._lock:
                rows = self._connection.execute(query, chunk).fetchall()
            for key, text in rows:
                value = _parsed(text)
                if value is None:
                    broken += 1
                else:
                    found[key] = value
        if broken:
            warnings.warn(f"{broken} unreadable store entries are ignored and made again", stacklevel=2)
        return found

    def put(self, key: str, value: dict[str, Any], maker: str = "") -> None:
        """Keep an entry; replaces one of the same key (which is either equal or unreadable).

        Raises:
            UserError: the disk is full or fails; all entries before this one are kept.
        """
        row = (key, json.dumps(value, ensure_ascii=True), maker, int(time.time()))
        insert = "INSERT OR REPLACE INTO entries (key, value, maker, made) VALUES (?, ?, ?, ?)"
        try:
            with self._lock:
                self._connection.execute(insert, row)
        except sqlite3.OperationalError as error:
            raise UserError(f"cannot write to {self._path} ({error}): what it holds is kept; make room and run again")

    def groups(self) -> list[Group]:
        """Return what the store holds, by maker."""
        query = (
            "SELECT maker, count(*), sum(length(value)), sum(NOT readable(value)), min(made), max(made)"
            " FROM entries GROUP BY maker ORDER BY maker"
        )
        with self._lock:
            return [Group(*row) for row in self._connection.execute(query)]

    def drop_unreadable(self) -> int:
        """Remove the entries that do not decode; return their number."""
        return self._drop("NOT readable(value)")

    def drop_maker(self, maker: str) -> int:
        """Remove a maker's entries; return their number."""
        return self._drop("maker = ?", maker)

    def drop_older(self, made: float) -> int:
        """Remove the entries made before a Unix time in s, undated ones too; return their number."""
        return self._drop("made < ?", made)

    def _drop(self, condition: str, *values: Any) -> int:
        with self._lock:
            dropped = self._connection.execute(f"DELETE FROM entries WHERE {condition}", values).rowcount
            # Gives the space back; waits for other processes' writes, and they for it.
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return dropped

    def __len__(self) -> int:
        with self._lock:
            return self._connection.execute("SELECT count(*) FROM entries").fetchone()[0]


def _parsed(text: str | bytes) -> dict[str, Any] | None:
    """Return the value of an entry, None if it is half-written or garbled."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, dict) else None
