"""The engine that asks a server: right answers read, wrong ones asked for again, none of them taken for a program."""

import dataclasses
import json
import signal
import subprocess
import sys
import time

import pytest

from evalooop import servers
from evalooop.config import ModelConfig, ServerConfig
from evalooop.engines import Completion, Decoding, Message, Request, open_engine
from evalooop.engines.openai import OpenAIEngine, parameters, seed_of
from evalooop.errors import UserError
from evalooop.loop import Asker
from evalooop.models import fetch, read_card, write_card
from evalooop.store import Store
from tests.loopback import FAULTS, MODEL, Reply, refusal, right, serving

GREEDY = Decoding(16)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(servers, "FIRST_WAIT", 0.01)


def config(loopback, **server):
    given = {"attempts": 3, "timeout_seconds": 1.0, "concurrency": 4, **server}
    return ModelConfig(name="parrot", source="server", id=MODEL, server=ServerConfig(url=loopback.url, **given))


def engine(loopback, tmp_path, **server):
    model = config(loopback, **server)
    return open_engine(fetch(model, tmp_path), model)


def requests(engine, *texts, decoding=GREEDY):
    return [Request(engine.render([Message("user", text)]), decoding) for text in texts]


def said(body):
    return body["messages"][-1]["content"]


class Silent:
    def expect(self, questions):
        pass

    def add(self, completion):
        pass


def echo(body, before):
    return right(f"<{said(body)}>")


def test_answers_come_back_with_their_requests(tmp_path):
    with serving(echo) as loopback:
        asked = requests(engine(loopback, tmp_path), *map(str, range(40)))
        answers = dict(engine(loopback, tmp_path).complete(asked))
    assert {request: answer.text for request, answer in answers.items()} == {
        request: f"<{number}>" for number, request in enumerate(asked)
    }
    one = answers[asked[0]]
    assert (one.stop, one.prompt_tokens, one.new_tokens, one.detail, one.attempts) == ("stop", 11, 3, "", 1)
    assert one.seconds > 0
    assert set(loopback.asked.values()) == {1}


def test_no_more_requests_are_under_way_than_allowed(tmp_path):
    with serving(lambda body, before: dataclasses.replace(echo(body, before), seconds=0.03)) as loopback:
        asking = engine(loopback, tmp_path, concurrency=3)
        assert len(list(asking.complete(requests(asking, *map(str, range(12)))))) == 12
        assert list(asking.complete([])) == []
    assert loopback.most_running == 3


def test_what_is_sent_says_everything_about_the_decoding(tmp_path):
    stream = (7, "Starter/total", 2, "generate", 0)
    with serving(echo) as loopback:
        chat = engine(loopback, tmp_path)
        messages = [Message("system", "Be brief."), Message("user", "ü\n")]
        drawn = Request(chat.render(messages), Decoding(5, 0.8, 0.9, stream))
        list(chat.complete([drawn]))
        plain = engine(loopback, tmp_path, api="completions")
        answer = Request(plain.render([Message("system", ""), *messages]), GREEDY)
        (sent,) = map(json.loads, loopback.asked)
        loopback.answer = lambda body, before: right(body["prompt"])
        ((_, completion),) = plain.complete([answer])
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "ü\n"}]
    assert json.loads(drawn.prompt) == turns
    assert sent == {
        "model": MODEL, "messages": turns, "max_tokens": 5, "temperature": 0.8, "top_p": 0.9, "seed": seed_of(stream)
    }  # fmt: skip
    assert completion.text == answer.prompt == "Be brief.\n\nü\n"


def test_greedy_has_no_noise_and_each_stream_its_own_seed():
    assert parameters(Decoding(5)) == {"max_tokens": 5, "temperature": 0}
    # Hosted models that think count it with the answer and take nothing else.
    assert parameters(Decoding(5, stream=(1, "t")), 100) == {"max_completion_tokens": 105}
    for other in (Decoding(5, 0.5, stream=(1,)), Decoding(5, stop=("x",))):
        with pytest.raises(UserError, match="takes no temperature"):
            parameters(other, 100)
    seeds = {seed_of((seed, task, 1, "generate", sample)) for seed in (0, 1) for task in "ab" for sample in (0, 1)}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**31 for seed in seeds)
    # A changed seed would draw other answers in a run that is gone on with.
    assert seed_of((0, "a", 1, "generate", 0)) == 1406757564


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_passes_is_tried_again_and_the_right_answer_stored(fault, tmp_path):
    with serving(lambda body, before: FAULTS[fault] if before < 2 else echo(body, before)) as loopback:
        asking = engine(loopback, tmp_path)
        (request,) = requests(asking, "x")
        with Store(tmp_path / "store.sqlite") as store:
            asker = Asker(asking, store, Silent())
            assert asker.complete([request])[request].text == "<x>"
            assert (asker.asked, asker.failed, asker.retries, len(store)) == (1, 0, 2, 1)
            assert asker.complete([request])[request].text == "<x>"
            assert (asker.asked, asker.stored, asker.retries) == (1, 1, 2)
    assert sum(loopback.asked.values()) == 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_an_error_and_never_stored(fault, tmp_path):
    with serving(lambda body, before: FAULTS[fault] if said(body) == "x" else echo(body, before)) as loopback:
        asking = engine(loopback, tmp_path, attempts=2, timeout_seconds=0.5)
        bad, good = requests(asking, "x", "y")
        with Store(tmp_path / "store.sqlite") as store:
            asker = Asker(asking, store, Silent())
            answers = asker.complete([bad, good])
            assert (asker.asked, asker.failed, asker.retries, len(store)) == (2, 1, 1, 1)
    assert answers[good].text == "<y>"
    failure = answers[bad]
    assert (failure.text, failure.stop, failure.new_tokens, failure.attempts) == ("", "error", 0, 2)
    assert failure.detail.endswith("(try 2)")
    assert "\n" not in failure.detail


def test_a_server_that_asks_for_patience_gets_it(tmp_path):
    waits = []

    def answer(body, before):
        waits.append(time.monotonic())
        return refusal(429, "slow down", **{"Retry-After": "1"}) if before == 0 else echo(body, before)

    with serving(answer) as loopback:
        asking = engine(loopback, tmp_path)
        ((_, completion),) = asking.complete(requests(asking, "x"))
    assert completion.attempts == 2
    assert 1.0 <= waits[1] - waits[0] < 3.0


def test_patience_is_read_in_every_form_and_has_an_end():
    def patience(value):
        import openai

        reply = type("Reply", (), {"headers": {"retry-after": value}, "request": None, "status_code": 429})()
        return servers.patience(openai.RateLimitError("slow", response=reply, body=None))

    assert patience("2.5") == 2.5
    assert patience("-1") == patience("soon") == patience("nan") == patience("") == 0
    assert patience("inf") == patience("86400") == servers.MOST_PATIENCE
    assert patience("Fri, 31 Dec 1999 23:59:59 GMT") == 0
    assert patience("Fri, 31 Dec 2999 23:59:59 GMT") == servers.MOST_PATIENCE
    assert servers.patience(servers.Garbled("no headers here")) == 0


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (refusal(401, "wrong key"), "HTTP 401: wrong key"),
        (refusal(402, "Insufficient Balance"), "HTTP 402"),
        (refusal(403, "not in your country"), "HTTP 403"),
        (refusal(404, "no such model"), "HTTP 404"),
        (refusal(429, "You exceeded your quota", "insufficient_quota"), "HTTP 429: You exceeded"),
    ],
)
def test_what_no_request_can_mend_ends_the_session_at_once(reply, words, tmp_path):
    with serving(lambda body, before: reply) as loopback:
        asking = engine(loopback, tmp_path, concurrency=2)
        with pytest.raises(UserError, match=words):
            list(asking.complete(requests(asking, *map(str, range(30)))))
        time.sleep(0.1)
        assert sum(loopback.asked.values()) <= 4


def test_a_bad_request_fails_alone_and_at_once(tmp_path):
    with serving(
        lambda body, before: refusal(400, "odd\nwords") if said(body) == "x" else echo(body, before)
    ) as server:
        asking = engine(server, tmp_path)
        bad, good = requests(asking, "x", "y")
        answers = dict(asking.complete([bad, good]))
    assert answers[bad] == Completion("", "error", 0, 0, 0.0, "HTTP 400: odd words (try 1)")
    assert answers[good].text == "<y>"


def test_a_prompt_beyond_the_context_is_the_model_s_doing_and_a_large_budget_is_not(tmp_path):
    def answer(body, before):
        if len(said(body)) + body["max_tokens"] > 20:
            return refusal(400, "This model's maximum context length is 20 tokens.", "context_length_exceeded")
        return echo(body, before)

    with serving(answer) as loopback:
        asking = engine(loopback, tmp_path)
        long, short = requests(asking, "x" * 30, "x" * 10)
        answers = dict(asking.complete([long, short]))
    assert answers[long] == Completion("", "length", 0, 0, 0.0)
    assert answers[short].stop == "error"
    assert "lower loop.*_tokens" in answers[short].detail


def test_cut_answers_odd_characters_and_thinking(tmp_path):
    replies = {
        "cut": right("def f(", finish="length"),
        "thought only": right("", finish="length", reasoning_content="Hm."),
        "half a character": right("a\ud83d"),
        "no usage": Reply(body=b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'),
    }
    with serving(lambda body, before: replies[said(body)]) as loopback:
        asking = engine(loopback, tmp_path)
        answers = dict(asking.complete(requests(asking, *replies)))
    found = [(answer.text, answer.stop, answer.new_tokens, answer.attempts) for answer in answers.values()]
    assert sorted(found) == [
        ("", "length", 3, 1),
        ("a", "stop", 0, 1),
        ("a?", "stop", 3, 1),
        ("def f(", "length", 3, 1),
    ]


def test_a_mistake_of_ours_is_raised_and_not_waited_for(tmp_path, monkeypatch):
    with serving(echo) as loopback:
        asking = engine(loopback, tmp_path)
        monkeypatch.setattr("evalooop.engines.openai.parameters", lambda decoding, reasoning_tokens: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            list(asking.complete(requests(asking, "x", "y")))


def test_the_key_comes_from_the_environment_and_goes_to_the_server_only(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("OUR_KEY", "sk-secret")
    with serving(lambda body, before: refusal(400, "your key sk-secret is fine")) as loopback:
        model = config(loopback, key_variable="OUR_KEY")
        card = fetch(model, tmp_path)
        asking = OpenAIEngine(card, model.server)
        ((_, answer),) = asking.complete(requests(asking, "x"))
        open_to_all = engine(loopback, tmp_path)
        list(open_to_all.complete(requests(open_to_all, "x")))
    assert loopback.keys == {"Bearer sk-secret", "Bearer none"}
    assert answer.detail == "HTTP 400: your key *** is fine (try 1)"
    assert "sk-secret" not in repr(card) + repr(model)


def test_the_card_knows_server_model_and_what_it_tells(tmp_path):
    with serving(echo) as loopback:
        card = fetch(config(loopback), tmp_path)
        assert (card.folder, card.id, card.files) == (loopback.url, MODEL, {})
        assert card.revision == '{"root": "/weights/parrot"}'
        write_card(tmp_path / "card.json", card)
        assert read_card(tmp_path / "card.json") == card
        assert fetch(config(loopback, concurrency=9, attempts=1), tmp_path) == card
        other = {fetch(config(loopback, api="completions"), tmp_path).fingerprint, card.fingerprint}
        loopback.models[0]["root"] = "/weights/retrained"
        assert fetch(config(loopback), tmp_path).fingerprint not in other
        assert len(other) == 2


def test_a_server_that_cannot_be_used_is_one_line(tmp_path, monkeypatch):
    def refused(loopback, **server):
        with pytest.raises(UserError) as error:
            fetch(config(loopback, attempts=1, **server), tmp_path)
        return str(error.value)

    monkeypatch.delenv("OUR_KEY", raising=False)
    with serving(echo) as loopback:
        assert "OUR_KEY is not set" in refused(loopback, key_variable="OUR_KEY")
        loopback.models = [{"id": "another"}]
        assert f"does not serve the model '{MODEL}' (it lists another)" in refused(loopback)
        loopback.models = "none"
        assert "not a list of models" in refused(loopback)
    assert "no connection" in refused(loopback)


INTERRUPTED = """
import sys
from evalooop.config import ModelConfig, ServerConfig
from evalooop.engines import Decoding, Message, Request, open_engine
from evalooop.errors import exit_with_one_line
from evalooop.loop import Asker
from evalooop.models import fetch
from evalooop.store import Store
from tests.unit.test_openai_engine import Silent

def main():
    server = ServerConfig(url=sys.argv[1], concurrency=4)
    model = ModelConfig(name="parrot", source="server", id="org/parrot", server=server)
    engine = open_engine(fetch(model, None), model)
    requests = [Request(engine.render([Message("user", str(number))]), Decoding(9)) for number in range(20)]
    with Store(sys.argv[2]) as store:
        Asker(engine, store, Silent()).complete(requests)

exit_with_one_line(main)
"""


def test_an_interrupt_keeps_what_has_come_and_does_not_wait_for_the_rest(tmp_path):
    def answer(body, before):
        return dataclasses.replace(echo(body, before), seconds=60.0 if int(said(body)) >= 10 else 0.0)

    with serving(answer) as loopback:
        path = tmp_path / "store.sqlite"
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, loopback.url, str(path)], stderr=subprocess.PIPE, text=True
        )
        while loopback.running < 4:
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.2)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert time.monotonic() - sent < 10
        assert process.returncode == 130
        assert "interrupted" in errors
        with Store(path) as store:
            assert len(store) == 10


def test_another_budget_of_thinking_is_another_model(tmp_path):
    with serving(echo) as loopback:
        plain, thinking = (engine(loopback, tmp_path, reasoning_tokens=tokens) for tokens in (0, 64))
        assert plain.fingerprint != thinking.fingerprint
        (found,) = dict(thinking.complete(requests(thinking, "hi"))).values()
        assert found.text == "<hi>"
