"""Starter tasks on text."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task

TEXTS = (
    *("a", "A", "é", "ab", "Ab", "aaa", "lower", "UPPER", "Mississippi", "12345", "a1b2"),
    *("x y z", "Hello World", "  two  spaces ", "naïve café", "it's fine, really"),
)
"""Texts that many of the tasks share."""


@task(
    level=1,
    examples=[(("hello",), "HELLO"), (("Ab c",), "AB C"), (("",), "")],
    edge_cases=[(text,) for text in TEXTS],
)
def to_upper(text: str) -> str:
    """Return the text in capital letters.

    >>> to_upper("hello")
    'HELLO'
    """
    return text.upper()


@task(
    level=1,
    examples=[(("Hello",), "hello"), (("AB c",), "ab c"), (("",), "")],
    edge_cases=[(text,) for text in TEXTS],
)
def to_lower(text: str) -> str:
    """Return the text in small letters.

    >>> to_lower("Hello")
    'hello'
    """
    return text.lower()


@task(
    level=1,
    examples=[(("hello",), 5), (("",), 0), (("a b",), 3)],
    edge_cases=[(text,) for text in TEXTS],
)
def text_length(text: str) -> int:
    """Return the number of characters in the text.

    >>> text_length("hello")
    5
    """
    return len(text)


@task(
    level=1,
    examples=[(("abc",), "cba"), (("",), ""), (("level",), "level"), (("Hi!",), "!iH")],
    edge_cases=[*[(text,) for text in TEXTS], ("aab",), ("日本語",), ("tab\tnew\nline",), ("x" * 300 + "y",)],
)
def reverse_text(text: str) -> str:
    """Return the text written backwards.

    >>> reverse_text("abc")
    'cba'
    """
    return text[::-1]


@task(
    level=1,
    examples=[(("ab", "cd"), "abcd"), (("", "x"), "x"), (("a", ""), "a")],
    edge_cases=[
        *(("", ""), ("a", "b"), ("A", "a"), ("aa", "aa"), ("é", "e"), ("1", "2"), ("0", "00")),
        *((" ", " "), ("x y", "z"), ("Hello ", "World"), ("\n", "\t"), ("-", "-")),
        *(("abc", ""), ("", "abc"), ("a" * 50, "b")),
    ],
)
def join_texts(first: str, second: str) -> str:
    """Return the two texts joined together.

    >>> join_texts("ab", "cd")
    'abcd'
    """
    return first + second


@task(
    level=1,
    examples=[((["a", "b"],), "a b"), (([],), ""), ((["x"],), "x")],
    edge_cases=[
        *[(words,) for words in (["a"], ["1", "2"], ["A", "b"], ["-", "-"], ["hello", "world"], ["ab", "cd", "ef"])],
        *[(words,) for words in ([" "], [""], ["", ""], ["a", "", "b"], ["x y", "z"], ["\t"], ["é"], ["end."])],
        (["a"] * 5,),
        (list("qrst"),),
    ],
)
def join_words(words: list[str]) -> str:
    """Join the words with a single space between them.

    >>> join_words(["a", "b"])
    'a b'
    """
    return " ".join(words)


@task(
    level=2,
    examples=[(("a b c",), 3), (("hello",), 1), (("",), 0), (("one two",), 2)],
    edge_cases=[*[(text,) for text in TEXTS], ("   ",), (" lead",), ("trail ",), ("a  b",), ("w " * 200,)],
)
def count_words(text: str) -> int:
    """Count the words in the text. Words are separated by one or more spaces.

    >>> count_words("one two")
    2
    """
    return len(text.split())


@task(
    level=2,
    examples=[(("racecar",), True), (("hello",), False), (("",), True)],
    edge_cases=[*[(text,) for text in TEXTS], ("abba",), ("abca",), ("x y x",), ("1221",), ("noon" * 50,)],
)
def is_palindrome(text: str) -> bool:
    """Return True if the text reads the same forwards and backwards.

    >>> is_palindrome("racecar")
    True
    """
    return text == text[::-1]


@task(
    level=3,
    examples=[
        (("one two three",), "one three two"),
        (("red green blue black",), "red black blue green"),
        (("alone",), "alone"),
        (("",), ""),
    ],
    edge_cases=[
        (text,)
        for text in (
            *("a b", "a b c", "a b c d e", "b a", "same same same", "x y x", "One Two", "first second third"),
            "1 2 3 4",
            "keep this word here",
            "a, b, c",
            "naïve café olé",
            "up down left right",
            "the end",
            "z",
            " ".join(map(str, range(50))),
        )
    ],
)
def reverse_other_words(text: str) -> str:
    """Reverse the order of the words in the text, but keep the first word in its place.

    >>> reverse_other_words("one two three")
    'one three two'
    """
    words = text.split()
    return " ".join(words[:1] + words[:0:-1])
