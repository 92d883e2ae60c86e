"""Figures that compare many models: true to the numbers, legible for two models and for ninety."""

from __future__ import annotations

import polars as pl
import pytest

from evalooop import figures
from evalooop.config import FigureConfig
from evalooop.figures.cohort import FAMILY_LOOKS, look_of, ranked_runs
from evalooop.figures.survival import _telling
from tests.synthetic import chain_table, metrics_of

NAMES = ("leaderboard", "rank_shift", "size_asl", "drop_pass", "failing_loops", "survival")


def inputs(runs, **size):
    chains = chain_table(runs=runs, **size)
    return chains, {**metrics_of(chains), "audit": {"runs": []}}


def numbers(name, *data):
    return figures.module(name).numbers(*data)


def test_tables_stand_in_the_order_of_the_ranking():
    data = inputs(5, tasks=40)
    (ranking,) = data[1]["rankings"]
    assert numbers("leaderboard", *data)["run"].to_list() == ranking["runs"]
    shift = numbers("rank_shift", *data)
    assert shift["asl_rank"].to_list() == [1, 2, 3, 4, 5]
    assert (shift["pass_rank"] - shift["asl_rank"]).to_list() == shift["change"].to_list() == ranking["rank_change"]
    drops = {run["run"]: run["scores"]["pass_drop"]["value"] for run in data[1]["runs"]}
    assert dict(numbers("drop_pass", *data).select("run", "pass_drop").rows()) == drops


def test_residuals_are_those_of_the_fit_on_the_logarithm():
    chains, metrics = inputs(6, tasks=40)
    for place, run in enumerate(metrics["runs"]):
        run["size"], run["scores"]["asl"]["value"] = float(10**place), 1.0 + place
    metrics["runs"][2]["scores"]["asl"]["value"] += 6.0
    table = numbers("size_asl", chains, metrics)
    assert table["residual"].sum() == pytest.approx(0, abs=1e-9)
    assert table.sort("residual")["size"][-1] == 100.0
    for run in metrics["runs"][:3]:
        run["size"] = None
    few = numbers("size_asl", chains, metrics)
    assert few["residual"].is_null().all()


def test_shares_of_failing_loops_by_hand():
    chains, metrics = inputs(2, tasks=4, max_loops=3)
    metrics["runs"][0] |= {"family": "A", "histogram": [5, 3, 1, 9]}
    metrics["runs"][1] |= {"family": "B", "histogram": [5, 0, 0, 9]}
    rows = numbers("failing_loops", chains, metrics).rows()
    assert rows == [("all", 2, 3, 0.75), ("all", 3, 1, 0.25), ("A", 2, 3, 0.75), ("A", 3, 1, 0.25)]


def test_corrections_by_hand():
    chains, metrics = inputs(2, tasks=4)
    asl = {"scored": 5.0, "without_infra": 6.0, "without_leaked": None}
    metrics["audit"] = {"runs": [{"run": "r", "asl": asl, "move": {"without_infra": 2, "without_leaked": None}}]}
    assert numbers("corrections", chains, metrics).rows() == [("r", 5.0, 6.0, None, 2, None)]
    metrics["audit"]["runs"][0]["run"] = metrics["runs"][0]["run"]
    figure = figures.module("corrections").draw(chains, metrics, FigureConfig())
    assert "+2" in [text.get_text() for text in figure.axes[0].texts]


def test_of_many_lines_those_that_tell_are_named():
    rows = [(f"r{number}", loop, (20 - number) / 20) for number in range(20) for loop in (1, 2)]
    rows += [("falls", 1, 1.0), ("falls", 2, 0.5)]
    named = _telling(pl.DataFrame(rows, ("run", "loop", "share"), orient="row"))
    assert {"r0", "r1", "r2", "r17", "r18", "r19", "falls"} <= named
    assert len(named) <= 10


def test_a_family_looks_the_same_everywhere_and_like_no_other():
    assert len(set(FAMILY_LOOKS.values())) == len(FAMILY_LOOKS)
    assert look_of("tomorrow") not in FAMILY_LOOKS.values()


def test_the_largest_cohort_is_compared():
    metrics = inputs(4, tasks=12)[1]
    metrics["rankings"].insert(0, {**metrics["rankings"][0], "runs": metrics["rankings"][0]["runs"][:2]})
    assert len(ranked_runs(metrics)) == 4
    assert ranked_runs({"runs": [], "rankings": []}) == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("runs", "width"), [(2, 6.5), (30, 3.3), (91, 6.5)])
def test_no_text_lies_outside_the_figure(name, runs, width):
    data = inputs(runs, tasks=12, max_loops=4)
    figure = figures.module(name).draw(*data, FigureConfig(width=width))
    figure.draw_without_rendering()
    paper = figure.bbox.padded(2)
    for axes in figure.axes:
        (x0, x1), (y0, y1) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        ticks = [tick.label1 for tick in axes.xaxis.get_major_ticks() if x0 <= tick.get_loc() <= x1]
        ticks += [tick.label1 for tick in axes.yaxis.get_major_ticks() if y0 <= tick.get_loc() <= y1]
        for text in (*axes.texts, *(ticks if axes.axison else ())):
            if text.get_text() and text.get_visible():
                box = text.get_window_extent()
                assert paper.x0 <= box.x0, text.get_text()
                assert paper.y0 <= box.y0, text.get_text()
                assert box.x1 <= paper.x1, text.get_text()
                assert box.y1 <= paper.y1, text.get_text()
