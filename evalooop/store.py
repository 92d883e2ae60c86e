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
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalooop.errors import UserError

SCHEMA = "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
JOURNAL = "EVALOOOP_STORE_JOURNAL"
# SQLite takes at most 32,766 parameters in a statement; this also keeps single reads short.
CHUNK = 500


def key_of(*parts: Any) -> str:
    """Return the sha256 of the canonical JSON of the parts. 0 and 0.0 differ: give numbers their type before."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """A map from key to JSON object in one SQLite file (WAL mode), safe between threads and processes."""

    def __init__(self, path: Path) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False, isolation_level=None)
        self._connection.execute(f"PRAGMA journal_mode={os.environ.get(JOURNAL, 'WAL')}")
        # FULL would wait for the disk at each entry; NORMAL loses at most the last ones in a power cut.
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(SCHEMA)

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
                try:
                    value = json.loads(text)
                except (ValueError, TypeError):
                    value = None
                if isinstance(value, dict):
                    found[key] = value
                else:
                    broken += 1
        if broken:
            warnings.warn(f"{broken} unreadable store entries are ignored and made again", stacklevel=2)
        return found

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Keep an entry; replaces one of the same key (which is either equal or unreadable).

        Raises:
            UserError: the disk is full or fails; all entries before this one are kept.
        """
        text = json.dumps(value, ensure_ascii=True)
        try:
            with self._lock:
                self._connection.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, text))
        except sqlite3.OperationalError as error:
            raise UserError(f"cannot write to {self._path} ({error}): what it holds is kept; make room and run again")

    def __len__(self) -> int:
        with self._lock:
            return self._connection.execute("SELECT count(*) FROM entries").fetchone()[0]
