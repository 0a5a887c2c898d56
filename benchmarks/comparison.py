"""Time beside a rival's time, and the table of such comparisons."""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["SMALL", "Comparison", "Run", "Show", "is_small", "medians", "seconds", "sized", "table"]

SMALL = "NOISYCOUNT_BENCH_SMALL"
"""Name of the variable that `--small` sets, for the processes that a benchmark starts too."""

Run = Callable[[], float]
"""Runs something once and gives its time in seconds."""

_HEADER = ("", "noisycount", "rival", "", "ratio", "limit")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A time of ours beside a rival's.

    Args:
        name: What was timed.
        ours: Our time, in seconds.
        rival: Who else was timed, in turn with us.
        theirs: The rival's time, in seconds.
        limit: What our time may not exceed, in seconds; left out where the rival is shown only.

    Example:
        >>> Comparison("one draw", 3e-6, "OpenDP", 48e-6, limit=15e-6).ratio
        0.0625
    """

    name: str
    ours: float
    rival: str
    theirs: float
    limit: float = math.inf

    def __post_init__(self) -> None:
        for field, value in (("ours", self.ours), ("theirs", self.theirs), ("limit", self.limit)):
            if not value > 0:
                raise ValueError(f"{field} must be a positive number of seconds, got {value!r}")

    @property
    def ratio(self) -> float:
        """Our time over the rival's."""
        return self.ours / self.theirs

    @property
    def kept(self) -> bool:
        """True if our time is within the limit, or is not judged."""
        return is_small() or self.ours <= self.limit


Show = Callable[[Comparison], None]
"""Puts a comparison into the table at the end."""


def is_small() -> bool:
    """Return True in a run with `--small`, which shows that all benchmarks run, and judges no time."""
    return bool(os.environ.get(SMALL))


def sized(full: int, small: int) -> int:
    """Return the size of a benchmark: the full one, or the small one in a run with `--small`."""
    return small if is_small() else full


def seconds(action: Callable[[], object]) -> float:
    """The time that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def processor_seconds(action: Callable[[], object]) -> float:
    """Return the processor time that an action takes, in all threads of this process."""
    start = time.process_time()
    action()
    return time.process_time() - start


def medians(rounds: int, *runs: Run) -> list[float]:
    """The median time of each run, all run in turn, so that a busy moment meets every one.

    Every other round goes backwards, as each run leaves its memory warm for the next.
    """
    times: list[list[float]] = [[] for _ in runs]
    for number in range(sized(rounds, 1)):
        in_turn = list(zip(runs, times, strict=True))
        for run, found in in_turn[:: -1 if number % 2 else 1]:
            found.append(run())
    return [median(found) for found in times]


def table(comparisons: Sequence[Comparison]) -> list[str]:
    r"""The lines of a table of comparisons.

    Example:
        >>> print(*table([Comparison("one draw", 3e-6, "OpenDP", 48e-6, 15e-6)]), sep="\n")
                  noisycount  rival            ratio    limit
        one draw     3.00 µs  OpenDP  48.0 µs  0.062  15.0 µs
    """
    rows = [_HEADER, *map(_cells, comparisons)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(_aligned, row, widths, "<><>>>")).rstrip() for row in rows]


def _aligned(cell: str, width: int, side: str) -> str:
    return f"{cell:{side}{width}}"


def _cells(comparison: Comparison) -> tuple[str, ...]:
    limit = "" if math.isinf(comparison.limit) else _duration(comparison.limit)
    return (
        comparison.name,
        _duration(comparison.ours),
        comparison.rival,
        _duration(comparison.theirs),
        f"{comparison.ratio:.3f}",
        limit if comparison.kept else f"{limit} EXCEEDED",
    )


def _duration(value: float) -> str:
    """A time to three digits, in the largest unit that it fills."""
    size, unit = next((pair for pair in _UNITS if value >= pair[0]), _UNITS[-1])
    digits = max(0, 2 - math.floor(math.log10(value / size)))
    return f"{value / size:.{digits}f} {unit}"
