"""Programs taken from a model's answer, whatever prose, fences and thinking stand around them.

The text between any two fence marks, or beside one, is a candidate: which mark opens and which closes is not
asked, because models forget either. The program is the last candidate that parses and defines the entry point.
"""

from __future__ import annotations

import ast
import gc
import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from evalooop.blocks import Block, defines, find_blocks, is_stub, parse, span
from evalooop.cleaning import with_helpers, without_demonstration

# An answer is read up to here: the parser needs about 500 bytes for every character of hostile text.
MAX_CHARS = 2_000_000
# A fence mark inside a string of the program splits it: so many segments are joined to make it whole.
MAX_JOINED = 8


@dataclass(frozen=True)
class Extraction:
    """What was found in an answer.

    Attributes:
        code: the program, None unless ``status`` is ``ok``.
        found: where: ``fence`` (between two marks), ``unclosed_fence`` (after an opening mark),
            ``closing_fence`` (before the first mark, as when the prompt opened the fence), ``no_fence``,
            ``continuation`` (a body put under the prompt's ``def``), ``no_entry_point`` (Python, but it
            does not define the entry point) or ``none``.
        status: ``ok``, ``no_code``, or ``incomplete_reasoning`` (thinking that never ended).
    """

    code: str | None
    found: str
    status: Literal["ok", "no_code", "incomplete_reasoning"]


@dataclass(frozen=True)
class _Segment:
    """A stretch of the answer: what fences it, its text, and where that text lies in the answer."""

    found: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class _Candidate:
    """A block that defines the entry point, and where it was found."""

    block: Block
    found: str
    segment: int
    stub: bool

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """Smaller is better: a body before a stub, a complete end before a cut one, a text that parses whole."""
        return self.stub, self.block.cut, not self.block.whole


def extract(answer: str, entry_point: str, truncated: bool = False, prompt: str = "") -> Extraction:
    """Return the program in an answer.

    Any text is accepted; the time it takes grows about linearly with its length.

    Args:
        answer: the model's answer, special tokens included or not. Read up to MAX_CHARS characters.
        entry_point: the function (or class) that the tests call.
        truncated: the answer stopped at its token limit: its last definition is trusted less than a finished one.
        prompt: a prompt that ends in the entry point's ``def`` and docstring (HumanEval), for models that only
            continue it. Used when the answer itself does not define the entry point.
    """
    with _quiet_parsing():
        rest, complete = split_reasoning(answer[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n"))
        if not complete:
            return Extraction(None, "none", "incomplete_reasoning")
        text = _without_special_tokens(rest)
        segments = _segments(text)
        candidates = _candidates(text, segments, entry_point, truncated) or _continuations(
            segments, entry_point, prompt
        )
        if candidates:
            return _program(candidates, segments, entry_point)
        return _longest_python(segments, entry_point)


@contextmanager
def _quiet_parsing() -> Iterator[None]:
    """Silence warnings and pause the garbage collector while text is tried as Python.

    Prose is full of odd escapes and literals. Syntax trees have no cycles, but the collector would walk over
    them again and again, which makes long answers cost more than their length.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collecting:
            gc.enable()


_THINKING = re.compile(
    r"(?P<open><(?:think|thinking|thought|reasoning|seed:think)>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)"
    r"|(?P<close></(?:think|thinking|thought|reasoning|seed:think)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>)",
    re.IGNORECASE,
)


def split_reasoning(answer: str) -> tuple[str, bool]:
    """Return an answer without its thinking, and whether the thinking came to an end.

    Thinking runs from an opening tag to the next closing one. Text before a closing tag that nothing opened
    is thinking too, since chat templates open the tag in the prompt; only a stray closing tag at the very end,
    after thinking that was already closed, is just dropped. A tag between quotes is text.
    """
    kept: list[str] = []
    position, opened, closed = 0, 0, 0
    inside = False
    for tag in _THINKING.finditer(answer):
        if _is_quoted(answer, tag):
            continue
        if tag["open"]:
            opened += 1
            if not inside:
                kept.append(answer[position : tag.start()])
                inside = True
            continue
        closed += 1
        stray = not inside and 0 < opened < closed and not answer[tag.end() :].strip()
        if stray:
            kept.append(answer[position : tag.start()])
        elif not inside:
            kept.clear()
        position, inside = tag.end(), False
    if inside:
        return "", False
    return "".join([*kept, answer[position:]]), True


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    before, behind = text[max(tag.start() - 1, 0) : tag.start()], text[tag.end() : tag.end() + 1]
    return before == behind and behind in ("'", '"', "`")


_ROLE = r"(?:assistant|system|user|model)?"
_TURN_HEADER = re.compile(
    rf"\s*(?:<\|im_start\|>{_ROLE}\n?|<\|start_header_id\|>{_ROLE}<\|end_header_id\|>|<start_of_turn>{_ROLE}\n?"
    r"|<\|assistant\|>|<\|begin_of_text\|>|<｜begin▁of▁sentence｜>|<s>|<bos>|\ufeff)"
)
_END_OF_TURN = re.compile(
    r"""(?:<\|(?:endoftext|im_end|eot_id|end|end_of_text|EOT|eom_id|im_start|user|return)\|>|</s>|<eos>"""
    r"""|<end_of_turn>|<｜end▁of▁sentence｜>)(?!["'`])"""
)
_OTHER_TOKEN = re.compile(r"""<[|｜][^|｜<>\n]{1,40}[|｜]>(?!["'`])""")
_PARTIAL_TOKEN = re.compile(r"(?:<[|｜][^|｜<>\s]{0,40}[|｜]?|</s?)\Z")


def _without_special_tokens(text: str) -> str:
    """Return the model's first turn without special tokens, the half of one at its end included.

    A token right before a quote character is text.
    """
    begin, end = 0, len(text)
    while header := _TURN_HEADER.match(text, begin):
        begin = header.end()
    position = begin
    for token in _END_OF_TURN.finditer(text, begin):
        # What follows the end of the turn is another turn. Before anything was said a token ends nothing.
        if text[position : token.start()].strip():
            end = token.start()
            break
        position = token.end()
    turn = _OTHER_TOKEN.sub("\n", text[position:end])
    return _PARTIAL_TOKEN.sub("", turn.rstrip())


_MARK = re.compile(r"`{3,}|~{3,}")
_BEFORE_MARK = re.compile(r"[ \t>*+\-.0-9]*")
_TAG_AFTER_MARK = re.compile(r"[ \t]?(?:python|py)[23]?\b|[\w+#.{}-]{1,30}[ \t]{0,9}$", re.IGNORECASE)
_CODE_AFTER_MARK = re.compile(
    r"[ \t]*(?:(?:python|py)[23]?[ \t]+)?(?=(?:def|class|import|from|async)\b|@)", re.IGNORECASE
)


def _marks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where fence marks begin and end.

    A mark stands at the start or end of its line or has a language tag behind it; anything else is text.
    """
    offset = 0
    for line in text.split("\n"):
        indented = _BEFORE_MARK.match(line).end()
        last = len(line.rstrip())
        for mark in _MARK.finditer(line):
            first = mark.start() == indented
            backticks = mark.group().startswith("`")
            if first or (backticks and (mark.end() == last or _TAG_AFTER_MARK.match(line, mark.end()))):
                yield offset + mark.start(), offset + mark.end()
        offset += len(line) + 1


def _segments(text: str) -> list[_Segment]:
    """Cut the answer at its fence marks; the tag behind a mark goes with it."""
    marks = list(_marks(text))
    starts = [0, *(_behind_tag(text, end) for _, end in marks)]
    ends = [*(start for start, _ in marks), len(text)]
    last = len(marks)
    segments = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if number in (0, last):
            beside = "unclosed_fence" if number % 2 else "closing_fence" if number < last else "no_fence"
        else:
            beside = "fence"
        segments.append(_Segment(beside, text[start : max(start, end)], start, end))
    return segments


def _behind_tag(text: str, position: int) -> int:
    """Return where the text behind a fence mark begins: on the next line, unless code follows on the same."""
    code = _CODE_AFTER_MARK.match(text, position)
    if code:
        return code.end()
    line_end = text.find("\n", position)
    return len(text) if line_end < 0 else line_end + 1


def _candidates(text: str, segments: list[_Segment], entry_point: str, truncated: bool) -> list[_Candidate]:
    """Return the blocks that define the entry point, in the answer's order."""
    found: list[_Candidate] = []
    for number, segment in enumerate(segments):
        if entry_point not in segment.text:
            continue
        blocks = _blocks_of(text, segments, number, entry_point)
        if truncated and blocks and number == len(segments) - 1:
            blocks[-1] = _distrust_end(blocks[-1], entry_point)
        found += _defining(blocks, segment.found, number, entry_point)
    return found


def _defining(blocks: list[Block], found: str, number: int, entry_point: str) -> list[_Candidate]:
    """Return the candidates among blocks. Python keeps the last definition, so that one may not be a stub."""
    definitions = [(block, [node for node in block.body if defines(node, entry_point)]) for block in blocks]
    return [_Candidate(block, found, number, is_stub(nodes[-1])) for block, nodes in definitions if nodes]


def _distrust_end(block: Block, entry_point: str) -> Block:
    """Return the last block of a truncated answer without a repeated definition that was cut, or marked as cut."""
    if not defines(block.body[-1], entry_point):
        return block
    if any(defines(node, entry_point) for node in block.body[:-1]):
        first, _ = span(block.body[-1])
        return Block("\n".join(block.lines[: first - 1]), block.body[:-1], block.whole)
    return replace(block, cut=True)


def _blocks_of(text: str, segments: list[_Segment], number: int, entry_point: str) -> list[Block]:
    """Return the blocks of a segment, joined with those after it where a fence mark stands inside a string."""
    segment = segments[number]
    blocks = find_blocks(segment.text, entry_point)
    if blocks and blocks[0].whole:
        return blocks
    if _ends_in_string(segment.text):
        for other in segments[number + 1 : number + 1 + MAX_JOINED]:
            joined = parse(text[segment.start : other.end])
            if joined and any(defines(node, entry_point) for node in joined):
                return [Block(text[segment.start : other.end], tuple(joined))]
    if any(defines(node, entry_point) for block in blocks for node in block.body):
        return blocks
    return blocks + _indented_blocks(segment.text, entry_point)


def _ends_in_string(source: str) -> bool:
    last_line = source[source.rfind("\n") + 1 :]
    return any(source.count(quote * 3) % 2 or last_line.count(quote) % 2 for quote in "\"'")


def _indented_blocks(text: str, entry_point: str) -> list[Block]:
    """Return the blocks of indented code among prose (Markdown's other code block) that defines the entry point."""
    lines = text.split("\n")
    definition = re.compile(rf"[ \t]+(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}\b")
    at = max((number for number, line in enumerate(lines) if definition.match(line)), default=None)
    if at is None:
        return []
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    belongs = [line.startswith(indent) or not line.strip() for line in lines]
    first = next((number + 1 for number in range(at, -1, -1) if not belongs[number]), 0)
    last = next((number for number in range(at, len(lines)) if not belongs[number]), len(lines))
    return find_blocks(textwrap.dedent("\n".join(lines[first:last])), entry_point)


def _continuations(segments: list[_Segment], entry_point: str, prompt: str) -> list[_Candidate]:
    """Return the programs that the prompt's unfinished function and a body from the answer make together."""
    if not re.search(rf"^def {re.escape(entry_point)}\b", prompt, re.MULTILINE):
        return []
    found = []
    for number, segment in enumerate(segments):
        body = segment.text.strip("\n")
        # Chat models dedent the body, and tokenizers drop the spaces its first line begins with.
        bodies = (body, textwrap.indent(textwrap.dedent(body), "    "), "    " + body.lstrip())
        programs = [
            candidate
            for lines in bodies
            for candidate in _defining(
                find_blocks(f"{prompt.rstrip()}\n{lines}", entry_point), "continuation", number, entry_point
            )
            if not candidate.stub
        ]
        found += [min(programs, key=lambda candidate: candidate.rank)] if programs else []
    return found


def _program(candidates: list[_Candidate], segments: list[_Segment], entry_point: str) -> Extraction:
    """Return the best candidate (the last of equals), cleaned, with the helpers that stand elsewhere."""
    best = min(reversed(candidates), key=lambda candidate: candidate.rank)
    code = without_demonstration(best.block, entry_point)
    if len(segments) > 1 or not best.block.whole:
        by_segment = [find_blocks(segment.text, entry_point) for segment in segments]
        later = [block for blocks in reversed(by_segment[best.segment + 1 :]) for block in blocks]
        earlier = [block for blocks in by_segment[: best.segment + 1] for block in blocks]
        code = with_helpers(code, [*later, *earlier])
    return Extraction(code.strip(), best.found, "ok")


def _longest_python(segments: list[_Segment], entry_point: str) -> Extraction:
    """Return the longest block that is code, for an answer that does not define the entry point: it fails honestly."""
    sources = [
        block.source.strip()
        for segment in segments
        for block in find_blocks(segment.text, entry_point)
        if any(_is_code(node, block.whole) for node in block.body)
    ]
    if not sources:
        return Extraction(None, "none", "no_code")
    return Extraction(max(sources, key=len), "no_entry_point", "ok")


def _is_code(statement: ast.stmt, whole: bool) -> bool:
    """Tell code from prose that happens to parse: ``Yes``, ``Note: this``, and amid other prose ``Steps (three)``."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    return not isinstance(statement, ast.Expr) or (whole and isinstance(statement.value, ast.Call))
