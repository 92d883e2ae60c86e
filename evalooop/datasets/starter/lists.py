"""Starter tasks on lists."""

from __future__ import annotations

from evalooop.datasets.starter.declaration import task

NUMBERS = ([1], [0], [-1], [2, 2], [1, 2], [2, 1], [-3, -2, -1], [0, 0, 0], [5, -5, 5], [10**9, -(10**9)])
"""Lists that many of the tasks share; none is empty."""


@task(
    level=1,
    examples=[(([3, 1, 2],), 1), (([5],), 5), (([-1, -7, 0],), -7), (([4, 4],), 4)],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([9, 8, 7],),
        ([7, 8, 9],),
        ([3, 1, 1, 3],),
        ([100, 99, 101],),
        (list(range(500, -500, -1)),),
    ],
)
def smallest(numbers: list[int]) -> int:
    """Return the smallest number in a list that is not empty.

    >>> smallest([3, 1, 2])
    1
    """
    return min(numbers)


@task(
    level=1,
    examples=[(([1, 2, 3],), 6), (([],), 0), (([-5, 5],), 0), (([10],), 10)],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([7, 7, 7],),
        ([-1, -2],),
        ([1, -1, 1, -1],),
        ([10**15, 1],),
        (list(range(1000)),),
    ],
)
def total(numbers: list[int]) -> int:
    """Return the sum of the numbers in a list. The sum of an empty list is 0.

    >>> total([1, 2, 3])
    6
    """
    return sum(numbers)


@task(
    level=1,
    examples=[(([1, 2, 3],), [1, 4, 9]), (([],), []), (([-4],), [16]), (([0, 5],), [0, 25])],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([3, -3],),
        ([12, 11, 10],),
        ([100],),
        ([1, 1, 2, 2],),
        (list(range(-100, 100)),),
    ],
)
def squares(numbers: list[int]) -> list[int]:
    """Return a list with the square of each number.

    >>> squares([1, 2, 3])
    [1, 4, 9]
    """
    return [number * number for number in numbers]


@task(
    level=1,
    examples=[(([1, -2, 3],), 2), (([],), 0), (([0, 0],), 0), (([-1, -2],), 0)],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([0, 1],),
        ([-1, 0, 1],),
        ([4, 4, 4],),
        (list(range(-50, 200)),),
        ([1, 2, 3, -4],),
    ],
)
def count_positive(numbers: list[int]) -> int:
    """Count the numbers in a list that are greater than zero.

    >>> count_positive([1, -2, 3])
    2
    """
    return sum(1 for number in numbers if number > 0)


@task(
    level=1,
    examples=[(([1, 2, 3],), [1, 3]), (([7],), [7, 7]), (([4, 5],), [4, 5]), (([0, 9, 9, 2],), [0, 2])],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([6, 6, 7],),
        ([7, 6, 6],),
        ([1, 2, 3, 4, 5],),
        ([8, 0, 0, 8],),
        (list(range(300)),),
    ],
)
def first_and_last(numbers: list[int]) -> list[int]:
    """Return a list of the first and the last number of a list that is not empty.

    >>> first_and_last([1, 2, 3])
    [1, 3]
    """
    return [numbers[0], numbers[-1]]


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
    level=2,
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
    level=2,
    examples=[
        (([1, 2, 3],), [1, 3, 6]),
        (([1, 2, 0, 4],), [1, 3, 0, 4]),
        (([],), []),
        (([0, 5, 5],), [0, 5, 10]),
        (([3, 0],), [3, 0]),
    ],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS],
        ([1, 0, 1, 0, 1],),
        ([0, 0, 7, 7],),
        ([-1, 1, 2],),
        ([6, -6, 6],),
        ([4, 0, 0, 4, 4],),
        ([2, 3, 0, -1, -2],),
        ([1] * 30 + [0] + [2] * 30,),
    ],
)
def running_totals(numbers: list[int]) -> list[int]:
    """Return the running totals of a list. A zero in the list sets the total back to zero.

    >>> running_totals([1, 2, 0, 4])
    [1, 3, 0, 4]
    """
    totals, current = [], 0
    for number in numbers:
        current = current + number if number else 0
        totals.append(current)
    return totals


@task(
    level=2,
    examples=[
        (([1, 3], [2, 4]), [1, 2, 3, 4]),
        (([1, 2, 3], [9]), [1, 9, 2, 3]),
        (([], [5, 6]), [5, 6]),
        (([], []), []),
        (([7], [8, 9]), [7, 8, 9]),
    ],
    edge_cases=[
        *[(numbers, [7, 8]) for numbers in NUMBERS],
        ([1], []),
        ([], [1]),
        ([1, 1], [1, 1, 1]),
        ([5, 4, 3, 2, 1], [0]),
        ([0], [5, 4, 3, 2, 1]),
        ([1, 2], [2, 1]),
        (list(range(40)), list(range(60))),
    ],
)
def take_turns(first: list[int], second: list[int]) -> list[int]:
    """Take numbers from two lists in turn, the first list first. Append what is left of the longer list.

    >>> take_turns([1, 2, 3], [9])
    [1, 9, 2, 3]
    """
    shorter = min(len(first), len(second))
    pairs = [number for pair in zip(first, second, strict=False) for number in pair]
    return pairs + first[shorter:] + second[shorter:]


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


@task(
    level=3,
    examples=[
        (([1, 2, 3, 5],), "1-3,5"),
        (([4, 5],), "4,5"),
        (([],), ""),
        (([3, 1, 2],), "1-3"),
        (([7, 7, 9],), "7,9"),
    ],
    edge_cases=[
        *[(numbers,) for numbers in NUMBERS if min(numbers) >= 0],
        ([1, 2, 4, 5],),
        ([1, 2, 3, 4],),
        ([10, 9, 8, 1],),
        ([1, 3, 5],),
        ([1, 2, 3, 5, 6, 7],),
        ([1, 2, 3, 5, 6],),
        ([2, 2, 3, 3, 4, 4],),
        ([0, 1, 2],),
        ([99, 100, 101, 200],),
        ([5, 6, 8, 9, 10],),
        (list(range(50)),),
        ([*range(5), *range(10, 15), 20],),
    ],
)
def page_ranges(pages: list[int]) -> str:
    """Write page numbers in order, without repeats, separated by commas.
    Three or more pages in a row become first-last; two in a row stay apart.

    >>> page_ranges([1, 2, 3, 5])
    '1-3,5'
    """
    runs: list[list[int]] = []
    for page in sorted(set(pages)):
        if runs and page == runs[-1][-1] + 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return ",".join(parts)


@task(
    level=3,
    examples=[
        (([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]),
        (([1, 2, 3, 4], 3), [[1, 2, 3], [4]]),
        (([], 3), []),
        (([5, 6], 0), []),
        (([1, 2, 3, 4, 5], -2), [[1], [2, 3], [4, 5]]),
    ],
    edge_cases=[
        *[([1, 2, 3, 4, 5, 6, 7], size) for size in (1, 2, 3, 6, 7, 8, 0, -1, -2, -3, -6, -7, -8)],
        ([9], 1),
        ([9], -1),
        ([9], 5),
        ([9], -5),
        ([], 0),
        ([], -1),
        ([1, 1, 1, 1], -3),
        (list(range(100)), -9),
    ],
)
def split_in_groups(numbers: list[int], size: int) -> list[list[int]]:
    """Split a list into groups of the given size; the last group may be shorter.
    With a negative size the first group is the shorter one. Size 0 gives no groups.

    >>> split_in_groups([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
    """
    if size == 0 or not numbers:
        return []
    width = abs(size)
    start = len(numbers) % width if size < 0 else 0
    head = [numbers[:start]] if start else []
    return head + [numbers[i : i + width] for i in range(start, len(numbers), width)]
