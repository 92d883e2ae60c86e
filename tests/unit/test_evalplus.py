"""MBPP+ and HumanEval+: where the data comes from, how arguments become Python values, what is left out."""

import ast
import gzip
import hashlib
import http.server
import json
import os
import threading
from pathlib import Path

import pytest

from evalooop.datasets import _evalplus, humanevalplus, mbppplus
from evalooop.datasets._evalplus import Source, judged_suite, read_rows
from evalooop.errors import UserError
from evalooop.tasks import read_tasks, write_tasks
from evalooop.values import encode

DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "mbppplus").is_dir() or not (DATA / "humanevalplus").is_dir(),
    reason="EVALOOOP_DATA names no folder with mbppplus/ and humanevalplus/",
)


def _rows(source: Source) -> dict[str, dict]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALOOOP_DATA", str(DATA))
        return {row["task_id"]: row for row in read_rows(source)}


@pytest.fixture(scope="module")
def mbpp() -> dict[str, dict]:
    return _rows(mbppplus.SOURCE)


@pytest.fixture(scope="module")
def humaneval() -> dict[str, dict]:
    return _rows(humanevalplus.SOURCE)


# ---------------------------------------------------------------- arguments


@needs_data
def test_base_arguments_are_those_of_the_assertions(mbpp):
    """The rows' assertion lines spell the base arguments in Python: an independent source for the conversions."""
    equal, different = set(), set()
    for row in mbpp.values():
        calls = _asserted_arguments(row["assertion"], row["entry_point"])
        if calls is not None:
            same = repr(mbppplus.arguments(row, "base")) == repr(calls)
            (equal if same else different).add(int(row["task_id"].removeprefix("Mbpp/")))
    assert len(equal) == 368
    # Where EvalPlus's own arguments differ from the assertions: repeated or non-text keys that JSON lost (87, 301),
    # outer tuples kept as lists (98, 104, 140, 145), 0.0 for 0 (124), 1+0j for 1 (252), nesting (596).
    assert different == {87, 98, 104, 124, 140, 145, 252, 301, 596}


@needs_data
def test_conversions_name_52_tasks_of_the_data_once(mbpp):
    numbers = [number for _, numbers in mbppplus.CONVERSIONS for number in numbers]
    assert len(numbers) == len(set(numbers)) == 52
    assert all(f"Mbpp/{number}" in mbpp for number in numbers)


@needs_data
def test_counts_are_those_of_the_releases(mbpp, humaneval):
    assert len(mbpp) == 378
    assert sum(len(mbppplus.arguments(row, "base")) for row in mbpp.values()) == 1174
    assert sum(len(mbppplus.arguments(row, "plus")) for row in mbpp.values()) == 39841
    assert len(humaneval) == 164


def _asserted_arguments(assertion: str, entry_point: str) -> list[tuple] | None:
    """Arguments of every call of the entry point in assertion lines, None where they are not literals."""
    calls = [
        node
        for statement in ast.parse(assertion).body
        if isinstance(statement, ast.Assert)
        for node in ast.walk(statement.test)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == entry_point
    ]
    try:
        return [tuple(map(ast.literal_eval, call.args)) for call in calls]
    except ValueError:
        return None


# ---------------------------------------------------------------- tasks


@needs_data
@pytest.mark.parametrize(
    ("number", "rule", "atol"),
    [
        (2, "set_equal", 0),
        (11, "evalplus", 0),
        (82, "evalplus", 1e-4),
        (124, "evalplus", 1e-4),
        (252, "evalplus", 0),
        (558, "digit_distance", 0),
        (581, "surface_area", 0),
        (722, "evalplus", 0),
        (737, "not_none", 0),
        (787, "not_none", 0),
        (793, "evalplus", 0),
        (794, "not_none", 0),
    ],
)
def test_mbpp_tasks(mbpp, tmp_path, number, rule, atol):
    row = mbpp[f"Mbpp/{number}"]
    task = mbppplus.task_from_row(row)
    assert task.prompt == row["prompt"]
    assert task.assertion == row["prompt"].splitlines()[-2]
    assert task.assertion.startswith("assert ")
    assert task.signature.startswith(f"def {task.entry_point}(")
    assert task.signature in row["canonical_solution"].splitlines()
    assert [(suite.name, suite.rule, suite.atol) for suite in task.suites] == [
        ("base", rule, atol),
        ("plus", rule, atol),
    ]
    assert [len(suite.inputs) for suite in task.suites] == [len(row["base_input"]), len(row["plus_input"])]
    if rule == "not_none":
        assert {type(want) for suite in task.suites for want in suite.expected} == {bool}
    write_tasks(tmp_path / "tasks.jsonl", [task])
    read = read_tasks(tmp_path / "tasks.jsonl")[task.id]
    assert read == task
    assert encode(list(read.suites[0].inputs)) == encode(list(task.suites[0].inputs))


@needs_data
def test_every_mbpp_prompt_ends_with_its_assertion(mbpp):
    assert all(row["prompt"].splitlines()[-2].startswith("assert ") for row in mbpp.values())


@needs_data
@pytest.mark.parametrize("number", [0, 2, 10, 32, 38, 64])
def test_humaneval_tasks(humaneval, number):
    row = humaneval[f"HumanEval/{number}"]
    task = humanevalplus.task_from_row(row)
    base, plus = task.suites
    assert task.prompt == row["prompt"]
    assert (len(base.inputs), len(plus.inputs)) == (len(row["base_input"]), len(row["plus_input"]))
    assert base.rule == plus.rule == ("find_zero" if number == 32 else "evalplus")
    assert base.atol == row["atol"]


@needs_data
def test_humaneval_plus_extends_the_same_prompts(humaneval):
    from evalooop.datasets.humaneval import load

    same = [task.prompt == humaneval[task.id]["prompt"] for task in load()]
    assert sum(same) >= 155


@needs_data
@pytest.mark.parametrize("task_id", ["Mbpp/630", "HumanEval/15", "HumanEval/100", "HumanEval/130"])
def test_left_out_tests_are_the_large_ones_and_only_they(mbpp, humaneval, task_id):
    module, rows = (mbppplus, mbpp) if task_id.startswith("Mbpp") else (humanevalplus, humaneval)
    row, left_out = rows[task_id], module.LEFT_OUT[task_id]
    task = module.task_from_row(row)
    assert len(task.suites[1].inputs) == len(row["plus_input"]) - len(left_out)
    assert max(len(json.dumps(encode(want))) for want in task.suites[1].expected) <= 1_000_000
    namespace = {}
    exec(task.reference, namespace)
    given = mbppplus.arguments(row, "plus") if module is mbppplus else row["plus_input"]
    for position in sorted(left_out):
        assert len(json.dumps(encode(namespace[task.entry_point](*given[position])))) > 1_000_000
    assert module.unusable()[task_id].startswith(f"{len(left_out)} plus tests")


@needs_data
def test_large_tests_of_mbpp_255_are_left_out_by_their_size_on_paper(mbpp):
    """Too large to compute here: n elements chosen from m with repetition are n * C(m + n - 1, n) items."""
    from math import comb

    row = mbpp["Mbpp/255"]
    items = [n * comb(len(given) + n - 1, n) if given else 0 for given, n in mbppplus.arguments(row, "plus")]
    assert {position for position, count in enumerate(items) if count > 200_000} == mbppplus.LEFT_OUT["Mbpp/255"]


def test_set_answers_are_stored_in_one_order():
    suite = judged_suite("base", lambda *words: tuple({*words}), [("b", "a", "c")], "set_equal", 0)
    assert suite.expected == (("a", "b", "c"),)


def test_a_reference_that_changes_its_arguments_leaves_the_inputs_alone():
    suite = judged_suite("base", lambda numbers: numbers.pop(), [([1, 2],), ([3],)], "evalplus", 0, left_out={1})
    assert suite.inputs == (([1, 2],),)
    assert suite.expected == (2,)


# ---------------------------------------------------------------- files

CONTENT = b'{"task_id": "Mbpp/1"}\n{"task_id": "Mbpp/2"}\n'


@pytest.fixture
def source() -> Source:
    return Source("folder", "Rows.jsonl.gz", "http://127.0.0.1:9/Rows.jsonl.gz", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def local(source, tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("EVALOOOP_DATA", str(tmp_path))
    path = tmp_path / source.folder / source.file
    path.parent.mkdir()
    return path


def test_local_file_is_read_however_it_was_packed(source, local):
    for level in (1, 9):
        local.write_bytes(gzip.compress(CONTENT, level))
        assert [row["task_id"] for row in read_rows(source)] == ["Mbpp/1", "Mbpp/2"]


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(CONTENT + b"\n"), b"", b"not gzip", gzip.compress(CONTENT)[:-4]],
    ids=["other", "empty", "no gzip", "cut"],  # else the time in gzip's header makes the names of the tests
)
def test_other_or_damaged_content_is_refused_in_one_line(source, local, packed):
    local.write_bytes(packed)
    with pytest.raises(UserError, match=r"Rows\.jsonl\.gz") as error:
        read_rows(source)
    assert "\n" not in str(error.value)


def test_missing_local_file_says_where_it_belongs(source, local):
    with pytest.raises(UserError, match="does not exist: put http://"):
        read_rows(source)


def test_download_is_kept_and_checked(source, tmp_path, monkeypatch):
    monkeypatch.delenv("EVALOOOP_DATA", raising=False)
    monkeypatch.setattr(_evalplus.pooch, "os_cache", lambda name: tmp_path / name)
    served = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            served.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(gzip.compress(CONTENT))

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/Rows.jsonl.gz"
        remote = Source(source.folder, source.file, url, source.sha256)
        assert len(read_rows(remote)) == 2
        assert len(read_rows(remote)) == 2
        assert served == ["/Rows.jsonl.gz"]
        with pytest.raises(UserError, match="not the pinned"):
            read_rows(Source(source.folder, source.file, url, "0" * 64))
    finally:
        server.shutdown()
        server.server_close()


def test_no_network_is_one_line_that_says_what_to_do(source, tmp_path, monkeypatch):
    monkeypatch.delenv("EVALOOOP_DATA", raising=False)
    monkeypatch.setattr(_evalplus.pooch, "os_cache", lambda name: tmp_path / name)
    with pytest.raises(UserError, match=r"cannot download .* put the file into folder/") as error:
        read_rows(source)
    assert "\n" not in str(error.value)
