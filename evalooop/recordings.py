"""Where published transcripts come from: a folder, or the leaderboard's git repository at a pinned commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from evalooop.config import ModelConfig
from evalooop.datasets._evalplus import DATA_VARIABLE
from evalooop.errors import UserError
from evalooop.published import DATA, read_transcripts

COMMIT_FILE = "fetched-commit"


@dataclass(frozen=True)
class Recordings:
    """Transcripts that are there.

    Attributes:
        folder: holds ``details/`` and, if the scores were published too, ``results.json``.
        files: those that can be used, by model.
        left_out: why those that cannot be used cannot, by model.
    """

    folder: Path
    files: dict[str, Path]
    left_out: dict[str, str]


def fetch(config: ModelConfig, folder: Path) -> Recordings:
    """Find the transcripts, or fetch them into ``folder`` once, and read each file to see that it is whole.

    ``config.id`` is a folder laid out like the leaderboard's repository, or that repository's URL. For a URL the
    folder ``leaderboard`` below the one that ``EVALOOOP_DATA`` names goes before.

    Raises:
        UserError: there are none, or the repository cannot be had.
    """
    root = local_folder(config) or _cloned(config, folder)
    paths = sorted((root / DATA / "details").glob("*.json"))
    if not paths:
        raise UserError(f"{root / DATA / 'details'} holds no transcripts (*.json): put the leaderboard's there")
    files, left_out = {}, {}
    for path in paths:
        try:
            read_transcripts(path)
            files[path.stem] = path
        except UserError as error:
            left_out[path.stem] = str(error)
    return Recordings(root / DATA, files, left_out)


def local_folder(config: ModelConfig) -> Path | None:
    """Return the folder on this machine that the transcripts are read from, None if they are to be fetched."""
    own = Path(config.id).expanduser()
    if own.is_dir():
        return own
    data = os.environ.get(DATA_VARIABLE)
    return Path(data) / "leaderboard" if data else None


def _cloned(config: ModelConfig, folder: Path) -> Path:
    """Return a folder with the repository's data at the pinned commit. An interrupted fetch leaves none."""
    done = folder / COMMIT_FILE
    if done.is_file() and done.read_text(encoding="utf-8") == config.revision:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    commands = (
        ["init", "--quiet"],
        ["remote", "add", "origin", config.id],
        # Without the blobs of what is not looked at: the repository holds many versions of large files.
        ["fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", config.revision],
        ["sparse-checkout", "set", "--no-cone", f"/{DATA.as_posix()}/"],
        ["checkout", "--quiet", "FETCH_HEAD"],
    )
    for command in commands:
        _git(folder, command, config)
    done.write_text(config.revision, encoding="utf-8")
    return folder


def _git(folder: Path, command: list[str], config: ModelConfig) -> None:
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True, text=True, env=quiet)
    except FileNotFoundError:
        raise UserError(f"git is needed to fetch {config.id}: install it, or let {DATA_VARIABLE} name a local folder")
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or [f"exit status {error.returncode}"])[-1]
        raise UserError(
            f"cannot fetch {config.id} at {config.revision} ({reason}): check the network, or put the transcripts "
            f"into leaderboard/{DATA} of a folder that {DATA_VARIABLE} names"
        )
