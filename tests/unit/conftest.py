"""A tiny model with random weights, and its engine, for the tests of a module."""

from __future__ import annotations

import pytest

from evalooop.engines.hf import HFEngine
from evalooop.models import ModelCard
from tests.tiny import build_tiny_model, card_of, open_tiny


@pytest.fixture(scope="module")
def one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def card(tmp_path_factory, one_thread) -> ModelCard:
    return card_of(build_tiny_model(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def engine(card) -> HFEngine:
    return open_tiny(card, batch_size=16)
