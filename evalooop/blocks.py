"""The parts of a text that are Python: found piece by piece, in time that grows with the length of the text."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

# Whatever the parser throws at text nobody vouches for: too deep, too large, null bytes, lone surrogates.
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
# A program cut in the middle is shortened to what parses in at most this many attempts.
MAX_ATTEMPTS = 24

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)

_TOKEN = re.compile(r"""\"{3}|'{3}|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|#[^\n]*|[(\[{]|[)\]}]|\\\n|\n""")
# Lines at column 0 that go on with the statement before them.
_CONTINUES = re.compile(r"[\s#)\]}]|else\s*:|elif\b[^\n]*:|except\b[^\n]*:|finally\s*:|\Z")
# Lines at column 0 that stand in no bracket, whatever prose left open before them.
_ALWAYS_STARTS = re.compile(r"(?:async\s+def|def|class)\s+\w+\s*[(:]|import\s+\w|from\s+[\w.]+\s+import\b")
_DECORATED = re.compile(r"(?:async\s+def|def|class)\b")
_OWN_SCOPE = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


@dataclass(frozen=True)
class Block:
    """Source text that parses.

    Attributes:
        source: the text.
        body: its module-level statements, at least one.
        whole: it is all of the text it was found in.
        cut: its last statement was shortened until it parsed.
    """

    source: str
    body: tuple[ast.stmt, ...]
    whole: bool = True
    cut: bool = False

    @cached_property
    def lines(self) -> list[str]:
        return self.source.split("\n")

    def text_of(self, statement: ast.stmt) -> str:
        """Return the lines on which one of its statements stands."""
        first, last = span(statement)
        return "\n".join(self.lines[first - 1 : last])


def parse(source: str) -> list[ast.stmt] | None:
    """Return the module-level statements of a source text, None if it is not Python or too much for the parser."""
    try:
        return ast.parse(source).body
    except UNPARSABLE:
        return None


def span(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, counted from 1, decorators included."""
    first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])
    return first, statement.end_lineno or statement.lineno


def find_blocks(text: str, entry_point: str) -> list[Block]:
    """Return the parts of a text that parse, in order.

    A text that parses (once dedented, if need be) is one block. Otherwise it is read in pieces that begin
    at column 0, and neighbouring pieces that parse make a block; prose and broken statements fall out.
    A broken piece that defines the entry point is shortened from its end until it parses.
    """
    for whole in dict.fromkeys((text, textwrap.dedent(text))):
        body = parse(whole)
        if body is not None:
            return [Block(whole, tuple(body))] if body else []
    definition = re.compile(rf"^(?:(?:async\s+)?def|class)\s+{re.escape(entry_point)}\b", re.MULTILINE)
    runs: list[tuple[str, bool]] = []
    run: list[str] = []
    for piece in _pieces(text):
        if (source := _parsable(piece)) is not None:
            run.append(source)
            continue
        prefix = _longest_prefix(piece) if definition.search(piece) else None
        runs.append(("".join([*run, prefix or ""]), prefix is not None))
        run = []
    runs.append(("".join(run), False))
    found = ((_without_trailing_comments(source), cut) for source, cut in runs if source)
    return [Block(source, tuple(body), whole=False, cut=cut) for source, cut in found if (body := parse(source))]


def _parsable(piece: str) -> str | None:
    """Return a piece that parses as it is, or definitions that do once dedented (an answer's first line), or None."""
    if parse(piece) is not None:
        return piece
    dedented = textwrap.dedent(piece)
    body = parse(dedented) if dedented != piece else None
    return dedented if body and all(isinstance(node, DEFINITIONS + IMPORTS) for node in body) else None


def _without_trailing_comments(source: str) -> str:
    """Return source without the comments at column 0 that end it: beside prose these are Markdown headings."""
    lines = source.rstrip().split("\n")
    while lines and (lines[-1].startswith("#") or not lines[-1].strip()):
        lines.pop()
    return "\n".join(lines)


def _pieces(text: str) -> Iterator[str]:
    """Cut text where a module-level statement or a line of prose begins; decorators stay with what they decorate."""
    start, decorators = 0, text.startswith("@")
    for offset in _statement_starts(text):
        if decorators and (text.startswith("@", offset) or _DECORATED.match(text, offset)):
            decorators = text.startswith("@", offset)
            continue
        yield text[start:offset]
        start, decorators = offset, text.startswith("@", offset)
    yield text[start:]


def _statement_starts(text: str) -> Iterator[int]:
    """Yield the offsets of lines at column 0 that stand outside brackets, long strings and continued lines."""
    depth, position = 0, 0
    never_closed: set[str] = set()
    while token := _TOKEN.search(text, position):
        mark, position = token.group(), token.end()
        if mark in ('"""', "'''"):
            end = None if mark in never_closed else _string_end(text, position, mark)
            if end is None:
                # Searching once is enough: from here on the quote is taken for prose.
                never_closed.add(mark)
            else:
                position = end
        elif mark in ("(", "[", "{"):
            depth += 1
        elif mark in (")", "]", "}"):
            depth = max(depth - 1, 0)
        elif mark == "\n" and not _CONTINUES.match(text, position):
            if _ALWAYS_STARTS.match(text, position):
                depth = 0
            if depth == 0:
                yield position


def _string_end(text: str, position: int, quote: str) -> int | None:
    for match in re.compile(r"\\.|" + quote, re.DOTALL).finditer(text, position):
        if match.group() == quote:
            return match.end()
    return None


def _longest_prefix(piece: str) -> str | None:
    """Return the leading lines that parse, as many as can be found in a bounded number of attempts, else None.

    The parser names the line it stumbled over, and everything from there on goes. After some attempts
    ever more lines are given up at once.
    """
    lines = piece.split("\n")
    end, at_least = len(lines), 1
    for attempt in range(MAX_ATTEMPTS):
        try:
            ast.parse("\n".join(lines[:end]))
        except SyntaxError as error:
            at_least *= 2 if attempt >= MAX_ATTEMPTS // 3 else 1
            end = min(end - at_least, _fault(error, lines[:end]))
            if end <= 0:
                return None
        except UNPARSABLE:
            return None
        else:
            return "\n".join(lines[:end]) + "\n"
    return None


def _fault(error: SyntaxError, lines: list[str]) -> int:
    """Return how many lines stand before the one that is at fault."""
    if "expected 'except'" in error.msg:
        # Nothing is wrong but the end: the block that was cut goes as a whole.
        return max((number for number, line in enumerate(lines) if line.strip() == "try:"), default=0)
    return (error.lineno or len(lines)) - 1


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the module-level names that a statement binds, inside if, try, for and with too."""
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return set()
    names: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, IMPORTS):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name):
            names.update([node.id] if isinstance(node.ctx, ast.Store) else [])
        elif not isinstance(node, _OWN_SCOPE):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def is_main_guard(statement: ast.stmt) -> bool:
    """Tell whether a statement is ``if __name__ == "__main__":``, either way round."""
    if not (isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare)):
        return False
    sides = [statement.test.left, *statement.test.comparators]
    names = {side.id for side in sides if isinstance(side, ast.Name)}
    texts = {side.value for side in sides if isinstance(side, ast.Constant)}
    return "__name__" in names and "__main__" in texts and isinstance(statement.test.ops[0], ast.Eq)


def defines(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement binds a name when the program is loaded, not run as a script."""
    return not is_main_guard(statement) and name in bound_names(statement)


def is_stub(statement: ast.stmt) -> bool:
    """Tell whether a function has nothing in it, or a name is only imported from elsewhere."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return all(_does_nothing(node) for node in statement.body)
    return isinstance(statement, IMPORTS)


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return "NotImplementedError" in {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if isinstance(node, ast.Expr):
        return not any(isinstance(part, ast.Call | ast.Yield | ast.YieldFrom | ast.Await) for part in ast.walk(node))
    return isinstance(node, ast.Pass)
