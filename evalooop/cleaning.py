"""What of a program is needed when its entry point is called: demonstrations go, missing helpers come in."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable, Sequence

from evalooop.blocks import DEFINITIONS, IMPORTS, UNPARSABLE, Block, bound_names, defines, is_main_guard, parse, span

# Before the entry point a statement that mentions one of these does something for a reader, not for the function.
_SHOWS = {"print", "input", "exit", "quit", "stdin", "argv"}


def without_demonstration(block: Block, entry_point: str) -> str:
    """Return the program without module-level statements that only show or test it.

    A solution is judged by calling its entry point, yet answers often end in example calls, asserts, reads
    of standard input or a script's main part. A wrong example there raises while the program is loaded and
    would fail a right function. Kept are definitions and imports wherever they stand; whatever binds or
    changes a name that the entry point needs, directly or through helpers; ``sys.setrecursionlimit``; and
    before the entry point all that neither calls it nor asserts, prints or reads input. Main guards go.
    """
    try:
        called = _reads_when_called(block.source)
    except UNPARSABLE:
        return block.source
    imported = {name for node in block.body if isinstance(node, IMPORTS) for name in bound_names(node)}
    touched = [_touched(statement, imported) for statement in block.body]
    needed = _needed(block, entry_point, touched, called)
    known = set(dir(builtins)).union(*touched, imported)
    entry = max(number for number, statement in enumerate(block.body) if defines(statement, entry_point))
    kept, dropped = [], []
    for number, statement in enumerate(block.body):
        wanted = (
            isinstance(statement, DEFINITIONS + IMPORTS)
            or bool(touched[number] & needed)
            or _sets_recursion_limit(statement)
            or (number < entry and _prepares(statement, entry_point, known))
        )
        (kept if wanted and not is_main_guard(statement) else dropped).append(statement)
    return _without(block, kept, dropped) if dropped else block.source


def with_helpers(source: str, others: Sequence[Block]) -> str:
    """Return the program with what it uses but does not define taken from other blocks of the same answer.

    Only definitions, imports and assignments that call nothing are taken. ``others`` stand in rising
    preference: of several definitions of a name the last is taken.
    """
    missing = _unbound(source)
    providers = _providers(others) if missing else {}
    taken: dict[tuple[int, int], str] = {}
    waiting = sorted(missing)
    while waiting:
        place = providers.get(waiting.pop())
        if place is not None and place not in taken:
            block, number = place
            taken[place] = others[block].text_of(others[block].body[number])
            waiting.extend(sorted(_unbound(taken[place])))
    helpers = [taken[place] for place in sorted(taken)]
    return _insert(source, helpers) if helpers else source


def _reads_when_called(source: str) -> dict[int, set[str]]:
    """Return the module-level names read inside functions, by the line of the outermost ``def`` or ``class``.

    Raises:
        SyntaxError, RecursionError, MemoryError: the source parses but cannot be compiled.
    """
    reads: dict[int, set[str]] = {}
    for table in symtable.symtable(source, "<answer>", "exec").get_children():
        names = reads.setdefault(table.get_lineno(), set())
        scopes = [table]
        while scopes:
            scope = scopes.pop()
            # get_symbols() would search all children for every name: quadratic.
            names.update(scope.get_globals() if isinstance(scope, symtable.Function) else ())
            scopes.extend(scope.get_children())
    return reads


def _reads_when_run(statement: ast.stmt) -> set[str]:
    """Return the names a statement reads when it is run: for a function its decorators, defaults and annotations."""
    if not isinstance(statement, DEFINITIONS):
        return _loaded(statement)
    names = set().union(*(_loaded(node) for node in ast.iter_child_nodes(statement) if not isinstance(node, ast.stmt)))
    body = statement.body if isinstance(statement, ast.ClassDef) else []
    return names.union(*(_reads_when_run(node) for node in body))


def _loaded(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}


def _needed(block: Block, entry_point: str, touched: Sequence[set[str]], called: dict[int, set[str]]) -> set[str]:
    """Return the names that the entry point needs, through whatever binds or changes them."""
    touching: dict[str, list[ast.stmt]] = {}
    waiting = {entry_point}
    for statement, names in zip(block.body, touched, strict=True):
        for name in names:
            touching.setdefault(name, []).append(statement)
        if isinstance(statement, DEFINITIONS):
            waiting |= _reads_when_run(statement)
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        needed.add(name)
        for statement in touching.pop(name, []):
            within = called.get(statement.lineno, set()) if isinstance(statement, DEFINITIONS) else set()
            waiting |= (_reads_when_run(statement) | within) - needed
    return needed


def _touched(statement: ast.stmt, imported: set[str]) -> set[str]:
    """Return the names that a statement binds or whose objects it changes, as ``a[0] = 1`` and ``a.append(1)`` do.

    Calls on a module (``sys.exit()``) do not count as a change of the module.
    """
    names = bound_names(statement)
    if isinstance(statement, DEFINITIONS + IMPORTS):
        return names
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            names.add(_root(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            receiver = node.value.func
            names.update({_root(receiver)} - imported if isinstance(receiver, ast.Attribute) else ())
    return names - {""}


def _root(node: ast.AST) -> str:
    """Return ``a`` for ``a.b[0].c``, "" if the chain does not begin with a name."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _sets_recursion_limit(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and "setrecursionlimit" in (getattr(statement.value.func, name, None) for name in ("attr", "id"))
    )


def _prepares(statement: ast.stmt, entry_point: str, known: set[str]) -> bool:
    """Tell whether a statement before the entry point may matter for it.

    Not a bare name or a call of something unknown: such lines are prose that happens to parse.
    """
    if isinstance(statement, ast.Assert | ast.Return | ast.Raise | ast.Delete):
        return False
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return False
    if isinstance(statement, ast.Expr):
        value = statement.value
        if isinstance(value, ast.Constant):
            return isinstance(value.value, str)
        if not isinstance(value, ast.Call) or _root(value.func) not in known:
            return False
    attributes = {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    return not (_loaded(statement) | attributes) & (_SHOWS | {entry_point})


def _without(block: Block, kept: Iterable[ast.stmt], dropped: Iterable[ast.stmt]) -> str:
    """Return a block's source without the lines of dropped statements and of the comments right above them.

    A dropped statement that shares a line with a kept one stays.
    """
    lines = block.lines
    shared = {line for statement in kept for line in span(statement)}
    gone: set[int] = set()
    for statement in dropped:
        first, last = span(statement)
        if first in shared or last in shared:
            continue
        while first > 1 and lines[first - 2].startswith("#"):
            first -= 1
        gone.update(range(first, last + 1))
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in gone)


def _unbound(source: str) -> set[str]:
    """Return the module-level names that a program reads but neither binds nor finds among the builtins.

    Nothing is known, so nothing is missing, of a program that parses but cannot be compiled.
    """
    try:
        called = _reads_when_called(source)
    except UNPARSABLE:
        return set()
    body = parse(source) or []
    read = set().union(*called.values(), *(_reads_when_run(statement) for statement in body))
    bound = set().union(*(bound_names(statement) for statement in body))
    return read - bound - set(dir(builtins))


def _providers(others: Sequence[Block]) -> dict[str, tuple[int, int]]:
    return {
        name: (block_number, number)
        for block_number, block in enumerate(others)
        for number, statement in enumerate(block.body)
        if _is_helper(statement)
        for name in bound_names(statement)
    }


def _is_helper(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return not any(isinstance(node, ast.Call | ast.Await) for node in ast.walk(statement))
    return isinstance(statement, DEFINITIONS + IMPORTS)


def _insert(source: str, helpers: list[str]) -> str:
    """Put helpers at the top of a program, below its ``from __future__`` imports, which must come first."""
    body = parse(source) or []
    future = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    lines = source.split("\n")
    after = span(future[-1])[1] if future else 0
    return "\n".join([*lines[:after], *helpers, "", *lines[after:]])
