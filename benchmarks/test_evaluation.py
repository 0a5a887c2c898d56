"""Exact averages of estimates beside simulations: with our `refine`, and with eq. (11) as it is."""

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.comparison import Comparison, Show, medians, seconds
from benchmarks.test_posterior import log_prior
from noisycount.analysis.evaluation.evaluation import improvement_probability, mean_absolute_error
from noisycount.analysis.posterior.refine import refine
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial

ROUNDS = 5
SIZE, RATE, SCALE = 1000, 0.3, 10.0
RUNS = 10**6
PAPER_RUNS = 10**5
TIMED_RUNS = 2000  # of the paper's, whose time is in proportion to the runs
AT_ONCE = 500

POPULATION, NOISE = Binomial(SIZE, RATE), Laplace(SCALE)
GENERATOR = np.random.default_rng(1)

Reals = NDArray[np.float64]


def drawn(runs: int) -> tuple[Reals, Reals]:
    """Counts and answers."""
    counts = GENERATOR.binomial(SIZE, RATE, runs).astype(np.float64)
    return counts, counts + GENERATOR.laplace(0, SCALE, runs)


def averages(counts: Reals, answers: Reals, estimates: Reals) -> tuple[float, float]:
    """The mean absolute error, and how often the estimate is nearer than the answer."""
    away = np.abs(counts - estimates)
    return float(away.mean()), float((away < np.abs(counts - answers)).mean())


def simulated(runs: int) -> tuple[float, float]:
    """Both averages of the posterior mean by simulation with our `refine`."""
    counts, answers = drawn(runs)
    return averages(counts, answers, refine(answers, POPULATION, NOISE))


def directly(runs: int) -> tuple[float, float]:
    """Simulate with the two sums of eq. (11) over all counts, in NumPy, with a ready prior."""
    counts, answers = drawn(runs)
    every = np.arange(SIZE + 1.0)
    logs = log_prior(SIZE, every)
    logs -= logs.max()
    estimates = np.empty(runs)
    for start in range(0, runs, AT_ONCE):
        part = answers[start : start + AT_ONCE, None]
        weights = np.exp(logs - np.abs(part - every) / SCALE)
        estimates[start : start + AT_ONCE] = weights @ every / weights.sum(axis=1)
    return averages(counts, answers, estimates)


def exact(by: str = "mean") -> tuple[float, float]:
    """Both averages, exactly."""
    error = mean_absolute_error(POPULATION, NOISE, by)
    return error, improvement_probability(POPULATION, NOISE, by)


def test_exact_averages_take_no_longer_than_simulations(show: Show) -> None:
    """N = 1000, ε = 0.1: beside 1e6 runs of our own, and beside 1e5 runs of eq. (11)."""
    assert simulated(RUNS) == pytest.approx(exact(), rel=5e-3)
    assert directly(TIMED_RUNS) == pytest.approx(exact(), rel=0.15)
    ours, ours_by_runs, paper = medians(
        ROUNDS,
        lambda: seconds(exact),
        lambda: seconds(lambda: simulated(RUNS)),
        lambda: seconds(lambda: directly(TIMED_RUNS)) * (PAPER_RUNS / TIMED_RUNS),
    )
    name = "error and improvement, exact"
    beside_ours = Comparison(name, ours, "1e6 runs of refine", ours_by_runs, ours_by_runs)
    beside_paper = Comparison(name, ours, "1e5 runs of eq. (11)", paper, paper / 20)
    show(beside_ours)
    show(beside_paper)
    assert beside_ours.kept
    assert beside_paper.kept


@pytest.mark.parametrize("by", ["median", "mode"])
def test_medians_and_modes_are_evaluated_as_fast(show: Show, by: str) -> None:
    """Beside 1e6 runs of our own for the mean, which are refined faster."""
    ours, by_runs = medians(ROUNDS, lambda: seconds(lambda: exact(by)), lambda: seconds(lambda: simulated(RUNS)))
    found = Comparison(f"the same of the {by}", ours, "1e6 runs of refine", by_runs, by_runs)
    show(found)
    assert found.kept
