import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mpf

import noisycount as nc
from tests.oracles.posterior import (
    Law,
    assert_exact,
    beta_binomial_law,
    binomial_law,
    gaussian_likelihood,
    laplace_likelihood,
    reweighted,
    sample_likelihood,
)

SHAPES = [1e-6, 0.5, 1.0, 3.7, 1e6]
TABLE = [0.0, 0.125, 0.25, 0.0, 0.5, 0.125]
EXCHANGEABLE = [
    (nc.Binomial(20, 0.3), binomial_law(20, 0.3)),
    (nc.BetaBinomial(20, 1e-6, 0.5), beta_binomial_law(20, 1e-6, 0.5)),
    (nc.BetaBinomial(20, 3.7, 1e6), beta_binomial_law(20, 3.7, 1e6)),
    (nc.Tabulated(TABLE), Law(0, [mpf(chance) for chance in TABLE])),
]


def assert_same_law(population: nc.Population, exact: Law) -> None:
    """Every probability to 1e-12 of itself."""
    found = population.law().pmf(range(population.records + 1))
    expected = [float(exact.pmf(count)) for count in range(population.records + 1)]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("size", [0, 1, 7, 60])
@pytest.mark.parametrize("alpha", SHAPES)
@pytest.mark.parametrize("beta", SHAPES)
def test_the_law_of_a_beta_binomial_count_is_exact(size: int, alpha: float, beta: float) -> None:
    """Every probability, for U-shaped, flat and narrow laws of the rate."""
    assert_same_law(nc.BetaBinomial(size, alpha, beta), beta_binomial_law(size, alpha, beta))


@pytest.mark.parametrize("size", [10**6, 10**12])
@pytest.mark.parametrize("share", [0, 0.25, 1])
@pytest.mark.parametrize("noise", [nc.Laplace(10), nc.Gaussian(30)], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("shapes", [(1e-6, 1e-6), (1e-6, 3.7), (0.5, 1.0), (3.7, 0.5)])
def test_narrow_noise_on_large_beta_binomials_is_exact(
    size: int, share: float, noise: nc.Laplace | nc.Gaussian, shapes: tuple[float, float]
) -> None:
    """The counts that matter lie around the answer: summed there in 50 digits."""
    answer = share * size + 11.3
    first, last = max(0, round(answer) - 1000), min(size, round(answer) + 1000)
    likelihood = laplace_likelihood if isinstance(noise, nc.Laplace) else gaussian_likelihood
    window = beta_binomial_law(size, *shapes, first, last)
    exact = reweighted(window, likelihood(answer, noise.scale))
    assert_exact(nc.posterior(answer, nc.BetaBinomial(size, *shapes), noise), exact)


@pytest.mark.few(2)
@pytest.mark.parametrize("shapes", [(1e-6, 1e-6), (0.5, 0.01), (3.7, 1e6), (1e6, 1e6)])
@pytest.mark.parametrize("scale", [20.0, 3e3])
def test_wide_noise_on_beta_binomials_weighs_all_counts(shapes: tuple[float, float], scale: float) -> None:
    """Two peaks at the ends and one at the answer may matter at once: summed in 50 digits."""
    size, answer = 8000, 2345.6
    law = beta_binomial_law(size, *shapes)
    exact = reweighted(law, laplace_likelihood(answer, scale))
    assert_exact(nc.posterior(answer, nc.BetaBinomial(size, *shapes), nc.Laplace(scale)), exact)


@pytest.mark.parametrize(("rate", "deviation"), [(0.3, 0.02), (0.999, 1e-3), (1e-6, 1e-7)])
def test_a_rate_and_its_deviation_give_that_beta_law(rate: float, deviation: float) -> None:
    """The shapes of `from_rate` have the mean and the standard deviation asked for."""
    population = nc.BetaBinomial.from_rate(10, rate, deviation)
    seen = population.alpha + population.beta
    assert population.alpha / seen == pytest.approx(rate, rel=1e-12)
    spread = math.sqrt(population.alpha * population.beta / (seen + 1)) / seen
    assert spread == pytest.approx(deviation, rel=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize(("population", "law"), EXCHANGEABLE)
@given(data=st.data())
def test_known_records_follow_bayes_theorem(population: nc.Population, law: Law, data: st.DataObject) -> None:
    """`given` weighs each count by the hypergeometric probability of what is known."""
    known = data.draw(st.integers(0, population.records))
    positives = data.draw(st.integers(0, known))
    exact = reweighted(law, sample_likelihood(positives, known, population.records))
    assume(exact.total > 0)
    assert_same_law(population.given(known, positives), exact)


@pytest.mark.parametrize("population", [population for population, _ in EXCHANGEABLE])
def test_knowing_twice_is_knowing_the_sum(population: nc.Population) -> None:
    """Three records and then two more tell the same as five at once."""
    twice = population.given(2, 1).given(2, 1)
    once = population.given(4, 2)
    assert isinstance(twice.rest, type(population))
    assert (twice.known, twice.positives, twice.records) == (4, 2, population.records)
    counts = np.arange(population.records + 1)
    assert twice.law().pmf(counts) == pytest.approx(once.law().pmf(counts), rel=1e-12)


def test_known_records_do_not_wear_out_a_small_shape() -> None:
    """A shape far below 1 keeps its digits when all known records are of the other kind."""
    informed = nc.BetaBinomial(100, 24.0, 1e-6).given(24, 24)
    assert informed.rest == nc.BetaBinomial(76, 48.0, 1e-6)


def test_the_worst_adversary_tries_every_count() -> None:
    """`Known` with no count yields a pair for each count of the other records."""
    pairs = [(positive, negative) for positive, negative in nc.Known(3).neighbours()]
    for count, (positive, negative) in enumerate(pairs):
        assert positive.law().pmf(range(4)).tolist() == [k == count + 1 for k in range(4)]
        assert negative.law().pmf(range(4)).tolist() == [k == count for k in range(4)]
    assert len(pairs) == 3


@pytest.mark.parametrize("population", [nc.Binomial(9, 0.0), nc.Binomial(9, 1.0), nc.Tabulated([1, 0, 0])])
def test_a_certain_property_has_no_neighbours(population: nc.Population) -> None:
    """If no record, or every one, satisfies it, none can be the other way."""
    with pytest.raises(ValueError, match=r"^population must leave the property uncertain, got "):
        list(population.neighbours())


def test_a_population_without_a_size_is_refused() -> None:
    """The property of the base is no default of the field."""
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        nc.Binomial(rate=0.3)  # type: ignore[call-arg]
