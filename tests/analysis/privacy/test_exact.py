import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from mpmath import mpf

import noisycount as nc
from tests.analysis.privacy.checks import assert_exact
from tests.layers import case_name
from tests.oracles.pairs import (
    Pair,
    beta_binomial_pairs,
    binomial_pairs,
    binomial_sample_pairs,
    known_pairs,
    strata_pairs,
    tabulated_pairs,
)
from tests.oracles.privacy import directions

Pairs = Callable[[], list[Pair]]

TWO_POINTS = [0.5, 0, 0, 0, 0, 0, 0, 0.5]
GAPS = [0.25, 0.0, 0.5, 0.0, 0.25, 0.0, 0.0]
SKEWED = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.03125]
SMALL: dict[str, tuple[nc.Population, Pairs]] = {
    "one record": (nc.Binomial(1, 0.3), lambda: binomial_pairs(1, 0.3)),
    "two records": (nc.Binomial(2, 0.3), lambda: binomial_pairs(2, 0.3)),
    "three rare": (nc.Binomial(3, 1e-12), lambda: binomial_pairs(3, 1e-12)),
    "ten": (nc.Binomial(10, 0.5), lambda: binomial_pairs(10, 0.5)),
    "ten frequent": (nc.Binomial(10, 0.999), lambda: binomial_pairs(10, 0.999)),
    "five of ten known": (
        nc.Binomial(10, 0.25).given(5, 2),
        lambda: [pair.moved(5, 2) for pair in binomial_pairs(5, 0.25)],
    ),
    "uncertain rate": (nc.BetaBinomial(12, 0.5, 1.5), lambda: beta_binomial_pairs(12, 0.5, 1.5)),
    "nearly certain rate": (nc.BetaBinomial(8, 3e5, 7e5), lambda: beta_binomial_pairs(8, 3e5, 7e5)),
    "uncertain, three known": (
        nc.BetaBinomial(12, 0.5, 1.5).given(3, 1),
        lambda: beta_binomial_pairs(12, 0.5, 1.5, 3, 1),
    ),
    "groups": (
        nc.Strata([3, 0, 5, 1], [0.1, 0.5, 0.75, 1e-6]),
        lambda: strata_pairs([3, 0, 5, 1], [0.1, 0.5, 0.75, 1e-6]),
    ),
    "all or nothing": (nc.Tabulated(TWO_POINTS), lambda: tabulated_pairs(TWO_POINTS)),
    "gaps": (nc.Tabulated(GAPS), lambda: tabulated_pairs(GAPS)),
    "skewed, two known": (nc.Tabulated(SKEWED).given(2, 1), lambda: tabulated_pairs(SKEWED, 2, 1)),
    "all others known": (nc.Known(10, 4), lambda: known_pairs(10, 4)),
    "any others known": (nc.Known(6), lambda: known_pairs(6)),
}
ALL_MECHANISMS = [
    nc.Exact(),
    nc.Laplace(0.05),
    nc.Laplace(1.0),
    nc.Laplace(20.0),
    nc.DiscreteLaplace(Fraction(1, 20)),
    nc.DiscreteLaplace(1),
    nc.DiscreteLaplace(20),
    nc.Gaussian(0.05),
    nc.Gaussian(1.0),
    nc.Gaussian(20.0),
    nc.DiscreteGaussian(Fraction(1, 20)),
    nc.DiscreteGaussian(1),
    nc.DiscreteGaussian(20),
    nc.NoiseSum([nc.Gaussian(3.0), nc.Gaussian(4.0)]),
    nc.NoiseSum([nc.Laplace(1.0), nc.Laplace(2.5)]),
    nc.NoiseSum([nc.Laplace(2.0), nc.Laplace(2.0)]),
]
EPSILONS = [0.0, 0.3, 2.0]
SUMS = [
    (nc.NoiseSum([nc.Laplace(2.0), nc.Gaussian(1.5)]), 0),
    (nc.NoiseSum([nc.Laplace(0.5), nc.Gaussian(8.0)]), 0),
    (nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteLaplace(1)]), 90),
    (nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteGaussian(2)]), 90),
    (nc.NoiseSum([nc.DiscreteGaussian(Fraction(1, 2)), nc.DiscreteGaussian(3)]), 60),
]
SAMPLES = [
    nc.Subsample(1),
    nc.Subsample(3),
    nc.Subsample(5),
    nc.Subsample(3, nc.Laplace(2.0)),
    nc.Subsample(3, nc.DiscreteLaplace(1)),
    nc.Subsample(3, nc.Gaussian(0.5)),
    nc.Subsample(5, nc.DiscreteGaussian(2)),
    nc.Subsample(4, nc.NoiseSum([nc.Laplace(1.0), nc.Laplace(2.5)])),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SMALL)
def test_every_mechanism_is_exact_on_small_databases(name: str) -> None:
    """From one record on, in every kind of population."""
    population, pairs = SMALL[name]
    for mechanism in ALL_MECHANISMS:
        assert_exact(nc.privacy_curve(mechanism, population), mechanism, pairs(), EPSILONS)


@pytest.mark.few(1)
@pytest.mark.parametrize(("mechanism", "reach"), SUMS, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("name", ["ten", "uncertain rate"])
def test_sums_of_unlike_noises_are_exact(mechanism: nc.NoiseSum, reach: int, name: str) -> None:
    """Where a closed form or a convolution tells the law of the sum."""
    population, pairs = SMALL[name]
    assert_exact(nc.privacy_curve(mechanism, population), mechanism, pairs(), [0.0, 0.05, 0.3], sum_reach=reach)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["ten", "uncertain rate", "uncertain, three known", "groups", "gaps", "any others known"]
)
def test_samples_are_exact_on_small_databases(name: str) -> None:
    """By the hypergeometric law at every count, with and without noise on top."""
    population, pairs = SMALL[name]
    for mechanism in SAMPLES:
        assert_exact(nc.privacy_curve(mechanism, population), mechanism, pairs(), [0.0, 0.01, 0.3, 2.0])


@pytest.mark.few(5)
@pytest.mark.parametrize("mechanism", [m for m in ALL_MECHANISMS if not isinstance(m, nc.Exact)])
def test_the_worst_case_is_that_of_two_neighbouring_counts(mechanism: nc.Mechanism) -> None:
    """Differential privacy: everything but one record is known."""
    assert_exact(nc.privacy_curve(mechanism), mechanism, known_pairs(2, 0), [0.0, 1e-9, 0.01, 0.3, 1.0, 5.0])


def test_without_noise_the_worst_case_tells_everything() -> None:
    """Whoever knows the other records learns this one: δ is 1 whatever ε."""
    for curve in (nc.privacy_curve(nc.Exact()), nc.privacy_curve(nc.Exact(), nc.Known(7))):
        assert curve.directions(0.0) == (1.0, 1.0)
        assert curve.delta(700.0) == 1.0
        assert curve.epsilon(0.999) == math.inf
        assert curve.epsilon(1.0) == 0.0


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "mechanism",
    [
        nc.Laplace(1e-300),
        nc.Laplace(1e-3),
        nc.Laplace(1e3),
        nc.Laplace(1e12),
        nc.DiscreteLaplace(Fraction(1, 2**52)),
        nc.DiscreteLaplace(2**52),
        nc.Gaussian(2.0**-52),
        nc.Gaussian(1e-3),
        nc.Gaussian(1e3),
        nc.Gaussian(2.0**52),
        nc.DiscreteGaussian(Fraction(1, 2**52)),
        nc.DiscreteGaussian(300),
    ],
    ids=str,
)
def test_tiny_and_huge_scales_are_exact(mechanism: nc.Mechanism) -> None:
    """From noise that changes nothing to noise that drowns the count."""
    epsilons = [0.0, 1e-16, 1e-13, 1e-6, 0.001, 0.5]
    assert_exact(nc.privacy_curve(mechanism, nc.Binomial(40, 0.2)), mechanism, binomial_pairs(40, 0.2), epsilons)
    assert_exact(nc.privacy_curve(mechanism), mechanism, known_pairs(2, 0), epsilons)


@pytest.mark.few(3)
@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-15, 1e-5, 1 - 1e-5, 1 - 2**-53])
def test_rates_near_0_and_1_are_exact(rate: float) -> None:
    """There almost nothing hides a record but the noise."""
    pairs = binomial_pairs(100, rate)
    mechanisms = [nc.Exact(), nc.Laplace(3.0), nc.Gaussian(2.0), nc.DiscreteLaplace(3)]
    for mechanism in mechanisms:
        assert_exact(nc.privacy_curve(mechanism, nc.Binomial(100, rate)), mechanism, pairs, [0.0, 0.01, 0.3])
    for mechanism in (nc.Subsample(10), nc.Subsample(10, nc.Laplace(3.0))):
        assert_exact(nc.privacy_curve(mechanism, nc.Binomial(100, rate)), mechanism, pairs, [0.0, 0.01, 0.3])


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [0.5, 3.0, 7.7, 1e4])
@pytest.mark.parametrize("discrete", [False, True])
def test_laplace_curves_are_exact_up_to_their_bound_and_0_beyond(
    scale: float,
    discrete: bool,  # noqa: FBT001  (a parameter)
) -> None:
    """ε = 1/scale as a float may lie on either side of the bound; δ is that of this float."""
    noise = nc.DiscreteLaplace(scale) if discrete else nc.Laplace(scale)
    bound = 1 / scale
    near = [bound * (1 - 1e-3), bound * (1 - 1e-6)]
    rounded = [math.nextafter(bound, 0), bound, math.nextafter(bound, 1)]
    for population, pairs in (
        (None, known_pairs(2, 0)),
        (nc.Binomial(30, 0.3), binomial_pairs(30, 0.3)),
        (nc.Binomial(300, 0.5), binomial_pairs(300, 0.5)),
    ):
        curve = nc.privacy_curve(noise, population)
        assert_exact(curve, noise, pairs, [*near, *rounded])
        for beyond in (bound * (1 + 1e-12), 2 * bound, 50 * bound, 700.0):
            assert curve.directions(beyond) == (0.0, 0.0)
            assert curve.bracket(beyond)[0] == 0.0


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("mechanism", "population", "pairs", "epsilons"),
    [
        (nc.Gaussian(1.0), None, lambda: known_pairs(2, 0), [8.0, 14.0, 25.0, 35.0, 60.0]),
        (nc.Gaussian(30.0), None, lambda: known_pairs(2, 0), [0.1, 0.4, 0.9, 1.1]),
        (nc.DiscreteGaussian(3), None, lambda: known_pairs(2, 0), [2.0, 4.0, 9.0, 11.0]),
        (
            nc.Exact(),
            nc.Binomial(2000, 0.5),
            lambda: binomial_pairs(2000, 0.5),
            [0.1, 0.5, 0.8, 1.0, 1.8, 5.0, 100.0, 709.0, 5000.0],
        ),
        (nc.Exact(), nc.Binomial(200, 0.03), lambda: binomial_pairs(200, 0.03), [1.0, 2.0, 4.0]),
        (nc.Gaussian(3.0), nc.Binomial(1000, 0.5), lambda: binomial_pairs(1000, 0.5), [0.6, 1.9]),
        (nc.DiscreteLaplace(1), nc.Binomial(2000, 0.5), lambda: binomial_pairs(2000, 0.5), [0.5, 0.95]),
        (nc.Laplace(0.5), nc.Binomial(2000, 0.5), lambda: binomial_pairs(2000, 0.5), [0.5, 1.9]),
        (
            nc.Subsample(600),
            nc.Binomial(1000, 0.4),
            lambda: binomial_sample_pairs(1000, 0.4, 600),
            [0.1, 0.3, 0.6, 0.9],
        ),
        (
            nc.Gaussian(2.0),
            nc.BetaBinomial(200, 400.0, 600.0),
            lambda: beta_binomial_pairs(200, 400.0, 600.0),
            [1.0, 2.0, 4.0, 8.0],
        ),
    ],
    ids=case_name,
)
def test_deep_deltas_are_exact_to_1e_50_and_bracketed_below(
    mechanism: nc.Mechanism, population: nc.Population | None, pairs: Pairs, epsilons: Sequence[float]
) -> None:
    """Down to 1e-250 and beyond what a float can hold."""
    told = nc.Exact() if isinstance(mechanism, nc.Subsample) else mechanism
    assert_exact(nc.privacy_curve(mechanism, population), told, pairs(), epsilons)


def test_deltas_without_noise_are_exact_however_small() -> None:
    """From an ordinary one to those of which a float holds nothing."""
    curve = nc.privacy_curve(nc.Exact(), nc.Binomial(2000, 0.5))
    assert_exact(curve, nc.Exact(), binomial_pairs(2000, 0.5), [0.1, 1.0, 1.8, 100.0])


@pytest.mark.parametrize(("scale", "epsilon"), [(0.1, 50.0), (Fraction(1, 10), 50.0), (0.25, 8.0)])
def test_at_a_jump_of_discrete_ratios_the_answer_there_adds_nothing(scale: float | Fraction, epsilon: float) -> None:
    """Its ratio is e^ε up to rounding, which leaves the bracket an absolute width of 1e-12."""
    noise = nc.DiscreteGaussian(scale)
    curve = nc.privacy_curve(noise)
    exact = max(directions(noise, known_pairs(2, 0), epsilon))
    assert abs(curve.delta(epsilon) - exact) <= mpf("1e-9") * exact
    lower, upper = curve.bracket(epsilon)
    assert lower <= exact <= upper <= exact + 1e-12


def test_wide_noise_leaves_no_count_out_of_deep_deltas() -> None:
    """Given the answer at the threshold, counts still vary by most of their own deviation."""
    noise, pairs = nc.Gaussian(50.0), binomial_pairs(10**4, 0.3, 1400, 6500)
    assert_exact(nc.privacy_curve(noise, nc.Binomial(10**4, 0.3)), noise, pairs, [0.436])


@pytest.mark.parametrize("noise", [nc.Laplace(20.0), nc.DiscreteLaplace(20)])
def test_at_the_last_ratio_of_dependent_records_the_bracket_holds(noise: nc.Mechanism) -> None:
    """0.3 as a float is one part in 10^16 below 6/20, where δ ends: it is known to 1e-11 there."""
    table = [0.5, 0, 0, 0, 0, 0, 0.5]
    curve = nc.privacy_curve(noise, nc.Tabulated(table))
    exact = max(directions(noise, tabulated_pairs(table), 0.3))
    lower, upper = curve.bracket(0.3)
    assert 0 < exact < mpf("1e-16")
    assert lower <= exact <= upper <= 1e-11
    assert curve.directions(math.nextafter(0.3, 1) + 1e-11) == (0.0, 0.0)
