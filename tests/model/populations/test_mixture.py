"""A population that this package does not know: all that it takes is in this file."""

from dataclasses import field

import numpy as np
import pytest
from scipy.stats import binom

import noisycount as nc
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.binomial import ClosedFormPopulation
from tests.model.populations.contract import PopulationCase, PopulationContract
from tests.oracles.balls import ball
from tests.oracles.pairs import exchangeable
from tests.oracles.posterior import Law, binomial_law


@frozen
class TwoRates(ClosedFormPopulation):
    """Records of one of two rates, nobody knows which: they depend on each other."""

    size: int = field()
    low: float
    high: float
    share: float

    def log_pmf(self, counts: Reals) -> Reals:
        """The mixture of two binomial laws."""
        laws = [binom.logpmf(counts, self.size, rate) for rate in (self.low, self.high)]
        return np.logaddexp(np.log1p(-self.share) + laws[0], np.log(self.share) + laws[1])


@frozen
class Broken(TwoRates):
    """Mixture whose second half is missing."""

    def log_pmf(self, counts: Reals) -> Reals:
        """A law that adds up to the share."""
        chances: Reals = np.log(self.share) + binom.logpmf(counts, self.size, self.high)
        return chances


def mixed_law(size: int, low: float, high: float, share: float) -> Law:
    """Return the law of the mixture in 50 digits."""
    first, second = binomial_law(size, low).weights, binomial_law(size, high).weights
    return Law(0, [(1 - ball(share)) * a + ball(share) * b for a, b in zip(first, second, strict=True)])


PARAMETERS = [(6, 0.15, 0.8, 0.3), (9, 1e-3, 0.5, 0.01)]
CASES = [PopulationCase(TwoRates(*some), mixed_law(*some), [exchangeable(mixed_law(*some))]) for some in PARAMETERS]


class TestMixture(PopulationContract):
    """It passes what the populations of this package pass."""

    cases = CASES


def test_a_wide_mixture_is_served() -> None:
    """Two peaks far apart: the noise tells which, and the curve is that of dependent records."""
    population = TwoRates(2000, 0.2, 0.6, 0.5)
    told = nc.posterior(1150.0, population, nc.Laplace(30))
    assert told.mean == pytest.approx(nc.posterior(1150.0, nc.Binomial(2000, 0.6), nc.Laplace(30)).mean)
    curve = nc.privacy_curve(nc.Laplace(30), population)
    lower, upper = curve.bracket(0.1)
    assert 0.1 < lower <= upper < 1
    assert nc.privacy_curve(nc.Laplace(30)).delta(0.1) == 0


@pytest.mark.parametrize(
    "asked",
    [
        lambda one: nc.posterior(3, one, nc.Laplace(1)),
        lambda one: nc.privacy_curve(nc.Laplace(1), one),
        lambda one: nc.mean_absolute_error(one, nc.Laplace(1), "mean"),
        lambda one: nc.utility_loss(nc.Subsample(2), one),
    ],
)
def test_a_wrong_formula_is_refused(asked: object) -> None:
    """A law that does not add up to 1 gives no number, but the name of the class."""
    with pytest.raises(ValueError, match=r"add up to 1, got .* from Broken\.log_pmf$"):
        asked(Broken(6, 0.2, 0.6, 0.5))  # type: ignore[operator]


def test_more_records_than_a_table_holds_are_refused() -> None:
    """The refusal names the class and the size."""
    with pytest.raises(ValueError, match=r"^size must be at most 10\*\*8 for TwoRates, got "):
        nc.posterior(3, TwoRates(10**9, 0.2, 0.6, 0.5), nc.Laplace(1))


def test_what_is_forgotten_cannot_be_made() -> None:
    """A population that only has a law is no population: it says nothing of its neighbours."""

    class Forgetful(nc.Population):
        size = 3

    with pytest.raises(TypeError, match=r"abstract methods .*neighbours"):
        Forgetful()  # type: ignore[abstract]


def test_the_oracle_of_the_mixture_adds_up() -> None:
    """A ball of 80 digits holds 1."""
    for case in CASES:
        assert case.law.total.overlaps(ball(1))
