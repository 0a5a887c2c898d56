"""Calls of the analysis that took seconds once, beside draws of NumPy; processor time and memory.

Each call is made by a process of its own, as the next one would find its tables ready.
"""

import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.comparison import Comparison, Show
from benchmarks.slow_numerics import CALLS

LIMIT, MOST_MEMORY = 2.0, 500e6
PATIENCE = 60.0  # s, after which a call is stopped and shown with this time
DRAWS = 10**7


def drawn() -> float:
    """Return the processor time of ten million draws: the speed of this machine at this moment."""
    start = time.process_time()
    np.random.default_rng(1).laplace(0, 10, DRAWS)
    return time.process_time() - start


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_at_most_2_s_and_500_mb(show: Show, name: str) -> None:
    """At a million records."""
    theirs = drawn()
    command = [sys.executable, "-m", "benchmarks.slow_numerics", name]
    try:
        ran = subprocess.run(command, capture_output=True, check=True, text=True, timeout=PATIENCE)  # noqa: S603 - ours
        used, peak = map(float, ran.stdout.split())
    except subprocess.TimeoutExpired:
        used, peak = PATIENCE, 0.0
    found = Comparison(name, used, "NumPy, 1e7 draws", theirs, LIMIT)
    show(found)
    assert found.kept
    assert peak <= MOST_MEMORY
