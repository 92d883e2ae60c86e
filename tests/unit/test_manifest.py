"""The manifest says under what answers were made and with which template."""

from __future__ import annotations

import hashlib
import json

from scripts.manifest import setups, template


def test_setups_are_gathered_by_session():
    stages = [
        {"stage": "generate", "session": "a", "setups": ["float32, sdpa, CPU, batch 16"]},
        {"stage": "generate", "session": "a", "setups": ["float32, sdpa, CPU, batch 4"]},
        {"stage": "generate", "session": "b"},
        {"stage": "execute", "session": "a"},
    ]
    assert setups(stages) == {"a": ["float32, sdpa, CPU, batch 16", "float32, sdpa, CPU, batch 4"], "b": []}


def test_the_template_is_known_by_its_hash_wherever_it_lies(tmp_path):
    card = tmp_path / "card.json"
    card.write_text(json.dumps({"folder": str(tmp_path)}))
    assert template(card) == ""
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ a }}"}))
    inside = template(card)
    (tmp_path / "chat_template.jinja").write_text("{{ a }}")
    assert inside == template(card) == hashlib.sha256(b"{{ a }}").hexdigest()


def test_a_model_that_could_not_be_had_has_no_template(tmp_path):
    card = tmp_path / "card.json"
    card.write_text(json.dumps({"name": "x", "error": "gated"}))
    assert template(card) == ""
