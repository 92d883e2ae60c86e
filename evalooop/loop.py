"""EvaLooop's loop: who is still alive, what is asked next, what comes back.

Algorithm of arXiv 2505.12185: in each loop the model writes a program from the loop's words; a program
that passes is described by the same model; the framed description is the next loop's words. A loop is
done for all chains of a session at once, so that one model load serves a whole sweep.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from evalooop import processes
from evalooop.config import PriceConfig
from evalooop.engines import Completion, Decoding, Engine, Message, Request
from evalooop.errors import UserError
from evalooop.extraction import extract, split_reasoning
from evalooop.perturbations import perturb
from evalooop.plan import Run
from evalooop.prompts import describe_messages, generate_messages, next_words
from evalooop.records import Step, StepName, Verdict
from evalooop.store import Store, key_of
from evalooop.tasks import Task
from evalooop.usage import Usage


class Progress(Protocol):
    """Is told how many answers the engine owes, then of each as it comes. Stored answers are not mentioned."""

    def expect(self, questions: int) -> None: ...

    def add(self, completion: Completion) -> None: ...


@dataclass(frozen=True)
class Chain:
    """One task of one run (and one of its samples)."""

    run: Run
    task: Task
    sample: int

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.run.name, self.task.id, self.sample)

    @property
    def carried(self) -> str:
        return self.task.carried(self.run.config.dataset.carry)

    def decoding(self, loop: int, step: StepName) -> Decoding:
        """Return how an answer of this chain is drawn; its noise is named by where it stands, not by when it runs."""
        config = self.run.config
        tokens = config.loop.generate_tokens if step == "generate" else config.loop.describe_tokens
        return Decoding(
            tokens,
            config.temperature,
            config.top_p,
            stream=(config.seed, self.task.id, loop, step, self.sample),
            top_k=config.top_k,
            repetition_penalty=config.repetition_penalty,
            min_new_tokens=config.min_new_tokens,
            stop=tuple(config.stop),
        )


def open_chains(runs: Iterable[Run], tasks: Mapping[str, Mapping[str, Task]]) -> list[Chain]:
    """Return the chains of these runs. ``tasks``: by dataset loader, then by task id."""
    return [
        Chain(run, task, sample)
        for run in runs
        for task in selected(run, tasks[run.config.dataset.loader])
        for sample in range(run.config.samples)
    ]


def selected(run: Run, tasks: Mapping[str, Task]) -> list[Task]:
    """Return the tasks that a run asks, perturbed: those its dataset configuration names, at most ``limit``.

    Raises:
        UserError: the configuration names a task that the dataset does not have.
    """
    dataset = run.config.dataset
    for name in dataset.tasks:
        if name not in tasks:
            raise UserError(f"configuration key 'dataset.tasks': {dataset.name} has no usable task '{name}'")
    chosen = [tasks[name] for name in dataset.tasks] if dataset.tasks else list(tasks.values())
    attack = run.config.perturbation
    return [perturb(task, attack.name, attack.seed) for task in chosen[: dataset.limit or None]]


def survivors(
    chains: Iterable[Chain], loop: int, steps: Sequence[Step], verdicts: Sequence[Verdict]
) -> list[tuple[Chain, str]]:
    """Return the chains that go on to ``loop``, each with the program that passed the loop before."""
    failed = {row.chain for row in verdicts if row.verdict != "pass"}
    judged = {row.chain for row in verdicts}
    programs = {row.chain: row.code for row in steps if row.step == "generate" and row.code is not None}
    return [
        (chain, programs[chain.key])
        for chain in chains
        if chain.key in programs and chain.key in judged - failed and loop <= chain.run.config.loop.max_loops
    ]


class Asker:
    """Puts chains' questions to an engine, by way of the completion store."""

    def __init__(self, engine: Engine, store: Store, progress: Progress) -> None:
        self.engine = engine
        self.store = store
        self.progress = progress
        self.asked = 0
        self.asked_tokens = 0
        self.asked_seconds = 0.0
        self.stored = 0
        self.failed = 0
        self.retries = 0
        self.runs: dict[str, Usage] = {}
        self.setups: set[str] = set()

    def counts(self, price: PriceConfig | None) -> dict[str, Any]:
        """Return what the answers took, for a timing file.

        ``asked*`` is about the answers that were not known: their number, new tokens, and the wall time (s) until all
        were there; ``failed`` could not be had, ``retries`` were asked for again. The sums, in all and by run, are
        over every answer used, known ones included, so they do not depend on how often a job was interrupted.
        ``setups``: under which the answers were made.
        """
        everything = Usage()
        for usage in self.runs.values():
            everything += usage
        names = ("asked", "asked_tokens", "stored", "failed", "retries")
        return {
            **processes.add_up({name: getattr(self, name) for name in names}),
            "asked_seconds": self.asked_seconds,
            **everything.row(price),
            "setups": sorted(self.setups),
            "runs": {run: usage.row(price) for run, usage in self.runs.items()},
        }

    def account(self, run: str, completion: Completion) -> None:
        """Note that a run uses an answer."""
        self.runs.setdefault(run, Usage()).add(completion)

    def first_loop(self, chains: Sequence[Chain]) -> list[Step]:
        """Return the steps of loop 1, fed by the tasks' own prompts."""
        return self._generate(1, [(chain, chain.task.prompt) for chain in chains])

    def next_loop(self, loop: int, alive: Sequence[tuple[Chain, str]]) -> list[Step]:
        """Return the steps of a later loop: each program described, each description made into a program."""
        questions = [
            (chain, code, describe_messages(chain.run.config.prompt, chain.task, code)) for chain, code in alive
        ]
        described = self._ask(loop, "describe", questions)
        fed = [
            (chain, next_words(chain.run.config.prompt, chain.task, step.text, chain.carried))
            for (chain, _), step in zip(alive, described, strict=True)
            if step.status not in ("infra_error", "incomplete_reasoning")
        ]
        return described + self._generate(loop, fed)

    def _generate(self, loop: int, fed: Sequence[tuple[Chain, str]]) -> list[Step]:
        questions = [
            (chain, words, generate_messages(chain.run.config.prompt, chain.task, words, chain.carried))
            for chain, words in fed
        ]
        return self._ask(loop, "generate", questions)

    def _ask(self, loop: int, step: StepName, questions: Sequence[tuple[Chain, str, list[Message]]]) -> list[Step]:
        requests = [
            Request(self.engine.render(messages), chain.decoding(loop, step)) for chain, _, messages in questions
        ]
        answers = self.complete(requests)
        for (chain, _, _), request in zip(questions, requests, strict=True):
            self.account(chain.run.name, answers[request])
        return [
            _step(chain, loop, step, source, request.prompt, answers[request])
            for (chain, source, _), request in zip(questions, requests, strict=True)
        ]

    def complete(self, requests: Iterable[Request]) -> dict[Request, Completion]:
        """Return an answer to each request: from the store where it is known, else from the engine.

        Equal requests are asked once; several processes ask a part each.
        """
        # Neighbours in length are dealt out in turn, so that every process has as much to read.
        distinct = sorted(set(requests), key=lambda request: (len(request.prompt), request.prompt, repr(request)))
        answers = processes.share_out(self._complete, distinct)
        self.setups |= {completion.setup for completion in answers.values() if completion.setup}
        return answers

    def _complete(self, requests: Sequence[Request]) -> dict[Request, Completion]:
        """Return an answer to each request. Answers are stored one by one as they come, errors never."""
        keys = {request: completion_key(self.engine.fingerprint, request) for request in requests}
        known = self.store.get_many(keys.values())
        answers = {request: Completion(**known[key]) for request, key in keys.items() if _is_whole(known.get(key))}
        self.stored += len(answers)
        missing = [request for request in keys if request not in answers]
        if not missing:
            return answers
        self.progress.expect(len(missing))
        started = time.monotonic()
        for request, completion in self.engine.complete(missing):
            if completion.stop != "error":
                self.store.put(keys[request], asdict(completion), maker=self.engine.fingerprint)
            answers[request] = completion
            self.asked += 1
            self.asked_tokens += completion.new_tokens
            self.failed += completion.stop == "error"
            self.retries += completion.attempts - 1
            self.progress.add(completion)
        self.asked_seconds += time.monotonic() - started
        return answers


def _is_whole(entry: Mapping[str, object] | None) -> bool:
    return entry is not None and set(entry) == {field.name for field in fields(Completion)}


def completion_key(fingerprint: str, request: Request) -> str:
    """Return the store key of an answer: the model, the exact prompt and every decoding parameter."""
    return key_of("completion", fingerprint, request.prompt, asdict(request.decoding))


def lost_steps(loop: int, alive: Iterable[tuple[Chain, str]], reason: str) -> list[Step]:
    """Return a step for each chain saying that its model could not be asked.

    ``alive``: each chain with what its next step would have worked from.
    """
    step: StepName = "generate" if loop == 1 else "describe"
    failure = Completion("", "error", 0, 0, 0.0, reason)
    return [_step(chain, loop, step, source, "", failure) for chain, source in alive]


def _step(chain: Chain, loop: int, step: StepName, source: str, prompt: str, completion: Completion) -> Step:
    code, found, status = None, "", "ok"
    text, reasoning = completion.text, completion.reasoning
    truncated = completion.stop == "length"
    if step == "describe":
        # A model that thinks without being configured to: what it thought is no word for the next prompt.
        text, closed = split_reasoning(text)
        reasoning = reasoning if text == completion.text else completion.text
        status = "truncated" if truncated else "ok"
    else:
        extraction = extract(text, chain.task.entry_point, truncated=truncated, prompt=source)
        code, found, status = extraction.code, extraction.found, extraction.status
        closed = status != "incomplete_reasoning"
        # An answer may ramble on after a whole program; only a cut program counts as truncated.
        if truncated and found != "fence":
            status = "truncated"
    if completion.only_thought or not closed:
        code, found, status = None, "", "incomplete_reasoning"
    if completion.stop == "error":
        code, found, status = None, "", "infra_error"
    return Step(
        *chain.key,
        loop=loop,
        step=step,
        source=source,
        prompt=prompt,
        text=text,
        code=code,
        found=found,
        status=status,
        detail=completion.detail,
        stop=completion.stop,
        prompt_tokens=completion.prompt_tokens,
        new_tokens=completion.new_tokens,
        reasoning=reasoning,
        reasoning_tokens=completion.reasoning_tokens,
    )
