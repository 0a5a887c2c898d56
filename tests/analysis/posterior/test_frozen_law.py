import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from flint import arb
from scipy import stats

import noisycount as nc
from noisycount.analysis.posterior.posterior import Posterior
from tests.oracles.balls import ball

TOLD: dict[str, Callable[[], Posterior]] = {
    "smooth": lambda: nc.posterior(35.2, nc.Binomial(100, 0.3), nc.Laplace(10)),
    "table": lambda: nc.posterior(2, nc.Strata([3, 4, 5], [0.2, 0.5, 0.9]), nc.Gaussian(2)),
    "one count": lambda: nc.posterior(3, nc.Binomial(10, 0.3), nc.Exact()),
    "gaps": lambda: nc.posterior(1, nc.Tabulated([0.5, 0.0, 0.0, 0.5]), nc.Laplace(2)),
    "certain but for what underflows": lambda: nc.posterior(30.0, nc.Binomial(100, 0.3), nc.Laplace(0.001)),
    "subnormal": lambda: nc.posterior(2.5, nc.BetaBinomial(10, 1e-310, 5), nc.Laplace(1)),
    "informed": lambda: nc.posterior(40, nc.BetaBinomial(100, 3, 7).given(30, 9), nc.DiscreteLaplace(5)),
}
TOLD_BY_NAME = pytest.mark.parametrize("told", [made() for made in TOLD.values()], ids=TOLD)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """A TimeoutError in place of what never ends."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def masses(told: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Return every count of the database and its probability."""
    counts = np.arange(told.population.size + 1.0)
    return counts, told.pmf(counts)


@TOLD_BY_NAME
def test_probabilities_are_sums_of_the_law(told: Posterior) -> None:
    """Below and above each number, between counts and outside the database, in logarithms too."""
    counts, chances = masses(told)
    asked = np.array([-math.inf, -3, *counts, 2.5, *(counts + 0.5), 1e9, math.inf])
    below = np.array([chances[counts <= one].sum() for one in asked])
    above = np.array([chances[counts > one].sum() for one in asked])
    for some in (asked, asked[:9]):
        n = some.size
        assert told.cdf(some) == pytest.approx(below[:n], rel=1e-12, abs=1e-300)
        assert told.sf(some) == pytest.approx(above[:n], rel=1e-12, abs=1e-300)
    assert np.exp(told.logpmf(counts)) == pytest.approx(chances, rel=1e-14)
    assert told.cdf(asked.reshape(-1, 1)).shape == (asked.size, 1)
    assert np.isnan(told.cdf([math.nan, 3.0])).tolist() == [True, False]


@TOLD_BY_NAME
def test_quantiles_invert_both_tails(told: Posterior) -> None:
    """The smallest count with so much below it, or with so little above it."""
    counts, chances = masses(told)
    below, above = chances.cumsum(), chances[::-1].cumsum()[::-1] - chances
    levels = np.array([1e-12, 1e-3, 0.025, 0.3, 0.77, 0.9, 1 - 1e-9, *np.linspace(0.01, 0.99, 31)])
    exact = [counts[np.argmax(below >= level * (1 - 1e-13))] for level in levels]
    assert told.ppf(levels).tolist() == told.ppf(levels[::-1])[::-1].tolist() == exact
    assert [float(told.ppf(level)) for level in levels.tolist()] == exact
    from_above = [counts[np.argmax(above <= level * (1 + 1e-13))] for level in levels]
    assert told.isf(levels).tolist() == from_above
    assert [float(told.isf(level)) for level in levels.tolist()] == from_above
    last = counts[chances > 0].max()
    assert (float(told.ppf(1)), float(told.isf(0))) == (told.law.support[1], told.law.support[1])
    assert float(told.isf(1e-300)) <= last
    assert np.isnan(told.ppf([0.5, math.nan])).tolist() == [False, True]


def test_the_ends_are_those_of_scipy() -> None:
    """A binomial law, whose answer says nearly nothing."""
    told = nc.posterior(0, nc.Binomial(40, 0.3), nc.Laplace(1e12))
    law = stats.binom(40, 0.3)
    counts, levels = np.arange(-2, 43), np.array([0, 0.1, 0.5, 0.9, 1])
    assert told.cdf(counts) == pytest.approx(law.cdf(counts), rel=1e-9)
    assert told.sf(counts) == pytest.approx(law.sf(counts), rel=1e-9, abs=1e-300)
    assert told.logpmf(counts[2:43]) == pytest.approx(law.logpmf(counts[2:43]), rel=1e-9)
    assert told.ppf(levels).tolist() == law.ppf(levels).tolist()
    assert told.isf(levels).tolist() == law.isf(levels).tolist()
    assert told.std == pytest.approx(law.std(), rel=1e-9)


def test_far_tails_keep_their_digits() -> None:
    """Tail probabilities keep their digits even if 1 − P would be 0 or a table would be too long."""
    told = nc.posterior(0, nc.Binomial(10**12, 0.5), nc.Laplace(1e15))
    middle = 5 * 10**11
    for distance in (10, 30):
        tail = stats.norm.sf(distance)
        count = middle + distance * 500_000
        assert float(told.sf(count)) == pytest.approx(tail, rel=1e-2)
        assert float(told.isf(float(told.sf(count)))) == count
        assert float(told.cdf(2 * middle - count - 1)) == pytest.approx(float(told.sf(count)), rel=1e-2)
    asked = middle + np.arange(-20, 20) * 10**5
    assert told.cdf(asked) == pytest.approx(stats.norm.cdf((asked - middle) / 5e5), abs=1e-5)


@pytest.mark.parametrize("levels", [-0.1, [0.5, 1.1]])
def test_a_level_that_is_no_probability_is_refused(levels: float | list[float]) -> None:
    """By its value."""
    told = TOLD["smooth"]()
    for quantile in (told.ppf, told.isf):
        with pytest.raises(ValueError, match=r"^levels must be probabilities .*, got (-0.1|1.1)$"):
            quantile(levels)


@TOLD_BY_NAME
def test_draws_have_the_law(told: Posterior) -> None:
    """A χ² test over the likely counts: 1e-6 by chance."""
    drawn = told.rvs(20_000, 7)
    counts, chances = masses(told)
    likely = chances * drawn.size >= 5
    seen = np.array([(drawn == count).sum() for count in counts[likely]])
    rest = max(1 - chances[likely].sum(), 0.0)
    expected = chances[likely] * drawn.size
    distance = ((seen - expected) ** 2 / expected).sum()
    assert distance <= stats.chi2.isf(1e-6, max(1, likely.sum()))
    assert (drawn.size - seen.sum()) <= stats.binom.isf(1e-6, drawn.size, rest)


def test_draws_come_from_a_seed_in_any_shape() -> None:
    """A draw without a size is a single number, and a generator continues between draws."""
    told = TOLD["smooth"]()
    assert told.rvs((2, 3), 1).tolist() == told.rvs((2, 3), 1).tolist()
    assert told.rvs((2, 3)).shape == (2, 3)
    assert np.ndim(told.rvs()) == 0
    generator = np.random.default_rng(1)
    assert told.rvs(50, generator).tolist() != told.rvs(50, generator).tolist()


CERTAIN: dict[str, tuple[nc.Posterior, int]] = {
    "narrow noise": (nc.posterior(30.0, nc.Binomial(100, 0.3), nc.Laplace(0.001)), 30),
    "far below": (nc.posterior(-1e6, nc.Binomial(100, 0.3), nc.Gaussian(3)), 0),
    "far above": (nc.posterior(1e15, nc.Binomial(100, 0.3), nc.DiscreteGaussian(3)), 100),
    "subnormal rate": (nc.posterior(0.5, nc.BetaBinomial(10, 1e-320, 5), nc.Laplace(1)), 0),
    "the largest count": (nc.posterior(2.0**53, nc.Binomial(2**53, 1), nc.Gaussian(10)), 2**53),
}


@pytest.mark.parametrize("name", CERTAIN)
def test_all_is_known_of_a_count_that_is_certain(name: str) -> None:
    """A certain count has exact quantiles and draws, even if its variance underflows to 0."""
    told, count = CERTAIN[name]
    with time_limit(20):
        assert told.cdf([count - 1, count, count + 0.5]).tolist() == pytest.approx([0, 1, 1])
        assert told.sf([count - 1, count]).tolist() == pytest.approx([1, 0])
        assert told.ppf([1e-9, 0.5, 0.999]).tolist() == told.rvs(3).tolist() == [count] * 3
        assert told.isf([1e-9, 0.5]).tolist() == [count] * 2
        assert told.cdf(np.arange(40.0) + count).tolist() == [1.0] * 40
        other = nc.posterior(8, nc.Binomial(20, 0.4), nc.DiscreteLaplace(2))
        assert nc.difference(told, other).mean == pytest.approx(count - other.mean)
        assert nc.difference(other, told).mean == pytest.approx(other.mean - count)
        assert nc.difference(told, told).interval() == (0, 0)
        assert nc.probability_greater(told, other) == pytest.approx(other.cdf(count - 1))
        assert nc.probability_greater(told, told) == pytest.approx(0)
        assert nc.ratio(other, told).infinite == (1 if count == 0 else 0)
        if count:
            assert nc.ratio(told, told).median == pytest.approx(1)


@pytest.mark.parametrize("alpha", [5e-324, 1e-320, 1e-308, 1e-290])
def test_a_subnormal_shape_is_told_by_the_definition(alpha: float) -> None:
    """The odds of a count above 0 are in proportion to a shape that small: here in 80 digits."""
    told = nc.posterior(2.5, nc.BetaBinomial(10, alpha, 5), nc.Laplace(1))
    weights = posterior_weights(10, alpha, 5, 2.5)
    for count in (1, 2, 7):
        exact = float(weights[count] / sum(weights, arb(0)))
        assert float(told.pmf(count)) == pytest.approx(exact, rel=1e-11, abs=5e-324)


def posterior_weights(size: int, alpha: float, beta: float, answer: float) -> list[arb]:
    """C(n, k)·(alpha)_k·(beta)_(n−k)·e^−|y − k| for each count k."""

    def rising(shape: float, count: int) -> arb:
        return math.prod((ball(shape) + step for step in range(count)), start=arb(1))

    return [
        math.comb(size, k) * rising(alpha, k) * rising(beta, size - k) * (-abs(ball(answer) - k)).exp()
        for k in range(size + 1)
    ]
