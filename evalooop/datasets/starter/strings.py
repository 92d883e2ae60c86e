"""Starter tasks on text."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task

WORDS = (
    "a",
    "Z",
    "Hello",
    "hello world",
    "AEIOU",
    "xyz",
    "  two  spaces ",
    "naïve café",
    "été",
    "123",
    "a1b2",
)
"""Texts that many of the tasks share."""


@task(
    level=1,
    examples=[(("abc",), "cba"), (("",), ""), (("level",), "level"), (("Hi!",), "!iH")],
    edge_cases=[
        *[(text,) for text in WORDS],
        ("ab",),
        ("aab",),
        ("日本語",),
        ("tab\tnew\nline",),
        ("x" * 300 + "y",),
    ],
)
def reverse_text(text: str) -> str:
    """Return the text written backwards.

    >>> reverse_text("abc")
    'cba'
    """
    return text[::-1]


@task(
    level=1,
    examples=[(("banana",), 3), (("Apple",), 2), (("",), 0), (("rhythm",), 0)],
    edge_cases=[
        *[(text,) for text in WORDS],
        ("UuIi",),
        ("yY",),
        ("bcd",),
        ("queue",),
        ("a" * 500,),
        ("A-E-I",),
    ],
)
def count_vowels(text: str) -> int:
    """Count the vowels a, e, i, o and u in the text, both small and capital.

    >>> count_vowels("Apple")
    2
    """
    return sum(1 for letter in text.lower() if letter in "aeiou")


@task(
    level=1,
    examples=[(("hello",), "HELLO!"), (("",), "!"), (("Stop",), "STOP!"), (("go now",), "GO NOW!")],
    edge_cases=[*[(text,) for text in WORDS], ("!",), ("Really?",), ("UP",), ("z" * 100,), ("a!",)],
)
def shout(text: str) -> str:
    """Return the text in capital letters with an exclamation mark at the end.

    >>> shout("hello")
    'HELLO!'
    """
    return text.upper() + "!"


@task(
    level=1,
    examples=[(("ab", 3), "ababab"), (("x", 1), "x"), (("hi", 0), ""), (("", 4), "")],
    edge_cases=[
        *[(text, 2) for text in WORDS],
        ("ab", 0),
        ("ab", 1),
        ("ab", 10),
        ("-", 200),
        (" ", 3),
        ("", 0),
    ],
)
def repeat_text(text: str, times: int) -> str:
    """Return the text repeated the given number of times.

    >>> repeat_text("ab", 3)
    'ababab'
    """
    return text * times


@task(
    level=1,
    examples=[(("a b c",), 3), (("hello",), 1), (("",), 0), (("one two",), 2)],
    edge_cases=[
        *[(text,) for text in WORDS],
        ("   ",),
        (" lead",),
        ("trail ",),
        ("a  b",),
        ("w " * 200,),
        ("it's fine, really",),
    ],
)
def count_words(text: str) -> int:
    """Count the words in the text. Words are separated by one or more spaces.

    >>> count_words("one two")
    2
    """
    return len(text.split())


@task(
    level=2,
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


@task(
    level=2,
    examples=[
        (("The cat and the dog", "the"), 2),
        (("a a a", "a"), 3),
        (("cathedral", "cat"), 0),
        (("", "x"), 0),
        (("Go go GO", "Go"), 3),
    ],
    edge_cases=[
        *[(text, "hello") for text in WORDS],
        ("cat catalog cat", "cat"),
        ("cat catalog cat", "CAT"),
        ("one", "one"),
        ("ONE", "one"),
        ("one", "two"),
        ("no yes no yes no", "no"),
        ("x " * 100, "X"),
    ],
)
def count_whole_word(text: str, word: str) -> int:
    """Count how often a word stands in the text. Ignore case, and count whole words only.

    >>> count_whole_word("The cat and the dog", "the")
    2
    """
    return text.lower().split().count(word.lower())


@task(
    level=2,
    examples=[
        (("12345678",), "****5678"),
        (("1234",), "1234"),
        (("",), ""),
        (("secret",), "**cret"),
        (("ab",), "ab"),
    ],
    edge_cases=[
        *[(text,) for text in WORDS],
        ("12345",),
        ("*****",),
        ("4111 1111 1111 1111",),
        ("été à la",),
        ("0" * 100,),
    ],
)
def mask_text(text: str) -> str:
    """Replace every character with a star, except the last four. A shorter text stays as it is.

    >>> mask_text("12345678")
    '****5678'
    """
    return "*" * (len(text) - 4) + text[-4:]


@task(
    level=2,
    examples=[
        (("red blue tan",), "blue"),
        (("one two six",), "six"),
        (("",), ""),
        (("word",), "word"),
        (("pear plum fig",), "plum"),
    ],
    edge_cases=[
        *[(text,) for text in WORDS],
        ("aa bb cc",),
        ("aaa bb ccc",),
        ("a bb ccc",),
        ("ccc bb a",),
        ("x y",),
        ("same same",),
        ("tie-break first tie-break",),
        (" ".join("abcde"[:n] for n in (1, 5, 3, 5, 2)),),
        ("abcd efgh a ijkl",),
    ],
)
def last_longest_word(text: str) -> str:
    """Return the longest word in the text, the last one if several are longest, "" if there is none.

    >>> last_longest_word("one two six")
    'six'
    """
    longest = ""
    for word in text.split():
        if len(word) >= len(longest):
            longest = word
    return longest


@task(
    level=3,
    examples=[
        (("aaabcc",), "a3bc2"),
        (("abc",), "abc"),
        (("",), ""),
        (("zzzzzzzzzzzz",), "z12"),
        (("aabaa",), "a2ba2"),
    ],
    edge_cases=[
        (text,)
        for text in (
            "a",
            "aa",
            "aaa",
            "ab",
            "abb",
            "aab",
            "aAa",
            "AAaa",
            "  ",
            " a  b",
            "xxyyzz",
            "mississippi",
            "été",
            *("aaaaaaaaab", "baaaaaaaaa", "abcabc", "q" * 120, "ppppq"),
        )
    ],
)
def shorten_runs(text: str) -> str:
    """Replace each run of equal characters with the character and the length of the run.
    Do not write the length of a run of one.

    >>> shorten_runs("aaabcc")
    'a3bc2'
    """
    runs: list[list] = []
    for character in text:
        if runs and runs[-1][0] == character:
            runs[-1][1] += 1
        else:
            runs.append([character, 1])
    return "".join(character + (str(length) if length > 1 else "") for character, length in runs)


@task(
    level=3,
    examples=[
        (("1h30m",), 5400),
        (("45s",), 45),
        (("2h",), 7200),
        (("",), -1),
        (("5x",), -1),
        (("30m1h",), 5400),
    ],
    edge_cases=[
        (text,)
        for text in (
            *("0s", "1s", "1m", "1h", "1h1m1s", "10h", "99s", "90m", "1m1m", "12h59m59s", "100h", "0h0m0s"),
            *("h", "5", "m5", "1h30", "1d", "1H", "1h 30m", "-5s", "1.5h", "abc", "3sm", "s3"),
        )
    ],
)
def parse_duration(text: str) -> int:
    """Turn a duration such as "1h30m" into seconds.
    It is made of whole numbers, each followed by h, m or s, in any order.
    Return -1 if the text is empty or has anything else in it.

    >>> parse_duration("1h30m")
    5400
    """
    unit_seconds = {"h": 3600, "m": 60, "s": 1}
    total, digits = 0, ""
    for character in text:
        if character in "0123456789":
            digits += character
        elif character in unit_seconds and digits:
            total += int(digits) * unit_seconds[character]
            digits = ""
        else:
            return -1
    return -1 if digits or not text else total


@task(
    level=3,
    examples=[
        (("abz", 1), "bca"),
        (("Hello, World!", 3), "Khoor, Zruog!"),
        (("a9", 1), "b0"),
        (("b0", -1), "a9"),
        (("", 5), ""),
    ],
    edge_cases=[
        *[(text, 1) for text in ("z", "Z", "9", "zZ9", "a-b", "Room 101", "naïve", " ")],
        *[("Az09", shift) for shift in (0, 2, 10, 13, 25, 26, 27, -1, -13, -26, 52, 260, 1000)],
    ],
)
def shift_text(text: str, shift: int) -> str:
    """Move each letter a to z forward in the alphabet by shift, and each digit forward among 0 to 9.
    After the last one comes the first again. Keep the case of letters; other characters stay as they are.

    >>> shift_text("abz", 1)
    'bca'
    """
    moved = []
    for character in text:
        for ring in ("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"):
            if character in ring:
                character = ring[(ring.index(character) + shift) % len(ring)]
                break
        moved.append(character)
    return "".join(moved)
