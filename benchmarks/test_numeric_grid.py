"""Calls of the analysis for all populations and mechanisms, beside draws of NumPy; processor time."""

import pytest

from benchmarks.comparison import Comparison, Show, is_small
from benchmarks.numeric_grid import LIMIT, POPULATIONS, processor_times
from benchmarks.test_slow_numerics import drawn

PATIENCE = 60.0  # s, shown for a call that was stopped


@pytest.mark.parametrize("population", ["binomial"] if is_small() else list(POPULATIONS))
def test_each_call_takes_at_most_2_s(show: Show, population: str) -> None:
    """At a million records; each call that takes longer is shown with its name, or else the slowest one."""
    theirs = drawn()
    times = {name: used for name, used in processor_times([f", {population}, "]) if used is not None}
    slow = [name for name, used in times.items() if used > LIMIT] or [max(times, key=times.__getitem__)]
    for name in slow:
        show(Comparison(name, min(times[name], PATIENCE), "NumPy, 1e7 draws", theirs, LIMIT))
    assert max(times.values()) <= (PATIENCE if is_small() else LIMIT), slow
