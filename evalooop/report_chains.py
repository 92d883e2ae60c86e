"""Side files of the report: for each run an index of its chains, and their texts in pages of limited size."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from evalooop.figures.outcomes import chain_ends, with_outcome
from evalooop.records import Similarity

PAGE_BYTES = 1_000_000
"""A page of texts is closed once it holds this much: a browser reads it from disk in an instant."""

STATUS_WORDS = {
    "truncated": "answer cut off at the token limit",
    "no_code": "no program in the answer",
    "incomplete_reasoning": "reasoning never closed",
}
VERDICT_WORDS = {"fail": "failed", "timeout": "ran out of time", "memory": "ran out of memory"}


@dataclass(frozen=True)
class RunFiles:
    """The side files of one run: contents by file name, and the one that is its index."""

    run: str
    index: str
    contents: dict[str, str]


def chain_files(
    chains: pl.DataFrame, similarity: Iterable[Similarity], panels: Mapping[str, dict[str, Any]]
) -> Iterator[RunFiles]:
    """Yield the side files of each run of a chain table; only one run's texts are in memory at a time.

    ``panels``: what stands above the chains of a run, by run (``evalooop.report_board.panels``).

    Each file is a script that calls one global function: ``evalooopIndex(run, index)`` with a row for every
    chain, longest survivors first, or ``evalooopTexts(run, page, {chain number: loops})``. Their arguments are
    JSON.
    """
    judged = {(row.run, row.task, row.sample, row.loop): row for row in similarity}
    taken: set[str] = set()
    for ends in chain_ends(chains).partition_by("run", maintain_order=True):
        run = ends["run"][0]
        stem = _file_stem(run, taken)
        taken.add(stem)
        steps = with_outcome(chains.filter(run=run)).sort("loop").partition_by("task", "sample", as_dict=True)
        loops = [
            [_loop(row, judged) for row in steps[chain].iter_rows(named=True)]
            for chain in ends.select("task", "sample").iter_rows()
        ]
        pages = list(_pages(loops))
        page_of = {number: page for page, numbers in enumerate(pages, start=1) for number in numbers}
        index = _index(ends, loops, page_of, stem) | {"panel": panels.get(run)}
        contents = {f"{stem}.js": _call("evalooopIndex", run, index)}
        for page, numbers in enumerate(pages, start=1):
            texts = {number: loops[number] for number in numbers}
            contents[f"{stem}.{page}.js"] = _call("evalooopTexts", run, page, texts)
        yield RunFiles(run, f"{stem}.js", contents)


def _file_stem(run: str, taken: set[str]) -> str:
    """Return a name of its own for a run's files, with only characters that every file system and link takes."""
    # Full stops go too: they part a page's number from the stem.
    stem = re.sub(r"[^A-Za-z0-9_-]", "_", run)[:150]
    candidates = (stem if number == 1 else f"{stem}_{number}" for number in itertools.count(1))
    # Some file systems do not tell upper case from lower.
    lower = {name.lower() for name in taken}
    return next(name for name in candidates if name.lower() not in lower)


def _call(function: str, *arguments: Any) -> str:
    return f"{function}({', '.join(json.dumps(argument, ensure_ascii=False) for argument in arguments)});\n"


def _index(ends: pl.DataFrame, loops: list[list[dict]], page_of: dict[int, int], stem: str) -> dict[str, Any]:
    chains = [
        {
            "task": end["task"],
            "sample": end["sample"],
            "survived": end["survived"],
            "end": end["end"],
            "why": "" if end["end"] in ("passed", "censored") else told[-1]["verdict"],
            "page": page_of[number],
        }
        for number, (end, told) in enumerate(zip(ends.iter_rows(named=True), loops, strict=True))
    ]
    return {"max_loops": ends["max_loops"][0], "samples": ends["sample"].n_unique(), "stem": stem, "chains": chains}


def _pages(loops: list[list[dict]]) -> Iterator[list[int]]:
    """Yield the numbers of the chains of each page, in order."""
    page: list[int] = []
    size = 0
    for number, told in enumerate(loops):
        page.append(number)
        size += sum(len(value) for loop in told for value in loop.values() if isinstance(value, str))
        if size >= PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page


def _loop(row: dict[str, Any], judged: dict[tuple, Similarity]) -> dict[str, Any]:
    """Return what the page shows of one loop; empty things are left out."""
    shown = ("loop", "outcome", "words", "description", "prompt", "answer", "code", "found", "status", "stop")
    counted = ("prompt_tokens", "new_tokens", "describe_prompt_tokens", "describe_new_tokens")
    loop = {key: row[key] for key in (*shown, *counted, "flags", "description_flags") if row[key]}
    loop["verdict"] = verdict_words(row)
    if reply := judged.get((row["run"], row["task"], row["sample"], row["loop"])):
        loop["judge"] = {"score": reply.score, "reply": reply.reply}
    return loop


def verdict_words(row: dict[str, Any]) -> str:
    """Return one line on how a loop of the chain table ended."""
    if row["passed"] is None:
        return "infrastructure error" + (f": {row['detail']}" if row["detail"] else "")
    if row["passed"]:
        return "passed base" + (" and plus" if row["plus"] else "")
    suite = "base" if row["base"] != "pass" else "plus"
    line = f"{VERDICT_WORDS.get(row[suite], 'not judged')} on {suite}"
    if row["failing_test"] is not None:
        line += f", test {row['failing_test']}"
    if row["reason"]:
        line += f", {row['reason']}"
    if row["verdict_detail"]:
        line += f": {row['verdict_detail']}"
    return "; ".join(filter(None, (STATUS_WORDS.get(row["status"]), line)))
