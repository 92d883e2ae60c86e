"""Prompt attacks change words and nothing else: tests stay valid, names agree, the same seed gives the same text."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest
import yaml

from evalooop import datasets
from evalooop.config import SandboxConfig
from evalooop.errors import UserError
from evalooop.judging import check_references, judge_programs
from evalooop.loop import open_chains, selected
from evalooop.perturbations import NONE, PERTURBATIONS, perturb, severity
from evalooop.perturbations.prose import map_prose, map_words
from evalooop.perturbations.sentences import reordered_sentences
from evalooop.plan import expand
from evalooop.records import Step
from evalooop.sandbox.judgement import Judgement
from evalooop.store import Store
from evalooop.tasks import Suite, Task
from scripts.execute import find_task

DATA = Path(os.environ.get("EVALOOOP_DATA", Path(__file__).parents[3] / "shared" / "data"))
NAMES = ("renamed_function", "renamed_arguments")
CHANCE = {"random_case", "wide_spaces", "redundant_sentences", "swapped_letters", "typing_errors", "renamed_function"}
ALWAYS = {"upper_case", "random_case", "wide_spaces", "comments", "redundant_sentences", "restated", "renamed_function"}


@pytest.fixture(scope="module", params=["starter", "humaneval", "mbppplus"])
def tasks(request):
    if request.param == "mbppplus":
        if not (DATA / "mbppplus").is_dir():
            pytest.skip(f"no mbppplus in {DATA}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EVALOOOP_DATA", str(DATA))
            return datasets.load("mbppplus")
    return datasets.load(request.param)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_meaning_and_tests_stay(tasks, name):
    changed = 0
    for task in tasks:
        other = perturb(task, name)
        assert perturb(task, name) == other
        assert other.suites is task.suites
        assert (other.id, other.preamble) == (task.id, task.preamble)
        share = severity(task.prompt, other.prompt)
        assert 0 <= share <= 1
        assert (share > 0) == (other.prompt != task.prompt)
        changed += share > 0
        if name not in NAMES:
            assert (other.entry_point, other.reference, other.signature, other.assertion) == (
                task.entry_point,
                task.reference,
                task.signature,
                task.assertion,
            )
            # What is carried along, and the doctests, are not words.
            for line in task.prompt.splitlines():
                if line.startswith(("assert ", "def ")) or line.lstrip().startswith(">>>"):
                    assert line.strip() in other.prompt
    if name in ALWAYS:
        assert changed == len(tasks)


@pytest.mark.parametrize("name", sorted(CHANCE))
def test_other_seeds_give_other_words(tasks, name):
    differing = sum(perturb(task, name, 1).prompt != perturb(task, name, 2).prompt for task in tasks)
    assert differing > len(tasks) / 3


def test_a_new_name_is_the_same_everywhere(tasks):
    for task in tasks:
        other = perturb(task, "renamed_function")
        old, new = task.entry_point, other.entry_point
        assert new != old
        assert re.search(rf"def {new}\s*\(", other.reference)
        assert not re.search(rf"def {old}\s*\(", other.reference)
        assert re.search(rf"def {new}\s*\(", other.signature)
        assert not task.assertion or other.assertion.startswith(f"assert {new}(") or new in other.assertion
        assert new in other.prompt


@pytest.mark.parametrize("name", NAMES)
def test_renamed_references_pass_and_old_programs_do_not(name, tmp_path):
    starter, humaneval = datasets.load("starter"), datasets.load("humaneval")
    chosen = [perturb(task, name) for task in [*starter, *humaneval[::6]]]
    with Store(tmp_path / "verdicts.sqlite") as store:
        check_references(chosen, SandboxConfig(), store, workers=2)
        if name == "renamed_function":
            old = [(other, task.reference) for other, task in zip(chosen[:5], starter[:5], strict=True)]
            for answer in judge_programs(old, SandboxConfig(), store).results:
                assert isinstance(answer, Judgement)
                assert not answer.passed


def test_none_is_the_task_itself_and_keeps_names_and_prompts():
    """Stores made before there were attacks stay valid: runs without one are asked the same under the same name."""
    plain = expand(Path("conf"), "test", ()).runs[0]
    assert plain.name == "smollm2-135m_starter_plain_chat_t0_s0"
    tasks = {task.id: task for task in datasets.load("starter")}
    assert all(one is tasks[one.id] for one in selected(plain, tasks))


def test_attacks_are_part_of_a_run_and_reach_both_stages():
    plan = expand(Path("conf"), "test", ("perturbation=none,renamed_function",))
    assert [run.name.rsplit("_t0_s0", 1)[1] for run in plan.runs] == [
        "_perturbation-none",
        "_perturbation-renamed_function",
    ]
    tasks = {"starter": {task.id: task for task in datasets.load("starter")}}
    chains = open_chains(plan.runs, tasks)
    attacked = next(chain for chain in chains if chain.run is plan.runs[1])
    place = (attacked.run.name, attacked.task.id, 0, 1, "generate")
    step = Step(*place, "", "", "", attacked.task.reference, "fence", "ok", "", "stop", 0, 0)
    runs = {run.name: run for run in plan.runs}
    found = find_task(step, runs, tasks, Path("generated.jsonl"))
    assert found == attacked.task
    assert found.entry_point != tasks["starter"][step.task].entry_point
    # One object a task: its references and hashes are looked up by it.
    assert find_task(step, runs, tasks, Path("generated.jsonl")) is found


def test_unknown_attacks_are_refused_with_those_that_there_are():
    with pytest.raises(UserError, match="there is no perturbation 'loud'; there are none, upper_case"):
        expand(Path("conf"), "test", ("perturbation.name=loud",))


def test_every_attack_has_its_file():
    files = {path.stem: yaml.safe_load(path.read_text()) for path in Path("conf/perturbation").glob("*.yaml")}
    assert set(files) == {NONE, *PERTURBATIONS}
    assert all(content == {"name": name} for name, content in files.items())
    families = {family for family, _ in PERTURBATIONS.values()}
    assert families == {"case", "layout", "verbosity", "typos", "synonyms", "names", "order"}


def test_only_prose_is_changed():
    prompt = 'import os\n\ndef f(x):\n    """Add one.\n\n    >>> f(1)\n    2\n\n    More words here."""\n'
    shouted = 'import os\n\ndef f(x):\n    """ADD ONE.\n\n    >>> f(1)\n    2\n\n    MORE WORDS HERE."""\n'
    assert map_prose(prompt, str.upper) == shouted
    assert map_prose("no docstring at all", str.upper) == "no docstring at all"
    words = "Use my_list[0] and f(x) or `name` in a list, x.append too."
    assert (
        map_words(words, frozenset({"list"}), str.upper) == "USE my_list[0] AND f(x) OR `name` IN A list, x.append TOO."
    )


def test_sentences_that_lean_on_others_stay_with_them():
    suite = Suite("base", ((1,),), (1,))
    text = '"""\nSum the list. It may be empty. Give back an int.\nassert f([]) == 0\n"""\n'
    task = Task("t", text, "f", "", "def f(x): return 0", "assert f([]) == 0", "def f(x):", (suite,))
    assert reordered_sentences(task, random.Random(0)).prompt == (
        '"""\nGive back an int. Sum the list. It may be empty.\nassert f([]) == 0\n"""\n'
    )


def test_severity_is_a_share_of_the_characters():
    assert severity("abcd", "abcd") == 0
    assert severity("abcd", "wxyz") == 1
    assert severity("abcd", "abce") == pytest.approx(0.25)
    assert json.dumps(severity("", "")) == "0.0"
