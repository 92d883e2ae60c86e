"""Starter tasks on numbers."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task


@task(
    level=1,
    examples=[((1, 2, 3), 6), ((0, 0, 0), 0), ((-4, 10, -6), 0), ((100, 20, 3), 123)],
    edge_cases=[
        *[(n, n, n) for n in (1, -1, 7, 10**6)],
        *[(n, 0, 0) for n in (5, -5)],
        *[(0, n, 0) for n in (6, -6)],
        *[(0, 0, n) for n in (8, -8)],
        (1, -2, 3),
        (-1, -2, -3),
        (99, 1, -100),
        (10**12, 10**12, 1),
        (-(10**9), 10**9, 4),
        (2, 3, 5),
    ],
)
def add_three(a: int, b: int, c: int) -> int:
    """Return the sum of three numbers.

    >>> add_three(1, 2, 3)
    6
    """
    return a + b + c


@task(
    level=1,
    examples=[((4,), True), ((7,), False), ((0,), True), ((-3,), False)],
    edge_cases=[(n,) for n in (1, 2, 3, 10, 11, 99, 100, -1, -2, -10, -11, 10**9, 10**9 + 1, 2**40, 3**30)],
)
def is_even(n: int) -> bool:
    """Return True if n is even and False if it is odd.

    >>> is_even(4)
    True
    """
    return n % 2 == 0


@task(
    level=1,
    examples=[((3, 10), 7), ((10, 3), 7), ((5, 5), 0), ((-2, 4), 6)],
    edge_cases=[
        (0, 0),
        (0, 1),
        (1, 0),
        (0, -1),
        (-1, 0),
        (-1, 1),
        (1, -1),
        (-5, -8),
        (-8, -5),
        (-7, -7),
        (1000, 1),
        (1, 1000),
        (10**12, -(10**12)),
        (99, 100),
        (-100, 99),
    ],
)
def absolute_difference(a: int, b: int) -> int:
    """Return how far apart two numbers are. The answer is never negative.

    >>> absolute_difference(3, 10)
    7
    """
    return abs(a - b)


@task(
    level=1,
    examples=[((0.0,), 32.0), ((100.0,), 212.0), ((-40.0,), -40.0), ((37.0,), 98.6)],
    edge_cases=[
        (value,)
        for value in (
            1.0,
            -1.0,
            10.0,
            20.0,
            25.5,
            30.0,
            -10.0,
            -17.5,
            -273.15,
            0.5,
            50.0,
            99.9,
            1000.0,
            5.0,
            15.0,
        )
    ],
)
def celsius_to_fahrenheit(celsius: float) -> float:
    """Convert a temperature from degrees Celsius to degrees Fahrenheit.

    >>> celsius_to_fahrenheit(100.0)
    212.0
    """
    return celsius * 9 / 5 + 32


@task(
    level=1,
    examples=[((2, 3), 10), ((1, 1), 4), ((0, 5), 10), ((10, 4), 28)],
    edge_cases=[
        *[(n, n) for n in (0, 2, 9, 1000)],
        *[(1, n) for n in (0, 2, 7, 100)],
        *[(n, 1) for n in (0, 2, 7, 100)],
        (3, 2),
        (12, 30),
        (10**6, 10**7),
        (5, 8),
    ],
)
def rectangle_perimeter(width: int, height: int) -> int:
    """Return the perimeter of a rectangle.

    >>> rectangle_perimeter(2, 3)
    10
    """
    return 2 * (width + height)


@task(
    level=2,
    examples=[((2.5,), 3), ((2.4,), 2), ((-2.5,), -2), ((3.5,), 4), ((-1.2,), -1)],
    edge_cases=[
        (value,)
        for value in (
            *(0.0, 0.5, 1.5, 4.5, 6.5, 10.5, 100.5),
            *(-0.5, -1.5, -3.5, -4.5, -0.4, -0.6),
            *(0.4, 0.6, 2.0, -7.0, 1.49, 1.51, 99999.5),
        )
    ],
)
def round_half_up(x: float) -> int:
    """Round x to the nearest integer. Halves always go up, so 2.5 becomes 3 and -2.5 becomes -2.

    >>> round_half_up(2.5)
    3
    """
    return int((x + 0.5) // 1)


@task(
    level=2,
    examples=[((5, 0, 10), 5), ((-3, 0, 10), 0), ((42, 0, 10), 10), ((42, 10, 0), 10), ((-3, 10, 0), 0)],
    edge_cases=[
        (0, 0, 10),
        (10, 0, 10),
        (11, 0, 10),
        (-1, 0, 10),
        (5, 10, 0),
        (0, 10, 0),
        (10, 10, 0),
        (11, 10, 0),
        (-1, 10, 0),
        (3, 7, 7),
        (7, 7, 7),
        (9, 7, 7),
        (-5, -8, -2),
        (-9, -2, -8),
        (0, -2, -8),
        (10**9, 1, 2),
        (-(10**9), 2, 1),
    ],
)
def clamp(value: int, low: int, high: int) -> int:
    """Return value, or the nearer limit if it lies outside low to high. Swap the limits if low is above high.

    >>> clamp(42, 0, 10)
    10
    """
    if low > high:
        low, high = high, low
    return max(low, min(value, high))


@task(
    level=2,
    examples=[((75,), "0:01:15"), ((3600,), "1:00:00"), ((0,), "0:00:00"), ((86399,), "23:59:59")],
    edge_cases=[
        (seconds,)
        for seconds in (
            1,
            9,
            10,
            59,
            60,
            61,
            599,
            600,
            3599,
            3601,
            3661,
            35999,
            36000,
            45296,
            86400,
            90061,
            360000,
        )
    ],
)
def clock_text(seconds: int) -> str:
    """Write a number of seconds as hours:minutes:seconds. Minutes and seconds have two digits, hours do not.

    >>> clock_text(75)
    '0:01:15'
    """
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


@task(
    level=2,
    examples=[((5,), 6), ((30,), 12), ((2,), 0), ((70,), 8)],
    edge_cases=[(age,) for age in (0, 1, 3, 4, 6, 10, 16, 17, 18, 19, 25, 40, 63, 64, 65, 66, 80, 100)],
)
def ticket_price(age: int) -> int:
    """Return the price of a ticket: free below 4 years, 6 below 18 years, 8 from 65 years on, otherwise 12.

    >>> ticket_price(5)
    6
    """
    if age < 4:
        return 0
    if age < 18:
        return 6
    return 8 if age >= 65 else 12


@task(
    level=2,
    examples=[((123,), 6), ((-45,), 9), ((0,), 0), ((10,), 1), ((-308,), 11)],
    edge_cases=[
        (n,)
        for n in (
            1,
            -1,
            9,
            -9,
            11,
            -11,
            99,
            -99,
            100,
            -100,
            1001,
            -5005,
            987654321,
            -987654321,
            10**15,
            123456789,
        )
    ],
)
def digit_sum(n: int) -> int:
    """Return the sum of the digits of n. Ignore the minus sign of a negative number.

    >>> digit_sum(-45)
    9
    """
    return sum(int(digit) for digit in str(abs(n)))


@task(
    level=3,
    examples=[
        ((41, [25, 10, 5, 1]), [25, 10, 5, 1]),
        ((30, [10, 25, 5]), [25, 5]),
        ((3, [2]), []),
        ((0, [1, 2]), []),
        ((60, [50, 20]), []),
    ],
    edge_cases=[
        (1, [1]),
        (5, [1]),
        (5, []),
        (0, []),
        (99, [50, 20, 10, 5, 2, 1]),
        (99, [1, 2, 5, 10, 20, 50]),
        (6, [4, 3, 1]),
        (6, [4, 3]),
        (7, [5, 2]),
        (8, [5, 2]),
        (100, [100]),
        (100, [99, 1]),
        (12, [7, 5]),
        (14, [7, 5]),
        (20, [7, 5]),
        (1000, [300, 100]),
        (4, [5, 10]),
    ],
)
def pay_with_coins(amount: int, coins: list[int]) -> list[int]:
    """Pay an amount by always taking the largest coin that still fits; coins may be used many times.
    Return the coins taken, in order, or an empty list if the amount cannot be reached exactly this way.

    >>> pay_with_coins(41, [25, 10, 5, 1])
    [25, 10, 5, 1]
    """
    taken = []
    for coin in sorted(coins, reverse=True):
        while coin <= amount:
            taken.append(coin)
            amount -= coin
    return taken if amount == 0 else []
