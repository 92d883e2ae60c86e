"""Figures: written in every form, the same bytes every time, and true to the tables they are drawn from."""

import json
import os
import subprocess
import sys

import polars as pl
import pytest

from evalooop import figures
from evalooop.audit import audit
from evalooop.config import FigureConfig
from evalooop.errors import UserError
from evalooop.figures import chain_map
from evalooop.figures.outcomes import OUTCOMES, chain_ends, with_outcome
from evalooop.figures.style import run_labels, shorten
from evalooop.plan import from_option
from evalooop.scores import judged_fates
from tests.synthetic import chain_table, cost_of, metrics_of, similarity_of

SETTINGS = FigureConfig(dpi=80)


def inputs(**size):
    chains = chain_table(**size)
    audited = audit(chains, judged_fates(chains, similarity_of(chains)), {})
    return chains, {**metrics_of(chains), "cost": cost_of(chains), "audit": audited, "reliability": {"studies": []}}


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


COMPARISONS = {"leaderboard", "rank_shift", "drop_pass", "size_asl", "corrections"}
"""Figures that have nothing to show of one model, or of one without findings."""

SWEEPS = {"condition_heat", "condition_agreement", "attack_drop"}
"""Figures of conditions, of which these inputs have one."""


def test_figures_are_found_by_name():
    assert {"survival", "asl", "chain_map", "cost"} <= set(figures.names())
    with pytest.raises(UserError, match="there is no figure 'style'; there are asl, attack_drop"):
        figures.module("style")


@pytest.mark.parametrize("name", figures.names())
def test_every_form_is_written_with_the_same_bytes_twice(name, tmp_path):
    written = []
    for stem in (tmp_path / "one", tmp_path / "two"):
        chains, metrics = inputs(runs=2, tasks=30)
        paths = figures.save(figures.module(name).draw(chains, metrics, SETTINGS), stem)
        assert [path.suffix for path in paths] == [".svg", ".pdf", ".png"]
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    svg, pdf, png = written[0]
    assert svg.startswith(b"<?xml")
    assert pdf.startswith(b"%PDF")
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", figures.names())
@pytest.mark.parametrize("runs", [1, 12])
def test_one_run_and_twelve_are_drawn(name, runs):
    chains, metrics = inputs(runs=runs, tasks=12)
    figure = figures.module(name).draw(chains, metrics, SETTINGS)
    figure.draw_without_rendering()
    if (runs == 1 and name in COMPARISONS) or name in SWEEPS:
        (why,) = (text for text in texts(figure) if text)
        assert any(words in why for words in ("needs", "no correction", "no attacks"))
    else:
        assert figure.axes
        assert not any("no chain was attempted" in text for text in texts(figure))


@pytest.mark.parametrize("name", figures.names())
def test_an_empty_table_says_that_nothing_was_attempted(name, tmp_path):
    chains = chain_table(tasks=0)
    metrics = {
        "runs": [],
        "rankings": [],
        "cost": {"stages": []},
        "audit": {"runs": []},
        "reliability": {"studies": []},
    }
    figure = figures.module(name).draw(chains, metrics, SETTINGS)
    words = [text for text in texts(figure) if text]
    assert not figure.axes
    assert len(words) == 1
    figures.save(figure, tmp_path / name)
    assert figures.module(name).numbers(chains, metrics).is_empty()


@pytest.mark.parametrize("name", ["survival", "asl"])
def test_a_run_without_attempted_chains_leaves_the_others_standing(name):
    chains, metrics = inputs(runs=2, tasks=10)
    lost = metrics["runs"][1]
    lost["survival"] = [None] * 10
    lost["scores"] = {score: {"value": None, "low": None, "high": None} for score in lost["scores"]}
    figure = figures.module(name).draw(chains, metrics, SETTINGS)
    figure.draw_without_rendering()
    assert figure.axes


def test_survival_numbers_are_those_of_the_metrics():
    chains, metrics = inputs(runs=2)
    table = figures.module("survival").numbers(chains, metrics)
    for run in metrics["runs"]:
        assert table.filter(run=run["run"])["share"].to_list() == run["survival"]


def test_asl_numbers_are_those_of_the_metrics():
    chains, metrics = inputs(runs=3)
    rows = figures.module("asl").numbers(chains, metrics).rows(named=True)
    for row, run in zip(rows, metrics["runs"], strict=True):
        score = run["scores"]["asl"]
        assert (row["asl"], row["low"], row["high"]) == (score["value"], score["low"], score["high"])
        assert row["unweighted"] == run["scores"]["asl_unweighted"]["value"]


def test_cost_numbers_keep_every_stage():
    chains, metrics = inputs()
    table = figures.module("cost").numbers(chains, metrics)
    stages = metrics["cost"]["stages"]
    assert len(table) == len(stages)
    assert table["seconds"].sum() == pytest.approx(sum(stage["seconds"] for stage in stages))
    assert table["new_tokens"].sum() == chains["new_tokens"].sum()
    assert table.filter(stage="execute")["new_tokens"].null_count() == table.filter(stage="execute").height


def test_chain_map_numbers_agree_with_the_histogram():
    chains, metrics = inputs(runs=2, tasks=60)
    table = figures.module("chain_map").numbers(chains, metrics)
    for run in metrics["runs"]:
        counted = table.filter(pl.col("run") == run["run"], pl.col("end") != "infra")
        assert [(counted["survived"] == loops).sum() for loops in range(11)] == run["histogram"]
        assert table.filter(run=run["run"], end="infra").height == run["infra"]


def test_chain_ends_are_sorted_by_loops_survived():
    ends = chain_ends(chain_table(runs=2, tasks=40))
    for part in ends.partition_by("run"):
        assert part["survived"].to_list() == sorted(part["survived"], reverse=True)


def step(passed, status="ok", base="pass", plus="pass"):
    return {"passed": passed, "status": status, "base": base, "plus": plus}


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        (step(True), "passed"),
        (step(True, status="truncated"), "passed"),
        (step(True, plus=None), "passed"),
        (step(False, base="fail", plus="fail"), "base"),
        (step(False, base="fail", plus=None), "base"),
        (step(False, plus="fail"), "plus"),
        (step(False, base="timeout", plus="fail"), "limit"),
        (step(False, plus="memory"), "limit"),
        (step(False, status="no_code", base="fail", plus="fail"), "answer"),
        (step(False, status="incomplete_reasoning", base="fail", plus="fail"), "answer"),
        (step(None, status="infra_error", base=None, plus=None), "infra"),
        (step(None, base=None, plus=None), "infra"),
    ],
)
def test_outcome_of_a_loop(row, outcome):
    chains = pl.DataFrame([row], {"passed": pl.Boolean, "status": pl.String, "base": pl.String, "plus": pl.String})
    assert with_outcome(chains)["outcome"].to_list() == [outcome]
    assert outcome in OUTCOMES


def test_a_chain_that_stops_while_passing_is_told_from_one_that_reached_the_end():
    chains = chain_table(tasks=60)
    through = chain_ends(chains).filter(end="passed")["task"][0]
    short = chains.filter((pl.col("task") != through) | (pl.col("loop") <= 4))
    end = chain_ends(short).row(by_predicate=pl.col("task") == through, named=True)
    assert (end["survived"], end["end"]) == (4, "censored")


def test_many_failures_in_loop_1_become_one_labelled_band():
    chains, metrics = inputs(tasks=200)
    dead = (chain_ends(chains)["survived"] == 0).sum()
    assert dead > chain_map.MOST_OPEN_FAILURES
    assert f"{dead} ended\nin loop 1" in texts(chain_map.draw(chains, metrics, SETTINGS))
    few, metrics = inputs(tasks=chain_map.MOST_OPEN_FAILURES)
    assert not any("ended" in text for text in texts(chain_map.draw(few, metrics, SETTINGS)))


def test_runs_are_labelled_by_what_tells_them_apart():
    common = {"model": "m", "dataset": "d", "prompt_variant": "p", "perturbation": "none", "temperature": 0.0}
    common |= {"seed": 0, "max_loops": 10}
    assert run_labels([{"run": "only", **common}]) == {"only": "m"}
    hot = {"run": "hot", **common, "temperature": 0.8}
    assert run_labels([{"run": "cold", **common}, hot]) == {"cold": "T = 0", "hot": "T = 0.8"}
    loud = {"run": "loud", **common, "perturbation": "upper_case"}
    assert run_labels([{"run": "plain", **common}, loud]) == {"plain": "none", "loud": "upper_case"}
    # Told apart by something that no column shows: full names.
    assert run_labels([{"run": "a", **common}, {"run": "b", **common}]) == {"a": "a", "b": "b"}
    assert run_labels([]) == {}
    assert len(shorten("x" * 100)) == 34


def test_figures_are_drawn_without_display_whatever_backend_is_asked_for(tmp_path):
    chains, metrics = inputs(tasks=6)
    chains.write_parquet(tmp_path / "chains.parquet")
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    for name in ("cost", "audit", "reliability"):
        (tmp_path / f"{name}.json").write_text(json.dumps(metrics[name]))
    environment = {key: value for key, value in os.environ.items() if key != "DISPLAY"} | {"MPLBACKEND": "TkAgg"}
    command = [sys.executable, "-m", "scripts.figure", "--name", "asl", "--settings", '{"dpi": 60}']
    files = ["--chains", "chains.parquet", "--metrics", "metrics.json", "--cost", "cost.json"]
    files += ["--audit", "audit.json", "--reliability", "reliability.json", "--out-stem", "f/asl"]
    subprocess.run([*command, *files], cwd=tmp_path, env=environment, check=True)
    assert sorted(path.suffix for path in (tmp_path / "f").iterdir()) == [".csv", ".pdf", ".png", ".svg"]
    csv = pl.read_csv(tmp_path / "f" / "asl.csv")
    assert csv["asl"].to_list() == [run["scores"]["asl"]["value"] for run in metrics["runs"]]


@pytest.mark.parametrize("settings", ['{"with": 3}', '{"width": "wide"}', "{"])
def test_bad_settings_are_refused_in_one_line(settings):
    with pytest.raises(UserError, match=r"^--settings .*"):
        from_option(FigureConfig, "figures", "--settings", settings)
    assert from_option(FigureConfig, "figures", "--settings", '{"width": 3.3}').width == 3.3
