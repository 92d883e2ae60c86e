"""Plain Python values as tagged JSON, the one form in which values are stored and cross the sandbox.

JSON has no tuple, set, complex number, bytes or big integer, so each is written as an object with a
single tag; a dict is always tagged (``d``), so an object never means anything but a tag.

====  =======================  ============================
tag   value                    content
====  =======================  ============================
t     tuple                    list of nodes
s     set or frozenset         list of nodes
d     dict                     list of [key node, value node]
c     complex                  [real, imag]
b     bytes                    hexadecimal text
i     int of 10**18 or beyond  hexadecimal text with sign
D     decimal.Decimal          text
F     fractions.Fraction       [numerator, denominator] as hexadecimal text
====  =======================  ============================

Floats stay JSON numbers, with ``NaN`` and ``Infinity`` as Python's json writes them. These two functions
are for trusted values (datasets, references). What comes out of the sandbox is never decoded blindly:
``evalooop.sandbox.compare`` walks along the expected value instead.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

BIG_INT = 10**18


def encode(value: Any) -> Any:
    """Return the JSON-able node of a plain trusted value.

    Raises:
        TypeError: the value, or something inside it, is not plain data.
    """
    kind = type(value)
    if value is None or kind in (str, bool, float):
        return value
    if kind is int:
        return value if -BIG_INT < value < BIG_INT else {"i": hex(value)}
    if kind is list:
        return [encode(item) for item in value]
    if kind is tuple:
        return {"t": [encode(item) for item in value]}
    if kind in (set, frozenset):
        return {"s": sorted((encode(item) for item in value), key=repr)}
    if isinstance(value, dict):
        return {"d": [[encode(key), encode(item)] for key, item in value.items()]}
    if kind is complex:
        return {"c": [value.real, value.imag]}
    if kind is bytes:
        return {"b": value.hex()}
    if kind is Decimal:
        return {"D": str(value)}
    if kind is Fraction:
        return {"F": [hex(value.numerator), hex(value.denominator)]}
    raise TypeError(f"{kind.__name__} is not a plain value")


def decode(node: Any) -> Any:
    """Return the value that ``encode`` made this node from.

    Raises:
        ValueError: the node carries an unknown tag.
    """
    if type(node) is list:
        return [decode(item) for item in node]
    if type(node) is not dict:
        return node
    ((tag, content),) = node.items()
    match tag:
        case "t":
            return tuple(decode(item) for item in content)
        case "s":
            return {decode(item) for item in content}
        case "d":
            return {decode(key): decode(item) for key, item in content}
        case "c":
            return complex(*content)
        case "b":
            return bytes.fromhex(content)
        case "i":
            return int(content, 16)
        case "D":
            return Decimal(content)
        case "F":
            return Fraction(int(content[0], 16), int(content[1], 16))
    raise ValueError(f"unknown value tag {tag!r}")
