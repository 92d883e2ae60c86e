"""Results as text: plain values as tagged JSON, without calling anything that the program wrote."""

import builtins

# A program may patch builtins; functions defined from here on keep their own copy.
__builtins__ = dict(vars(builtins))

from _json import encode_basestring_ascii as quote
from decimal import Decimal
from fractions import Fraction

# The module that programs are run as.
MODULE = "program"
MAX_DEPTH = 60
SPECIAL_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
DICT_VIEWS = (type({}.keys()), type({}.items()))
# How to read the plain value of a subclass without running any method of the subclass.
PLAIN_BASES = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__complex__),
    (bytes, bytes.__bytes__),
    (bytearray, lambda value: bytes(memoryview(value))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: set(frozenset.__iter__(value))),
)
# A class may lie about these through its metaclass; the descriptors of ``type`` do not.
name_of = type.__dict__["__name__"].__get__
bases_of = type.__dict__["__mro__"].__get__
members_of = type.__dict__["__dict__"].__get__


class TooBig(Exception):
    """The value cannot be sent: too many bytes, or nested too deeply."""


class Encoder:
    """Writes one result as JSON without calling anything that the program wrote.

    Besides the tags of ``evalooop/values.py``:
        {"x": node, "y": name}  an instance of a subclass of a plain type; node is its plain value
        {"o": name}             anything else, with the name of its type
    """

    def __init__(self, room, note):
        """``room``: most bytes; ``note``: called with "custom_eq" for a class that says itself what it equals."""
        self.room = room
        self.note = note

    def spend(self, size):
        self.room -= size
        if self.room < 0:
            raise TooBig("bytes")

    def node(self, value, depth=0):
        kind = type(value)
        if kind is int:
            text = int.__repr__(value) if -(10**18) < value < 10**18 else self.big_int(value)
        elif kind is str:
            self.spend(len(value))
            text = quote(value)
        elif value is None:
            text = "null"
        elif kind is bool:
            text = "true" if value else "false"
        elif kind is float:
            text = float.__repr__(value)
            text = SPECIAL_FLOATS.get(text, text)
        elif depth > MAX_DEPTH:
            raise TooBig("depth")
        elif kind is list:
            return "[" + self.items(value, depth) + "]"
        elif kind is tuple:
            return '{"t":[' + self.items(value, depth) + "]}"
        elif kind is dict:
            return '{"d":[' + self.items(value.items(), depth, self.pair) + "]}"
        elif kind in (set, frozenset, *DICT_VIEWS):
            return '{"s":[' + self.items(value, depth) + "]}"
        else:
            text = self.rarer(value, kind, depth)
        self.spend(len(text))
        return text

    def items(self, values, depth, write=None):
        write = write or self.node
        self.spend(2 * len(values))
        return ",".join([write(value, depth + 1) for value in values])

    def pair(self, pair, depth):
        self.spend(3)
        return "[" + self.node(pair[0], depth) + "," + self.node(pair[1], depth) + "]"

    def big_int(self, value):
        self.spend(value.bit_length() // 4)
        return '{"i":"' + hex(value) + '"}'

    def rarer(self, value, kind, depth):
        if kind is complex:
            return '{"c":[' + self.node(value.real) + "," + self.node(value.imag) + "]}"
        if kind is bytes:
            self.spend(2 * len(value))
            return '{"b":"' + value.hex() + '"}'
        if kind is Decimal:
            return '{"D":' + quote(str(value)) + "}"
        if kind is Fraction:
            return '{"F":["' + hex(value.numerator) + '","' + hex(value.denominator) + '"]}'
        if has_own_eq(kind):
            self.note("custom_eq")
        name = quote(name_of(kind)[:60])
        for base, plain in PLAIN_BASES:
            if issubclass(kind, base):
                return '{"x":' + self.node(plain(value), depth + 1) + ',"y":' + name + "}"
        return '{"o":' + name + "}"


def has_own_eq(kind):
    """Say whether a class that the program wrote defines how its objects compare."""
    members = [members_of(base) for base in bases_of(kind)]
    return any("__eq__" in own and own.get("__module__") == MODULE for own in members)
