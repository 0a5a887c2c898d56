"""Time of all figures of the papers, beside a simulation of a single point of a figure."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import default_rng
from scipy.special import gammaln

from benchmarks.comparison import Comparison, Show, is_small, seconds, sized

COMMAND = str(Path(sys.executable).with_name("noisycount"))
SIZE, RATE, EPSILON = 1000, 0.3, 0.1
RUNS, CHUNK = sized(100_000, 2000), 2000


def simulated_error() -> float:
    """Simulate a point of Fig. 2 of Naldi and D'Acquisto (2014) by their method.

    The average error of eq. (11) over 100,000 runs, the sums as they stand, vectorised.
    """
    random, counts = default_rng(1), np.arange(SIZE + 1)
    ways = gammaln(SIZE + 1) - gammaln(counts + 1) - gammaln(SIZE - counts + 1)
    logs = ways + counts * np.log(RATE) + (SIZE - counts) * np.log1p(-RATE)
    error = 0.0
    for _ in range(RUNS // CHUNK):
        true = random.binomial(SIZE, RATE, CHUNK)
        answers = true + random.laplace(0, 1 / EPSILON, CHUNK)
        weights = np.exp(logs - EPSILON * np.abs(answers[:, None] - counts))
        estimates = weights @ counts / weights.sum(axis=1)
        error += float(np.abs(estimates - true).sum())
    return error / RUNS


def test_all_figures_take_at_most_a_minute(show: Show, tmp_path: Path) -> None:
    """Computed, drawn in every format and put on the page, in a new process."""
    words = ("figures", "--format", "svg,png,csv,json", "--out", str(tmp_path / "figures"))
    words += ("--only", "naldi2014.1") if is_small() else ()
    ours = seconds(partial(subprocess.run, (COMMAND, *words), check=True, capture_output=True))
    theirs = seconds(simulated_error)
    rival = "one point of Fig. 2, 100,000 runs"
    found = Comparison("all 23 figures, four formats", ours, rival, theirs, 60.0)
    show(found)
    assert found.kept
