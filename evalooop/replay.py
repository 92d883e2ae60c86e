"""Recorded chains in the place of a model: what was published is judged again, and nothing is asked.

Programs are taken verbatim, without extraction: some hold fences, and mending them would change their verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from evalooop.errors import UserError
from evalooop.loop import Chain
from evalooop.models import ModelCard
from evalooop.published import MAX_LOOPS, Transcript, read_transcripts
from evalooop.records import Step, StepName

RECORDED = "recorded"
"""How the program of a recorded chain was found."""


class Replay:
    """Answers for every model of which there is a transcript. One model's transcripts are in memory at a time."""

    def __init__(self, card: ModelCard) -> None:
        self._details = Path(card.folder) / "details"
        self._models = set(card.files)

    def steps(self, loop: int, alive: Iterable[tuple[Chain, str]]) -> list[Step]:
        """Return a loop's steps for the chains in it, runs side by side as they come.

        Runs without a transcript, or whose transcript lacks a task that the experiment asks, have no chains: their
        scores would not be over the same tasks. A chain that passes where the recorded one failed has no further
        steps: what the model would have written is not known.

        Raises:
            UserError: more loops are asked for than were recorded.
        """
        rows: list[Step] = []
        for _, group in groupby(alive, key=lambda pair: pair[0].run.name):
            chains = [chain for chain, _ in group]
            rows += self._run(loop, chains)
        return rows

    def _run(self, loop: int, chains: Sequence[Chain]) -> list[Step]:
        config = chains[0].run.config
        if config.loop.max_loops > MAX_LOOPS:
            raise UserError(f"loop.max_loops={config.loop.max_loops}: only {MAX_LOOPS} loops were recorded")
        if config.model.name not in self._models:
            return []
        recorded = {row.task: row for row in read_transcripts(self._details / f"{config.model.name}.json")}
        if any(chain.task.id not in recorded for chain in chains):
            return []
        return [step for chain in chains for step in _steps(chain, loop, recorded[chain.task.id])]


def _steps(chain: Chain, loop: int, transcript: Transcript) -> list[Step]:
    cycles = transcript.cycles
    if loop > len(cycles):
        return []
    code = cycles[loop - 1].code
    if loop == 1:
        return [_step(chain, loop, "generate", transcript.initial_prompt, code, code)]
    before = cycles[loop - 2]
    words = words_of_model(before.description, chain.carried)
    return [
        _step(chain, loop, "describe", before.code, words),
        _step(chain, loop, "generate", before.description, code, code),
    ]


def words_of_model(framed: str, carried: str) -> str:
    """Return the description inside its frame: the published texts are whole prompts. As it is if not so framed."""
    before, behind = '"""\n', f'\n{carried}\n"""\n'
    if len(framed) < len(before) + len(behind) or not (framed.startswith(before) and framed.endswith(behind)):
        return framed
    return framed[len(before) : -len(behind)]


def _step(chain: Chain, loop: int, step: StepName, source: str, text: str, code: str | None = None) -> Step:
    return Step(
        *chain.key,
        loop=loop,
        step=step,
        source=source,
        prompt="",
        text=text,
        code=code,
        found="" if code is None else RECORDED,
        status="ok",
        detail="",
        stop="stop",
        prompt_tokens=0,
        new_tokens=0,
    )
