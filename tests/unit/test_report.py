"""The report: everything escaped, nothing fetched, incomplete experiments named and made again."""

import base64
import html
import json
import re
import shutil
import subprocess
import sys

import polars as pl
import pytest

from evalooop.audit import audit
from evalooop.records import Similarity, write_rows
from evalooop.report import (
    PROGRAM_FLAGS,
    count_program_flags,
    find_failures,
    format_number,
    format_share,
    format_usd,
    format_work,
    image_source,
    settings_tables,
    stage_totals,
    unlike_setups,
)
from evalooop.report_chains import PAGE_BYTES, chain_files, verdict_words
from evalooop.scores import judged_fates
from scripts import report as command
from tests.synthetic import chain_table, cost_of, manifest, metrics_of, plan_of, similarity_of

HOSTILE = "</script><script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">&\u2028"
SVG = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><path style="fill: #222222"/></svg>'


def write_experiment(folder, chains, manifest=manifest(), **settings):  # noqa: B008 (never changed)
    """Write what the report reads of an experiment."""
    metrics = metrics_of(chains)
    chains.write_parquet(folder / "chains.parquet")
    audited = audit(chains, judged_fates(chains, similarity_of(chains)), {})
    contents = {
        "metrics": metrics,
        "audit": audited,
        "reliability": {"studies": []},
        "cost": cost_of(chains),
        "manifest": manifest,
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / "plan.json").write_text(plan_of(chains, **settings).to_json())
    write_rows(folder / "similarity.jsonl", similarity_of(chains))
    (folder / "figures").mkdir(exist_ok=True)
    for name in ("survival", "chain_map"):
        (folder / "figures" / f"{name}.svg").write_text(SVG)
    return metrics


def make_report(folder, monkeypatch):
    """Run the command on an experiment's folder and return its exit status."""
    arguments = [
        f"--{name}={folder}/{name}.json" for name in ("plan", "metrics", "audit", "reliability", "cost", "manifest")
    ]
    arguments += [f"--chains={folder}/chains.parquet", f"--similarity={folder}/similarity.jsonl"]
    arguments += ["--figures", f"{folder}/figures/survival.svg", f"{folder}/figures/chain_map.svg"]
    arguments += [f"--out={folder}/report.html", f"--pages={folder}/report_chains"]
    monkeypatch.setattr(sys, "argv", ["report", *arguments])
    return command.main()


def read_calls(folder):
    """Return the (function, arguments) of every side file, as a browser would parse them."""
    calls = {}
    for path in sorted(folder.glob("*.js")):
        function, arguments = re.fullmatch(r"(\w+)\((.*)\);\n", path.read_text(encoding="utf-8"), re.S).groups()
        calls[path.name] = (function, json.loads(f"[{arguments}]"))
    return calls


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """The folder of a complete experiment of two runs with its report."""
    write_experiment(tmp_path, chain_table(runs=2), max_infra_share=1.0)
    assert make_report(tmp_path, monkeypatch) == 0
    return tmp_path


def test_the_page_asks_nothing_of_any_network(whole):
    page = (whole / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href|action)\s*=\s*["']?\s*(https?:)?//""", page)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket|innerHTML|eval\(", page)
    assert "https://" not in page
    assert "http://" not in page
    assert "default-src 'none'" in html.unescape(page)
    sources = re.findall(r'src="([^"]*)"', page)
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)


def test_equal_experiments_give_equal_bytes(whole, tmp_path_factory, monkeypatch):
    other = tmp_path_factory.mktemp("other")
    write_experiment(other, chain_table(runs=2), max_infra_share=1.0)
    make_report(other, monkeypatch)
    for path in [whole / "report.html", *(whole / "report_chains").iterdir()]:
        assert path.read_bytes() == (other / path.relative_to(whole)).read_bytes()


def test_the_page_shows_scores_settings_and_links(whole):
    page = (whole / "report.html").read_text(encoding="utf-8")
    for run in json.loads((whole / "metrics.json").read_text())["runs"]:
        assert format_number(run["scores"]["asl"]) in page
        assert format_share(run["scores"]["pass_at_1"]) in page
    assert "sha256:fedcba9876543210" in page
    assert 'href="figures/survival.svg"' in page
    assert "The judge “self” scored" in page
    assert "This experiment is incomplete" not in page


def test_every_chain_is_in_the_side_files(whole):
    chains = pl.read_parquet(whole / "chains.parquet")
    calls = read_calls(whole / "report_chains")
    seen = {}
    for function, arguments in calls.values():
        if function == "evalooopIndex":
            run, index = arguments
            assert f"{index['stem']}.js" in calls
            for number, chain in enumerate(index["chains"]):
                _, (_, _, texts) = calls[f"{index['stem']}.{chain['page']}.js"]
                seen[run, chain["task"], chain["sample"]] = texts[str(number)]
    for key, rows in chains.group_by("run", "task", "sample"):
        loops = seen.pop(key)
        for loop, row in zip(loops, rows.sort("loop").iter_rows(named=True), strict=True):
            assert loop["words"] == row["words"]
            assert loop.get("code") == row["code"]
            assert loop["verdict"] == verdict_words(row)
    assert not seen


def test_hostile_text_stays_text(tmp_path, monkeypatch):
    chains = chain_table(tasks=3)
    columns = ("task", "words", "description", "prompt", "answer", "code", "verdict_detail", "detail", "model")
    hostile = chains.with_columns(pl.lit(HOSTILE).alias(column) for column in columns)
    # The tasks now share a name: samples keep the chains apart.
    apart = chains["task"].rank("dense").cast(pl.Int64)
    hostile = hostile.with_columns(pl.lit(f"{HOSTILE}/../x").alias("run"), sample=apart)
    evil = {**manifest(), HOSTILE: {HOSTILE: HOSTILE}}
    write_experiment(tmp_path, hostile, manifest=evil, max_infra_share=1.0)
    assert make_report(tmp_path, monkeypatch) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert page.lower().count("<script") == page.lower().count("</script>") == 2
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    assert json.loads(data)["runs"][0]["run"] == f"{HOSTILE}/../x"
    # The run's name, slashes and all, is no path.
    calls = read_calls(tmp_path / "report_chains")
    assert len(calls) == 2
    assert HOSTILE in json.dumps([*calls.values()], ensure_ascii=False)[1:].replace('\\"', '"')


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_a_browser_opens_a_hostile_chain_as_text(tmp_path, monkeypatch):
    chains = chain_table(tasks=1).with_columns(pl.lit(HOSTILE).alias(name) for name in ("code", "words", "task"))
    write_experiment(tmp_path, chains, max_infra_share=1.0)
    make_report(tmp_path, monkeypatch)
    address = f"file://{tmp_path}/report.html#run={chains['run'][0]}&task=" + re.sub(
        "[^a-z]", lambda match: "".join(f"%{byte:02x}" for byte in match[0].encode()), HOSTILE
    )
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    browser = ["chromium", *flags.split(), f"--user-data-dir={tmp_path}/browser", "--virtual-time-budget=5000"]
    shown = subprocess.run(
        [*browser, "--dump-dom", address], capture_output=True, text=True, timeout=100, check=True
    ).stdout
    assert '<pre class="code"><code>&lt;/script&gt;&lt;script&gt;' in shown
    assert "<title>EvaLooop · synthetic</title>" in shown


@pytest.mark.parametrize("reason", ["gated model", "lost chains"])
def test_an_incomplete_experiment_exits_1_beside_and_is_made_again(reason, tmp_path, monkeypatch, capsys):
    chains = chain_table(tasks=40)
    failures = [{"session": "session-a", "reason": "the model is gated"}] if reason == "gated model" else []
    broken = {**manifest(), "failures": failures}
    share = 1.0 if failures else 0.001
    assert chains["passed"].null_count() > 0
    write_experiment(tmp_path, chains, manifest=broken, max_infra_share=share)
    kept, lost = tmp_path / "session-b/loop01/generated.jsonl", tmp_path / "session-a/loop03/generated.jsonl"
    card = tmp_path / "models/session-a.json"
    for path in (kept, lost, card):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")

    assert make_report(tmp_path, monkeypatch) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("incomplete: session-a: ")
    assert ("the model is gated" if failures else "chains lost to infrastructure errors") in lines[0]
    assert lines[-1].endswith("run the same command again to retry")
    assert len(lines) == 2
    assert kept.exists()
    assert not lost.exists()
    assert not card.exists()
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "report_chains").exists()
    page = (tmp_path / "report.incomplete.html").read_text(encoding="utf-8")
    assert "This experiment is incomplete" in page
    assert '"folder": "report_chains.incomplete"' in page
    assert list((tmp_path / "report_chains.incomplete").glob("*.js"))

    write_experiment(tmp_path, chains, max_infra_share=1.0)
    assert make_report(tmp_path, monkeypatch) == 0
    assert (tmp_path / "report.html").exists()
    assert not (tmp_path / "report.incomplete.html").exists()
    assert not (tmp_path / "report_chains.incomplete").exists()


def test_the_share_of_lost_chains_is_a_limit_that_may_be_reached():
    chains = chain_table(tasks=50)
    metrics = metrics_of(chains)
    run = metrics["runs"][0]
    run.update(attempted=49, infra=1)
    sessions = {run["run"]: "s"}
    assert find_failures(chains, metrics, manifest(), sessions, 0.02) == ()
    (failure,) = find_failures(chains, metrics, manifest(), sessions, 0.019)
    assert failure.session == "s"
    assert "1 of 50 chains" in failure.reason
    # A session that failed as a whole is named once, not again for each of its runs.
    whole = {"failures": [{"session": "s", "reason": "gated"}]}
    assert len(find_failures(chains, metrics, whole, sessions, 0.0)) == 1


def test_an_empty_experiment_has_a_page(tmp_path, monkeypatch):
    write_experiment(tmp_path, chain_table(tasks=1))
    empty = chain_table(tasks=0)
    empty.write_parquet(tmp_path / "chains.parquet")
    (tmp_path / "metrics.json").write_text(json.dumps({**metrics_of(chain_table(tasks=0)), "runs": []}))
    assert make_report(tmp_path, monkeypatch) == 0
    assert "No chain was attempted." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_files_of_runs_that_are_gone_are_removed_and_nothing_else(whole, monkeypatch):
    note = whole / "report_chains" / "note.txt"
    note.write_text("mine")
    before = {path.name for path in (whole / "report_chains").iterdir()}
    write_experiment(whole, chain_table(runs=1), max_infra_share=1.0)
    make_report(whole, monkeypatch)
    after = {path.name for path in (whole / "report_chains").iterdir()}
    assert before - after == {"model-1-starter-plain_chat-t0-s0.js", "model-1-starter-plain_chat-t0-s0.1.js"}
    assert note.exists()


def test_texts_are_split_into_pages():
    chains = chain_table(tasks=9).with_columns(answer=pl.lit("x" * (PAGE_BYTES // 3)))
    (run,) = chain_files(chains, [], {})
    sizes = [len(content) for content in run.contents.values()]
    assert len(sizes) > 3
    # A page is closed by the chain that fills it, and a chain has at most ten loops.
    assert max(sizes) < PAGE_BYTES * 5
    assert len(run.contents[run.index]) < 10_000


def test_runs_whose_names_become_alike_keep_files_of_their_own():
    chains = chain_table(tasks=2)
    names = ["a/b", "a.b", "A.b", "a_b"]
    both = pl.concat(chains.with_columns(pl.lit(name).alias("run")) for name in names)
    files = list(chain_files(both, [], {}))
    assert {run.run for run in files} == set(names)
    written = [name.lower() for run in files for name in run.contents]
    assert len(set(written)) == len(written)


def test_the_judges_reply_stands_at_its_boundary():
    chains = chain_table(tasks=30)
    broken = chains.filter(~pl.col("passed"), pl.col("loop") > 1).row(0, named=True)
    key = (broken["run"], broken["task"], broken["sample"], broken["loop"] - 1)
    (run,) = chain_files(chains, [Similarity(*key, "no idea", None)], {})
    judged = [
        (loop["loop"], loop["judge"])
        for name, content in run.contents.items()
        if name != run.index
        for loops in json.loads(f"[{content[len('evalooopTexts(') : -3]}]")[2].values()
        for loop in loops
        if "judge" in loop
    ]
    assert judged == [(broken["loop"] - 1, {"score": None, "reply": "no idea"})]


def test_verdicts_in_words():
    row = chain_table(tasks=1).row(0, named=True) | {"status": "ok", "passed": False}
    failed = row | {"base": "pass", "plus": "fail", "failing_test": 13, "reason": "wrong", "verdict_detail": "f(1)"}
    assert verdict_words(failed) == "failed on plus, test 13, wrong: f(1)"
    late = row | {"base": "timeout", "plus": "fail", "failing_test": None, "reason": "", "verdict_detail": ""}
    assert verdict_words(late) == "ran out of time on base"
    cut = late | {"base": "fail", "status": "truncated"}
    assert verdict_words(cut) == "answer cut off at the token limit; failed on base"
    assert verdict_words(row | {"passed": True, "plus": None}) == "passed base"
    assert verdict_words(row | {"passed": None, "detail": "HTTP 503"}) == "infrastructure error: HTTP 503"


def test_scores_in_words():
    assert format_number({"value": 4.213, "low": 3.9, "high": 4.5}) == "4.21 (3.90–4.50)"
    assert format_number({"value": None, "low": None, "high": None}) == "–"
    assert format_share({"value": 0.5, "low": None, "high": None}) == "50 %"


def test_work_is_summed_over_loops_whatever_else_a_stage_notes():
    rows = [{"session": "s", "loop": loop, "stage": "execute", "seconds": 1.5, "programs": 700} for loop in (1, 2)]
    totals = stage_totals({"stages": [*rows, {"session": "s", "loop": 1, "stage": "generate", "host": "x"}]})
    assert totals["execute"]["seconds"] == 3
    assert format_work(totals["execute"]) == "1,400 programs"
    assert format_work(totals["generate"]) == ""


def test_work_tells_speed_money_and_what_was_lost():
    row = {"asked": 4, "asked_tokens": 300, "asked_seconds": 1.5, "stored": 0, "failed": 1, "retries": 3, "usd": 0.75}
    totals = stage_totals({"stages": [{"loop": loop, "stage": "generate", **row} for loop in (1, 2)]})
    words = "8 answers asked for, 2 not to be had, 6 asked again, 200 tokens/s, US$ 1.50"
    assert format_work(totals["generate"]) == words
    assert format_usd(0.00042) == "US$ 0.0004"


def test_settings_become_tables_of_dotted_keys():
    tables = settings_tables({"git": "abc", "settings": {"a": {"b": [1, 2]}}, "runs": [{"x": None}], "failures": []})
    assert tables == {"general": [("git", "abc")], "settings": [("a.b", "1, 2")], "runs": [("1.x", "null")]}


def test_figures_change_their_ink_on_a_dark_screen():
    svg = base64.b64decode(image_source(SVG).split(",", 1)[1]).decode()
    assert '[style*="fill: #222222"]{fill:#E4E3DF!important}' in svg
    assert svg.index("<style>") > svg.index("<svg")


def test_a_weaker_sandbox_is_shown_in_red(tmp_path, monkeypatch, whole):
    assert "weaker sandbox" not in (whole / "report.html").read_text(encoding="utf-8")
    settings = {**manifest()["settings"], "sandbox": {"isolation": "landlock"}}
    write_experiment(tmp_path, chain_table(runs=2), manifest={**manifest(), "settings": settings}, max_infra_share=1.0)
    make_report(tmp_path, monkeypatch)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<section class="banner alarm"' in page
    assert "sandbox.isolation=landlock" in page


def test_page_names_flagged_programs_disputed_tests_and_what_was_left_out(whole):
    chains = pl.read_parquet(whole / "chains.parquet")
    page = (whole / "report.html").read_text(encoding="utf-8")
    rows = count_program_flags(chains)
    borderline = chains.filter(pl.col("flags").list.contains("borderline"))
    assert sum(row["programs"] for row in rows) == len(borderline) > 0
    assert sum(row["passing"] for row in rows) == borderline["passed"].sum()
    assert PROGRAM_FLAGS["borderline"] in page
    assert "the prompt does not say where the range ends" in page
    assert "its answer is too large" in page


def test_runs_over_different_tasks_are_not_compared_in_silence(whole, tmp_path, monkeypatch):
    """Row 57."""
    assert "do not compare" not in (whole / "report.html").read_text(encoding="utf-8")
    chains = chain_table(runs=2)
    first = chains["run"][0]
    fewer = chains.filter((pl.col("run") != first) | (pl.col("task") != chains["task"][0]))
    write_experiment(tmp_path, fewer, max_infra_share=1.0)
    make_report(tmp_path, monkeypatch)
    total = chains["task"].n_unique()
    page = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    assert f"asked different tasks: {total} in all, {total - 1} of them asked by every run" in page


BF16 = "bfloat16, sdpa, NVIDIA L4, batch"


@pytest.mark.parametrize(
    ("generation", "told"),
    [
        ({}, False),
        ({"a": ["float32, sdpa, CPU, batch 16"], "b": ["float32, sdpa, CPU, batch 4"]}, False),
        ({"a": [f"{BF16} 8"], "b": [f"{BF16} 8"], "c": []}, False),
        ({"a": [f"{BF16} 8"], "b": [f"{BF16} 4"]}, True),
        ({"a": [f"{BF16} 8", f"{BF16} 4"]}, True),
        ({"a": ["float32, sdpa, CPU, batch 16"], "b": [f"{BF16} 16"]}, True),
    ],
)
def test_runs_that_were_not_made_alike_are_told(tmp_path, monkeypatch, generation, told):
    """Row 21: in half precision batch size, device and attention may change a text."""
    made = manifest() | {"generation": generation}
    assert unlike_setups(made) == (generation if told else {})
    write_experiment(tmp_path, chain_table(runs=2), made, max_infra_share=1.0)
    make_report(tmp_path, monkeypatch)
    assert ("not all made alike" in (tmp_path / "report.html").read_text()) == told
