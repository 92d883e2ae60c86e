"""Starter tasks on lists."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task

NUMBERS = (
    *([0], [1], [-1], [1, 2], [2, 1], [1, 1], [5, -5], [10**6, -(10**6)]),
    *([0, 0, 0], [3, 3, 3], [-1, -2, -3], [10, 20, 30], [-7, 7, -7, 7], [100, 1, 50, 2]),
    *([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], list(range(10))),
)
"""Lists that many of the tasks share; none is empty."""


@task(
    level=1,
    examples=[(([1, 2, 3],), 3), (([],), 0), (([5, 5],), 2)],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def count_items(numbers: list[int]) -> int:
    """Return how many numbers are in the list.

    >>> count_items([1, 2, 3])
    3
    """
    return len(numbers)


@task(
    level=1,
    examples=[(([1, 2, 3],), 6), (([],), 0), (([-5, 5],), 0), (([10],), 10)],
    edge_cases=[*[(numbers,) for numbers in NUMBERS], ([7, 7, 7],), ([-1, -2],), ([10**15, 1],), (list(range(1000)),)],
)
def total(numbers: list[int]) -> int:
    """Return the sum of the numbers in a list. The sum of an empty list is 0.

    >>> total([1, 2, 3])
    6
    """
    return sum(numbers)


@task(
    level=1,
    examples=[(([1, 5, 3],), 5), (([-2, -7],), -2), (([4],), 4)],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def largest(numbers: list[int]) -> int:
    """Return the largest number in the list.

    >>> largest([1, 5, 3])
    5
    """
    return max(numbers)


@task(
    level=1,
    examples=[(([2, 4, 6],), 4.0), (([1, 4],), 2.5), (([5],), 5.0)],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def mean(numbers: list[int]) -> float:
    """Return the mean of the numbers of a list that is not empty.

    >>> mean([2, 4, 6])
    4.0
    """
    return sum(numbers) / len(numbers)


@task(
    level=1,
    examples=[(([1, 2, 3], 2), True), (([], 1), False), (([5], 4), False)],
    edge_cases=[
        *[([n], n) for n in (1, 0, -1)],
        *[([-1], 1), ([7], 8), ([1, 1], 1), ([0, 0], 1), ([1, 2], 3), ([10, 20], 20), ([9, 8], 9)],
        *[([5, 6, 7], 7), ([5, 6, 7], 8), ([3, 2, 1], 1), ([2, 4, 6], 5), ([100], 100), ([], 0)],
    ],
)
def contains(numbers: list[int], n: int) -> bool:
    """Return True if n is in the list.

    >>> contains([1, 2, 3], 2)
    True
    """
    return n in numbers


@task(
    level=1,
    examples=[(([3, 1, 2],), [1, 2, 3]), (([],), []), (([2, 2, 1],), [1, 2, 2])],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def sort_numbers(numbers: list[int]) -> list[int]:
    """Return the numbers sorted from smallest to largest.

    >>> sort_numbers([3, 1, 2])
    [1, 2, 3]
    """
    return sorted(numbers)


@task(
    level=1,
    examples=[(([3, 1, 2],), [3, 2, 1]), (([],), []), (([1, 2, 2],), [2, 2, 1])],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def sort_descending(numbers: list[int]) -> list[int]:
    """Return the numbers sorted from largest to smallest.

    >>> sort_descending([3, 1, 2])
    [3, 2, 1]
    """
    return sorted(numbers, reverse=True)


@task(
    level=1,
    examples=[(([1, 2, 3],), [3, 2, 1]), (([],), []), (([5],), [5])],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def reverse_list(numbers: list[int]) -> list[int]:
    """Return the list in reverse order.

    >>> reverse_list([1, 2, 3])
    [3, 2, 1]
    """
    return numbers[::-1]


@task(
    level=1,
    examples=[(([1, 2, 3, 4],), [2, 4]), (([],), []), (([-2, -1, 0],), [-2, 0])],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def keep_even(numbers: list[int]) -> list[int]:
    """Return only the even numbers of the list, in the same order.

    >>> keep_even([1, 2, 3, 4])
    [2, 4]
    """
    return [number for number in numbers if number % 2 == 0]


@task(
    level=1,
    examples=[(([1, -2, 3],), [1, 3]), (([],), []), (([0, -1],), [])],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def keep_positive(numbers: list[int]) -> list[int]:
    """Return only the numbers greater than zero, in the same order.

    >>> keep_positive([1, -2, 3])
    [1, 3]
    """
    return [number for number in numbers if number > 0]


@task(
    level=1,
    examples=[(([1, 2, 3],), [2, 4, 6]), (([],), []), (([-1, 0],), [-2, 0])],
    edge_cases=[(numbers,) for numbers in NUMBERS],
)
def double_all(numbers: list[int]) -> list[int]:
    """Return a list with each number multiplied by two.

    >>> double_all([1, 2, 3])
    [2, 4, 6]
    """
    return [number * 2 for number in numbers]


@task(
    level=2,
    examples=[(([2, 4, 4, 5],), 6), (([],), 0), (([1, 3],), 0), (([-2, 2, -2],), 0), (([8],), 8)],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([2, 2, 2, 2],),
        ([4, 6, 4, 6],),
        ([-4, -4, -6],),
        ([0, 2, 0, 2],),
        ([1, 1, 2],),
        ([3, 3, 5, 5],),
        (list(range(20)) * 3,),
    ],
)
def sum_distinct_evens(numbers: list[int]) -> int:
    """Return the sum of the even numbers in a list, counting each different value only once.

    >>> sum_distinct_evens([2, 4, 4, 5])
    6
    """
    return sum(number for number in set(numbers) if number % 2 == 0)


@task(
    level=3,
    examples=[(([3, 1, 2],), 2), (([5, 5, 4],), 4), (([7],), None), (([],), None), (([6, 6],), None)],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([1, 1, 2],),
        ([1, 2, 2],),
        ([9, 8, 9, 8],),
        ([-1, 0],),
        ([4, 4, 4, 3, 3],),
        ([1, 2, 3, 4],),
        (list(range(100)),),
    ],
)
def second_largest(numbers: list[int]) -> int | None:
    """Return the second largest value in a list, counting equal values once, or None if there is none.

    >>> second_largest([5, 5, 4])
    4
    """
    different = sorted(set(numbers))
    return different[-2] if len(different) > 1 else None


@task(
    level=3,
    examples=[
        (([[1, 3], [2, 5]],), [[1, 5]]),
        (([[1, 2], [2, 3]],), [[1, 3]]),
        (([[5, 6], [1, 2]],), [[1, 2], [5, 6]]),
        (([],), []),
        (([[1, 2], [3, 4]],), [[1, 2], [3, 4]]),
    ],
    edge_cases=[
        (spans,)
        for spans in (
            *([[1, 1]], [[0, 0], [0, 0]], [[1, 10], [2, 3]], [[2, 3], [1, 10]], [[1, 4], [4, 5], [5, 6]]),
            *([[3, 4], [1, 2], [2, 3]], [[-5, -1], [-1, 0]], [[1, 2], [4, 5], [2, 4]], [[7, 9]]),
            *([[1, 5], [6, 8]], [[1, 5], [5, 5]], [[10, 20], [0, 5], [15, 30]], [[1, 3], [1, 2]]),
            [[1, 2], [1, 2], [1, 2]],
            [[0, 100], [50, 60], [99, 101]],
            [[i, i + 1] for i in range(0, 60, 2)],
            *([[i, i + 1] for i in range(30)],),
        )
    ],
)
def merge_spans(spans: list[list[int]]) -> list[list[int]]:
    """Merge spans [start, end] that overlap or share an end point, and return them ordered by start.

    >>> merge_spans([[1, 3], [2, 5]])
    [[1, 5]]
    """
    merged: list[list[int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged
