"""Tests of `analysis/relative_error.py`."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.noises.catalogue import NOISES, NoiseClass
from tests.oracles.posterior import Law, beta_binomial_law, binomial_law, strata_law

CLASSES = NOISES
RATES = st.one_of(st.floats(1e-12, 1), st.sampled_from([1e-300, 1e-9, 1 - 1e-9, 1 - 2**-53]))
SHAPES = st.one_of(st.floats(1e-6, 1e6), st.sampled_from([1e-300, 1e300, 1.7e308]))


def mean_square(law: Law, size: int, drawn: int) -> mpf:
    """E[(S/m − K/n)²], summed over every count and every sample of m of n records."""
    total = mpf(0)
    for count, weight in zip(law.counts, law.weights, strict=True):
        for found in range(max(0, drawn - size + count), min(count, drawn) + 1):
            ways = mp.binomial(count, found) * mp.binomial(size - count, drawn - found)
            chance = weight * ways / mp.binomial(size, drawn)
            total += chance * (mpf(found) / drawn - mpf(count) / size) ** 2
    return total / law.total


def variance_by_sum(noise: nc.Mechanism) -> mpf:
    """The variance of a noise in 50 digits, from its density or its probabilities."""
    assert isinstance(noise, nc.Laplace | nc.Gaussian | nc.DiscreteLaplace | nc.DiscreteGaussian)
    scale = mpf(noise.exact_scale.numerator) / noise.exact_scale.denominator
    if isinstance(noise, nc.Laplace):
        return 2 * scale**2
    if isinstance(noise, nc.DiscreteLaplace):
        q = mp.exp(-1 / scale)
        return 2 * q / (1 - q) ** 2
    if isinstance(noise, nc.Gaussian) or scale > 20:  # from there on equal in 50 digits
        return scale**2
    weights = [mp.exp(-((z / scale) ** 2) / 2) for z in range(int(20 * scale) + 5)]
    squares = mp.fsum(z * z * weight for z, weight in enumerate(weights))
    return 2 * squares / (2 * mp.fsum(weights) - 1)


def close(fast: float, exact: mpf, within: float = 1e-14) -> bool:
    """Return True if two numbers agree to the relative error, or are among the smallest doubles."""
    return bool(abs(fast - exact) <= mpf(within) * exact + mpf("1e-300"))


FEW = st.integers(1, 12)
GROUPS = st.lists(st.tuples(st.integers(0, 4), RATES), min_size=1, max_size=4).filter(
    lambda groups: any(size for size, _ in groups)
)
WEIGHTS = st.lists(st.floats(0, 1), min_size=2, max_size=12).filter(lambda weights: sum(weights) > 1e-6)


def tabulated(weights: list[float]) -> tuple[nc.Population, Law]:
    """Any law of the count."""
    table = [weight / math.fsum(weights) for weight in weights]
    return nc.Tabulated(table), Law(0, [mpf(chance) for chance in table])


PRIORS = {
    "equal records": st.builds(lambda *a: (nc.Binomial(*a), binomial_law(*a)), FEW, RATES),
    "an uncertain rate": st.builds(lambda *a: (nc.BetaBinomial(*a), beta_binomial_law(*a)), FEW, SHAPES, SHAPES),
    "groups": GROUPS.map(
        lambda groups: (nc.Strata(*zip(*groups, strict=True)), strata_law(*zip(*groups, strict=True)))
    ),
    "any law": WEIGHTS.map(tabulated),
}


@pytest.mark.parametrize("prior", PRIORS)
@given(data=st.data())
def test_a_sample_loses_what_the_definition_says(prior: str, data: st.DataObject) -> None:
    """E[(S/m − K/n)²] by the sum over counts and samples, at rates next to 0 and 1 and shapes of any size too."""
    population, law = data.draw(PRIORS[prior])
    drawn = data.draw(st.integers(1, population.size))
    exact = mean_square(law, population.size, drawn)
    assert close(nc.utility_loss(nc.Subsample(drawn), population), exact, 1e-12 if prior == "any law" else 1e-14)


@pytest.mark.parametrize(
    ("population", "law"),
    [
        (nc.Binomial(12, 1e-9), binomial_law(9, 1e-9)),
        (nc.BetaBinomial(12, 0.5, 2.5), beta_binomial_law(9, 1.5, 4.5)),
        (nc.Strata([12, 0], [0.999, 0.5]), binomial_law(9, 0.999)),
    ],
)
@pytest.mark.parametrize("drawn", [1, 5, 12])
def test_known_records_are_sampled_with_the_others(population: nc.Population, law: Law, drawn: int) -> None:
    """With one positive and two negative records known, K is one more than the others' count."""
    informed = population.given([3, 0], [1, 0]) if isinstance(population, nc.Strata) else population.given(3, 1)
    exact = mean_square(Law(1, law.weights), 12, drawn)
    assert close(nc.utility_loss(nc.Subsample(drawn), informed), exact)


@pytest.mark.parametrize("size", [1, 2, 7, 10])
@pytest.mark.parametrize("drawn", [1, 2, 7])
def test_nothing_known_about_records_means_the_worst_count(size: int, drawn: int) -> None:
    """`Known` takes the worse value of the last record; without a count, the worst of all."""
    if drawn > size:
        return
    losses = [mean_square(Law(count, [mpf(1)]), size, drawn) for count in range(size + 1)]
    for count in range(size):
        worst = max(losses[count : count + 2])
        assert close(nc.utility_loss(nc.Subsample(drawn), nc.Known(size, count)), worst)
    assert close(nc.utility_loss(nc.Subsample(drawn), nc.Known(size)), max(losses))


@given(size=st.integers(2, 2**53), drawn=st.integers(1, 2**53), rate=RATES)
def test_lemma_7_holds_at_any_size(size: int, drawn: int, rate: float) -> None:
    """π(1 − π)(1/m − 1/n), to the last digits where m and n are next to each other too."""
    drawn = min(drawn, size)
    exact = mpf(rate) * (1 - mpf(rate)) * (mpf(1) / drawn - mpf(1) / size)
    assert close(nc.utility_loss(nc.Subsample(drawn), nc.Binomial(size, rate)), exact)


POPULATIONS: list[tuple[nc.Population, Law]] = [
    (nc.Binomial(12, 0.3), binomial_law(12, 0.3)),
    (nc.BetaBinomial(12, 0.5, 2.5), beta_binomial_law(12, 0.5, 2.5)),
    (nc.Strata([4, 8], [0.9, 0.1]), strata_law([4, 8], [0.9, 0.1])),
    (nc.Tabulated([0.5] + [0.0] * 11 + [0.5]), Law(0, [mpf(1), *[mpf(0)] * 11, mpf(1)])),
]


@pytest.mark.parametrize(("population", "law"), POPULATIONS)
@pytest.mark.parametrize("drawn", [1, 5, 12])
@pytest.mark.parametrize("noise", [None, nc.Laplace(1.5), nc.DiscreteGaussian(0.4)])
def test_definition_8_equals_definition_7(
    population: nc.Population, law: Law, drawn: int, noise: nc.Mechanism | None
) -> None:
    """MSE(Y/m) − MSE(K/n) about E[K]/n is the loss, for dependent records too (Lemmas 8 and 9)."""
    goal, extra = law.mean / 12, mpf(0)
    in_sample = [mpf(0)] * (drawn + 1)
    for count, weight in zip(law.counts, law.weights, strict=True):
        for found in range(drawn + 1):
            ways = mp.binomial(count, found) * mp.binomial(12 - count, drawn - found)
            in_sample[found] += weight / law.total * ways / mp.binomial(12, drawn)
    if noise is not None:
        extra = variance_by_sum(noise) / drawn**2
    answer = mp.fsum(w * (mpf(found) / drawn - goal) ** 2 for found, w in enumerate(in_sample))
    statistical = answer + extra - law.variance / 144
    assert abs(nc.utility_loss(nc.Subsample(drawn, noise), population) - statistical) <= 1e-14


@pytest.mark.parametrize(("population", "_"), POPULATIONS)
@pytest.mark.parametrize("noise", [kind(scale) for kind in CLASSES for scale in (0.4, 1.7, 1e6)])
def test_lemma_9_holds_for_every_noise(population: nc.Population, _: Law, noise: nc.Mechanism) -> None:
    """The loss of added noise is its variance over n², whatever the population."""
    assert close(nc.utility_loss(noise, population), variance_by_sum(noise) / 144)


def test_sums_of_noises_lose_the_sum() -> None:
    """Independent noises add their variances, alone and on a sample."""
    parts = [nc.Laplace(1.5), nc.Gaussian(2.0)]
    assert nc.utility_loss(nc.NoiseSum(parts), nc.Binomial(10, 0.5)) == pytest.approx(0.085, rel=1e-14)
    on_sample = nc.utility_loss(nc.Subsample(5, nc.NoiseSum(parts)), nc.Binomial(10, 0.5))
    assert on_sample == pytest.approx(0.25 * 0.1 + 8.5 / 25, rel=1e-14)


def test_the_count_itself_loses_nothing() -> None:
    """Neither does a sample of all records."""
    assert nc.utility_loss(nc.Exact(), nc.Binomial(10, 0.3)) == 0
    assert nc.utility_loss(nc.Subsample(10), nc.Tabulated([0.5, *[0.0] * 9, 0.5])) == 0


@pytest.mark.parametrize("noise", CLASSES)
@given(loss=st.one_of(st.floats(1e-12, 1e12), st.integers(-120, 120).map(lambda tenths: 10.0 ** (tenths / 10))))
def test_the_scale_is_the_largest_that_keeps_the_loss(noise: NoiseClass, loss: float) -> None:
    """The variance in 50 digits is within 1e-12 below what is allowed, and above by 1e-15 at most.

    The next scale of continuous noise loses more.
    """
    scale = nc.scale_for_utility_loss(noise, loss)
    assert noise(scale).variance <= loss
    assert loss * (1 - mpf("1e-12")) <= variance_by_sum(noise(scale)) <= loss * (1 + mpf("1e-15"))
    if noise in {nc.Laplace, nc.Gaussian}:
        assert noise(math.nextafter(scale, math.inf)).variance > loss


@pytest.mark.parametrize("noise", CLASSES)
@given(
    scale=st.one_of(st.floats(0.2, 1e6), st.sampled_from([0.2, 1.0, 3.0, 1e3, 1e6])),
    size=st.sampled_from([1, 10, 1000, 10**9]),
)
def test_the_scale_inverts_the_utility_loss(noise: NoiseClass, scale: float, size: int) -> None:
    """The loss of a scale, as a fraction of any size, gives the scale back."""
    loss = nc.utility_loss(noise(scale), nc.Known(size))
    back = nc.scale_for_utility_loss(noise, loss, size=size)
    assert back == pytest.approx(scale, rel=1e-12)
    assert nc.utility_loss(noise(back), nc.Known(size)) <= loss


@pytest.mark.parametrize(("noise", "scale"), [(nc.Laplace, 3.0), (nc.Gaussian, 10.0), (nc.Gaussian, 0.1)])
def test_simple_scales_come_back_as_they_were(noise: NoiseClass, scale: float) -> None:
    """Of continuous noise to the last digit."""
    assert nc.scale_for_utility_loss(noise, noise(scale).variance) == scale


@pytest.mark.parametrize(
    ("noise", "scale_of"),
    [
        (nc.DiscreteLaplace, lambda loss: 1 / mp.log(2 / loss)),
        (nc.DiscreteGaussian, lambda loss: 1 / mp.sqrt(2 * mp.log(2 / loss))),
    ],
)
@pytest.mark.parametrize("loss", [1e-12, 1e-30, 1e-100, 1e-300])
def test_scales_of_discrete_noise_fall_with_the_logarithm_of_the_loss(
    noise: NoiseClass, scale_of: Callable[[mpf], mpf], loss: float
) -> None:
    """A small loss is 2P[Z = 1], so that even one of 1e-300 records² leaves a scale to draw."""
    scale = nc.scale_for_utility_loss(noise, loss)
    assert close(scale, scale_of(mpf(loss)), 1e-11)
    assert loss * (1 - mpf("1e-12")) <= variance_by_sum(noise(scale)) <= loss * (1 + mpf("1e-15"))


OUT_OF_RANGE: list[tuple[NoiseClass, float]] = [
    *[(nc.Gaussian, 1e-32), (nc.Gaussian, 1e32), (nc.DiscreteLaplace, 1e32)],
    *[(nc.DiscreteGaussian, 1e32), (nc.Laplace, 1e-308), (nc.Laplace, 1e308)],
]


@pytest.mark.parametrize(("noise", "loss"), OUT_OF_RANGE)
def test_a_loss_that_no_scale_has_is_refused(noise: NoiseClass, loss: float) -> None:
    """The refusal names the losses that can be had."""
    words = rf"^loss must be at least .* of {noise.__name__} noise of the scales .*, got "
    with pytest.raises(ValueError, match=words):
        nc.scale_for_utility_loss(noise, loss)


@pytest.mark.parametrize(
    ("rate", "gaussian", "laplace", "sample"),
    [
        (0.01, 0.0354731390373, 0.0487685328703, 0.0343210433478),
        (0.1, 0.00894016957919, 0.0130501063156, 0.00901043062029),
        (0.5, 0.0039759995414, 0.00608546324336, 0.00399208189479),
    ],
)
def test_mechanisms_of_equal_loss_differ_in_privacy(
    rate: float, gaussian: float, laplace: float, sample: float
) -> None:
    """δ(0.01) of 1000 records at the loss of a sample of 100: by sums in 30 digits.

    Laplace noise is 37 % (π = 0.01) to 53 % (π = 0.5) above Gaussian noise, not "about 20 %" as in
    section 6 of Breutigam and Reischuk; a sample is 3 % below it to 1 % above.
    """
    population = nc.Binomial(1000, rate)
    loss = nc.utility_loss(nc.Subsample(100), population)
    noises = [kind(nc.scale_for_utility_loss(kind, loss, size=1000)) for kind in (nc.Gaussian, nc.Laplace)]
    found = [nc.privacy_curve(way, population).delta(0.01) for way in (*noises, nc.Subsample(100))]
    assert found == pytest.approx([gaussian, laplace, sample], rel=1e-9)
    assert 1.37 < found[1] / found[0] < 1.54
    assert 0.96 < found[2] / found[0] < 1.01
