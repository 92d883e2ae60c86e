"""The loop with an engine that says what the test wants: who goes on, what is asked, what is kept."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from evalooop.engines import Completion, Decoding, Request
from evalooop.errors import UserError
from evalooop.loop import Asker, Chain, completion_key, lost_steps, open_chains, selected, survivors
from evalooop.plan import expand
from evalooop.records import Verdict
from evalooop.store import Store
from evalooop.tasks import Suite, Task


class Scripted:
    """An engine that answers by a function of the prompt and remembers what it was asked."""

    fingerprint = "scripted"

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def render(self, messages):
        return "\n".join(f"<{message.role}>{message.content}" for message in messages)

    def complete(self, requests):
        for request in reversed(list(requests)):
            self.asked.append(request)
            answer = self.answer(request.prompt)
            yield request, answer if isinstance(answer, Completion) else Completion(answer, "stop", 7, 3, 0.5)


class Silent:
    def __init__(self):
        self.expected = self.added = 0

    def expect(self, questions):
        self.expected += questions

    def add(self, completion):
        self.added += 1


def run(*overrides):
    return expand(Path("conf"), "test", ("loop.max_loops=3", *overrides)).runs[0]


def task(name="double"):
    suite = Suite("base", ((2,),), (4,))
    prompt = f'def {name}(x):\n    """Double x."""\n'
    return Task(f"Test/{name}", prompt, name, "", "", f"assert {name}(2) == 4", f"def {name}(x):", (suite,))


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as store:
        yield store


PROGRAM = "```python\ndef double(x):\n    return 2 * x\n```"


def test_loop_one_is_fed_by_the_task_and_later_loops_by_the_framed_description(store):
    engine = Scripted(lambda prompt: "  It doubles.\n" if "Describe" in prompt else PROGRAM)
    asker = Asker(engine, store, Silent())
    chain = Chain(run(), task(), 0)
    (first,) = asker.first_loop([chain])
    assert (first.step, first.loop, first.source, first.code) == (
        "generate",
        1,
        chain.task.prompt,
        "def double(x):\n    return 2 * x",
    )
    described, generated = asker.next_loop(2, [(chain, first.code)])
    assert (described.step, described.loop, described.source) == ("describe", 2, first.code)
    assert generated.source == '"""\nIt doubles.\ndef double(x):\n"""\n'
    assert generated.source in generated.prompt


def test_equal_questions_are_asked_once_and_known_ones_never(store):
    engine = Scripted(lambda prompt: PROGRAM)
    asker = Asker(engine, store, progress := Silent())
    chains = [Chain(run(), task(), 0), Chain(run("loop.max_loops=2"), task(), 0)]
    assert len(asker.first_loop(chains)) == 2
    assert (asker.asked, asker.stored, len(engine.asked)) == (1, 0, 1)
    assert (progress.expected, progress.added) == (1, 1)
    again = Asker(engine, store, Silent())
    assert again.first_loop(chains) == asker.first_loop(chains)
    assert (again.asked, again.stored, len(engine.asked)) == (0, 1, 1)


def test_every_setting_that_changes_an_answer_is_in_its_key(store):
    engine = Scripted(lambda prompt: PROGRAM)
    asker = Asker(engine, store, Silent())
    asker.first_loop([Chain(run("temperature=0.5"), task(), 0)])
    (request,) = engine.asked
    changes = {
        "max_new_tokens": 9,
        "temperature": 0.6,
        "top_p": 0.9,
        "stream": (1, "Test/double", 1, "generate", 0),
        "top_k": 5,
        "repetition_penalty": 1.1,
        "min_new_tokens": 2,
        "stop": ("class",),
    }
    assert set(changes) == {field.name for field in fields(Decoding)}
    others = [replace(request, decoding=replace(request.decoding, **{name: it})) for name, it in changes.items()]
    others.append(replace(request, prompt=request.prompt + "\n"))
    keys = {completion_key("scripted", other) for other in (request, *others)}
    assert len(keys | {completion_key("other model", request)}) == len(changes) + 3
    asker.complete(others)
    assert len(engine.asked) == len(others) + 1
    asker.complete([request, *others])
    assert len(engine.asked) == len(others) + 1


def test_what_has_no_effect_does_not_ask_again(store):
    greedy = Decoding(9)
    assert Decoding(9, 0, 0.5, (1, 2), 7) == Decoding(9, 0.0) == greedy
    assert completion_key("", Request("", Decoding(9, 0, 0.5))) == completion_key("", Request("", greedy))
    plain, odd = run(), run("top_p=0.5", "top_k=3", "seed=4", "temperature=0")
    assert plain == odd
    assert run("min_new_tokens=3") != plain
    assert run("repetition_penalty=1.5") != plain
    assert run("stop=[x]") != plain


def test_samples_have_noise_of_their_own_and_greedy_has_none():
    chains = open_chains([run("temperature=0.8", "samples=3", "dataset.tasks=[Test/double]")], TASKS)
    streams = {chain.decoding(loop, "generate").stream for chain in chains for loop in (1, 2)}
    assert len(streams) == 6
    assert {chain.decoding(1, "generate").stream for chain in open_chains([run()], TASKS)} == {None}


def test_row_25_known_samples_stay_as_many_texts(store):
    engine = Scripted(lambda prompt: "")
    engine.complete = lambda requests: [
        (request, Completion(f"text {request.decoding.stream[-1]}", "stop", 1, 1, 0.0)) for request in requests
    ]
    chains = open_chains([run("temperature=0.8", "samples=5", "dataset.tasks=[Test/double]")], TASKS)
    first = [step.text for step in Asker(engine, store, Silent()).first_loop(chains)]
    assert len(set(first)) == 5
    again = Asker(engine, store, Silent())
    assert [step.text for step in again.first_loop(chains)] == first
    assert (again.asked, again.stored) == (0, 5)


def test_row_27_models_that_share_a_store_keep_their_answers(store):
    chain = Chain(run(), task(), 0)
    for _ in range(2):
        for name in ("one", "two"):
            engine = Scripted(lambda prompt, name=name: name)
            engine.fingerprint = name
            (step,) = Asker(engine, store, Silent()).first_loop([chain])
            assert step.text == name
    assert len(store) == 2


def test_an_infrastructure_error_ends_the_chain_and_is_not_stored(store):
    failure = Completion("", "error", 0, 0, 0.0, "no memory")
    engine = Scripted(lambda prompt: failure)
    steps = Asker(engine, store, Silent()).next_loop(2, [(Chain(run(), task(), 0), "code")])
    assert [(step.step, step.status, step.detail) for step in steps] == [("describe", "infra_error", "no memory")]
    assert len(store) == 0


def test_a_half_written_store_entry_is_asked_again(store):
    engine = Scripted(lambda prompt: PROGRAM)
    chain = Chain(run(), task(), 0)
    Asker(engine, store, Silent()).first_loop([chain])
    store.put(completion_key("scripted", engine.asked[0]), {"text": "half"})
    asker = Asker(engine, store, Silent())
    asker.first_loop([chain])
    assert (asker.asked, asker.stored) == (1, 0)


@pytest.mark.parametrize(
    ("answer", "status", "has_code"),
    [
        (Completion(PROGRAM, "stop", 1, 1, 0.0), "ok", True),
        (Completion(PROGRAM + "\nand so on", "length", 1, 1, 0.0), "ok", True),
        (Completion("```python\ndef double(x):\n    return 2 * x", "length", 1, 1, 0.0), "truncated", True),
        (Completion("I cannot do that.", "stop", 1, 1, 0.0), "no_code", False),
        (Completion("I cannot do that and", "length", 1, 1, 0.0), "truncated", False),
        (Completion("<think>so " + PROGRAM, "length", 1, 1, 0.0), "incomplete_reasoning", False),
        (Completion("", "length", 1, 1, 0.0, reasoning=PROGRAM, reasoning_tokens=1), "incomplete_reasoning", False),
        (Completion("", "stop", 1, 1, 0.0, reasoning=PROGRAM, reasoning_tokens=1), "incomplete_reasoning", False),
        (Completion(PROGRAM, "stop", 1, 2, 0.0, reasoning="so", reasoning_tokens=1), "ok", True),
    ],
)
def test_what_became_of_an_answer(store, answer, status, has_code):
    (step,) = Asker(Scripted(lambda prompt: answer), store, Silent()).first_loop([Chain(run(), task(), 0)])
    assert (step.status, step.code is not None) == (status, has_code)
    # Row S17: why it stopped is kept.
    assert step.stop == answer.stop


@pytest.mark.parametrize(
    "answer",
    [
        Completion("It doubles.", "stop", 1, 9, 0.0, reasoning="secret", reasoning_tokens=5),
        Completion("<think>secret</think>\n\nIt doubles.", "stop", 1, 9, 0.0),
        Completion("secret</think>It doubles.", "stop", 1, 9, 0.0),
    ],
)
def test_thinking_never_reaches_the_next_prompt(store, answer):
    engine = Scripted(lambda prompt: answer if "Describe" in prompt else PROGRAM)
    described, generated = Asker(engine, store, Silent()).next_loop(2, [(Chain(run(), task(), 0), "code")])
    assert described.text.strip() == "It doubles."
    assert "secret" in described.reasoning
    assert "It doubles." in generated.prompt
    assert "secret" not in generated.prompt


@pytest.mark.parametrize(
    "answer",
    [
        Completion("", "length", 1, 9, 0.0, reasoning="secret", reasoning_tokens=9),
        Completion("<think>secret", "length", 1, 9, 0.0),
    ],
)
def test_a_description_that_is_only_thought_asks_for_no_program(store, answer):
    engine = Scripted(lambda prompt: answer)
    (described,) = Asker(engine, store, Silent()).next_loop(2, [(Chain(run(), task(), 0), "code")])
    assert (described.status, described.text) == ("incomplete_reasoning", "")
    assert "secret" in described.reasoning


def test_near_ties_are_counted_of_known_answers_too(store):
    engine = Scripted(lambda prompt: Completion(PROGRAM, "stop", 1, 1, 0.5, near_ties=3))
    for _ in range(2):
        asker = Asker(engine, store, Silent())
        asker.first_loop([Chain(run(), task(), 0)])
        assert asker.counts(None)["near_ties"] == 3


def verdict(chain, suite, name):
    return Verdict(*chain.key, 1, suite, name, None, "", "")


def test_who_survives(store):
    chains = [Chain(run(), task(name), 0) for name in ("both", "base", "none", "unjudged", "silent")]
    engine = Scripted(lambda prompt: "nothing" if "silent" in prompt else "```\ndef f(): pass\n```")
    steps = Asker(engine, store, Silent()).first_loop(chains)
    both, base, none, _, silent = chains
    verdicts = [
        *[verdict(both, suite, "pass") for suite in ("base", "plus")],
        verdict(base, "base", "pass"),
        verdict(base, "plus", "timeout"),
        *[verdict(none, suite, "fail") for suite in ("base", "plus")],
        verdict(silent, "base", "fail"),
    ]
    assert [chain.task.entry_point for chain, _ in survivors(chains, 2, steps, verdicts)] == ["both"]
    assert survivors(chains, 4, steps, verdicts) == []


TASKS = {"starter": {name: task(name.split("/")[1]) for name in ("Test/double", "Test/triple", "Test/halve")}}


def test_tasks_are_chosen_by_name_or_number():
    def ids(*overrides):
        return [task.id for task in selected(run(*overrides), TASKS["starter"])]

    assert ids() == list(TASKS["starter"])
    assert ids("dataset.limit=2") == ["Test/double", "Test/triple"]
    assert ids("dataset.tasks=[Test/halve,Test/double]", "dataset.limit=1") == ["Test/halve"]
    with pytest.raises(UserError, match=r"dataset\.tasks.*Test/nothing"):
        ids("dataset.tasks=[Test/nothing]")


def test_a_lost_model_loses_its_chains_with_the_reason():
    (step,) = lost_steps(1, [(Chain(run(), task(), 0), "words")], "the model is gated")
    assert (step.status, step.step, step.detail) == ("infra_error", "generate", "the model is gated")
