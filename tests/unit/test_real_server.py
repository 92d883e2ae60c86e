"""The engine against a real server on loopback: ``transformers serve`` gives what the same model gives here."""

import pytest

from evalooop.config import ModelConfig, ServerConfig
from evalooop.engines import Decoding, Message, Request
from evalooop.engines.hf import HFEngine
from evalooop.engines.openai import OpenAIEngine
from evalooop.models import ModelCard, fetch
from tests.real_server import can_serve, transformers_serve
from tests.tiny import CHAT_TEMPLATE, build_tiny_model

pytestmark = [pytest.mark.slow, can_serve]
TEMPLATES = {
    "llama": CHAT_TEMPLATE,
    "qwen": CHAT_TEMPLATE.replace("{{ bos_token }}", ""),
    "stripping": CHAT_TEMPLATE.replace("message['content']", "message['content'] | trim"),
}
WORDS = ("Write a function.\n", "  ü = 3", "def f(x):\n    return x\n\n", "Describe", "x" * 200)


@pytest.fixture(scope="module")
def url():
    with transformers_serve() as url:
        yield url


@pytest.fixture(scope="module", params=TEMPLATES)
def folder(request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param) / "model"
    return build_tiny_model(place, chat_template=TEMPLATES[request.param])


def answers(engine, conversations):
    requests = [Request(engine.render(messages), Decoding(12)) for messages in conversations]
    found = dict(engine.complete(requests))
    return [(found[one].text, found[one].stop, found[one].prompt_tokens, found[one].detail) for one in requests]


def test_a_server_and_the_engine_here_give_the_same_answers(url, folder, tmp_path):
    """Row 15: the same number of prompt tokens, so no second BOS, and from them the same greedy text."""
    conversations = [[Message("system", "Be brief."), Message("user", words)] for words in WORDS]
    conversations.append([Message("user", WORDS[0])])
    here = ModelCard("tiny", str(folder), "path", str(folder), "", "tiny", {})
    model = ModelConfig("tiny", "server", str(folder), server=ServerConfig(url, concurrency=3, attempts=2))
    served = answers(OpenAIEngine(here, model.server), conversations)
    local = ModelConfig("tiny", "path", str(folder), dtype="float32", batch_size=2)
    assert served == answers(HFEngine(here, local), conversations)
    assert len({text for text, *_ in served}) > 3
    card = fetch(model, tmp_path)
    assert (card.id, card.folder) == (str(folder), url)


def test_plain_text_is_gone_on_with(url, folder):
    server = ServerConfig(url, api="completions", concurrency=1, attempts=2)
    engine = OpenAIEngine(ModelCard("tiny", url, "server", str(folder), "", "tiny", {}), server)
    ((text, stop, prompt_tokens, detail),) = answers(engine, [[Message("user", "def f(")]])
    assert text
    assert stop in ("stop", "length")
    assert (prompt_tokens >= len("def f("), detail) == (True, "")
