"""The plan is what Hydra's own multirun would run, under names that are safe in paths."""

import shutil
import subprocess
import sys
import textwrap
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalooop.errors import UserError
from evalooop.plan import expand, read_plan, read_runs, session_to_json, slug, unslug

CONF = Path("conf").resolve()


@pytest.fixture
def conf(tmp_path):
    """A copy of the configuration, to be added to."""
    return shutil.copytree(CONF, tmp_path / "conf")


def plan(*overrides, conf=CONF):
    return expand(conf, "test", overrides)


def names(*overrides):
    return [run.name for run in plan(*overrides).runs]


def multirun(tmp_path, *overrides):
    """Return the configurations that Hydra's own multirun hands to an application."""
    application = tmp_path / "application.py"
    application.write_text(
        textwrap.dedent(
            f"""
            import hydra, json
            from omegaconf import OmegaConf
            import evalooop.config

            @hydra.main(config_path={str(CONF)!r}, config_name="config", version_base="1.3")
            def main(config):
                print("CONFIG " + json.dumps(OmegaConf.to_container(config)))

            main()
            """
        )
    )
    command = [sys.executable, str(application), "-m", *overrides, "hydra.sweep.dir=sweep"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    return [yaml.safe_load(line[7:]) for line in result.stdout.splitlines() if line.startswith("CONFIG ")]


@pytest.mark.parametrize(
    "overrides",
    [
        ("experiment=demo",),
        ("experiment=demo", "dataset=humaneval", "temperature=0.2,0.8", "seed=range(1,3)", "samples=2"),
        ("prompt=paper,plain_chat", "loop=short,paper", "loop.max_loops=2,3", "temperature=0.5"),
    ],
)
def test_runs_are_those_of_a_hydra_multirun(tmp_path, overrides):
    ours = [asdict(run.config) for run in plan(*overrides).runs]
    theirs = [{key: config[key] for key in ours[0]} for config in multirun(tmp_path, *overrides)]
    assert len(ours) >= 2
    assert ours == theirs


def test_zero_and_greedy_are_one_run():
    assert names("dataset=starter", "temperature=0,0.0,0.4", "seed=1,2") == [
        "smollm2-135m_starter_plain_chat_t0_s0",
        "smollm2-135m_starter_plain_chat_t0.4_s1",
        "smollm2-135m_starter_plain_chat_t0.4_s2",
    ]


def test_a_swept_key_without_a_place_in_the_name_is_appended():
    assert names("loop.max_loops=2,3") == [
        "smollm2-135m_starter_plain_chat_t0_s0_max_loops-2",
        "smollm2-135m_starter_plain_chat_t0_s0_max_loops-3",
    ]


def test_models_that_differ_by_a_slash_are_two_sessions():
    made = plan("model.id=Qwen/A,Qwen--A")
    assert len(set(made.sessions)) == 2
    assert all("/" not in name for name in (*made.sessions, *(run.name for run in made.runs)))


@given(st.text())
def test_slug_is_reversible_and_safe(text):
    assert unslug(slug(text)) == text
    assert not set(slug(text)) & set("/\\ '\"$&|;*?<>(){}[]%")


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("temprature=1", "temprature"),
        ("loop.max_lops=1", "max_lops"),
        ("temperature=hot", "temperature"),
        ("loop.max_loops=ten", "loop.max_loops"),
        ("temperature=-1", "temperature"),
        ("loop.max_loops=0", "loop.max_loops"),
        ("top_p=0", "top_p"),
        ("dataset.carry=everything", "dataset.carry"),
        ("model.name='a/b'", "model.name"),
        ("model.name=figures", "model.name"),
        ("prompt.generate='{{ wrods }}'", "prompt.generate"),
        ("model=nowhere", "model/nowhere"),
        ("experiment=nowhere", "experiment/nowhere"),
        ("judge.name=a,b", "judge.name"),
        ("temperature=a=b", "configuration"),
    ],
)
def test_a_bad_value_is_refused_in_one_line_that_names_the_key(override, key):
    with pytest.raises(UserError) as refused:
        plan(override)
    assert key in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_session_file_changes_with_its_runs_only():
    def content(session, sweep="model.id=a,b", *overrides):
        made = replace(plan(sweep, *overrides), overrides=())
        return session_to_json(made, session)

    first, second = plan("model.id=a,b").sessions
    other = ("figures.width=9", "judge=none", "sandbox.memory_mb=512")
    assert content(first) == content(first, "model.id=a,b", *other)
    assert content(first) != content(first, "model.id=a,b", "temperature=0,0.5")
    assert content(first) == content(first, "model.id=a,c")
    assert second not in plan("model.id=a,c").sessions


def test_a_greedy_run_is_one_whatever_noise_is_swept():
    assert names("temperature=0,0.8", "samples=1,5") == [
        "smollm2-135m_starter_plain_chat_t0_s0_samples-1",
        "smollm2-135m_starter_plain_chat_t0.8_s0_samples-1",
        "smollm2-135m_starter_plain_chat_t0.8_s0_samples-5",
    ]


def test_a_judge_of_its_own_is_one_more_model(conf):
    def judged_by(**model):
        (conf / "judge" / "other.yaml").write_text(yaml.safe_dump({"name": "other", "model": model}))
        return plan("judge=other", conf=conf)

    assert list(judged_by(name="other", source="path", id="there").models) == ["smollm2-135m", "other"]
    with pytest.raises(UserError, match=r"judge\.model\.source"):
        judged_by(name="other", source="nowhere", id="there")
    with pytest.raises(UserError, match="both called 'smollm2-135m'"):
        judged_by(name="smollm2-135m", source="path", id="there")


def test_plan_survives_its_file(tmp_path):
    made = plan("experiment=demo", "temperature=0,0.3")
    path = tmp_path / "plan.json"
    path.write_text(made.to_json())
    assert read_plan(path) == made
    (session,) = made.sessions
    path.write_text(session_to_json(made, session))
    assert read_runs([path]) == made.runs


def test_odd_characters_arrive_unchanged_from_a_file(conf):
    """Row 87: what Hydra's command line grammar cannot carry is set in a file."""
    odd = "a|b=c,d'\"  {x} ü\n"
    prompt = {"name": "odd", "system": odd, "generate": "{{ words }}", "describe": "{{ code }}", "frame": odd}
    (conf / "prompt" / "odd.yaml").write_text(yaml.safe_dump(prompt))
    (conf / "model" / "odd.yaml").write_text(yaml.safe_dump({"name": "odd", "source": "path", "id": odd}))
    run = plan("prompt=odd", "model=odd", conf=conf).runs[0]
    assert (run.config.prompt.system, run.config.prompt.frame, run.config.model.id) == (odd, odd, odd)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("model.server.url=localhost", "'model.server.url'.*a URL such as"),
        ("model.server.api=embeddings", "'model.server.api'.*one of chat, completions"),
        ("model.server.key_variable=sk-123", "'model.server.key_variable'.*never the key itself"),
        ("model.server.concurrency=0", "'model.server.concurrency'.*at least 1"),
        ("model.server.timeout_seconds=0", "'model.server.timeout_seconds'.*above 0"),
        ("model.price.prompt=-1", "'model.price.prompt'.*0 or more"),
        ("model.server=null", "'model.server': give it for the source 'server'"),
        ("model.source=hub", "'model.server': give it for the source 'server', and for no other"),
    ],
)
def test_a_server_badly_described_is_refused(override, words):
    with pytest.raises(UserError, match=words):
        plan("model=gpt-4o-mini", override)
    assert plan("model=gpt-4o-mini").runs[0].config.model.price.completion == 0.6


def test_a_judge_may_be_served_and_is_checked_too():
    judged = plan("judge=gpt-4-turbo")
    assert set(judged.models) == {"smollm2-135m", "gpt-4-turbo-2024-04-09"}
    with pytest.raises(UserError, match=r"'judge.model.server.attempts'"):
        plan("judge=gpt-4-turbo", "judge.model.server.attempts=0")


def test_a_plan_with_a_server_comes_back_as_written(tmp_path):
    written = plan("model=gpt-4o-mini,deepseek-chat", "judge=gpt-4-turbo")
    (tmp_path / "plan.json").write_text(written.to_json())
    assert read_plan(tmp_path / "plan.json") == written


def test_row_5_no_stop_texts_unless_asked_for():
    assert plan().runs[0].config.stop == []
    assert plan("stop=['\\nclass']").runs[0].config.stop == ["\\nclass"]
    with pytest.raises(UserError, match="'stop'"):
        plan("stop=['']")


def test_what_shapes_only_noise_makes_no_greedy_run():
    assert names("top_k=0,5", "top_p=0.5,1") == ["smollm2-135m_starter_plain_chat_t0_s0_top_k-0_top_p-1.0"]
    assert len(names("top_k=0,5", "temperature=0.5")) == 2
    assert len(names("repetition_penalty=1,1.0,1.2")) == 2
    assert names() == ["smollm2-135m_starter_plain_chat_t0_s0"]


def test_the_shipped_sweeps_have_the_runs_they_promise():
    """A greedy run has one sample whatever the sweep says, and 0 and 0.0 are the same run."""
    reliability = expand(Path("conf"), "reliability", ("experiment=reliability",)).runs
    assert len(reliability) == len({run.name for run in reliability}) == 16
    assert {(run.config.temperature, run.config.samples) for run in reliability} == {
        (0.0, 1),
        (0.3, 2),
        (0.7, 2),
        (1.0, 2),
    }
    twice = expand(Path("conf"), "reliability", ("experiment=reliability", "temperature=0,0.0")).runs
    assert len(twice) == 4
    attacks = expand(Path("conf"), "attacks", ("experiment=attacks",)).runs
    assert len(attacks) == 9
    assert {run.config.loop.max_loops for run in attacks} == {1}
