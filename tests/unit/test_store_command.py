"""``python -m scripts.store``: what is in a store, and out of it again, while others go on writing."""

import json
import sqlite3
import sys
import time

import pytest

from evalooop.errors import UserError
from evalooop.store import Store, key_of
from scripts import store as command
from tests.unit.test_store import writer

ONE, OTHER = "a" * 64 + ":float32", "a" * 64 + ":bfloat16"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command on a store and return what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["store", "store.sqlite", *arguments])
        command.main()
        return capsys.readouterr().out

    return run


@pytest.fixture
def path(tmp_path):
    """A store of two models, an entry that is half written, and one from before dates were noted."""
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        for number in range(3):
            store.put(f"one {number}", {"n": number}, ONE)
        store.put("other", {"n": 0}, OTHER)
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO entries (key, value, maker, made) VALUES ('half', '{\"n\"', ?, 0)", (OTHER,))
        other.execute("INSERT INTO entries (key, value) VALUES ('old', '{}')")
    return path


def keys(path):
    with sqlite3.connect(path) as store:
        return {key for (key,) in store.execute("SELECT key FROM entries")}


def test_the_table_says_whose_entries_there_are(run, path, tmp_path):
    cards = tmp_path / "results" / "demo" / "models"
    cards.mkdir(parents=True)
    (cards / "tiny.json").write_text(json.dumps({"name": "tiny", "fingerprint": "a" * 64}))
    (cards / "lost.json").write_text(json.dumps({"name": "lost", "error": "gated"}))
    today = time.strftime("%Y-%m-%d")
    _, *rows, total = run().splitlines()
    assert [row.split() for row in rows] == [
        ["-", "-", "1", "2", "0", "undated"],
        ["tiny", "aaaaaaaaaaaa:bfloat16", "2", "12", "1", "undated", "to", today],
        ["tiny", "aaaaaaaaaaaa:float32", "3", "24", "0", today],
    ]
    assert total.startswith("store.sqlite: 6 entries, ")


def test_each_way_to_prune_removes_just_that(run, path):
    everything = keys(path)
    assert run("--prune-unreadable").startswith("removed 1 entries")
    assert keys(path) == everything - {"half"}
    with Store(path) as store:
        store.put("half", {}, OTHER)
    run("--prune-model", "aaaaaaaaaaaa:b")
    assert keys(path) == everything - {"half", "other"}
    run("--prune-older", "1")
    assert keys(path) == {"one 0", "one 1", "one 2"}
    run("--prune-older", "-1")
    assert keys(path) == set()


def test_what_cannot_be_meant_is_one_line(run, path, tmp_path):
    for start in ("aaaa", "bbbb", ""):
        with pytest.raises(UserError, match="fingerprints start so"):
            run("--prune-model", start)
    assert len(keys(path)) == 6
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(UserError, match="cannot be opened as a store"):
        run()
    path.unlink()
    with pytest.raises(UserError, match="there is no store"):
        run()
    assert not path.exists()


def test_pruning_gives_the_space_back_and_loses_nothing_of_eight_writers(run, path):
    with Store(path) as store:
        for number in range(400):
            store.put(f"large {number}", {"text": "x" * 5000}, ONE)
    large = path.stat().st_size
    writers = [writer(path, 150 * number, 150 * number + 150) for number in range(8)]
    run("--prune-model", "aaaaaaaaaaaa:f")
    while any(process.poll() is None for process in writers):
        run("--prune-unreadable")
    assert [process.wait() for process in writers if process.communicate()] == [0] * 8
    with Store(path) as store:
        assert len(store.get_many(key_of(number) for number in range(1200))) == 1200
    assert path.stat().st_size < large / 4
