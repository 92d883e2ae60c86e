"""The transformers engine on a tiny random model in float32: an answer depends on its request and nothing else."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from evalooop.config import ReasoningConfig
from evalooop.engines import Decoding, Message, Request
from evalooop.errors import UserError
from evalooop.models import ModelCard
from tests.tiny import answers, build_tiny_model, card_of, content, make_requests, open_tiny

ROOT = Path(__file__).parents[2]
SMOLLM2 = sorted(ROOT.glob("resources/models/smollm2-135m*/model.safetensors"))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"repetition_penalty": 1.3, "min_new_tokens": 20},
        {"temperature": 0.8},
        {"temperature": 0.8, "top_p": 0.9, "top_k": 50, "repetition_penalty": 1.1, "stop": ("a", "e")},
    ],
)
def test_answers_do_not_depend_on_batch_or_order(card, engine, settings):
    """Row 23."""
    requests = make_requests(engine, **settings)
    expected = answers(open_tiny(card, batch_size=1), requests)
    assert len(set(expected.values())) == 16
    for batch_size in (4, 16):
        shuffled = random.Random(batch_size).sample(requests, len(requests))
        assert answers(open_tiny(card, batch_size=batch_size), shuffled) == expected


@pytest.mark.parametrize("settings", [{}, {"repetition_penalty": 1.2, "min_new_tokens": 30}])
def test_greedy_batches_equal_generate_one_by_one(engine, settings):
    """Row 19."""
    import torch

    requests = make_requests(engine, tokens=64, **settings)
    found = answers(engine, requests)
    stops = Counter()
    for request in requests:
        ids = torch.tensor([engine._tokenizer(request.prompt, add_special_tokens=False)["input_ids"]])
        whole = engine._model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=64, pad_token_id=0, **settings
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


def test_stop_texts_end_answers_wherever_tokens_part(engine):
    """The tiny model's tokens are bytes: a stop text always spans several."""
    requests = make_requests(engine)
    whole = answers(engine, requests)
    stop = whole[requests[4]][0][5:8]
    assert len(stop) == 3
    stopped = [replace(request, decoding=Decoding(40, stop=("never said", stop))) for request in requests]
    found = answers(engine, stopped)
    assert found[stopped[4]][:2] == (whole[requests[4]][0].partition(stop)[0], "stop")
    for before, after in zip(requests, stopped, strict=True):
        assert found[after][0] == whole[before][0].partition(stop)[0]


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


def test_every_end_token_of_the_model_ends_an_answer(card, engine):
    from evalooop.engines.decoding import decode
    from evalooop.engines.draft import Prompt

    request = make_requests(engine)[4]
    ids = engine._tokenizer(request.prompt, add_special_tokens=False)["input_ids"]
    endless = replace(engine._language, end_ids=frozenset())
    (answer,) = decode(engine._model, [Prompt(0, ids, request.decoding, 1000)], endless, 1)
    whole = answer.draft.ids
    third = whole.index(whole[3])
    other = open_tiny(card, batch_size=1)
    other._model.generation_config.eos_token_id = [engine._tokenizer.eos_token_id, whole[third]]
    assert answers(other, [request])[request][1:] == ("stop", len(ids), third)


def test_context_bounds_prompt_and_answer(engine):
    longest = Request("a" * 1000, Decoding(100, 1.0, stream=(1,)))
    too_long = Request("a" * 1024, Decoding(1))
    found = dict(engine.complete([too_long, longest]))
    assert found[longest].prompt_tokens + found[longest].new_tokens <= 1024
    assert found[longest].new_tokens <= 24
    assert (found[too_long].stop, found[too_long].text, found[too_long].prompt_tokens) == ("length", "", 1024)


def test_other_weights_other_fingerprint_other_answers(card, engine, tmp_path):
    second = open_tiny(card_of(build_tiny_model(tmp_path, seed=1)))
    requests = make_requests(engine)
    assert second.fingerprint != engine.fingerprint
    assert set(answers(second, requests).values()).isdisjoint(answers(engine, requests).values())


def test_fingerprint_names_the_resolved_dtype(card):
    import torch

    assert open_tiny(card, dtype="bfloat16").fingerprint == f"{card.fingerprint}:bfloat16"
    expected = "bfloat16" if torch.cuda.is_available() else "float32"
    assert open_tiny(card, dtype="auto").fingerprint == f"{card.fingerprint}:{expected}"


def test_other_attention_or_thinking_is_another_model(card):
    reasoning = {"reasoning": ReasoningConfig(tokens=9)}
    settings = ({}, {"attention": "eager"}, reasoning, {"reasoning": ReasoningConfig(tokens=10)})
    assert len({open_tiny(card, **it).fingerprint for it in settings}) == 4


def test_an_answer_says_under_what_it_was_made(card, engine, tmp_path):
    requests = make_requests(engine)[:3]
    cases = (
        (card, "eager", "float32, eager, CPU, batch 3"),
        (card, "auto", "float32, sdpa, CPU, batch 3"),
        (refusing_system(tmp_path), "auto", "float32, sdpa, CPU, batch 3, system text in the user turn"),
    )
    for model, attention, expected in cases:
        found = dict(open_tiny(model, attention=attention).complete(requests))
        assert {completion.setup for completion in found.values()} == {expected}


def refusing_system(folder: Path) -> ModelCard:
    """Row 13: a model such as Gemma, whose template raises on a system message."""
    template = (
        "{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no system role') }}"
        "{% endif %}{{ message['content'] }}{% endfor %}"
    )
    return card_of(build_tiny_model(folder, chat_template=template))


def test_a_thinking_model_is_read_apart(card, engine):
    """The tiny model says nothing sensible: its thinking is taken to end at a text that it happens to write."""
    request = make_requests(engine, tokens=40)[4]
    whole = answers(engine, [request])[request][0]
    closing = whole[10:13]
    thinks = open_tiny(card, reasoning=ReasoningConfig(tokens=30, open=request.prompt[-3:-1], close=closing))
    (completion,) = dict(thinks.complete([request])).values()
    assert completion.reasoning == whole.partition(closing)[0].strip()
    assert (whole.partition(closing)[2]).startswith(completion.text[:20])
    assert 0 < completion.reasoning_tokens < completion.new_tokens
    hasty = open_tiny(card, reasoning=ReasoningConfig(tokens=5, open=request.prompt[-3:-1], close=closing))
    (completion,) = dict(hasty.complete([request])).values()
    assert (completion.text, completion.stop, completion.new_tokens, completion.reasoning_tokens) == (
        "",
        "length",
        5,
        5,
    )
    assert completion.only_thought


def test_nothing_asked_nothing_loaded(card):
    engine = open_tiny(card, dtype="auto")
    assert list(engine.complete([])) == []
    assert not {"_model", "_tokenizer"} & set(vars(engine))
    engine.render([Message("user", "hi")])
    assert "_model" not in vars(engine)


def test_waiting_threads_sleep_unless_the_user_says_otherwise(card, monkeypatch):
    for before, after in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        monkeypatch.setenv("OMP_WAIT_POLICY", before or "")
        if before is None:
            monkeypatch.delenv("OMP_WAIT_POLICY")
        open_tiny(card, dtype="auto")
        assert os.environ["OMP_WAIT_POLICY"] == after


def test_import_is_light():
    code = "import sys, evalooop.engines.hf; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_model_that_does_not_load_is_one_line(tmp_path):
    folder = build_tiny_model(tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(UserError, match=r"tiny in .* does not load") as caught:
        list(open_tiny(card_of(folder)).complete([Request("hi", Decoding(1))]))
    assert "\n" not in str(caught.value)


def test_model_with_gaps_is_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    folder = build_tiny_model(tmp_path)
    weights = load_file(folder / "model.safetensors")
    gap = next(name for name in weights if name.endswith("q_proj.weight"))
    del weights[gap]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=f"lacks 1 weights, {gap} first"):
        list(open_tiny(card_of(folder)).complete([Request("hi", Decoding(1))]))


@pytest.mark.slow
@pytest.mark.skipif(not SMOLLM2, reason="resources/models has no smollm2-135m; `make demo` fetches it")
def test_smollm2_answers_alike_in_any_batch():
    card = card_of(SMOLLM2[0].parent)
    engine = open_tiny(card, batch_size=16)
    texts = ["add(a, b), the sum", "last(items), the last item", "double(n), 2 * n", "is_even(n)"]
    prompts = [
        engine.render([Message("user", f"Write a Python function {text}." * times)])
        for times, text in enumerate(texts, start=1)
    ]
    requests = [
        Request(prompt, Decoding(tokens, temperature, 0.95, (number, tokens)))
        for number, prompt in enumerate(prompts)
        for tokens, temperature in ((24, 0), (4, 0), (12, 0.8), (2, 0.8))
    ]
    together = answers(engine, requests)
    assert any("def add(a, b)" in text for text, *_ in together.values())
    for batch_size in (1, 4):
        other = open_tiny(card, batch_size=batch_size)
        other._model = engine._model
        shuffled = random.Random(batch_size).sample(requests, len(requests))
        assert answers(other, shuffled) == together
