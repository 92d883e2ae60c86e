"""Starter tasks on numbers."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task

INTEGERS = (1, -1, -2, 3, 7, -7, 10, -10, 12, 99, 100, -100, 255, 1000, -999, 10**6, -(10**9))
"""Whole numbers that many of the tasks share."""

PAIRS = (
    *((0, 0), (0, 1), (1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (2, 5)),
    *((5, 2), (-3, 4), (4, -3), (10, 10), (100, 7), (7, 100), (-50, -20), (10**6, 3)),
)
"""Pairs of whole numbers that many of the tasks share."""


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
    examples=[((3, 10), 7), ((10, 3), 7), ((5, 5), 0), ((-2, 4), 6)],
    edge_cases=PAIRS,
)
def absolute_difference(a: int, b: int) -> int:
    """Return how far apart two numbers are. The answer is never negative.

    >>> absolute_difference(3, 10)
    7
    """
    return abs(a - b)


@task(
    level=1,
    examples=[((2, 3), 6), ((0, 5), 0), ((-2, 4), -8)],
    edge_cases=PAIRS,
)
def multiply(a: int, b: int) -> int:
    """Return the product of two numbers.

    >>> multiply(2, 3)
    6
    """
    return a * b


@task(
    level=1,
    examples=[((5,), 25), ((0,), 0), ((-3,), 9)],
    edge_cases=[(n,) for n in INTEGERS],
)
def square(n: int) -> int:
    """Return the square of n.

    >>> square(5)
    25
    """
    return n * n


@task(
    level=1,
    examples=[((2,), 8), ((0,), 0), ((-3,), -27)],
    edge_cases=[(n,) for n in INTEGERS],
)
def cube(n: int) -> int:
    """Return n to the power of three.

    >>> cube(2)
    8
    """
    return n**3


@task(
    level=1,
    examples=[((4, 8), 6.0), ((0, 3), 1.5), ((-2, 2), 0.0)],
    edge_cases=PAIRS,
)
def average_of_two(a: int, b: int) -> float:
    """Return the average of two numbers.

    >>> average_of_two(4, 8)
    6.0
    """
    return (a + b) / 2


@task(
    level=1,
    examples=[((10, 3), 1), ((9, 3), 0), ((5, 7), 5)],
    edge_cases=[
        *((0, 1), (1, 1), (1, 2), (2, 1), (100, 7), (7, 100), (12, 5), (99, 10)),
        *((64, 8), (17, 4), (23, 6), (1000, 3), (50, 49), (8, 9), (15, 15)),
    ],
)
def remainder(a: int, b: int) -> int:
    """Return the remainder of a divided by b.

    >>> remainder(10, 3)
    1
    """
    return a % b


@task(
    level=1,
    examples=[((2, 3), 6), ((0, 5), 0), ((4, 4), 16)],
    edge_cases=[*[(width, height) for width in (1, 3, 10, 250) for height in (1, 2, 7, 99)], (0, 0), (8, 0)],
)
def rectangle_area(width: int, height: int) -> int:
    """Return the area of a rectangle.

    >>> rectangle_area(2, 3)
    6
    """
    return width * height


@task(
    level=1,
    examples=[((5,), True), ((-5,), False), ((0,), False)],
    edge_cases=[(n,) for n in INTEGERS],
)
def is_positive(n: int) -> bool:
    """Return True if n is greater than zero, otherwise False.

    >>> is_positive(5)
    True
    """
    return n > 0


@task(
    level=2,
    examples=[((0.0,), 32.0), ((100.0,), 212.0), ((-40.0,), -40.0), ((37.0,), 98.6)],
    edge_cases=[
        (value,)
        for value in (
            *(1.0, -1.0, 10.0, 20.0, 25.5, 30.0, -10.0, -17.5),
            *(-273.15, 0.5, 50.0, 99.9, 1000.0, 5.0, 15.0),
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
    level=2,
    examples=[((6,), 8), ((0,), 0), ((1,), 1)],
    edge_cases=[(n,) for n in (2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 14, 15, 16, 18, 20, 25)],
)
def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number. The numbers start with 0 and 1.

    >>> fibonacci(6)
    8
    """
    current, following = 0, 1
    for _ in range(n):
        current, following = following, current + following
    return current


@task(
    level=2,
    examples=[((2000,), True), ((1900,), False), ((2024,), True), ((2023,), False)],
    edge_cases=[
        *[(year,) for year in (1600, 1700, 1800, 1996, 1999, 2004, 2100, 2400)],
        *[(year,) for year in (1, 2, 4, 96, 100, 400, 800, 1000)],
    ],
)
def is_leap_year(year: int) -> bool:
    """Return True if the year is a leap year.

    >>> is_leap_year(2000)
    True
    """
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@task(
    level=2,
    examples=[((7,), True), ((8,), False), ((1,), False)],
    edge_cases=[(n,) for n in (0, 2, 3, 4, 5, 6, 9, 11, 13, 15, 17, 21, 25, 29, 49, 91, 97)],
)
def is_prime(n: int) -> bool:
    """Return True if n is a prime number.

    >>> is_prime(7)
    True
    """
    return n > 1 and all(n % divisor != 0 for divisor in range(2, n))


@task(
    level=2,
    examples=[((123,), 6), ((-45,), 9), ((0,), 0), ((10,), 1), ((-308,), 11)],
    edge_cases=[
        *[(sign * n,) for n in (1, 9, 11, 99, 100, 987654321) for sign in (1, -1)],
        (1001,),
        (-5005,),
        (10**15,),
        (123456789,),
    ],
)
def digit_sum(n: int) -> int:
    """Return the sum of the digits of n. Ignore the minus sign of a negative number.

    >>> digit_sum(-45)
    9
    """
    return sum(int(digit) for digit in str(abs(n)))


@task(
    level=2,
    examples=[((5, 0, 10), 5), ((-3, 0, 10), 0), ((42, 0, 10), 10), ((42, 10, 0), 10), ((-3, 10, 0), 0)],
    edge_cases=[
        *[(value, 0, 10) for value in (0, 10, 11, -1)],
        *[(value, 10, 0) for value in (5, 0, 10, 11, -1)],
        *[(value, 7, 7) for value in (3, 7, 9)],
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
    level=3,
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
