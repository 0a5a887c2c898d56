import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.analysis.posterior.posterior import posterior
from noisycount.model.noises.additive import AdditiveNoise
from tests.helpers.cases import examples
from tests.oracles.posterior import (
    Law,
    assert_exact,
    beta_binomial_law,
    binomial_law,
    binomial_log_pmf,
    exact_likelihood,
    gaussian_likelihood,
    laplace_likelihood,
    noisy_sample_likelihood,
    reweighted,
    sample_likelihood,
    strata_law,
)

Prior = tuple[nc.Population, Law]
Told = tuple[nc.Mechanism, float, Callable[[int], mpf]]

SIZES = st.sampled_from([1, 2, 5, 30, 100, 300])
RATES = st.sampled_from([1e-12, 1e-4, 0.017, 0.3, 0.5, 0.999, 1 - 1e-12])
SHAPES = st.sampled_from([1e-6, 0.01, 0.5, 1.0, 1.5, 40.0, 1e6])
SCALES = st.sampled_from([0.01, 0.1, 0.5, 1.0, 3.3, 10.0, 100.0, 1e4, 1e9])
NOISES = st.sampled_from([nc.Laplace, nc.DiscreteLaplace, nc.Gaussian, nc.DiscreteGaussian])


@st.composite
def binomials(draw: st.DrawFn) -> Prior:
    """Records of one known rate."""
    size, rate = draw(SIZES), draw(RATES)
    return nc.Binomial(size, rate), binomial_law(size, rate)


@st.composite
def beta_binomials(draw: st.DrawFn) -> Prior:
    """Records of an uncertain rate, U-shaped laws too."""
    size, alpha, beta = draw(SIZES), draw(SHAPES), draw(SHAPES)
    return nc.BetaBinomial(size, alpha, beta), beta_binomial_law(size, alpha, beta)


@st.composite
def strata(draw: st.DrawFn) -> Prior:
    """Groups of mixed sizes, empty ones and certain rates too; or single records."""
    sizes = draw(st.sampled_from([st.just(1), st.sampled_from([0, 1, 3, 20])]))
    rates = st.one_of(RATES, st.sampled_from([0.0, 1.0]), st.floats(0.01, 0.99))
    groups = draw(st.lists(st.tuples(sizes, rates), min_size=1, max_size=6))
    columns = [list(column) for column in zip(*groups, strict=True)]
    assume(sum(columns[0]) > 0)
    return nc.Strata(*columns), strata_law(*columns)


@st.composite
def tables(draw: st.DrawFn) -> Prior:
    """Any table, with zeros."""
    weights = draw(st.lists(st.sampled_from([0, 0, 1, 3, 10**6, 10**15]), min_size=2, max_size=40))
    assume(any(weights))
    probabilities = [weight / sum(weights) for weight in weights]
    return nc.Tabulated(probabilities), Law(0, [mpf(chance) for chance in probabilities])


@st.composite
def informed(draw: st.DrawFn) -> Prior:
    """Draw a population of which an adversary knows some records, and the exact law of its count."""
    population, law = draw(st.one_of(binomials(), beta_binomials(), tables()))
    size = population.records
    known = draw(st.integers(0, size))
    positives = draw(st.integers(0, known))
    held = reweighted(law, sample_likelihood(positives, known, size))
    assume(held.total > 0)
    return population.given(known, positives), held


POPULATIONS = {
    "Binomial": binomials(),
    "BetaBinomial": beta_binomials(),
    "Strata": strata(),
    "Tabulated": tables(),
    "Informed": informed(),
}


def likelihood(noise: AdditiveNoise, answer: float) -> Callable[[int], mpf]:
    """The likelihood of each count in 50 digits."""
    scale = mpf(noise.exact_scale.numerator) / noise.exact_scale.denominator
    is_laplace = isinstance(noise, nc.Laplace | nc.DiscreteLaplace)
    return (laplace_likelihood if is_laplace else gaussian_likelihood)(answer, scale)


@st.composite
def noisy(draw: st.DrawFn, size: int) -> Told:
    """Noise, and an answer far below 0, inside, or far above the size."""
    noise = draw(NOISES)(draw(SCALES))
    scale, share = float(noise.exact_scale), draw(st.floats(0, 1))
    places = [-1000 * scale, share * size, share * size + scale, size + 1000 * scale]
    answer = draw(st.sampled_from(places))
    if isinstance(noise, nc.DiscreteLaplace | nc.DiscreteGaussian):
        answer = float(round(answer))
    elif draw(st.booleans()):
        answer = math.floor(answer) + 0.5
    return noise, answer, likelihood(noise, answer)


@st.composite
def sampled(draw: st.DrawFn, size: int) -> Told:
    """A sample without noise."""
    sample_size = draw(st.integers(1, size))
    answer = draw(st.integers(0, sample_size))
    return nc.Subsample(sample_size), answer, sample_likelihood(answer, sample_size, size)


@st.composite
def exact(draw: st.DrawFn, size: int) -> Told:
    """The count itself."""
    answer = draw(st.integers(0, size))
    return nc.Exact(), answer, exact_likelihood(answer)


MECHANISMS = {"noise": noisy, "Exact": exact, "Subsample": sampled}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("population", POPULATIONS)
@examples(25)
@given(data=st.data())
def test_posteriors_equal_the_direct_sum(population: str, mechanism: str, data: st.DataObject) -> None:
    """Every estimate for every pair against the sum in 50 digits, answers far out included."""
    known, law = data.draw(POPULATIONS[population])
    noise, answer, likely = data.draw(MECHANISMS[mechanism](known.records))
    direct = reweighted(law, likely)
    assume(direct.total > 0)
    assert_exact(posterior(answer, known, noise), direct)


@pytest.mark.thorough
@pytest.mark.parametrize("population", POPULATIONS)
@examples(5)
@given(data=st.data())
def test_noisy_samples_equal_the_direct_double_sum(population: str, data: st.DataObject) -> None:
    """The sum over the positives in the sample, within the sum over the counts."""
    known, law = data.draw(POPULATIONS[population])
    size = known.records
    sample_size = data.draw(st.integers(1, min(size, 20)))
    noise, answer, likely = data.draw(noisy(sample_size))
    direct = reweighted(law, noisy_sample_likelihood(likely, sample_size, size))
    assert_exact(posterior(answer, known, nc.Subsample(sample_size, noise)), direct)


@pytest.mark.parametrize("population", POPULATIONS)
@examples(25)
@given(data=st.data())
def test_several_answers_multiply_their_likelihoods(population: str, data: st.DataObject) -> None:
    """Answers of different mechanisms about one count, each with noise of its own."""
    known, law = data.draw(POPULATIONS[population])
    some = st.one_of(noisy(known.records), sampled(known.records))
    mechanisms, answers, likelihoods = zip(*data.draw(st.lists(some, min_size=2, max_size=3)), strict=True)
    direct = law
    for likely in likelihoods:
        direct = reweighted(direct, likely)
    assume(direct.total > 0)
    assert_exact(posterior(answers, known, mechanisms), direct)


@pytest.mark.few(0)
@pytest.mark.parametrize(("size", "rate"), [(10**9, 1 - 1e-4), (10**12, 0.3)])
@pytest.mark.parametrize("scale", [1e4, 1e9])
@pytest.mark.parametrize("deviations", [-3, 0.5, 1000])
def test_wide_gaussian_noise_on_large_populations_is_exact(
    size: int, rate: float, scale: float, deviations: float
) -> None:
    """A smooth law is summed in strides of a fifth of its width, and below a count by an integral.

    The strides leave out e^(−2π²·25) of the sum; what is below a count is the integral up to half
    a count above it, less a 24th of the slope there. One count has 1e-10 of the mass at least, so
    that the integral needs no more than 25 digits.
    """
    answer = size * rate + deviations * scale
    told = posterior(answer, nc.Binomial(size, rate), nc.Gaussian(scale))
    centre, width = told.mode, math.sqrt(told.variance)
    likely = gaussian_likelihood(answer, scale)
    top = binomial_log_pmf(size, mpf(rate), centre) + mp.log(likely(centre))

    def weight(offset: mpf) -> mpf:
        count = centre + offset
        return mp.exp(binomial_log_pmf(size, mpf(rate), count) + mp.log(likely(count)) - top)

    stride = mpf(width) / 5
    law = Law(-75, [weight(stride * step) for step in range(-75, 76)])
    assert abs(told.mean - centre - stride * law.mean) <= 1e-10 * width + 4 * math.ulp(told.mean)
    assert told.variance == pytest.approx(float(stride**2 * law.variance), rel=1e-9)

    def below(count: int) -> mpf:
        edge = count - centre + mpf(1) / 2
        pieces = [edge - width * reach for reach in (15, 9, 6, 3, 0)]
        with mp.workdps(25):
            return (mp.quad(weight, pieces) - mp.diff(weight, edge) / 24) / (stride * law.total)

    tail = (1 - 0.95) / 2
    found = zip((told.median, *told.interval(0.95)), (0.5, tail, 1 - tail), strict=True)
    for count, level in found:
        assert below(count - 1) < level <= below(count)
