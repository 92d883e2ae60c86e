"""Comparison along the expected value: the same answer as Python's ``==`` and EvalPlus's rules, on any node."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalooop.sandbox import compare
from evalooop.sandbox.compare import Comparison, Unreadable, equal, read
from evalooop.sandbox.inside.encoder import Encoder, TooBig
from evalooop.tasks import Suite
from evalooop.values import decode, encode

ROOM = 1 << 20
numbers = st.integers() | st.integers(-(10**30), 10**30) | st.floats() | st.booleans() | st.complex_numbers()
leaves = numbers | st.text(max_size=5) | st.none() | st.binary(max_size=3)
hashable = st.recursive(leaves, lambda inner: st.tuples(inner) | st.tuples(inner, inner), max_leaves=4)
plain_values = st.recursive(
    hashable | st.frozensets(hashable, max_size=3) | st.sets(hashable, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2) | st.integers(0, 3), inner, max_size=3)
    ),
    max_leaves=8,
)
json_nodes = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(list("xtsdcbiDFoy?")), inner, min_size=1, max_size=2)
    ),
    max_leaves=10,
)


def send(value):
    """Return the node that the trusted side gets when a program returns a value."""
    return json.loads(Encoder(ROOM, lambda flag: None).node(value))


def outcome(rule: str, expected: list, results: list, inputs: list | None = None, atol: float = 0.0) -> list[bool]:
    calls = tuple(inputs or [()] * len(expected))
    comparison = Comparison(Suite("base", calls, tuple(expected), atol, rule))
    return [comparison.matches(test, send(result)) for test, result in enumerate(results)]


# ---------------------------------------------------------------- equal


def same(value):
    """Return an equal value made of new objects: Python takes one object for equal to itself, NaN included."""
    return decode(json.loads(json.dumps(encode(value))))


@given(plain_values, plain_values)
@settings(deadline=None)
def test_equal_is_pythons_equality(value, expected):
    assert outcome("equal", [expected], [value]) == [same(value) == expected]


@given(plain_values)
@settings(deadline=None)
def test_every_value_equals_itself(value):
    assert outcome("equal", [value], [value]) == [value == same(value)]


@given(json_nodes, plain_values)
@settings(deadline=None, max_examples=300)
def test_no_node_makes_a_rule_raise(node, expected):
    suite = Suite("base", ((1, 2),) * len(compare.RULES), (expected,) * len(compare.RULES))
    for rule in compare.RULES:
        assert Comparison(Suite("base", suite.inputs, suite.expected, 0.1, rule)).matches(0, node) in (True, False)


@pytest.mark.parametrize(
    ("value", "expected", "is_equal"),
    [
        (4, 4.0, True),
        (True, 1, True),
        (10**30, 10**30, True),
        (2**100, 2.0**100, True),
        (10**30 + 1, 1e30, False),
        (Fraction(1, 2), 0.5, True),
        (Decimal("0.1"), 0.1, False),
        (0.1 + 0.2, 0.3, False),
        (float("nan"), float("nan"), False),
        (float("inf"), float("inf"), True),
        ("a", b"a", False),
        ("1", 1, False),
        ([1], (1,), False),
        ({1}, frozenset({1}), True),
        ({1: 2}, {1.0: 2}, True),
        ({1: 2}, {1: 2, 2: 3}, False),
        ([1, 1, 2], [1, 2], False),
        (["YES", "NO", "YES"], ["NO", "YES", "YES"], False),
        ({}, set(), False),
        ("", None, False),
        (0, None, False),
    ],
)
def test_equal_on_chosen_values(value, expected, is_equal):
    assert equal(send(value), expected) is is_equal


def test_tolerance_reaches_nested_floats_only():
    assert equal(send([1.0, {"a": (2.0000001,)}]), [1.0, {"a": (2.0,)}], atol=1e-6)
    assert equal(send(2), 2.0000001, atol=1e-6)
    assert not equal(send(3), 2, atol=1)
    assert not equal(send([1.0, 2.1]), [1.0, 2.0], atol=1e-6)
    assert not equal(send(float("nan")), 2.0, atol=1e-6)
    assert not equal(send("2.0"), 2.0, atol=1e-6)
    assert not equal(send({1.0000001}), {1.0}, atol=1e-6)


@pytest.mark.parametrize(
    "node",
    [
        {"s": [1, 1]},
        {"d": [[1, 2], [1, 2]]},
        {"d": [[1]]},
        {"d": [1, 2]},
        {"s": 2},
        {"t": {"t": []}},
        {"x": {"x": {"x": 7}}},
        {"i": "0x" + "f" * 100_000},
        {"F": ["0x1", "0x0"]},
        {"F": ["f" * 10**6, "e" * 10**6]},
        {"D": "1e999999999999"},
        {"D": "9" * 10**6},
        {"c": ["1", None]},
        {},
        {"": 1},
    ],
)
def test_forged_nodes_equal_nothing(node):
    for expected in ({1, 2}, {1: 2, 2: 3}, (), [1], 1, 0.5, None, "x"):
        comparison = Comparison(Suite("base", ((),), (expected,)))
        assert not comparison.matches(0, node)


def test_untrusted_values_build_no_hash_tables():
    """Two thousand colliding integers are looked up, not collected."""
    colliding = {"s": [number * (2**61 - 1) for number in range(2000)]}
    assert not equal(colliding, set(range(2000)))
    with pytest.raises(Unreadable):
        read({"d": [[1, 2]]})
    with pytest.raises(Unreadable):
        read({"s": list(range(5000))})


def test_nesting_is_bounded_on_both_sides():
    value = []
    for _ in range(100):
        value = [value]
    with pytest.raises(TooBig):
        send(value)
    node = 7
    for _ in range(5000):
        node = {"x": node}
    assert not Comparison(Suite("base", ((),), (7,))).matches(0, node)


def test_encoder_refuses_what_is_too_big():
    for value in ("x" * 2 * ROOM, list(range(ROOM)), 1 << (8 * ROOM), b"x" * ROOM, {n: n for n in range(ROOM // 8)}):
        with pytest.raises(TooBig):
            send(value)


# ---------------------------------------------------------------- EvalPlus


def evalplus_says(expected: list, results: list, atol: float) -> list[bool]:
    """Return which tests pass by the text of EvalPlus's rule: equality, else closeness with a sticky tolerance."""
    verdicts = []
    for wanted, given_value in zip(expected, results, strict=True):
        right = given_value == wanted
        floats = isinstance(wanted, float) or (
            isinstance(wanted, (list, tuple)) and len(wanted) > 0 and all(isinstance(item, float) for item in wanted)
        )
        if atol == 0 and floats:
            atol = 1e-6
        if not right and atol != 0:
            try:
                right = type(given_value) is type(wanted)
                right = right and (not isinstance(wanted, (list, tuple)) or len(given_value) == len(wanted))
                right = right and bool(np.allclose(given_value, wanted, rtol=1e-7, atol=atol))
            except Exception:
                right = False
        verdicts.append(right)
    return verdicts


near = st.sampled_from([0.0, 1e-9, 5e-7, 1e-5, 1.0])
wanted_values = (
    st.floats(-1e6, 1e6)
    | st.integers(-5, 5)
    | st.lists(st.floats(-10, 10), max_size=3)
    | st.tuples(st.floats(-10, 10), st.integers(0, 3))
    | st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), max_size=2)
    | st.text(max_size=2)
    | st.none()
    | st.dictionaries(st.text(max_size=1), st.floats(0, 1), max_size=1)
)


def moved(value, step: float):
    """Return the value with every number moved by a step."""
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple)):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, step) for item in value)
    return value + step


@given(st.lists(st.tuples(wanted_values, near | wanted_values), max_size=5), st.sampled_from([0.0, 1e-4]))
@settings(deadline=None, max_examples=300)
def test_evalplus_rule_is_evalplus(cases, atol):
    expected = [wanted for wanted, _ in cases]
    results = [moved(wanted, other) if type(other) is float else other for wanted, other in cases]
    assert outcome("evalplus", expected, results, atol=atol) == evalplus_says(expected, results, atol)


def test_tolerance_is_sticky_within_a_suite():
    """An int is compared with tolerance once a float has been expected, and exactly before."""
    assert outcome("evalplus", [1, 0.5, 1], [1.0000001, 0.5, 1.0000001]) == [False, True, False]
    assert outcome("evalplus", [[1, 2], 0.5, [1, 2]], [[1.0000001, 2], 0.5, [1.0000001, 2]]) == [False, True, True]


def test_set_rule_ignores_order_and_repetition():
    expected = [(4, 5), [1, 2], []]
    assert outcome("set_equal", expected, [[5, 4], [1, 1, 2], []]) == [True, True, True]
    assert outcome("set_equal", expected, [[4], [1, [2]], [0]]) == [False, False, False]


def test_not_none_rule():
    assert outcome("not_none", [True, True, False, False], [True, "match", None, "match"]) == [True, True, True, False]
    assert outcome("not_none", [True, False], [False, False]) == [False, True]


def test_rules_of_tasks_with_two_right_answers():
    assert outcome("any_value", [False], ["anything"]) == [True]
    assert outcome("zero_or_equal", [6, 6, 6], [6, 0, 1]) == [True, True, False]
    # 33 is the reference's answer (its height is the slant height), 35 takes the height as perpendicular.
    assert outcome("surface_area", [33, 33, 33], [33, 35, 34], [(3, 4)] * 3) == [True, True, False]
    assert outcome("digit_distance", [1, 1, 1], [1, 9 + 1, 11], [(1, 2), (100, 9), (100, 9)]) == [True, True, False]


def test_find_zero_accepts_any_root():
    coefficients = [-6, 11, -6, 1]
    results = [1.0, 2.0, 3, 2.5, "1", None, float("nan"), 1e308]
    inputs = [(coefficients,)] * len(results)
    assert outcome("find_zero", [1.0] * len(results), results, inputs, atol=1e-4) == [True] * 3 + [False] * 5


def test_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="unknown rule 'close'"):
        Comparison(Suite("base", (), (), rule="close"))
