"""How much one judged program may use. CPU time decides, because wall time depends on who else is working."""

from __future__ import annotations

import math
from dataclasses import dataclass

# A program that waits this long without working is stopped, whatever wall time is left.
IDLE_SECONDS = 10.0
# Most bytes of results a program may send in all, and in one result.
OUTPUT_BYTES = 32 << 20
RESULT_BYTES = 8 << 20
# Share of a CPU limit from which on a program that passes is flagged as borderline.
BORDERLINE = 0.8
# A reference may take this much, so no program may take more either.
MOST_CPU_SECONDS = 64


@dataclass(frozen=True)
class Limits:
    """Limits of one program.

    Attributes:
        cpu_seconds: for loading it and all its tests together; hard.
        test_cpu_seconds: for one test, or for loading it. Soft: a program can dodge it, not ``cpu_seconds``.
        memory_mb: address space, in MiB.
    """

    cpu_seconds: int = 8
    test_cpu_seconds: int = 2
    memory_mb: int = 1024

    @property
    def wall_seconds(self) -> float:
        """Generous: a program that works on a machine four times overloaded still gets its CPU time."""
        return 4.0 * self.cpu_seconds + 10.0

    def raised_for(self, cpu_seconds: float, slowest_test: float) -> Limits:
        """Return limits that leave room beyond what a task's reference needed.

        Args:
            cpu_seconds: CPU time of the reference over all tests.
            slowest_test: CPU time of its slowest test.

        Raised limits are powers of two, so that a reference measured again gives the same limits; limits
        that are high enough already stay as they are.
        """
        return Limits(
            cpu_seconds=max(self.cpu_seconds, min(MOST_CPU_SECONDS, _power_of_two(3 * cpu_seconds + 4))),
            test_cpu_seconds=max(self.test_cpu_seconds, min(MOST_CPU_SECONDS, _power_of_two(4 * slowest_test))),
            memory_mb=self.memory_mb,
        )


# What references are measured under.
REFERENCE_LIMITS = Limits(cpu_seconds=MOST_CPU_SECONDS, test_cpu_seconds=MOST_CPU_SECONDS, memory_mb=2048)


def _power_of_two(seconds: float) -> int:
    return 1 << max(0, math.ceil(math.log2(max(seconds, 1.0))))
