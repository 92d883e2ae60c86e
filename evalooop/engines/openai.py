"""The engine that asks an OpenAI-compatible server: vLLM, ``transformers serve``, llama.cpp, or a hosted one."""

from __future__ import annotations

import hashlib
import json
import queue
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalooop import servers
from evalooop.config import ServerConfig
from evalooop.engines import Completion, Decoding, Message, Request, Stop
from evalooop.errors import UserError
from evalooop.models import ModelCard

if TYPE_CHECKING:
    from openai import OpenAI

# What servers call the end of an answer. Any other word (a filter, an abort) is not the model's end.
STOPS: dict[str, Stop] = {"stop": "stop", "eos_token": "stop", "length": "length"}


class OpenAIEngine:
    """Puts prompts to a server, several at a time.

    What an answer is like is the server's affair: its chat template, its precision, and what it makes of a seed.
    A hosted model gives no promise to repeat itself, not even at temperature 0; vLLM's and llama.cpp's greedy
    answers may change with what else is in the batch. The completion store is what makes a run repeatable.
    """

    def __init__(self, card: ModelCard, server: ServerConfig) -> None:
        thinking = f":thinking {server.reasoning_tokens}" if server.reasoning_tokens else ""
        self.fingerprint = card.fingerprint + thinking
        self._card = card
        self._server = server

    def render(self, messages: list[Message]) -> str:
        """Return the prompt that stands for a conversation in store and records.

        A chat server applies its template itself, so there the conversation is the prompt: canonical JSON of the
        messages that are sent. Under ``completions`` it is the plain text that is sent: the contents, one after
        the other, as for a base model.
        """
        messages = [message for message in messages if message.role != "system" or message.content]
        if self._server.api == "completions":
            return "\n\n".join(message.content for message in messages)
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return json.dumps(turns, ensure_ascii=False, separators=(",", ":"))

    def complete(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        """Yield each request with its answer as it comes, at most ``concurrency`` of them under way.

        Failures that pass (silence, broken connections, HTTP 429 and 5xx, empty or garbled answers) are tried again,
        then given as ``error``. When the caller is interrupted, answers that have come are yielded before the
        interrupt goes on, and those under way are not waited for.

        Raises:
            UserError: the server refuses every request: key, payment, address or model are wrong.
        """
        requests = list(requests)
        waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        answered: queue.SimpleQueue[tuple[Request, Completion | Exception]] = queue.SimpleQueue()
        for request in requests:
            waiting.put(request)
        ended = threading.Event()
        for _ in range(min(self._server.concurrency, len(requests))):
            # Daemons: a pool's threads would be waited for at exit, for as long as a server may keep silent.
            threading.Thread(target=self._work, args=(waiting, answered, ended), daemon=True).start()
        try:
            for _ in requests:
                yield _unpacked(*answered.get())
        except KeyboardInterrupt:
            while not answered.empty():
                yield _unpacked(*answered.get())
            raise
        finally:
            ended.set()

    def _work(self, waiting: queue.SimpleQueue, answered: queue.SimpleQueue, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                request = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                answered.put((request, self._answer(request, ended)))
            except Exception as error:
                # Nobody asks on, and it is raised where the answers are waited for: here it would go unseen.
                ended.set()
                answered.put((request, error))

    def _answer(self, request: Request, ended: threading.Event) -> Completion:
        attempts = 0
        try:
            for attempt in servers.tries(self._server, ended):
                attempts += 1
                with attempt:
                    started = time.perf_counter()
                    reply = self._ask(request.prompt, request.decoding)
        except servers.FAILURES as error:
            return self._failure(request, error, attempts)
        seconds = (time.perf_counter() - started) / self._server.concurrency
        return Completion(
            reply.text,
            reply.stop,
            reply.prompt_tokens,
            reply.new_tokens,
            seconds,
            attempts=attempts,
            reasoning=reply.reasoning,
            reasoning_tokens=reply.reasoning_tokens,
            setup=f"server {self._server.url}",
        )

    def _ask(self, prompt: str, decoding: Decoding) -> _Reply:
        chat = self._server.api == "chat"
        body = {
            "model": self._card.id,
            **({"messages": json.loads(prompt)} if chat else {"prompt": prompt}),
            **parameters(decoding, self._server.reasoning_tokens),
        }
        return _read(servers.call(self._client, "/chat/completions" if chat else "/completions", body))

    def _failure(self, request: Request, error: Exception, attempts: int) -> Completion:
        """Return what a failed request comes to.

        Raises:
            UserError: every request will fail in this way.
        """
        reason = servers.one_line(error, self._client)
        if servers.hopeless(error):
            raise UserError(f"{self._server.url} refuses to serve '{self._card.id}': {reason}")
        if servers.beyond_context(error):
            if not self._reads(request):
                # The words grew beyond what the model reads: its own doing, and the same at every try.
                return Completion("", "length", 0, 0, 0.0, attempts=attempts)
            reason = f"{reason}; the prompt fits: lower loop.*_tokens or serve the model with a longer context"
        return Completion("", "error", 0, 0, 0.0, f"{reason} (try {attempts})", attempts=attempts)

    def _reads(self, request: Request) -> bool:
        """Tell whether the model's context has room for a prompt and one new token."""
        try:
            self._ask(request.prompt, Decoding(1))
        except servers.FAILURES as error:
            return not servers.beyond_context(error)
        return True

    @cached_property
    def _client(self) -> OpenAI:
        return servers.open_client(self._server)


def parameters(decoding: Decoding, reasoning_tokens: int = 0) -> dict[str, Any]:
    """Return the part of a request's body that says how the answer is drawn.

    Only what is not at its default is named: the last three are vLLM's and llama.cpp's own, and hosted servers may
    refuse them.

    Raises:
        UserError: a hosted model that thinks (``reasoning_tokens`` > 0) is asked for what such models do not take.
    """
    if reasoning_tokens:
        if decoding != Decoding(decoding.max_new_tokens):
            raise UserError(
                "a model with server.reasoning_tokens takes no temperature, stop texts or penalties: unset them"
            )
        return {"max_completion_tokens": decoding.max_new_tokens + reasoning_tokens}
    body = {"max_tokens": decoding.max_new_tokens, "temperature": decoding.temperature}
    if decoding.temperature > 0:
        body |= {"top_p": decoding.top_p, "seed": seed_of(decoding.stream)}
    chosen = {
        "stop": list(decoding.stop),
        "top_k": decoding.top_k,
        "repetition_penalty": decoding.repetition_penalty if decoding.repetition_penalty != 1 else None,
        "min_tokens": decoding.min_new_tokens,
    }
    return body | {name: value for name, value in chosen.items() if value}


def seed_of(stream: tuple[int | str, ...] | None) -> int:
    """Return the seed of an answer's noise, in [0, 2**31).

    Servers differ: vLLM and llama.cpp draw each request from its own seed, hosted ones do their best or ignore it,
    and ``transformers serve`` seeds all its requests together, so there only one request at a time is repeatable.
    """
    digest = hashlib.sha256(json.dumps(stream).encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


@dataclass(frozen=True)
class _Reply:
    """What a server's answer says. ``reasoning`` is thinking that it gives apart; tokens are 0 where it tells none.

    Thinking is counted among the new tokens.
    """

    text: str
    reasoning: str
    stop: Stop
    prompt_tokens: int
    new_tokens: int
    reasoning_tokens: int


def _read(answer: dict[str, Any]) -> _Reply:
    """Return what an answer says, of either API.

    Raises:
        servers.Garbled: it holds no ended text.
    """
    try:
        choice = answer["choices"][0]
        message = choice.get("message") or {}
        text = message.get("content") or choice.get("text") or ""
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        stop = STOPS.get(choice.get("finish_reason"))
        usage = answer.get("usage") or {}
        details = usage.get("completion_tokens_details") or {}
        counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), details.get("reasoning_tokens"))
        tokens = [int(count or 0) for count in counts]
        text, reasoning = _clean(text), _clean(reasoning)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise servers.Garbled("the answer has no choice with a text")
    if stop is None:
        raise servers.Garbled(f"the answer did not end (finish reason {choice.get('finish_reason')!r})")
    if stop == "stop" and not text.strip() and not reasoning:
        raise servers.Garbled("the answer is empty")
    return _Reply(text, reasoning, stop, *tokens)


def _clean(text: str) -> str:
    """Return a text that any file can hold: JSON may name half a character, which UTF-8 cannot write."""
    return text.encode("utf-8", "replace").decode()


def _unpacked(request: Request, answer: Completion | Exception) -> tuple[Request, Completion]:
    if isinstance(answer, Exception):
        raise answer
    return request, answer
