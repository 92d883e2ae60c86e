"""Rendered prompts, byte for byte, and their token ids."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from evalooop.engines import Message
from evalooop.engines.chat import encode, knows_system, markers, render
from evalooop.errors import UserError
from tests.tiny import BOS, CHAT_TEMPLATE, build_tiny_model

SYSTEM = Message("system", "You write Python.")
USER = Message("user", "Write f.\n\n")
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
REFUSES_SYSTEM = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}[{{ message['role'] }}]{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}[model]\n{% endif %}"
)
DROPS_SYSTEM = (
    "{% for message in messages if message['role'] != 'system' %}[{{ message['role'] }}]{{ message['content'] }}"
    "{% endfor %}{% if add_generation_prompt %}[model]{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(build_tiny_model(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def with_template(tokenizer):
    def change(template: str | None):
        tokenizer.chat_template = template
        return tokenizer

    yield change
    tokenizer.chat_template = CHAT_TEMPLATE


def test_template_is_applied_with_generation_prompt(with_template):
    text = render(with_template(CHATML), [SYSTEM, USER])
    assert text == (
        "<|im_start|>system\nYou write Python.<|im_end|>\n<|im_start|>user\nWrite f.\n\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_template_that_refuses_system_gets_it_in_the_user_turn(with_template):
    text = render(with_template(REFUSES_SYSTEM), [SYSTEM, USER])
    assert text == f"{BOS}[user]You write Python.\n\nWrite f.\n\n[model]\n"


def test_template_that_drops_system_gets_it_in_the_user_turn(with_template):
    assert render(with_template(DROPS_SYSTEM), [SYSTEM, USER]) == "[user]You write Python.\n\nWrite f.\n\n[model]"


def test_empty_system_message_is_no_message(with_template):
    empty = Message("system", "")
    assert render(with_template(REFUSES_SYSTEM), [empty, USER]) == render(with_template(REFUSES_SYSTEM), [USER])


def test_base_model_gets_the_plain_text(with_template):
    assert render(with_template(None), [USER]) == "Write f.\n\n"
    assert render(with_template(None), [SYSTEM, USER]) == "You write Python.\n\nWrite f.\n\n"


def test_template_that_refuses_everything_is_one_clear_line(with_template):
    with pytest.raises(UserError, match="refuses the conversation: no") as caught:
        render(with_template("{{ raise_exception('no') }}"), [SYSTEM, USER])
    assert "\n" not in str(caught.value)


def test_clock_of_a_template_stands_still(with_template):
    template = "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% endif %} {{ messages[0]['content'] }}"
    assert render(with_template(template), [Message("user", "hi")]) == "26 Jul 2024 hi"


@pytest.mark.parametrize("template", [CHAT_TEMPLATE, CHATML, REFUSES_SYSTEM], ids=["bos", "chatml", "no-system"])
def test_ids_are_those_of_the_template_alone(with_template, template):
    tokenizer = with_template(template)
    ids = encode(tokenizer, render(tokenizer, [USER]))
    straight = tokenizer.apply_chat_template(
        [{"role": "user", "content": USER.content}], add_generation_prompt=True, tokenize=True, return_dict=False
    )
    assert ids == straight
    assert ids.count(tokenizer.bos_token_id) == template.count("bos_token")


def test_base_prompt_bears_one_bos(with_template):
    tokenizer = with_template(None)
    plain, begun = encode(tokenizer, "def f():\n"), encode(tokenizer, BOS + "def f():\n")
    assert plain == begun
    assert plain.count(tokenizer.bos_token_id) == 1


def test_trailing_newlines_reach_the_model(with_template):
    """Row 17."""
    tokenizer = with_template(None)
    assert [len(encode(tokenizer, "x" + "\n" * count)) for count in range(4)] == [2, 3, 4, 5]


def test_bos_is_no_matter_without_a_bos_token():
    def tokenize(prompt: str, add_special_tokens: bool, verbose: bool):
        return {"input_ids": [ord(c) for c in prompt] + ([0] if add_special_tokens else [])}

    class Tokenizer(SimpleNamespace):
        __call__ = staticmethod(tokenize)

    assert encode(Tokenizer(bos_token=None, chat_template=None), "ab") == [97, 98, 0]


def test_a_template_that_has_no_place_for_a_system_text_is_known(with_template):
    assert knows_system(with_template(CHATML))
    assert not knows_system(with_template(REFUSES_SYSTEM))
    assert not knows_system(with_template(DROPS_SYSTEM))
    assert not knows_system(with_template(None))


@pytest.mark.parametrize(("known", "pair"), [("[/THINK]", ("[THINK]", "[/THINK]")), ("x", ("<think>", "</think>"))])
def test_markers_of_thinking_are_the_tokenizers_own(known, pair):
    assert markers(SimpleNamespace(get_added_vocab=lambda: {known: 7})) == pair
