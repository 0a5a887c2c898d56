"""Privacy curves beside dp-accounting, and many points beside one."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

import noisycount as nc
from benchmarks.comparison import Comparison, Run, Show, medians, seconds, sized

ROUNDS = 5
REPEATS = sized(20, 1)
SIZE = 1000
RATE = 0.1
SCALE = 3.0
EPSILON = 0.01
STEP = 0.25  # records between two answers of the rival's tables
INTERVAL = 1e-5  # of the rival's losses: it is then off by 2e-6
DELTA = 0.035572635208452766  # by sums in 80 digits, as in the tests

Reals = NDArray[np.float64]


def log_masses(first: int) -> dict[int, float]:
    """The law of first + Bin(n − 1, p) plus Gaussian noise on a grid of answers, for the rival."""
    counts = np.arange(SIZE, dtype=np.float64)
    ways = gammaln(SIZE) - gammaln(counts + 1) - gammaln(SIZE - counts)
    chances = np.exp(ways + xlogy(counts, RATE) + xlog1py(SIZE - 1 - counts, -RATE))
    answers = np.arange(-40, 300, STEP)
    errors = (answers[:, None] - first - counts) / SCALE
    masses = np.exp(-(errors**2) / 2) @ chances
    return {k: math.log(mass) for k, mass in enumerate(masses / masses.sum()) if mass > 0}


def delta_of_rival() -> float:
    """δ by privacy loss distributions, from the laws of the answer on."""
    curve = privacy_loss_distribution.from_two_probability_mass_functions(
        log_masses(0), log_masses(1), value_discretization_interval=INTERVAL, symmetric=False
    )
    return float(curve.get_delta_for_epsilon(EPSILON))


def repeated(mechanism: nc.Mechanism, population: nc.Population | None, epsilon: object) -> Run:
    """The time of one curve from its beginning."""

    def run() -> None:
        for _ in range(REPEATS):
            nc.privacy_curve(mechanism, population).delta(epsilon)  # type: ignore[call-overload]

    return lambda: seconds(run) / REPEATS


def test_one_point_is_50_times_faster_than_dp_accounting(show: Show) -> None:
    """And 1,000 times more exact; both begin with the population and the noise."""
    ours, theirs = medians(
        ROUNDS, repeated(nc.Gaussian(SCALE), nc.Binomial(SIZE, RATE), EPSILON), lambda: seconds(delta_of_rival)
    )
    error = abs(nc.privacy_curve(nc.Gaussian(SCALE), nc.Binomial(SIZE, RATE)).delta(EPSILON) - DELTA)
    rival_error = abs(delta_of_rival() - DELTA)
    name = f"one δ, n = {SIZE}: off by {error:.0e}, the rival by {rival_error:.0e}"
    comparison = Comparison(name, ours, "dp-accounting, two laws", theirs, limit=theirs / 50)
    show(comparison)
    assert error * 1000 <= rival_error
    assert comparison.kept


@pytest.mark.parametrize("population", [nc.Binomial(10**6, RATE), None], ids=["n = 1e6", "worst case"])
@pytest.mark.parametrize(
    "mechanism", [nc.Exact(), nc.Laplace(3), nc.Laplace(1000), nc.Gaussian(3), nc.Gaussian(1000)], ids=str
)
def test_a_curve_of_200_points_costs_few_points(
    show: Show, mechanism: nc.Mechanism, population: nc.Binomial | None
) -> None:
    """At a million records over five standard deviations of the count, and for all records but one known."""
    deviation = 1.0 if population is None else math.sqrt(population.law().variance)
    many, one = medians(
        ROUNDS,
        repeated(mechanism, population, np.linspace(0, 5 / deviation, 200)),
        repeated(mechanism, population, 0.1 / deviation),
    )
    name = "all records but one" if population is None else "n = 1e6"
    points = 20 if population is None else 15
    comparison = Comparison(f"200 ε, {name}, {mechanism}", many, "one ε", one, limit=points * one)
    show(comparison)
    assert comparison.kept


@pytest.mark.parametrize(("mechanism", "limit"), [(nc.Laplace(3), 0.002), (nc.Gaussian(3), 0.1)], ids=str)
def test_one_point_of_a_billion_records(show: Show, mechanism: nc.Mechanism, limit: float) -> None:
    """Beside a thousand records."""
    ours, theirs = medians(
        ROUNDS,
        repeated(mechanism, nc.Binomial(10**9, 0.5), 1e-5),
        repeated(mechanism, nc.Binomial(SIZE, RATE), EPSILON),
    )
    comparison = Comparison(f"one δ, n = 1e9, {mechanism}", ours, "n = 1000", theirs, limit=limit)
    show(comparison)
    assert comparison.kept
