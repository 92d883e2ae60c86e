"""The hf engine's batches: who is in them, who leaves, who comes in, and what happens when memory is short."""

from __future__ import annotations

import inspect
from dataclasses import replace

from evalooop.engines import Decoding
from evalooop.engines.hf import HFEngine
from tests.tiny import answers, build_tiny_model, card_of, make_requests, open_tiny


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


def test_waiting_prompts_take_the_places_of_ended_answers(card, engine, monkeypatch):
    requests = [
        replace(request, decoding=Decoding(3 + 9 * (number % 4 == 0), min_new_tokens=12))
        for number, request in enumerate(make_requests(engine))
    ]
    narrow = open_tiny(card, batch_size=4)
    steps = count_steps(narrow, monkeypatch)
    found = answers(narrow, requests)
    assert found == answers(engine, requests)
    # Four of twelve tokens and twelve of three: 84 rows in all. Batches that wait for their last would take 48 steps.
    assert sum(steps) == 84
    assert max(steps) == 4
    assert len(steps) < 40


def test_layers_that_cannot_be_padded_are_not_refilled(tmp_path, engine):
    """Sliding windows (Gemma 3) forget their first places: such a batch is answered to its end, then comes the next."""
    import json

    folder = build_tiny_model(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 64}
    (folder / "config.json").write_text(json.dumps(config))
    card = card_of(folder)
    requests = make_requests(engine)
    expected = answers(open_tiny(card, batch_size=1), requests)
    assert answers(open_tiny(card, batch_size=4), requests) == expected
    assert expected != answers(engine, requests)


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
    small = open_tiny(card, batch_size=16)
    forbid_rows(small, 3, monkeypatch)
    assert answers(small, requests) == answers(engine, requests)
    assert small._batch_size == 2


def test_on_a_gpu_as_many_prompts_as_fit(card, engine, monkeypatch):
    """There is no GPU here: it is made up, with little room and with less."""
    import torch

    from evalooop.engines.capacity import rows_that_fit
    from evalooop.engines.draft import Prompt

    roomy = open_tiny(card)
    roomy._model = engine._model
    prompts = [Prompt(0, [1] * 100, Decoding(60), 900), Prompt(1, [1] * 10, Decoding(500), 20)]
    assert roomy._roomy_batch_size(prompts) == 16
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10_000_000, 0))
    found = roomy._roomy_batch_size(prompts)
    assert found == rows_that_fit(10_000_000, 160, roomy._model.config, 4)
    assert 1 < found < 256
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000, 0))
    assert roomy._roomy_batch_size(prompts) == 1


def test_prompt_too_large_for_the_memory_is_an_error_not_an_answer(card, engine, monkeypatch):
    full = open_tiny(card, batch_size=4)
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
