"""The transformers engine on a tiny random model in float32: an answer depends on its request and nothing else."""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evalooop.config import ModelConfig
from evalooop.engines import Completion, Decoding, Message, Request
from evalooop.engines.hf import HFEngine
from evalooop.errors import UserError
from evalooop.models import ModelCard, fetch, read_card
from tests.tiny import build_tiny_model

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / "results" / "demo" / "models" / "smollm2-135m.json"


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def card_of(folder: Path) -> ModelCard:
    return fetch(ModelConfig(name="tiny", source="path", id=str(folder)), folder)


@pytest.fixture(scope="module")
def card(tmp_path_factory) -> ModelCard:
    return card_of(build_tiny_model(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def engine(card) -> HFEngine:
    return HFEngine(card, "float32", 16)


def make_requests(engine: HFEngine, temperature: float = 0.0, top_p: float = 1.0, tokens: int = 40) -> list[Request]:
    """Sixteen prompts of 3 to 300 characters, so that a batch holds much padding."""
    texts = ["abc"[index % 3] * (3 + 20 * index) for index in range(16)]
    return [
        Request(
            engine.render([Message("user", text)]),
            Decoding(tokens, temperature, top_p, stream=("seed", index) if temperature else None),
        )
        for index, text in enumerate(texts)
    ]


def answers(engine: HFEngine, requests: list[Request]) -> dict[Request, tuple]:
    """Return what was answered to each request; time is left out."""
    return {request: content(completion) for request, completion in engine.complete(requests)}


def content(completion: Completion) -> tuple:
    return (completion.text, completion.stop, completion.prompt_tokens, completion.new_tokens)


@pytest.mark.parametrize(("temperature", "top_p"), [(0.0, 1.0), (0.8, 1.0), (0.8, 0.9)])
def test_answers_do_not_depend_on_batch_or_order(card, engine, temperature, top_p):
    requests = make_requests(engine, temperature, top_p)
    expected = answers(HFEngine(card, "float32", 1), requests)
    assert len(set(expected.values())) == 16
    for batch_size in (4, 16):
        shuffled = random.Random(batch_size).sample(requests, len(requests))
        assert answers(HFEngine(card, "float32", batch_size), shuffled) == expected


def test_greedy_batches_equal_generate_one_by_one(engine):
    import torch

    requests = make_requests(engine, tokens=64)
    found = answers(engine, requests)
    stops = Counter()
    for request in requests:
        ids = torch.tensor([engine._tokenizer(request.prompt, add_special_tokens=False)["input_ids"]])
        whole = engine._model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=64, pad_token_id=0
        )
        new = whole[0, ids.shape[1] :].tolist()
        stop = "stop" if new[-1] == engine._tokenizer.eos_token_id else "length"
        stops[stop] += 1
        count = len(new) - (stop == "stop")
        text = engine._tokenizer.decode(new, skip_special_tokens=True)
        assert found[request] == (text, stop, ids.shape[1], count)
    assert set(stops) == {"stop", "length"}


def test_noise_follows_the_stream(engine):
    request = make_requests(engine, 0.8)[2]
    changed = [
        replace(request, decoding=replace(request.decoding, **change))
        for change in ({"stream": ("seed", 99)}, {"stream": ("other", 2)}, {"temperature": 1.6})
    ]
    found = answers(engine, [request, *changed])
    assert len(set(found.values())) == 4
    assert answers(engine, [request]) == {request: found[request]}


def test_samples_are_distinct_and_come_again(engine):
    prompt = make_requests(engine)[5].prompt
    requests = [Request(prompt, Decoding(40, 0.8, stream=(0, "task", 1, "generate", sample))) for sample in range(5)]
    first = answers(engine, requests)
    assert len({text for text, *_ in first.values()}) == 5
    assert answers(engine, requests) == first


def test_zero_is_greedy_however_it_is_written(engine):
    prompt = make_requests(engine)[3].prompt
    ways = [Decoding(20), Decoding(20, 0), Decoding(20, 0.0, 0.5), Decoding(20, 0.0, 1.0, ("a",))]
    found = [content(completion) for way in ways for _, completion in engine.complete([Request(prompt, way)])]
    assert len(set(found)) == 1
    assert ways[0] == ways[1]


def test_requests_of_one_call_may_differ(engine):
    base = make_requests(engine)[7]
    decodings = [
        Decoding(1),
        Decoding(7),
        Decoding(30),
        Decoding(12, 0.8, 0.9, ("s", 1)),
        Decoding(12, 1.2, 1.0, ("s", 1)),
    ]
    requests = [Request(base.prompt, decoding) for decoding in decodings]
    together = answers(engine, requests)
    for request in requests:
        assert answers(engine, [request])[request] == together[request]
        assert together[request][1] == "stop" or together[request][3] == request.decoding.max_new_tokens
    longest, shorter = engine._tokenizer(together[requests[2]][0]), engine._tokenizer(together[requests[0]][0])
    assert longest["input_ids"][:2] == shorter["input_ids"][:2]


def test_answers_come_as_they_end(engine, monkeypatch):
    steps = count_steps(engine, monkeypatch)
    first, second = make_requests(engine, tokens=1)[0], make_requests(engine, tokens=30)[1]
    stream = engine.complete([second, first])
    assert next(stream)[0] == first
    assert len(steps) == 1
    assert next(stream)[0] == second


def test_ended_answers_leave_the_batch(engine, monkeypatch):
    steps = count_steps(engine, monkeypatch)
    requests = make_requests(engine)[:4]
    requests = [replace(request, decoding=Decoding(2 + 3 * k)) for k, request in enumerate(requests)]
    found = answers(engine, requests)
    assert {stop for _, stop, *_ in found.values()} == {"length"}
    assert steps == [4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1]


def count_steps(engine: HFEngine, monkeypatch) -> list[int]:
    """Return a list that grows with the number of rows of each step of the model."""
    rows: list[int] = []
    forward = engine._model.forward

    def counted(input_ids, **options):
        rows.append(len(input_ids))
        return forward(input_ids=input_ids, **options)

    counted.__signature__ = inspect.signature(forward)
    monkeypatch.setattr(engine._model, "forward", counted)
    return rows


def test_seconds_are_shares_of_the_time_taken(engine):
    completions = [completion for _, completion in engine.complete(make_requests(engine))]
    assert all(completion.seconds > 0 for completion in completions)


def test_out_of_memory_halves_the_batch(card, engine, monkeypatch):
    requests = make_requests(engine)
    small = HFEngine(card, "float32", 16)
    forbid_rows(small, 3, monkeypatch)
    assert answers(small, requests) == answers(engine, requests)
    assert small._batch_size == 2


def test_prompt_too_large_for_the_memory_is_an_error_not_an_answer(card, engine, monkeypatch):
    full = HFEngine(card, "float32", 4)
    forbid_rows(full, 1, monkeypatch)
    completions = [completion for _, completion in full.complete(make_requests(engine))]
    assert len(completions) == 16
    assert {(c.stop, c.text, c.new_tokens) for c in completions} == {("error", "", 0)}
    assert all("memory" in completion.detail for completion in completions)


def forbid_rows(engine: HFEngine, rows: int, monkeypatch) -> None:
    """Let the model run out of memory at this many rows."""
    import torch

    forward = engine._model.forward

    def scarce(input_ids, **options):
        if len(input_ids) >= rows:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(input_ids=input_ids, **options)

    scarce.__signature__ = inspect.signature(forward)
    monkeypatch.setattr(engine._model, "forward", scarce)


def test_every_end_token_of_the_model_ends_an_answer(card, engine):
    from evalooop.engines.decoding import Prompt, decode

    request = make_requests(engine)[4]
    ids = engine._tokenizer(request.prompt, add_special_tokens=False)["input_ids"]
    (whole,) = decode(engine._model, [Prompt(0, ids, request.decoding)], frozenset())
    third = whole.ids.index(whole.ids[3])
    other = HFEngine(card, "float32", 1)
    other._model.generation_config.eos_token_id = [engine._tokenizer.eos_token_id, whole.ids[third]]
    assert answers(other, [request])[request][1:] == ("stop", len(ids), third)


def test_context_bounds_prompt_and_answer(engine):
    longest = Request("a" * 1000, Decoding(100, 1.0, stream=(1,)))
    too_long = Request("a" * 1024, Decoding(1))
    found = dict(engine.complete([too_long, longest]))
    assert found[longest].prompt_tokens + found[longest].new_tokens <= 1024
    assert found[longest].new_tokens <= 24
    assert (found[too_long].stop, found[too_long].text, found[too_long].prompt_tokens) == ("length", "", 1024)


def test_other_weights_other_fingerprint_other_answers(card, engine, tmp_path):
    second = HFEngine(card_of(build_tiny_model(tmp_path, seed=1)), "float32", 16)
    requests = make_requests(engine)
    assert second.fingerprint != engine.fingerprint
    assert set(answers(second, requests).values()).isdisjoint(answers(engine, requests).values())


def test_fingerprint_names_the_resolved_dtype(card):
    import torch

    assert HFEngine(card, "bfloat16", 1).fingerprint == f"{card.fingerprint}:bfloat16"
    expected = "bfloat16" if torch.cuda.is_available() else "float32"
    assert HFEngine(card, "auto", 1).fingerprint == f"{card.fingerprint}:{expected}"


def test_nothing_asked_nothing_loaded(card):
    engine = HFEngine(card, "auto", 4)
    assert list(engine.complete([])) == []
    assert not {"_model", "_tokenizer"} & set(vars(engine))
    engine.render([Message("user", "hi")])
    assert "_model" not in vars(engine)


def test_waiting_threads_sleep_unless_the_user_says_otherwise(card, monkeypatch):
    for before, after in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        monkeypatch.setenv("OMP_WAIT_POLICY", before or "")
        if before is None:
            monkeypatch.delenv("OMP_WAIT_POLICY")
        HFEngine(card, "auto", 1)
        assert os.environ["OMP_WAIT_POLICY"] == after


def test_import_is_light():
    code = "import sys, evalooop.engines.hf; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_model_that_does_not_load_is_one_line(tmp_path):
    folder = build_tiny_model(tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(UserError, match=r"tiny in .* does not load") as caught:
        list(HFEngine(card_of(folder), "auto", 1).complete([Request("hi", Decoding(1))]))
    assert "\n" not in str(caught.value)


def test_model_with_gaps_is_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = build_tiny_model(tmp_path)
    weights = load_file(folder / "model.safetensors")
    gap = next(name for name in weights if name.endswith("q_proj.weight"))
    del weights[gap]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=f"lacks 1 weights, {gap} first"):
        list(HFEngine(card_of(folder), "auto", 1).complete([Request("hi", Decoding(1))]))


def test_drawn_tokens_follow_the_softmax():
    import torch

    from evalooop.engines.decoding import choose, noise_key

    decoding = Decoding(1, 0.7, stream=("a",))
    logits = torch.tensor([[2.0, 1.0, 0.5, -1.0, 1.5]])
    key = noise_key(decoding)
    draws = Counter(choose(logits, [decoding], [key], step).item() for step in range(5000))
    expected = (logits[0] / 0.7).softmax(0).numpy()
    found = np.array([draws[token] for token in range(5)]) / 5000
    assert np.all(np.abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / 5000))


def test_nucleus_holds_the_fewest_likeliest_tokens():
    import torch

    from evalooop.engines.decoding import choose, noise_key

    logits = torch.tensor([[0.15, 0.5, 0.05, 0.3]]).log()
    for top_p, tokens in ((0.4, {1}), (0.7, {1, 3}), (0.9, {0, 1, 3}), (1.0, {0, 1, 2, 3})):
        decoding = Decoding(1, 1.0, top_p, ("b",))
        key = noise_key(decoding)
        assert {choose(logits, [decoding], [key], step).item() for step in range(400)} == tokens


def test_noise_is_a_function_of_stream_and_step():
    from evalooop.engines.decoding import gumbel, noise_key

    first, second = noise_key(Decoding(1, 1.0, stream=(0, "a"))), noise_key(Decoding(1, 1.0, stream=("0", "a")))
    assert np.array_equal(gumbel(first, 3, 50), gumbel(first, 3, 50))
    assert not np.array_equal(gumbel(first, 3, 50), gumbel(first, 4, 50))
    assert not np.array_equal(gumbel(first, 3, 50), gumbel(second, 3, 50))
    # A standard Gumbel variable has the mean 0.5772 (Euler's constant) and the variance pi**2 / 6.
    many = gumbel(first, 0, 100_000)
    assert abs(many.mean() - 0.5772) < 0.02
    assert abs(many.var() - np.pi**2 / 6) < 0.04


@pytest.mark.slow
def test_smollm2_answers_alike_in_any_batch():
    if not SMOLLM2.is_file():
        pytest.skip("results/demo/models/smollm2-135m.json is not there; `make demo` fetches the model")
    card = read_card(SMOLLM2)
    card = replace(card, folder=str(ROOT / card.folder))
    engine = HFEngine(card, "float32", 8)
    texts = ["add(a, b) that returns the sum", "last(items) that returns the last item", "double(n) that returns 2 * n"]
    prompts = [engine.render([Message("user", f"Write a Python function {text}.")]) for text in texts]
    requests = [Request(prompt, Decoding(24)) for prompt in prompts]
    requests += [Request(prompt, Decoding(24, 0.8, 0.95, (k,))) for k, prompt in enumerate(prompts)]
    together = answers(engine, requests)
    assert "def add(a, b)" in together[requests[0]][0]
    alone = HFEngine(card, "float32", 1)
    alone._model = engine._model
    assert answers(alone, requests) == together
