"""The report in a real browser, opened from disk: chains open, side by side, and nothing is asked of a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import urllib.parse

import pytest

from tests.synthetic import chain_table
from tests.unit.test_report import make_report, write_experiment

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here to open the page with")


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a function that opens a report of three runs at a place, and gives its content and its complaints."""
    chains = chain_table(runs=3, tasks=9)
    write_experiment(tmp_path, chains, max_infra_share=1.0)
    assert make_report(tmp_path, monkeypatch) == 0

    def visit(**place):
        address = f"file://{tmp_path}/report.html#{urllib.parse.urlencode(place)}"
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
        folder = f"--user-data-dir={tmp_path}/browser"
        logging = ["--enable-logging=stderr", "--log-level=0", "--host-resolver-rules=MAP * ~NOTFOUND"]
        done = subprocess.run([*command, folder, *logging, address], capture_output=True, text=True, timeout=120)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return chains, visit


def test_a_chain_opens_beside_another_runs_chain_of_the_task(opened):
    chains, visit = opened
    first, _, third = chains["run"].unique(maintain_order=True)
    task = chains["task"][0]
    content, complaints = visit(run=first, task=task, sample=0, beside=third)
    assert complaints == []
    assert content.count('<div class="one">') == 2
    for run in (first, third):
        (program,) = chains.filter(run=run, task=task, loop=1)["code"].head(1)
        if program:
            name = re.search(r"def (\w+)", program)[1]
            assert name in content.split('id="chain"')[1]
    assert "Survived" in content
    assert content.count("<li ") >= 9


def test_a_run_opens_with_its_panel(opened):
    chains, visit = opened
    second = chains["run"].unique(maintain_order=True)[1]
    content, complaints = visit(run=second)
    assert complaints == []
    panel = content.split('id="panel"')[1].split('id="browser"')[0]
    assert "<polyline" in panel
    assert "pass drop" in panel
    # The heads of the leaderboard were made buttons, and the switch of colours was shown.
    assert "<button" in content.split('id="leaderboard"')[1].split("</thead>")[0]
    assert re.search(r'<button type="button" id="theme"[^>]*>(Dark|Light)<', content)
