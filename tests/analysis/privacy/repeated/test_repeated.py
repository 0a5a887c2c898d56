from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import pytest

import noisycount as nc
from noisycount.analysis.privacy.lists.listed import Listed
from noisycount.analysis.privacy.lists.reduced import ReducedList
from tests.layers import case_name
from tests.oracles.pairs import (
    Pair,
    beta_binomial_pairs,
    binomial_pairs,
    known_pairs,
    tabulated_pairs,
)
from tests.oracles.several import of_pair

GAPS = [0.25, 0.0, 0.5, 0.0, 0.25]
POPULATIONS: dict[str, tuple[nc.Population | None, Callable[[], list[Pair]]]] = {
    "four": (nc.Binomial(4, 0.3), lambda: binomial_pairs(4, 0.3)),
    "dependent": (nc.BetaBinomial(5, 0.5, 1.5), lambda: beta_binomial_pairs(5, 0.5, 1.5)),
    "gaps": (nc.Tabulated(GAPS), lambda: tabulated_pairs(GAPS)),
    "known": (nc.Known(5, 2), lambda: known_pairs(5, 2)),
    "worst case": (None, lambda: known_pairs(3, 1)),
}
HALF = Fraction(1, 2)
CLOSE: dict[str, list[nc.Mechanism]] = {
    "discrete Laplace": [nc.DiscreteLaplace(HALF)] * 2,
    "three discrete Laplace": [nc.DiscreteLaplace(HALF)] * 3,
    "discrete Gaussian": [nc.DiscreteGaussian(1)] * 2,
    "discrete Gaussian of two scales": [nc.DiscreteGaussian(1), nc.DiscreteGaussian(2)],
    "one without noise": [nc.DiscreteLaplace(HALF), nc.Exact()],
}
MIXED: dict[str, list[nc.Mechanism]] = {
    "scales": [nc.DiscreteLaplace(HALF), nc.DiscreteLaplace(1)],
    "kinds": [nc.DiscreteLaplace(HALF), nc.DiscreteGaussian(1)],
}
DENSE: dict[str, list[nc.Mechanism]] = {
    "Laplace": [nc.Laplace(1.0)] * 2,
    "Gaussian": [nc.Gaussian(1.0), nc.Gaussian(2.0)],
    "Laplace of two scales": [nc.Laplace(1.0), nc.Laplace(2.0)],
}
THOUSAND = nc.Binomial(1000, 0.1)
EPSILON = 0.1


def exact(pairs: Sequence[Pair], mechanisms: Sequence[nc.Mechanism], epsilon: float) -> list[float]:
    """δ₊ and δ₋, each the largest over the pairs."""
    both = [of_pair(pair, mechanisms, epsilon) for pair in pairs]
    return [max(side) for side in zip(*both, strict=True)]


@pytest.mark.few(3)
@pytest.mark.parametrize("noises", [*CLOSE, *MIXED], ids=case_name)
@pytest.mark.parametrize("people", POPULATIONS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5])
def test_discrete_answers_are_those_of_all_databases(
    people: str, noises: str, epsilon: float
) -> None:
    """Both directions, within brackets that are narrow where noises are of one kind.

    With Laplace noise at ε = 0 both sides of the threshold often weigh the same: there the grid of
    their values is felt.
    """
    width = 2e-3 if epsilon == 0 and "Laplace" in noises else 1e-10
    population, pairs = POPULATIONS[people]
    mechanisms = {**CLOSE, **MIXED}[noises]
    curve = nc.privacy_curve(mechanisms, population)
    true = exact(pairs(), mechanisms, epsilon)
    lower, upper = curve.bracket(epsilon)
    assert lower - 1e-15 <= max(true) <= upper + 1e-15
    if noises in CLOSE:
        assert upper - lower < width
        assert curve.directions(epsilon) == pytest.approx(tuple(true), abs=width)


@pytest.mark.thorough
@pytest.mark.parametrize("noises", DENSE, ids=case_name)
@pytest.mark.parametrize("people", ["four", "gaps", "worst case"])
def test_dense_answers_are_integrals_over_all_answers(people: str, noises: str) -> None:
    """Within brackets of 2e-4 for one kind of noise, whatever the population."""
    population, pairs = POPULATIONS[people]
    lower, upper = nc.privacy_curve(DENSE[noises], population).bracket(0.2)
    (pair,) = pairs()
    assert lower - 2e-6 <= max(of_pair(pair, DENSE[noises], 0.2)) <= upper + 2e-6
    assert upper - lower < 2e-4 or len(set(DENSE[noises])) > 1


def test_answers_with_gaussian_noise_tell_what_their_mean_tells() -> None:
    """At q = 1, 16 and 256 as the issue has it, which is δ₊; in the end what the count tells."""
    found = [
        nc.privacy_curve([nc.Gaussian(3)] * q, THOUSAND).directions(EPSILON)[0]
        for q in (1, 16, 256)
    ]
    assert [round(one, 4) for one in found] == [0.0083, 0.0094, 0.0095]
    whole = nc.privacy_curve(nc.Exact(), THOUSAND).directions(EPSILON)[0]
    assert found[-1] < whole == pytest.approx(found[-1], rel=2e-4)
    assert nc.privacy_curve([nc.Gaussian(3)] * 256).delta(EPSILON) == pytest.approx(0.992, abs=5e-4)


@pytest.mark.parametrize("noise", [nc.Laplace(3), nc.DiscreteLaplace(3), nc.DiscreteGaussian(3)])
def test_one_answer_of_a_list_has_the_curve_of_one(noise: nc.Mechanism) -> None:
    """To the last digit."""
    one, alone = nc.privacy_curve([noise], THOUSAND), nc.privacy_curve(noise, THOUSAND)
    assert one.bracket([0.01, 0.1])[1].tolist() == alone.bracket([0.01, 0.1])[1].tolist()


@pytest.mark.parametrize("noise", [nc.Laplace, nc.DiscreteLaplace, nc.DiscreteGaussian])
def test_more_answers_never_tell_less(noise: Callable[[float], nc.Mechanism]) -> None:
    """Up to what the count itself tells, in bounds that are close."""
    curves = [nc.privacy_curve([noise(3.0)] * q, THOUSAND) for q in (1, 2, 5, 20)]
    bounds = [curve.bracket(EPSILON) for curve in [*curves, nc.privacy_curve(nc.Exact(), THOUSAND)]]
    for (low, high), (lower, upper) in pairwise(bounds):
        assert low < upper
        assert high < lower
        assert high - low < 4e-4 * high


@pytest.mark.parametrize("answers", [2, 5])
def test_less_noise_never_tells_less(answers: int) -> None:
    """Whatever the kind."""
    for noise in (nc.Laplace, nc.DiscreteLaplace, nc.DiscreteGaussian):
        bounds = [
            nc.privacy_curve([noise(scale)] * answers, THOUSAND).bracket(EPSILON)
            for scale in (4.0, 2.0, 1.0)
        ]
        assert all(one[1] < other[0] for one, other in pairwise(bounds))


def test_a_chain_and_a_transform_agree() -> None:
    """Two answers about one count are a list whose patterns lie on a line."""
    for noise in (nc.Laplace(1.5), nc.DiscreteLaplace(Fraction(3, 2))):
        told = ReducedList(30, {(1,): 0.3, (0,): 0.7}, ((noise, noise),))
        plus, minus = Listed(told).directions([EPSILON])
        lower, upper = nc.privacy_curve([noise] * 2, nc.Binomial(30, 0.3)).bracket(EPSILON)
        found = max(plus[0].upper, minus[0].upper)
        assert lower <= found
        assert max(plus[0].lower, minus[0].lower) <= upper
        assert found == pytest.approx(upper, rel=3e-4)


@pytest.mark.parametrize("noise", [nc.Laplace(3), nc.DiscreteLaplace(3), nc.DiscreteGaussian(3)])
@pytest.mark.parametrize("answers", [300, 3000])
def test_very_many_answers_have_close_bounds(noise: nc.Mechanism, answers: int) -> None:
    """Below what the count tells, and within 1e-3 of it."""
    whole = nc.privacy_curve(nc.Exact(), THOUSAND).delta(EPSILON)
    lower, upper = nc.privacy_curve([noise] * answers, THOUSAND).bracket(EPSILON)
    assert (1 - 1e-3) * whole < lower < upper <= whole * (1 + 1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "population",
    [nc.Binomial(10**9, 0.3), nc.BetaBinomial(10**6, 3, 7), nc.Strata([50, 50], [0.1, 0.4])],
)
def test_answers_about_other_populations_have_close_bounds(population: nc.Population) -> None:
    """Wide ones, dependent ones, and records of several kinds, with narrow and with wide noise."""
    for noise in (nc.DiscreteLaplace(2), nc.DiscreteGaussian(40), nc.Laplace(0.01)):
        curve = nc.privacy_curve([noise] * 3, population)
        epsilon = curve.epsilon(1e-3)
        lower, upper = curve.bracket(epsilon)
        assert 0.999 * upper < lower <= upper <= 1e-3


def test_mixed_noises_have_true_bounds_beyond_three_answers() -> None:
    """At least each kind alone, at most the count; and none beside all others known."""
    mixed = [nc.DiscreteLaplace(3), nc.DiscreteLaplace(5), nc.Gaussian(3), nc.DiscreteGaussian(3)]
    lower, upper = nc.privacy_curve(mixed, THOUSAND).bracket(EPSILON)
    assert upper == pytest.approx(nc.privacy_curve(nc.Exact(), THOUSAND).delta(EPSILON), rel=1e-9)
    for noise in mixed:
        assert nc.privacy_curve(noise, THOUSAND).delta(EPSILON) < lower * (1 + 1e-9)
    for known in (None, nc.Known(10)):
        with pytest.raises(
            ValueError, match=r"^mechanism must be at most 3 noises where .* got 4:"
        ):
            nc.privacy_curve(mixed, known)
