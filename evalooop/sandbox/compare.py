"""Does an untrusted result equal what was expected? Answered by walking along the expected value.

A result is a node as the sandbox sent it: JSON with the tags of ``evalooop/values.py``, of which this side
believes nothing. The walk looks at a node only where the expected value has something to compare it with,
compares lengths first, and looks untrusted elements up in trusted sets and dicts, never the other way
round, so that neither huge nor colliding values can hurt. A node that makes no sense equals nothing.

Rules (``Suite.rule``):

===============  =====================================================================================
equal            Python's ``==`` of plain data; with ``atol`` > 0 floats anywhere inside may be off by it
find_zero        the result is a root: \\|polynomial(result)\\| <= atol, coefficients as first argument
evalplus         as EvalPlus: ``==``, else a close float, list or tuple; its tolerance is sticky (below)
set_equal        evalplus, but the results count as sets
not_none         evalplus, but a bool must match, and anything else only whether it is not None
any_value        every result passes (``are_equivalent``)
zero_or_equal    evalplus, and 0 passes too (``sum_div``)
surface_area     evalplus, and the slant-height formula rounded passes too (``surface_Area``)
digit_distance   evalplus, and the sum of digit differences passes too (``digit_distance_nums``)
===============  =====================================================================================

EvalPlus (0.3.1, ``evalplus/eval/__init__.py``) switches its tolerance from 0 to 1e-6 at the first expected
value that is a float or a non-empty list or tuple of floats, and then keeps it for the rest of the suite:
an int is compared with tolerance or without, depending on the tests before it. Kept as it is, because the
published verdicts depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalooop.tasks import Suite

MAX_DEPTH = 70
# Longest text of a Decimal or Fraction that is read: their arithmetic is more than linear in it.
MAX_NUMBER_TEXT = 4000
STICKY_ATOL = 1e-6
RTOL = 1e-7
NUMBERS = (bool, int, float, complex, Decimal, Fraction)


class Unreadable(ValueError):
    """An untrusted node that makes no sense, or is too large to be read."""


# ---------------------------------------------------------------- untrusted nodes


def tag_of(node: Any) -> str | None:
    """Return the tag of a node, None for what JSON itself can say."""
    if type(node) is not dict:
        return None
    return next((tag for tag in ("x", "t", "s", "d", "c", "b", "i", "D", "F", "o") if tag in node), "?")


def plain(node: Any) -> Any:
    """Return the node without the marks of subclasses."""
    for _ in range(MAX_DEPTH):
        if tag_of(node) != "x":
            return node
        node = node["x"]
    raise Unreadable("nested too deeply")


def read(node: Any, depth: int = 0) -> Any:
    """Return the plain value of an untrusted node; sets become frozensets, and dicts are refused.

    Raises:
        Unreadable: the node makes no sense, is nested too deeply, or holds what cannot be read safely.
    """
    if depth > MAX_DEPTH:
        raise Unreadable("nested too deeply")
    node = plain(node)
    tag = tag_of(node)
    if tag is None:
        return [read(item, depth + 1) for item in node] if type(node) is list else node
    content = node.get(tag)
    try:
        if tag == "t" and type(content) is list:
            return tuple(read(item, depth + 1) for item in content)
        if tag == "s" and type(content) is list and len(content) < MAX_NUMBER_TEXT:
            return frozenset(read(item, depth + 1) for item in content)
        if tag == "i":
            return int(content, 16)
        if tag == "c":
            return complex(float(content[0]), float(content[1]))
        if tag == "b":
            return bytes.fromhex(content)
        if tag == "D" and len(content) < MAX_NUMBER_TEXT:
            return Decimal(content)
        if tag == "F" and len(content[0]) + len(content[1]) < MAX_NUMBER_TEXT:
            return Fraction(int(content[0], 16), int(content[1], 16))
    except (ArithmeticError, ValueError, TypeError, LookupError) as error:
        raise Unreadable(str(error))
    raise Unreadable(f"tag {tag}")


# ---------------------------------------------------------------- equality


def equal(node: Any, expected: Any, atol: float = 0.0) -> bool:
    """Say whether a node equals a trusted plain value under Python's ``==``.

    Args:
        atol: numbers may differ by this much wherever either side is a float; 0 means not at all.

    Raises:
        Unreadable, TypeError: a node that makes no sense, or a list where only hashable values can be.
    """
    kind = type(expected)
    if type(node) is kind and kind in (int, str, float, bool):  # nearly every node; the rest is slower
        return node == expected or (kind is float and _within(node, expected, atol))
    node = plain(node)
    tag = tag_of(node)
    if kind is str:
        return type(node) is str and node == expected
    if expected is None:
        return node is None
    if kind in NUMBERS:
        if type(node) is list or tag not in (None, "i", "c", "D", "F"):
            return False
        value = read(node)
        if not isinstance(value, NUMBERS):
            return False
        return value == expected or _within(value, expected, atol)
    if kind is list:
        return type(node) is list and _items_equal(node, expected, atol)
    if kind is tuple:
        return tag == "t" and type(node["t"]) is list and _items_equal(node["t"], expected, atol)
    if kind in (set, frozenset):
        return (
            tag == "s" and type(node["s"]) is list and len(node["s"]) == len(expected) and covers(node["s"], expected)
        )
    if isinstance(expected, dict):
        return tag == "d" and type(node["d"]) is list and _pairs_equal(node["d"], expected, atol)
    if kind is bytes:
        return tag == "b" and read(node) == expected
    return False


def _items_equal(nodes: list[Any], expected: list[Any] | tuple[Any, ...], atol: float) -> bool:
    return len(nodes) == len(expected) and all(
        equal(node, item, atol) for node, item in zip(nodes, expected, strict=True)
    )


def _pairs_equal(pairs: list[Any], expected: dict[Any, Any], atol: float) -> bool:
    if len(pairs) != len(expected):
        return False
    seen = set()
    for pair in pairs:
        key = read(pair[0])
        if key not in expected or not equal(pair[1], expected[key], atol):
            return False
        seen.add(key)
    return len(seen) == len(expected)


def covers(nodes: list[Any], expected: set[Any] | frozenset[Any]) -> bool:
    """Say whether the nodes, taken as a set, are the expected set."""
    found = set()
    for node in nodes:
        value = read(node)
        if value not in expected:
            return False
        found.add(value)
    return len(found) == len(expected)


def _within(value: Any, expected: Any, atol: float) -> bool:
    """Say whether two numbers, at least one of them a float, differ by at most ``atol``."""
    if atol == 0 or not {type(value), type(expected)} & {float, complex}:
        return False
    try:
        return abs(complex(value) - complex(expected)) <= atol
    except OverflowError:
        return False


# ---------------------------------------------------------------- EvalPlus


def is_floats(expected: Any) -> bool:
    """Say whether a value switches EvalPlus's tolerance on: a float, or a non-empty list or tuple of floats."""
    if isinstance(expected, (list, tuple)):
        return bool(expected) and all(isinstance(item, float) for item in expected)
    return isinstance(expected, float)


def close(node: Any, expected: Any, atol: float) -> bool:
    """Say whether a node is close to the expected value as EvalPlus sees it: same type and length, ``np.allclose``."""
    import numpy as np

    # Broadcasting would make of a few numbers, nested or not, as many as memory holds.
    if tag_of(node) == "x" or _leaves(node, most := 16 + 16 * _leaves(expected)) > most:
        return False
    value = read(node)
    if type(value) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)) and len(value) != len(expected):
        return False
    return bool(np.allclose(value, expected, rtol=RTOL, atol=atol))


def _leaves(value: Any, most: float = math.inf) -> int:
    """Return how many values that are no containers a value or node holds; beyond ``most`` it counts no further."""
    if type(value) is dict:
        value = list(value.values())
    if type(value) not in (list, tuple):
        return 1
    count = 0
    for item in value:
        count += _leaves(item, most - count)
        if count > most:
            break
    return count


def _set_equal(node: Any, expected: Any, _arguments: Any, _atol: float) -> bool:
    return type(node) is list and covers(node, set(expected))


def _not_none(node: Any, expected: Any, _arguments: Any, _atol: float) -> bool:
    return node == expected if type(node) is bool else expected == (node is not None)


def _any_value(_node: Any, _expected: Any, _arguments: Any, _atol: float) -> bool:
    return True


def _zero_or_equal(node: Any, expected: Any, _arguments: Any, _atol: float) -> bool:
    return equal(node, expected) or equal(node, 0)


def _surface_area(node: Any, expected: Any, arguments: tuple[Any, ...], atol: float) -> bool:
    side, height = arguments
    area = round(side**2 + 2 * side * math.sqrt((side / 2) ** 2 + height**2))
    return equal(node, expected) or abs(read(node) - area) <= atol


def _digit_distance(node: Any, expected: Any, arguments: tuple[Any, ...], _atol: float) -> bool:
    first, second = (str(number) for number in arguments)
    width = max(len(first), len(second))
    digits = zip(first.zfill(width), second.zfill(width), strict=True)
    return equal(node, expected) or equal(node, sum(abs(int(a) - int(b)) for a, b in digits))


EVALPLUS: dict[str, Callable[[Any, Any, tuple[Any, ...], float], bool]] = {
    "evalplus": lambda node, expected, _arguments, _atol: equal(node, expected),
    "set_equal": _set_equal,
    "not_none": _not_none,
    "any_value": _any_value,
    "zero_or_equal": _zero_or_equal,
    "surface_area": _surface_area,
    "digit_distance": _digit_distance,
}


# ---------------------------------------------------------------- a suite


class Comparison:
    """Compares the results of one program with one suite, test by test in their order."""

    def __init__(self, suite: Suite) -> None:
        if suite.rule not in RULES:
            raise ValueError(f"suite {suite.name}: unknown rule {suite.rule!r}, known are {', '.join(RULES)}")
        self._suite = suite
        self._atol = suite.atol

    def matches(self, test: int, node: Any) -> bool:
        """Say whether the node that test number ``test`` returned is right. Never raises on a bad node."""
        suite = self._suite
        expected, arguments = suite.expected[test], suite.inputs[test]
        try:
            if suite.rule == "equal":
                return equal(node, expected, self._atol)
            if suite.rule == "find_zero":
                return abs(_polynomial(arguments[0], read(node))) <= self._atol
            right = EVALPLUS[suite.rule](node, expected, arguments, self._atol)
            if self._atol == 0 and is_floats(expected):
                self._atol = STICKY_ATOL
            return right or (self._atol != 0 and close(node, expected, self._atol))
        # What a hostile node can provoke: reading it, hashing a list in it, comparing or computing with it.
        except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError):
            return False


def _polynomial(coefficients: list[float], x: Any) -> Any:
    """Evaluate a polynomial, coefficients from the constant on (HumanEval/32)."""
    return sum(coefficient * math.pow(x, power) for power, coefficient in enumerate(coefficients))


RULES = ("equal", "find_zero", *EVALPLUS)
# Rules whose results are listed inside the sandbox, because only there can they be iterated over.
LISTED = ("set_equal",)
