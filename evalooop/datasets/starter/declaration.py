"""How a starter task is declared: a reference function with a decorator that carries its tests."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evalooop.tasks import Suite, Task

FLOAT_ATOL = 1e-6


@dataclass(frozen=True)
class Declaration:
    """A task before it is built.

    Attributes:
        function: the reference; its ``def`` line and docstring are the prompt.
        level: 1 for easy, 2 for medium, 3 for hard.
        examples: (arguments, expected value) pairs written by hand: the base suite.
        edge_cases: arguments of the plus suite; the reference says what is expected.
    """

    function: Callable[..., Any]
    level: int
    examples: tuple[tuple[tuple[Any, ...], Any], ...]
    edge_cases: tuple[tuple[Any, ...], ...]


def task(
    level: int, examples: Sequence[tuple[tuple[Any, ...], Any]], edge_cases: Sequence[tuple[Any, ...]]
) -> Callable[[Callable[..., Any]], Declaration]:
    """Turn the decorated reference function into the ``Declaration`` of a task."""
    return lambda function: Declaration(function, level, tuple(examples), tuple(edge_cases))


def build(declaration: Declaration) -> Task:
    """Return the task of a declaration; its id is ``Starter/`` and the function's name."""
    function = declaration.function
    reference = _source(function)
    prompt = _up_to_docstring(reference)
    arguments, value = declaration.examples[0]
    return Task(
        id=f"Starter/{function.__name__}",
        prompt=prompt,
        entry_point=function.__name__,
        preamble="",
        reference=reference,
        assertion=f"assert {function.__name__}({', '.join(map(repr, arguments))}) == {value!r}",
        signature=prompt.splitlines()[0],
        suites=(
            _suite("base", [args for args, _ in declaration.examples], [want for _, want in declaration.examples]),
            _suite("plus", declaration.edge_cases, [_answer(function, args) for args in declaration.edge_cases]),
        ),
    )


def _source(function: Callable[..., Any]) -> str:
    """Return the function's source without its decorator."""
    source = inspect.getsource(function)
    return source[source.index("\ndef ") + 1 :]


def _up_to_docstring(source: str) -> str:
    docstring = ast.parse(source).body[0].body[0]
    return "".join(source.splitlines(keepends=True)[: docstring.end_lineno])


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*copy.deepcopy(arguments))


def _suite(name: str, inputs: Sequence[tuple[Any, ...]], expected: Sequence[Any]) -> Suite:
    atol = FLOAT_ATOL if any(isinstance(value, float) for value in expected) else 0.0
    return Suite(name, tuple(inputs), tuple(expected), atol)
