"""Time of a plan, and of the accuracy of a sum of noises."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from benchmarks.comparison import Comparison, Show, medians, seconds
from noisycount import Laplace, NoiseSum, accuracy

ROUNDS = 20
SUMMANDS = 1000
DRAWS = 2000
COMMAND = str(Path(sys.executable).with_name("noisycount"))


def simulated_accuracy(scale: float, beta: float) -> float:
    """Return a simulated quantile of the sums of drawn noises, to two digits."""
    sums = default_rng(1).laplace(0, scale, (DRAWS, SUMMANDS)).sum(axis=1)
    return float(np.quantile(np.abs(sums), 1 - beta))


@pytest.mark.parametrize("beta", [1e-300, 0.05, 0.5, 1 - 1e-12])
def test_the_accuracy_of_a_thousand_noises_takes_at_most_5_ms(show: Show, beta: float) -> None:
    """The exact tail of a sum of equal Laplace laws, inverted; a simulation finds two digits."""
    noise = NoiseSum([Laplace(3.0)] * SUMMANDS)
    ours, theirs = medians(
        ROUNDS, lambda: seconds(lambda: accuracy(noise, beta)), lambda: seconds(lambda: simulated_accuracy(3.0, beta))
    )
    name, rival = f"accuracy of {SUMMANDS} noises, {beta!r}", f"NumPy, {DRAWS} draws"
    found = Comparison(name, ours, rival, theirs, 0.005)
    show(found)
    assert found.kept


@pytest.mark.parametrize(
    "words",
    [
        ("--within", "20%", "--guess", "100"),
        ("--error", "15", "--queries", "10"),
        ("--epsilon", "0.1", "--guess", "100", "--json"),
    ],
    ids=" ".join,
)
def test_a_plan_takes_at_most_half_a_help_and_150_ms_longer(show: Show, words: tuple[str, ...]) -> None:
    """From the command to the last line, with the preview, in a new process."""

    def run(*command: str) -> float:
        silent = partial(subprocess.run, (COMMAND, *command), check=True, capture_output=True)
        return seconds(silent)

    ours, theirs = medians(ROUNDS, lambda: run("plan", *words), lambda: run("--help"))
    found = Comparison(f"plan {' '.join(words)}", ours, "noisycount --help", theirs, 1.5 * theirs + 0.15)
    show(found)
    assert found.kept
