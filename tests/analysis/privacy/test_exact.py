import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from mpmath import mpf

import noisycount as nc
from tests.helpers.cases import case_name
from tests.helpers.curve_checks import assert_exact
from tests.oracles.pairs import Outsider, binomial_pairs, binomial_sample_pairs, known_pairs
from tests.oracles.privacy import directions

SMALL = {
    "one record": Outsider(nc.Binomial(1, 0.3)),
    "two records": Outsider(nc.Binomial(2, 0.3)),
    "three rare": Outsider(nc.Binomial(3, 1e-12)),
    "ten": Outsider(nc.Binomial(10, 0.5)),
    "ten frequent": Outsider(nc.Binomial(10, 0.999)),
    "five of ten known": Outsider(nc.Binomial(10, 0.25), 5, 2),
    "uncertain rate": Outsider(nc.BetaBinomial(12, 0.5, 1.5)),
    "nearly certain rate": Outsider(nc.BetaBinomial(8, 3e5, 7e5)),
    "uncertain, three known": Outsider(nc.BetaBinomial(12, 0.5, 1.5), 3, 1),
    "groups": Outsider(nc.Strata([3, 0, 5, 1], [0.1, 0.5, 0.75, 1e-6])),
    "all or nothing": Outsider.of_table([0.5, 0, 0, 0, 0, 0, 0, 0.5]),
    "gaps": Outsider.of_table([0.25, 0.0, 0.5, 0.0, 0.25, 0.0, 0.0]),
    "skewed, two known": Outsider.of_table([0.5, 0.25, 0.125, 0.0625, 0.03125, 0.03125], 2, 1),
    "all others known": Outsider(nc.Known(10, 4)),
    "any others known": Outsider(nc.Known(6)),
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
    nc.NoiseSum([nc.Laplace(2.0), nc.Gaussian(1.5)]),
    nc.NoiseSum([nc.Laplace(0.5), nc.Gaussian(8.0)]),
    nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteLaplace(1)]),
    nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteGaussian(2)]),
    nc.NoiseSum([nc.DiscreteGaussian(Fraction(1, 2)), nc.DiscreteGaussian(3)]),
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


@pytest.mark.thorough
@pytest.mark.parametrize("name", SMALL)
def test_every_mechanism_is_exact_on_small_databases(name: str) -> None:
    """From one record on, in every kind of population."""
    for mechanism in ALL_MECHANISMS:
        assert_exact(SMALL[name].curve(mechanism), SMALL[name].pairs(), EPSILONS)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", SUMS, ids=str)
@pytest.mark.parametrize("name", ["ten", "uncertain rate"])
def test_sums_of_unlike_noises_are_exact(mechanism: nc.NoiseSum, name: str) -> None:
    """Closed forms and convolutions of unlike noises give curves within their stated error."""
    assert_exact(SMALL[name].curve(mechanism), SMALL[name].pairs(), [0.0, 0.05, 0.3])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["ten", "uncertain rate", "uncertain, three known", "groups", "gaps", "any others known"]
)
def test_samples_are_exact_on_small_databases(name: str) -> None:
    """By the hypergeometric law at every count, with and without noise on top."""
    for mechanism in SAMPLES:
        assert_exact(SMALL[name].curve(mechanism), SMALL[name].pairs(), [0.0, 0.01, 0.3, 2.0])


@pytest.mark.parametrize("mechanism", [m for m in ALL_MECHANISMS if not isinstance(m, nc.Exact)])
def test_the_worst_case_is_that_of_two_neighbouring_counts(mechanism: nc.Mechanism) -> None:
    """Differential privacy: everything but one record is known."""
    assert_exact(nc.privacy_curve(mechanism), known_pairs(1), [0.0, 1e-9, 0.01, 0.3, 1.0, 5.0])


def test_without_noise_the_worst_case_tells_everything() -> None:
    """An adversary who knows the other records learns this one: δ is 1 for every ε."""
    for curve in (nc.privacy_curve(nc.Exact()), nc.privacy_curve(nc.Exact(), nc.Known(7))):
        assert curve.directions(0.0) == (1.0, 1.0)
        assert curve.delta(700.0) == 1.0
        assert curve.epsilon(0.999) == math.inf
        assert curve.epsilon(1.0) == 0.0


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
    for outsider in (Outsider(nc.Binomial(40, 0.2)), Outsider(None)):
        assert_exact(outsider.curve(mechanism), outsider.pairs(), epsilons)


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e-15, 1e-5, 1 - 1e-5, 1 - 2**-53])
def test_rates_near_0_and_1_are_exact(rate: float) -> None:
    """There almost nothing hides a record but the noise."""
    outsider = Outsider(nc.Binomial(100, rate))
    samples = nc.Subsample(10), nc.Subsample(10, nc.Laplace(3.0))
    for mechanism in (nc.Exact(), nc.Laplace(3.0), nc.Gaussian(2.0), nc.DiscreteLaplace(3), *samples):
        assert_exact(outsider.curve(mechanism), outsider.pairs(), [0.0, 0.01, 0.3])


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [0.5, 3.0, 7.7, 1e4])
@pytest.mark.parametrize("kind", [nc.Laplace, nc.DiscreteLaplace])
def test_laplace_curves_are_exact_up_to_their_bound_and_0_beyond(scale: float, kind: type[nc.Laplace]) -> None:
    """ε = 1/scale as a float may lie on either side of the bound; δ is that of this float."""
    bound = 1 / scale
    near = [bound * (1 - 1e-3), bound * (1 - 1e-6)]
    rounded = [math.nextafter(bound, 0), bound, math.nextafter(bound, 1)]
    for outsider in (Outsider(None), Outsider(nc.Binomial(30, 0.3)), Outsider(nc.Binomial(300, 0.5))):
        curve = outsider.curve(kind(scale))
        assert_exact(curve, outsider.pairs(), [*near, *rounded])
        for beyond in (bound * (1 + 1e-12), 2 * bound, 50 * bound, 700.0):
            assert curve.directions(beyond) == (0.0, 0.0)
            assert curve.bracket(beyond)[0] == 0.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "outsider", "epsilons"),
    [
        (nc.Gaussian(1.0), Outsider(None), [8.0, 14.0, 25.0, 35.0, 60.0]),
        (nc.Gaussian(30.0), Outsider(None), [0.1, 0.4, 0.9, 1.1]),
        (nc.DiscreteGaussian(3), Outsider(None), [2.0, 4.0, 9.0, 11.0]),
        (nc.Exact(), Outsider(nc.Binomial(2000, 0.5)), [0.1, 0.5, 0.8, 1.0, 1.8, 5.0, 100.0, 709.0, 5000.0]),
        (nc.Exact(), Outsider(nc.Binomial(200, 0.03)), [1.0, 2.0, 4.0]),
        (nc.Gaussian(3.0), Outsider(nc.Binomial(1000, 0.5)), [0.6, 1.9]),
        (nc.DiscreteLaplace(1), Outsider(nc.Binomial(2000, 0.5)), [0.5, 0.95]),
        (nc.Laplace(0.5), Outsider(nc.Binomial(2000, 0.5)), [0.5, 1.9]),
        (nc.Gaussian(2.0), Outsider(nc.BetaBinomial(200, 400.0, 600.0)), [1.0, 2.0, 4.0, 8.0]),
    ],
    ids=case_name,
)
def test_deep_deltas_are_exact_to_1e_50_and_bracketed_below(
    mechanism: nc.Mechanism, outsider: Outsider, epsilons: Sequence[float]
) -> None:
    """Down to 1e-250 and beyond what a float can hold."""
    assert_exact(outsider.curve(mechanism), outsider.pairs(), epsilons)


def test_deep_deltas_of_a_sample_are_exact() -> None:
    """By the mixture of two binomial laws."""
    curve = nc.privacy_curve(nc.Subsample(600), nc.Binomial(1000, 0.4))
    assert_exact(curve, binomial_sample_pairs(1000, 0.4, 600), [0.1, 0.3, 0.6, 0.9])


@pytest.mark.parametrize(("scale", "epsilon"), [(0.1, 50.0), (Fraction(1, 10), 50.0), (0.25, 8.0)])
def test_at_a_jump_of_discrete_ratios_the_answer_there_adds_nothing(scale: float | Fraction, epsilon: float) -> None:
    """Its ratio is e^ε up to rounding, which leaves the bracket an absolute width of 1e-12."""
    noise = nc.DiscreteGaussian(scale)
    curve = nc.privacy_curve(noise)
    exact = max(directions(noise, known_pairs(1), epsilon))
    assert abs(curve.delta(epsilon) - exact) <= mpf("1e-9") * exact
    lower, upper = curve.bracket(epsilon)
    assert lower <= exact <= upper <= exact + 1e-12


@pytest.mark.thorough
def test_wide_noise_leaves_no_count_out_of_deep_deltas() -> None:
    """Given the answer at the threshold, counts still vary by most of their own deviation."""
    noise, pairs = nc.Gaussian(50.0), binomial_pairs(10**4, 0.3, 1400, 6500)
    assert_exact(nc.privacy_curve(noise, nc.Binomial(10**4, 0.3)), pairs, [0.436])


@pytest.mark.parametrize("noise", [nc.Laplace(20.0), nc.DiscreteLaplace(20)])
def test_at_the_last_ratio_of_dependent_records_the_bracket_holds(noise: nc.Mechanism) -> None:
    """0.3 as a float is one part in 10^16 below 6/20, where δ ends: it is known to 1e-11 there."""
    outsider = Outsider.of_table([0.5, 0, 0, 0, 0, 0, 0.5])
    curve = outsider.curve(noise)
    exact = max(directions(noise, outsider.pairs(), 0.3))
    lower, upper = curve.bracket(0.3)
    assert 0 < exact < mpf("1e-16")
    assert lower <= exact <= upper <= 1e-11
    assert curve.directions(math.nextafter(0.3, 1) + 1e-11) == (0.0, 0.0)
