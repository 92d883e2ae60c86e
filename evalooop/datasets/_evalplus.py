"""What the two benchmarks of EvalPlus (Liu et al., 2023, arXiv:2305.01210) share: their files and their form.

A row holds ``base_input`` and ``plus_input`` and no expected values: these are what the reference answers.
References are the dataset's code, trusted because the content is checked against a pinned checksum first.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch

from evalooop.errors import UserError
from evalooop.tasks import Suite

DATA_VARIABLE = "EVALOOOP_DATA"
"""Environment variable that names a folder of datasets, used instead of downloading."""


@dataclass(frozen=True)
class Source:
    """Where a benchmark's file comes from.

    Attributes:
        folder, file: its place under the folder that ``EVALOOOP_DATA`` names.
        url: where it is downloaded from when that variable is not set.
        sha256: of the decompressed content.
    """

    folder: str
    file: str
    url: str
    sha256: str


def read_rows(source: Source) -> list[dict[str, Any]]:
    """Return the rows of a benchmark's file, from the local folder or else downloaded once and kept.

    Raises:
        UserError: the file cannot be had, or its content is not the pinned one.
    """
    path = _local_or_downloaded(source)
    try:
        content = gzip.decompress(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: put {source.url} there, or unset {DATA_VARIABLE} to download it")
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read ({error}): remove it and fetch {source.url} again")
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise UserError(
            f"{path} holds content with sha256 {found[:12]}..., not the pinned {source.sha256[:12]}...: "
            f"remove it and fetch {source.url}"
        )
    return [json.loads(line) for line in content.splitlines()]


def _local_or_downloaded(source: Source) -> Path:
    if folder := os.environ.get(DATA_VARIABLE):
        return Path(folder) / source.folder / source.file
    pooch.get_logger().setLevel("WARNING")
    cache = pooch.os_cache("evalooop") / source.sha256[:12]
    try:
        # What is pinned is the content, checked after unpacking: the same content can be packed in many ways.
        return Path(pooch.retrieve(source.url, known_hash=None, fname=source.file, path=cache))
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot download {source.url} ({type(error).__name__}): check the network, or put the file into "
            f"{source.folder}/ of a folder that {DATA_VARIABLE} names"
        )


def reference_function(row: dict[str, Any]) -> Callable[..., Any]:
    """Return the entry point of a row's reference, which is its prompt and canonical solution together."""
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        # Some references have regular expressions in plain strings: of no interest to who fetches a dataset.
        warnings.simplefilter("ignore")
        exec(compile(row["prompt"] + row["canonical_solution"], row["task_id"], "exec"), namespace)
    return namespace[row["entry_point"]]


def reasons(left_out: Mapping[str, Collection[int]]) -> dict[str, str]:
    """Return why tasks lack some plus tests. ``left_out``: positions of these, by task."""
    return {task: f"{len(tests)} plus tests whose expected value is too large" for task, tests in left_out.items()}


def judged_suite(
    name: str,
    function: Callable[..., Any],
    inputs: list[tuple[Any, ...]],
    rule: str,
    atol: float,
    left_out: Collection[int] = (),
) -> Suite:
    """Return a suite whose expected values are the reference's answers.

    Args:
        function: the reference.
        inputs: arguments of each test; the reference gets a copy, so it may change them.
        left_out: positions in ``inputs`` that the suite does not take over.
    """
    kept = [args for position, args in enumerate(inputs) if position not in left_out]
    expected = [_expected(function(*copy.deepcopy(args)), rule) for args in kept]
    return Suite(name, tuple(kept), tuple(expected), atol, rule)


def _expected(answer: Any, rule: str) -> Any:
    """Return what is stored of an answer: all that its rule looks at, in an order that no hash seed changes."""
    if rule == "not_none":
        return answer is not None
    if rule == "set_equal":
        return type(answer)(sorted(answer, key=repr))
    return answer
