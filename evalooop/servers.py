"""Speaking to an OpenAI-compatible server: one client, errors told apart, tries spaced out."""

from __future__ import annotations

import email.utils
import os
import re
import time
from collections.abc import Mapping
from threading import Event
from typing import Any

import openai
from tenacity import (
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_after_attempt,
    stop_when_event_set,
    wait_exception,
    wait_random_exponential,
)

from evalooop.config import ServerConfig
from evalooop.errors import UserError

# Seconds: the second try comes within the first, the third within twice that, and so on up to the longest.
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
# A server may ask for more patience than that, up to this many seconds.
MOST_PATIENCE = 600.0
# Server-side states that pass: time-out, conflict, too early, too many requests.
PASSING = (408, 409, 425, 429)
# No other request would fare better: key, payment, permission, address or model are wrong.
HOPELESS = (401, 402, 403, 404)
# What tells of an empty account rather than of haste, though its status is 429.
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")
BEYOND_CONTEXT = re.compile(r"context[ _](length|size|window)|prompt is too long", re.IGNORECASE)
# What a list of models says about the weights behind a name: vLLM the folder or repository, llama.cpp the sizes.
TELLING = ("revision", "root", "meta")


class Garbled(Exception):
    """A server answered with something that is no answer."""


# Everything that ``call`` raises.
FAILURES = (openai.OpenAIError, Garbled)


def open_client(server: ServerConfig) -> openai.OpenAI:
    """Return a client, safe between threads.

    Raises:
        UserError: the variable that should hold the key is not set.
    """
    # A key of some sort is a must for the client. None that happens to be set may go to a server that wants none.
    key = os.environ.get(server.key_variable) if server.key_variable else "none"
    if not key:
        raise UserError(f"environment variable {server.key_variable} is not set; put the key of {server.url} there")
    # The client's own tries are off: they are neither counted nor spaced as a busy server needs it.
    return openai.OpenAI(base_url=server.url, api_key=key, timeout=server.timeout_seconds, max_retries=0)


def call(client: openai.OpenAI, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON object that a server answers to a GET, or with a body to a POST.

    Raises:
        openai.OpenAIError: no connection, silence, a broken connection, or an error status.
        Garbled: the answer is not a JSON object.
    """
    try:
        if body is None:
            answer = client.get(path, cast_to=object)
        else:
            answer = client.post(path, cast_to=object, body=dict(body))
    except ValueError as error:
        raise Garbled(f"the answer is not JSON ({error})")
    if not isinstance(answer, dict):
        raise Garbled("the answer is not a JSON object")
    return answer


def tries(server: ServerConfig, ended: Event) -> Retrying:
    """Return the tries of one request, as tenacity's iterator; an error that does not pass, or the last, is raised.

    Waits grow exponentially and are drawn at random (full jitter), so that requests refused together do not come
    back together; what a ``Retry-After`` asks for is added. Once ``ended`` is set, nobody waits or tries any more.
    """
    return Retrying(
        retry=retry_if_exception(passes),
        wait=wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT) + wait_exception(patience),
        stop=stop_after_attempt(server.attempts) | stop_when_event_set(ended),
        sleep=sleep_using_event(ended),
        reraise=True,
    )


def passes(error: BaseException) -> bool:
    """Tell whether the same request may succeed later."""
    if isinstance(error, openai.APIStatusError):
        return (error.status_code in PASSING or error.status_code >= 500) and error.code not in NO_CREDIT
    return isinstance(error, openai.APIConnectionError | Garbled)


def hopeless(error: BaseException) -> bool:
    """Tell whether every request to this server will fail in this way."""
    return isinstance(error, openai.APIStatusError) and (error.status_code in HOPELESS or error.code in NO_CREDIT)


def beyond_context(error: BaseException) -> bool:
    """Tell whether a request is refused because prompt and answer are longer than the model's context."""
    return isinstance(error, openai.APIStatusError) and bool(BEYOND_CONTEXT.search(f"{error.code} {error.message}"))


def patience(error: BaseException) -> float:
    """Return the seconds that a ``Retry-After`` header asks for, given as such or as a date; 0 without one."""
    said = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(said).timestamp() - time.time()
        except ValueError:
            seconds = 0.0
    return max(0.0, min(seconds, MOST_PATIENCE))


def one_line(error: BaseException, client: openai.OpenAI) -> str:
    """Return what went wrong, on one line without the key, whatever the server repeats of it."""
    match error:
        case openai.APIStatusError():
            said = error.body.get("message") if isinstance(error.body, dict) else error.response.text
            text = f"HTTP {error.status_code}: {said}"
        case openai.APITimeoutError():
            text = f"no answer within {client.timeout:g} s"
        case openai.APIConnectionError():
            text = f"no connection: {error.__cause__ or error}"
        case _:
            text = str(error)
    return " ".join(text.split()).replace(client.api_key, "***")[:300]


def look_up(server: ServerConfig, model: str) -> dict[str, Any]:
    """Return what a server tells of the weights behind a model's name, in its list of models; most tell nothing.

    Raises:
        UserError: the server does not answer, refuses, or does not serve the model.
    """
    client = open_client(server)
    try:
        for attempt in tries(server, Event()):
            with attempt:
                listed = {entry["id"]: entry for entry in _entries(call(client, "/models"))}
    except FAILURES as error:
        raise UserError(f"{server.url}/models: {one_line(error, client)}; start the server or check model.server")
    if model not in listed:
        known = ", ".join(sorted(listed)[:5]) or "none"
        raise UserError(f"{server.url} does not serve the model '{model}' (it lists {known}); check model.id")
    return {key: listed[model][key] for key in TELLING if listed[model].get(key)}


def _entries(answer: dict[str, Any]) -> list[dict[str, Any]]:
    entries = answer.get("data")
    if not isinstance(entries, list) or not all(
        isinstance(one, dict) and isinstance(one.get("id"), str) for one in entries
    ):
        raise Garbled("the answer is not a list of models")
    return entries
