"""The store: shared by processes, never trusted blindly, complete up to the entry at which a process died."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from evalooop.store import Store, key_of

WRITER = """
import sys
from evalooop.store import Store, key_of
with Store(sys.argv[1]) as store:
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        store.put(key_of(number), {"number": number})
        print(number, flush=True)
"""


def writer(path, first, last):
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(last)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_was_put_is_found_again(tmp_path):
    with Store(tmp_path / "new" / "store.sqlite") as store:
        store.put("a", {"text": "ü\ud800", "n": 1.5})
    with Store(tmp_path / "new" / "store.sqlite") as store:
        assert store.get_many(["a", "b", "a"]) == {"a": {"text": "ü\ud800", "n": 1.5}}
        assert len(store) == 1


def test_many_keys(tmp_path):
    with Store(tmp_path / "store.sqlite") as store:
        for number in range(1203):
            store.put(str(number), {"n": number})
        assert len(store.get_many(map(str, range(-5, 1300)))) == 1203


def test_an_unreadable_entry_is_a_miss_with_one_warning(tmp_path):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put("good", {"n": 1})
        for key, text in (("half", '{"n": 1'), ("list", "[1]"), ("blob", b"\x00\xff")):
            with sqlite3.connect(path) as other:
                other.execute("INSERT INTO entries (key, value) VALUES (?, ?)", (key, text))
        with pytest.warns(UserWarning, match="3 unreadable") as warned:
            assert store.get_many(["good", "half", "list", "blob"]) == {"good": {"n": 1}}
        assert len(warned) == 1
        store.put("half", {"n": 2})
        assert store.get_many(["half"]) == {"half": {"n": 2}}


def test_eight_processes_write_at_once(tmp_path):
    path = tmp_path / "store.sqlite"
    writers = [writer(path, 40 * number, 40 * number + 60) for number in range(8)]
    assert [process.wait() for process in writers if process.communicate()] == [0] * 8
    with Store(path) as store:
        assert len(store) == 40 * 7 + 60


def test_sixteen_processes_race_for_the_same_entries_of_a_store_that_is_not_there_yet(tmp_path):
    """Row 65: no error, one content."""
    path = tmp_path / "store.sqlite"
    writers = [writer(path, 0, 20) for _ in range(16)]
    assert [process.wait() for process in writers if process.communicate()] == [0] * 16
    with Store(path) as store:
        assert len(store) == 20
        assert store.get_many([key_of(7)]) == {key_of(7): {"number": 7}}


def test_the_journal_is_chosen_by_the_environment(tmp_path, monkeypatch):
    for mode in ("DELETE", "wal"):
        monkeypatch.setenv("EVALOOOP_STORE_JOURNAL", mode)
        with Store(tmp_path / f"{mode}.sqlite") as store:
            store.put("a", {})
            (found,) = sqlite3.connect(tmp_path / f"{mode}.sqlite").execute("PRAGMA journal_mode").fetchone()
            assert found == mode.lower()


def test_a_killed_writer_loses_nothing_it_had_put(tmp_path):
    path = tmp_path / "store.sqlite"
    process = writer(path, 0, 10**9)
    while int(process.stdout.readline()) < 50:
        pass
    os.kill(process.pid, signal.SIGKILL)
    said = [int(line) for line in process.stdout.read().split()[:-1]]
    process.wait()
    with Store(path) as store:
        keys = [key_of(number) for number in range(max([50, *said]) + 1)]
        assert len(store.get_many(keys)) == len(keys)


def test_a_store_of_before_is_read_and_added_to(tmp_path):
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        old.execute("INSERT INTO entries VALUES ('a', '{}')")
    openers = [writer(path, 10 * number, 10 * number + 10) for number in range(4)]
    assert [process.wait() for process in openers if process.communicate()] == [0] * 4
    with Store(path) as store:
        assert store.get_many(["a"]) == {"a": {}}
        (group,) = store.groups()
        assert (group.maker, group.entries, group.first) == ("", 41, 0)


def test_keys_tell_apart_what_differs():
    assert key_of("a", 1) == key_of("a", 1)
    assert len({key_of("a", 1), key_of("a", 2), key_of("a1"), key_of("a", [1]), key_of("a", "1")}) == 5
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
