"""Starter tasks on dictionaries, tuples and small simulations."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task


@task(
    level=2,
    examples=[
        ((["apple", "Avocado", "bean"],), {"a": ["apple", "Avocado"], "b": ["bean"]}),
        (([],), {}),
        ((["", "x"],), {"x": ["x"]}),
        ((["B", "b"],), {"b": ["B", "b"]}),
    ],
    edge_cases=[
        (words,)
        for words in (
            [""],
            ["", ""],
            ["a"],
            ["A"],
            ["a", "a"],
            ["Zoo", "zip", "Zap"],
            ["one", "two", "three", "four"],
            ["bee", "ant", "Bat"],
            ["Été", "étage"],
            ["go", "Go", "up"],
            ["a b", "c d"],
            ["x", "", "X"],
            ["x1", "X2", "y"],
            ["same", "same", "Same"],
            ["c", "b", "a"],
            [f"{letter}{n}" for n in range(9) for letter in "pQ"],
        )
    ],
)
def group_by_first_letter(words: list[str]) -> dict[str, list[str]]:
    """Group words by their first letter in lower case. Keep the order of the words and leave out empty words.

    >>> group_by_first_letter(["apple", "Avocado", "bean"])
    {'a': ['apple', 'Avocado'], 'b': ['bean']}
    """
    groups: dict[str, list[str]] = {}
    for word in words:
        if word:
            groups.setdefault(word[0].lower(), []).append(word)
    return groups


@task(
    level=2,
    examples=[
        (({"Ann": 3, "Bob": 9},), ["Bob", "Ann"]),
        (({"Zoe": 5, "Al": 5, "Max": 7},), ["Max", "Al", "Zoe"]),
        (({},), []),
        (({"Kim": -1, "Lee": 0},), ["Lee", "Kim"]),
    ],
    edge_cases=[
        (scores,)
        for scores in (
            {"A": 1},
            {"b": 2, "a": 2},
            {"a": 2, "b": 2},
            {"c": 0, "b": 0, "a": 0},
            {"x": 1, "y": 2, "z": 3},
            *({"x": 3, "y": 2, "z": 1}, {"n": -5, "m": -5, "o": -4}, {"Émile": 4, "Eva": 4}, {"": 1, "a": 1}),
            {"a": 10, "b": 9, "c": 10, "d": 9},
            {"Bo": 7, "bo": 7},
            {"z": 10**9, "y": -(10**9)},
            {"p": 0, "q": 1},
            *({"a1": 5, "a10": 5, "a2": 5}, {"k": 2, "j": 1, "i": 2, "h": 1}),
            {f"n{i:02d}": i % 4 for i in range(40, 0, -1)},
        )
    ],
)
def ranking(scores: dict[str, int]) -> list[str]:
    """List the names by score, the highest first. Names with equal scores come in alphabetical order.

    >>> ranking({"Ann": 3, "Bob": 9})
    ['Bob', 'Ann']
    """
    return sorted(scores, key=lambda name: (-scores[name], name))


@task(
    level=3,
    examples=[
        ((10, [5, -3]), (12, 0)),
        ((10, [-20, 5]), (15, 1)),
        ((0, []), (0, 0)),
        ((5, [-5, -1]), (0, 1)),
        ((50, [-60, 20, -60]), (10, 1)),
    ],
    edge_cases=[
        *[(5, [move]) for move in (0, 1, -4, -5, -6, 100, -100)],
        (0, [-1]),
        (0, [0, 0]),
        (0, [3, -3, -3]),
        (100, [-50, -50, -50]),
        (100, [-101, -101, -100]),
        (7, [-8, 1, -8, 1]),
        (10**9, [-(10**9), -1, 1, -1]),
        (1, [-2, -2, -2, 5]),
        (20, [-15, -15, 10, -15, -15]),
        (3, [1, -1] * 40),
        (10, [-4] * 10),
    ],
)
def run_account(balance: int, moves: list[int]) -> tuple[int, int]:
    """Apply deposits (positive) and withdrawals (negative) to a balance, in order.
    Skip a withdrawal that would bring the balance below zero.
    Return the final balance and the number of withdrawals skipped.

    >>> run_account(10, [-20, 5])
    (15, 1)
    """
    skipped = 0
    for move in moves:
        if balance + move < 0:
            skipped += 1
        else:
            balance += move
    return balance, skipped


@task(
    level=3,
    examples=[
        (("FF",), (0, 2)),
        (("RFFLF",), (2, 1)),
        (("",), (0, 0)),
        (("B",), (0, 0)),
        (("FFFFFF",), (0, 4)),
        (("RFB",), (0, 0)),
    ],
    edge_cases=[
        (commands,)
        for commands in (
            *("F", "L", "R", "LF", "LLF", "RF", "RRF", "RRRF", "RRB", "LB", "RB", "FB", "FFB", "BF"),
            "FRFRFRF",
            "FFFFFRFFFFFRF",
            "RFFFFFLFFFFFB",
            "FxF",
            "f",
            "LLLLF",
            "RFLFRFLF",
            "FR" * 30,
            "FFRFFL" * 5,
        )
    ],
)
def walk_robot(commands: str) -> tuple[int, int]:
    """Return the field (x, y) where a robot ends on a board of 5 by 5 fields.
    It starts in the corner (0, 0) and faces the direction in which y grows; x grows to its right.
    F steps forward, B steps back without turning, L and R turn on the spot.
    A step off the board does nothing, and so does any other character.

    >>> walk_robot("RFFLF")
    (2, 1)
    """
    x, y, dx, dy = 0, 0, 0, 1
    for command in commands:
        if command == "L":
            dx, dy = -dy, dx
        elif command == "R":
            dx, dy = dy, -dx
        elif command in "FB":
            sign = 1 if command == "F" else -1
            new_x, new_y = x + sign * dx, y + sign * dy
            if 0 <= new_x < 5 and 0 <= new_y < 5:
                x, y = new_x, new_y
    return x, y


@task(
    level=3,
    examples=[
        ((["3", "4", "+"],), 7),
        ((["-7", "2", "/"],), -3),
        ((["2", "3", "4", "*", "-"],), -10),
        (([],), None),
        ((["1", "0", "/"],), None),
        ((["1", "2"],), None),
    ],
    edge_cases=[
        (text.split(),)
        for text in (
            "5",
            "-5",
            "0",
            "1 2 +",
            "2 1 -",
            "1 2 -",
            "6 -3 *",
            "7 2 /",
            "7 -2 /",
            "-7 -2 /",
            "0 5 /",
            "-1 2 /",
            *("+", "1 +", "1 2 + +", "1 2 3 +", "4 2 / 2 /", "8 4 2 / /", "1 1 1 - /", "1000000 1000000 *"),
            *("5 1 2 + 4 * + 3 -", "2 2 * 2 * 2 * 2 *", "10 3 / 3 *"),
        )
    ],
)
def postfix_value(tokens: list[str]) -> int | None:
    """Compute an expression in postfix order with whole numbers and + - * /.
    Division drops the fraction, so -7 / 2 is -3.
    Return None if the expression is incomplete, leaves more than one number, or divides by zero.

    >>> postfix_value(["3", "4", "+"])
    7
    """
    stack: list[int] = []
    for token in tokens:
        if token not in ("+", "-", "*", "/"):
            stack.append(int(token))
            continue
        if len(stack) < 2:
            return None
        right, left = stack.pop(), stack.pop()
        if token == "/" and right == 0:
            return None
        if token == "/":
            quotient = abs(left) // abs(right)
            stack.append(quotient if (left < 0) == (right < 0) else -quotient)
        else:
            stack.append({"+": left + right, "-": left - right, "*": left * right}[token])
    return stack[0] if len(stack) == 1 else None
