"""How many answers a GPU has memory for, by the model's shape."""

from __future__ import annotations

import pytest

from evalooop.engines.capacity import MOST, rows_that_fit

transformers = pytest.importorskip("transformers")
GB = 2**30
# Shape of Qwen2.5-Coder-7B: 28 layers, four groups of heads of 128: 56 KiB a token in two bytes.
SHAPE = transformers.Qwen2Config(
    hidden_size=3584, num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4, vocab_size=152_064
)


def test_by_hand():
    row = 57_344 * 1000 + 16 * 152_064
    assert rows_that_fit(10 * GB, 1000, SHAPE, 2) == int(0.7 * 10 * GB / row) == 125


def test_longer_answers_and_wider_numbers_take_more():
    assert rows_that_fit(10 * GB, 2000, SHAPE, 2) < rows_that_fit(10 * GB, 1000, SHAPE, 2)
    assert rows_that_fit(10 * GB, 1000, SHAPE, 4) < rows_that_fit(10 * GB, 1000, SHAPE, 2)


def test_at_least_one_and_not_without_end():
    assert rows_that_fit(0, 1000, SHAPE, 2) == 1
    assert rows_that_fit(1000 * GB, 1000, SHAPE, 2) == MOST


def test_shapes_that_say_less_or_nest():
    plain = transformers.GPT2Config()
    assert rows_that_fit(GB, 1000, plain, 2) > 1
    nested = transformers.Gemma3Config()
    assert rows_that_fit(10 * GB, 1000, nested, 2) > 1
