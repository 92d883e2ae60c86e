"""Perturbations of names: the function's and its arguments'. The tests follow."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections.abc import Mapping
from dataclasses import replace

from evalooop.tasks import Task

FUNCTIONS = ("solve", "compute", "process", "handle", "run_task", "evaluate", "perform", "apply_rule")
ARGUMENTS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "kappa", "lam", "sigma")


def renamed_function(task: Task, draw: random.Random) -> Task:
    """Give the function a name that says nothing, wherever the task names it: prompt, tests, reference."""
    taken = set(re.findall(r"\w+", task.prompt + task.reference + task.preamble))
    name = draw.choice([name for name in FUNCTIONS if name not in taken])
    return _renamed(replace(task, entry_point=name), {task.entry_point: name}, prose=True)


def renamed_arguments(task: Task, draw: random.Random) -> Task:
    """Give the arguments names that say nothing in signature and reference; prose keeps what it says."""
    taken = set(re.findall(r"\w+", task.prompt + task.reference + task.preamble))
    arguments = _arguments(task)
    names = draw.sample([name for name in ARGUMENTS if name not in taken], len(arguments))
    return _renamed(task, dict(zip(arguments, names, strict=True)), prose=False)


def _arguments(task: Task) -> list[str]:
    """Return the arguments that the prompt's own line names and that no call names."""
    if task.signature not in task.prompt:
        return []
    for node in ast.walk(ast.parse(task.reference)):
        if isinstance(node, ast.FunctionDef) and node.name == task.entry_point:
            found = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            called = {keyword.arg for call in ast.walk(node) if isinstance(call, ast.Call) for keyword in call.keywords}
            return found if not called & set(found) and len(found) <= len(ARGUMENTS) else []
    return []


def _renamed(task: Task, names: Mapping[str, str], prose: bool) -> Task:
    if not names:
        return task
    words = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")

    def change(text: str) -> str:
        return words.sub(lambda match: names[match[0]], text)

    signature = change(task.signature)
    prompt = change(task.prompt) if prose else task.prompt.replace(task.signature, signature)
    reference = _renamed_code(task.reference, names)
    assertion = change(task.assertion) if prose else task.assertion
    return replace(task, prompt=prompt, signature=signature, reference=reference, assertion=assertion)


def _renamed_code(code: str, names: Mapping[str, str]) -> str:
    """Return a program with names replaced; attributes, strings and comments stay."""
    before = ""
    tokens = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        text = names.get(token.string, token.string) if token.type == tokenize.NAME and before != "." else token.string
        tokens.append((token.start, token.end, text))
        before = token.string
    lines = code.splitlines(keepends=True)
    for start, end, text in reversed(tokens):
        if start[0] == end[0] and start[0] <= len(lines):
            line = lines[start[0] - 1]
            lines[start[0] - 1] = line[: start[1]] + text + line[end[1] :]
    return "".join(lines)
