"""Starter tasks that follow commands one after the other."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task


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
