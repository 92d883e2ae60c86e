"""Recorded chains through the whole workflow: nothing is asked, everything is judged again."""

import json

import yaml

from evalooop.datasets import load

LOOPS = 3
WRONG = "def {name}(*values):\n    return None\n"
TASKS = ("Starter/total", "Starter/multiply", "Starter/square")


def recorded(task, sustained, passing):
    """Return a chain that is said to have sustained so many loops; its first ``passing`` programs are right."""
    programs = [task.reference if loop < passing else WRONG.format(name=task.entry_point) for loop in range(10)]
    cycles = [
        {"code_output": code, "summary_output": f'"""\nwords {loop}\n{task.signature}\n"""\n'}
        for loop, code in enumerate(programs, start=1)
    ]
    return {
        "task_id": task.id,
        "initial_prompt": task.prompt,
        "cycles": cycles[: sustained + 1],
        "successful_cycles": sustained,
    }


def write_transcripts(folder, model, chains):
    folder.mkdir(parents=True, exist_ok=True)
    groups = {}
    for chain in chains:
        groups.setdefault(str(chain["successful_cycles"]), []).append(chain)
    (folder / f"{model}.json").write_text(json.dumps(groups))


def test_recorded_models_end_in_a_report(project, tmp_path):
    tasks = {task.id: task for task in load("starter")}
    total, multiply, square = (tasks[name] for name in TASKS)
    details = tmp_path / "site" / "assets" / "data" / "details"
    # `censored` is said to have failed with a program that is right; `late` to have passed with one that is wrong.
    write_transcripts(details, "steady-7b", [recorded(task, 10, 10) for task in (total, multiply, square)])
    mixed = [recorded(total, 10, 10), recorded(multiply, 1, 2), recorded(square, 2, 1)]
    write_transcripts(details, "mixed", mixed)
    write_transcripts(details, "partial", [recorded(total, 10, 10)])
    (details / "broken.json").write_text("{")
    shown = {"size": "9", "aslScore": 2.5, "successRate": 1.0, "drop": "33.3", "rank": 2, "rankChange": "-1"}
    results = {"models": [{"model_id": "mixed", **shown}]}
    (details.parent / "results.json").write_text(json.dumps(results))
    content = {
        "defaults": [{"override /model": "published"}, {"override /judge": "none"}],
        "model": {"id": str(tmp_path / "site")},
        "loop": {"max_loops": LOOPS},
        "dataset": {"tasks": list(TASKS)},
        "figures": {"names": ["survival"]},
        "score": {"resamples": 200},
        "hydra": {"sweeper": {"params": {"model.name": "steady-7b,mixed,partial,broken,absent"}}},
    }
    text = "# @package _global_\n" + yaml.safe_dump(content, sort_keys=False)
    project.path("conf", "experiment", "recorded.yaml").write_text(text)
    project.snakemake("results/recorded/report.html")

    results = project.path("results", "recorded")
    steady, mixed = json.loads((results / "metrics.json").read_text())["runs"]
    assert (steady["model"], steady["histogram"], steady["published"]) == ("steady-7b", [0, 0, 0, 3], None)
    assert (steady["size"], steady["disagreements"]) == (7.0, [])
    # total goes on to the end, square fails in loop 2, and what multiply would have said after loop 2 is not known.
    assert (mixed["histogram"], mixed["infra"], mixed["censored"], mixed["attempted"]) == ([0, 1, 0, 1], 0, 1, 2)
    bounds = ((9 + 1 + 4) / (3 * LOOPS), (9 + 1 + 9) / (3 * LOOPS))
    assert (mixed["bounds"]["asl_infra_failed"], mixed["bounds"]["asl_infra_survived"]) == bounds
    assert (mixed["published"]["rank"], mixed["size"]) == (2, 9.0)
    assert mixed["recorded"]["asl_unweighted"] == (9 + 1 + 4) / (3 * LOOPS)
    places = [(row["task"], row["loop"], row["published"]) for row in mixed["disagreements"]]
    assert places == [("Starter/multiply", 2, "fail"), ("Starter/square", 2, "pass")]
    skipped = json.loads((results / "manifest.json").read_text())["skipped"]
    reasons = {name.split("_")[0]: reason for name, reason in skipped.items()}
    assert set(reasons) == {"partial", "broken", "absent"}
    assert "lacks tasks" in reasons["partial"]
    assert "cannot be read as JSON" in reasons["broken"]
    assert "no transcript" in reasons["absent"]
    page = (results / "report.html").read_text()
    assert "lacks tasks" in page


def test_without_transcripts_the_run_stops_and_says_where_they_belong(project, tmp_path, monkeypatch):
    monkeypatch.setenv("EVALOOOP_DATA", str(tmp_path))
    done = project.snakemake("results/published/replayed/loop01/generated.jsonl", check=False)
    assert done.returncode != 0
    assert f"{tmp_path}/leaderboard/assets/data/details holds no transcripts" in done.stdout
