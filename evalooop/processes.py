"""A stage in several processes: ``torchrun`` starts the same command several times, and the copies share the work.

Each takes every n-th piece, and afterwards all know all results, so that they go on alike and any of them could
write the outputs; the first one does. accelerate joins them, by gloo on CPUs (tested) and by nccl on GPUs (not yet
tried: each process then has the GPU of its local rank).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache
from typing import TypeVar

from evalooop.errors import UserError

Key = TypeVar("Key")
Value = TypeVar("Value")

# torchrun sets these.
RANK = int(os.environ.get("RANK", 0))
COUNT = int(os.environ.get("WORLD_SIZE", 1))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", 0))
# One process may have much longer answers to wait for than another.
PATIENCE = timedelta(days=7)


def is_first() -> bool:
    """Return whether this process is the one that writes outputs; true of a process that is alone."""
    return RANK == 0


def share_out(work: Callable[[Sequence[Key]], dict[Key, Value]], keys: Sequence[Key]) -> dict[Key, Value]:
    """Return what ``work`` gives for all keys, of which each process does a part.

    Args:
        keys: the same in all processes, and in the same order.

    Raises:
        UserError: in all processes, if it was raised in one.
    """
    if COUNT == 1:
        return work(keys)
    failure, results = None, {}
    try:
        results = work(keys[RANK::COUNT])
    except UserError as error:
        failure = error
    parts = _gather((failure, results))
    for raised, _ in parts:
        if raised is not None:
            raise raised
    return {key: value for _, part in parts for key, value in part.items()}


def add_up(numbers: dict[str, float]) -> dict[str, float]:
    """Return the sums of the processes' numbers, which all bear the same names."""
    parts = [numbers] if COUNT == 1 else _gather(numbers)
    return {name: sum(part[name] for part in parts) for name in numbers}


def _gather(value: Value) -> list[Value]:
    """Return the values of all processes, by rank."""
    from accelerate.utils import gather_object

    _join()
    return gather_object([value])


@cache
def _join() -> None:
    """Join the other processes, once, and leave them in good order when Python ends."""
    import torch
    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)
    # gloo's threads abort a process that ends with them: seen now and then on a busy machine.
    atexit.register(state.destroy_process_group)
