"""Tests of `analysis/privacy/clusters.py`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

import noisycount as nc
from noisycount.analysis.privacy import geometric_answers as chain
from noisycount.analysis.privacy.geometric_answers import Chain
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.analysis.privacy.two_answers import WeightedWindow, hidden_by_count_pairs, weighted_windows
from noisycount.analysis.privacy.workload import Workload
from noisycount.analysis.privacy.workload_answers import WorkloadAnswers
from tests.helpers.cases import case_name
from tests.oracles.drawn import interval, laplace, moved_ratios
from tests.oracles.pairs import Outsider, Pair
from tests.oracles.several import of_pair

SIZE, RATE, SCALE, EPSILON = 1000, 0.1, 3.0, 0.01


def test_two_answers_about_one_database_are_not_two_independent_ones() -> None:
    """They share its randomness: composing says .0522 where .0365 is true, and says it of others.

    Two answers with Gaussian noise tell what their mean tells, whose noise is 1/√2 as wide.
    """
    population = nc.Binomial(SIZE, RATE)
    true = nc.privacy_curve(nc.Gaussian(SCALE / math.sqrt(2)), population).delta(EPSILON)
    counts = np.arange(-60, 300)
    errors = np.exp(-(np.arange(-60, 61) ** 2) / (2 * SCALE**2))
    law = np.convolve(errors / errors.sum(), nc.Binomial(SIZE - 1, RATE).law().pmf(counts))
    lower = {k: math.log(mass) for k, mass in enumerate(law) if mass > 1e-300}
    upper = {k + 1: mass for k, mass in lower.items()}
    composed = privacy_loss_distribution.from_two_probability_mass_functions(
        lower, upper, symmetric=False
    ).self_compose(2)
    assert true == pytest.approx(0.0365, abs=5e-5)
    assert composed.get_delta_for_epsilon(EPSILON) == pytest.approx(0.0522, abs=2e-4)


OUTSIDERS = {
    "four": Outsider(nc.Binomial(4, 0.3)),
    "dependent": Outsider(nc.BetaBinomial(5, 0.5, 1.5)),
    "gaps": Outsider.of_table([0.25, 0.0, 0.5, 0.0, 0.25]),
    "known": Outsider(nc.Known(5, 2)),
    "worst case": Outsider(None),
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
OF_SEVERAL = 0.1


def exact(pairs: Sequence[Pair], mechanisms: Sequence[nc.Mechanism], epsilon: float) -> list[float]:
    """δ₊ and δ₋, each the largest over the pairs."""
    both = [of_pair(pair, mechanisms, epsilon) for pair in pairs]
    return [max(side) for side in zip(*both, strict=True)]


@pytest.mark.parametrize("noises", [*CLOSE, *MIXED], ids=case_name)
@pytest.mark.parametrize("people", OUTSIDERS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5])
def test_discrete_answers_are_those_of_all_databases(people: str, noises: str, epsilon: float) -> None:
    """Both directions, within brackets that are narrow where noises are of one kind.

    With Laplace noise at ε = 0 both sides of the threshold often weigh the same: there the grid of their values is
    felt.
    """
    width = 2e-3 if epsilon == 0 and "Laplace" in noises else 1e-10
    mechanisms = {**CLOSE, **MIXED}[noises]
    curve = nc.privacy_curve(mechanisms, OUTSIDERS[people].told)
    true = exact(OUTSIDERS[people].pairs(), mechanisms, epsilon)
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
    lower, upper = nc.privacy_curve(DENSE[noises], OUTSIDERS[people].told).bracket(0.2)
    (pair,) = OUTSIDERS[people].pairs()
    assert lower - 2e-6 <= max(of_pair(pair, DENSE[noises], 0.2)) <= upper + 2e-6
    assert upper - lower < 2e-4 or len(set(DENSE[noises])) > 1


def test_answers_with_gaussian_noise_tell_what_their_mean_tells() -> None:
    """At q = 1, 16 and 256 as the issue has it, which is δ₊; in the end what the count tells."""
    found = [nc.privacy_curve([nc.Gaussian(3)] * q, THOUSAND).directions(OF_SEVERAL)[0] for q in (1, 16, 256)]
    assert [round(one, 4) for one in found] == [0.0083, 0.0094, 0.0095]
    whole = nc.privacy_curve(nc.Exact(), THOUSAND).directions(OF_SEVERAL)[0]
    assert found[-1] < whole == pytest.approx(found[-1], rel=2e-4)
    assert nc.privacy_curve([nc.Gaussian(3)] * 256).delta(OF_SEVERAL) == pytest.approx(0.992, abs=5e-4)


@pytest.mark.parametrize("noise", [nc.Laplace(3), nc.DiscreteLaplace(3), nc.DiscreteGaussian(3)])
def test_one_answer_of_a_list_has_the_curve_of_one(noise: nc.Mechanism) -> None:
    """To the last digit."""
    one, alone = nc.privacy_curve([noise], THOUSAND), nc.privacy_curve(noise, THOUSAND)
    assert one.bracket([0.01, 0.1])[1].tolist() == alone.bracket([0.01, 0.1])[1].tolist()


@pytest.mark.parametrize("noise", [nc.Laplace, nc.DiscreteLaplace, nc.DiscreteGaussian])
def test_more_answers_never_tell_less(noise: Callable[[float], nc.Mechanism]) -> None:
    """Up to what the count itself tells, in bounds that are close."""
    curves = [nc.privacy_curve([noise(3.0)] * q, THOUSAND) for q in (1, 2, 5, 20)]
    bounds = [curve.bracket(OF_SEVERAL) for curve in [*curves, nc.privacy_curve(nc.Exact(), THOUSAND)]]
    for (low, high), (lower, upper) in pairwise(bounds):
        assert low < upper
        assert high < lower
        assert high - low < 4e-4 * high


@pytest.mark.parametrize("answers", [2, 5])
def test_less_noise_never_tells_less(answers: int) -> None:
    """Whatever the kind."""
    for noise in (nc.Laplace, nc.DiscreteLaplace, nc.DiscreteGaussian):
        bounds = [nc.privacy_curve([noise(scale)] * answers, THOUSAND).bracket(OF_SEVERAL) for scale in (4.0, 2.0, 1.0)]
        assert all(one[1] < other[0] for one, other in pairwise(bounds))


def test_a_chain_and_a_transform_agree() -> None:
    """Two answers about one count are a list whose patterns lie on a line."""
    for noise in (nc.Laplace(1.5), nc.DiscreteLaplace(Fraction(3, 2))):
        told = Workload(30, {(1,): 0.3, (0,): 0.7}, ((noise, noise),))
        plus, minus = WorkloadAnswers(told).directions([OF_SEVERAL])
        lower, upper = nc.privacy_curve([noise] * 2, nc.Binomial(30, 0.3)).bracket(OF_SEVERAL)
        found = max(plus[0].upper, minus[0].upper)
        assert lower <= found
        assert max(plus[0].lower, minus[0].lower) <= upper
        assert found == pytest.approx(upper, rel=3e-4)


@pytest.mark.parametrize("noise", [nc.Laplace(3), nc.DiscreteLaplace(3), nc.DiscreteGaussian(3)])
@pytest.mark.parametrize("answers", [300, 3000])
def test_very_many_answers_have_close_bounds(noise: nc.Mechanism, answers: int) -> None:
    """Below what the count tells, and within 1e-3 of it."""
    whole = nc.privacy_curve(nc.Exact(), THOUSAND).delta(OF_SEVERAL)
    lower, upper = nc.privacy_curve([noise] * answers, THOUSAND).bracket(OF_SEVERAL)
    assert (1 - 1e-3) * whole < lower < upper <= whole * (1 + 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "population", [nc.Binomial(10**9, 0.3), nc.BetaBinomial(10**6, 3, 7), nc.Strata([50, 50], [0.1, 0.4])]
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
    lower, upper = nc.privacy_curve(mixed, THOUSAND).bracket(OF_SEVERAL)
    assert upper == pytest.approx(nc.privacy_curve(nc.Exact(), THOUSAND).delta(OF_SEVERAL), rel=1e-9)
    for noise in mixed:
        assert nc.privacy_curve(noise, THOUSAND).delta(OF_SEVERAL) < lower * (1 + 1e-9)
    for known in (None, nc.Known(10)):
        with pytest.raises(
            ValueError, match=r"^mechanism must be at most 3 noises if all other records are known, .* got 4:"
        ):
            nc.privacy_curve(mixed, known)


PEOPLE = {
    "four": nc.Binomial(4, 0.3),
    "hundred": nc.Binomial(100, 0.1),
    "dependent": nc.BetaBinomial(30, 0.5, 1.5),
    "gaps": nc.Tabulated([0.2, 0.0, 0.3, 0.0, 0.0, 0.2, 0.3]),
}


def windows(people: str, epsilon: float, reach: int) -> list[WeightedWindow]:
    """Both directions around their thresholds."""
    (pair,) = neighbour_pairs(nc.Exact(), PEOPLE[people])
    found = [weighted_windows(one, [epsilon], reach)[0] for one in (pair, pair.mirrored)]
    return [one for one in found if one.is_hidden]


def enumerated(one: WeightedWindow, grid: Chain) -> float:
    """Σ_y min(Σ v·L, Σ −v·L) over every way in which answers lie on a grid, or in its cells."""
    counts = np.arange(-one.below.size, one.above.size) * grid.steps
    weights = np.concatenate([-one.below[::-1], one.above])
    reach = int(40 / grid.slope)
    places = np.arange(counts[0] - reach, counts[-1] + reach + 1.0)
    if grid.is_centred:
        law = np.tanh(grid.slope / 2) * np.exp(-grid.slope * np.abs(places - counts[:, None]))
    else:
        lower = places - counts[:, None]
        nearest = np.minimum(np.abs(lower), np.abs(lower + 1))
        law = -np.expm1(-grid.slope) / 2 * np.exp(-grid.slope * nearest)
    likely = law
    for _ in range(grid.answers - 1):
        likely = (likely[:, :, None] * law[:, None, :]).reshape(counts.size, -1)
    above = weights[counts >= 0] @ likely[counts >= 0]
    below = -weights[counts < 0] @ likely[counts < 0]
    return float(np.minimum(above, below).sum())


GRIDS = [
    ("four", Chain(2, 1.5, 1, is_centred=True, width=0.1)),
    ("four", Chain(2, 0.75, 4, is_centred=False, width=0.1)),
    ("four", Chain(3, 2.0, 2, is_centred=True, width=0.1)),
    ("dependent", Chain(2, 2.0, 1, is_centred=False, width=0.1)),
    ("gaps", Chain(2, 1.25, 2, is_centred=True, width=0.1)),
    ("gaps", Chain(3, 3.0, 1, is_centred=False, width=0.1)),
    ("gaps", Chain(4, 4.0, 1, is_centred=True, width=0.1)),
]


@pytest.mark.parametrize("grid", range(len(GRIDS)))
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_what_is_hidden_is_a_sum_over_all_answers(grid: int, epsilon: float) -> None:
    """By lists of values, or directly of two answers: within bounds that are apart by rounding."""
    people, one = GRIDS[grid]
    found = windows(people, epsilon, 6)
    assert found
    for window, (least, most) in zip(found, one.hidden_parts(found), strict=True):
        true = enumerated(window, one)
        assert least <= true * (1 + 1e-12)
        assert true <= most * (1 + 1e-12)
        assert most - least <= 1e-9 * true + 1e-14


WIDE = [
    ("hundred", Chain(3, 0.3, 1, is_centred=True, width=0.1)),
    ("hundred", Chain(5, 0.25, 2, is_centred=False, width=0.1)),
    ("hundred", Chain(12, 0.4, 1, is_centred=True, width=0.1)),
    ("dependent", Chain(3, 2.0, 1, is_centred=False, width=0.1)),
    ("four", Chain(6, 0.25, 3, is_centred=False, width=0.1)),
    ("gaps", Chain(4, 1.5, 2, is_centred=True, width=0.1)),
]


@pytest.mark.parametrize("width", [0.05, 0.2, 0.9])
@pytest.mark.parametrize("grid", range(len(WIDE)))
def test_clusters_bound_what_lists_of_values_have(grid: int, width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """At ε = 0, where both sides often weigh the same, and beyond; closer if they are narrower."""
    people, one = WIDE[grid][0], replace(WIDE[grid][1], width=width)
    for epsilon in (0.0, 0.2):
        found = windows(people, epsilon, 4)
        monkeypatch.setattr(chain, "_MOST_PATHS", 10**9)
        true = one.hidden_parts(found)
        monkeypatch.setattr(chain, "_MOST_PATHS", 0)
        bounds, only = one.hidden_parts(found), one.hidden_parts(found, with_most=False)
        for window, (least, most), (exact, _), (low, _) in zip(found, bounds, true, only, strict=True):
            assert least <= exact * (1 + 1e-12)
            assert exact <= most * (1 + 1e-12)
            assert low == pytest.approx(least, rel=1e-12)
            assert most - least <= 0.5 * width * exact + 1e-4 * window.known.value


@pytest.mark.parametrize(("noise", "answers"), [("Laplace", 64), ("DiscreteLaplace", 256)])
def test_two_counts_hide_less_than_all_and_pairs_more(noise: str, answers: int) -> None:
    """Their bounds contain what a chain finds, and are close where answers are many."""
    is_discrete = noise == "DiscreteLaplace"
    one_chain = Chain(answers, 1 / 3, 1, is_centred=is_discrete, width=0.1)
    found = windows("hundred", 0.1, 5)
    for one, (low, high) in zip(found, one_chain.hidden_parts(found), strict=True):
        least, most = hidden_by_count_pairs(one, answers, 1 / 3, 1, is_centred=is_discrete)
        assert least <= high
        assert low <= most
        assert answers < 100 or most - least < 1e-3 * most


@pytest.mark.parametrize("answers", [2, 3, 16, 40])
def test_noise_that_hides_nothing_leaves_the_count(answers: int) -> None:
    """Of a scale whose inverse has no exponential, and of one at which it is next to 0."""
    whole = nc.privacy_curve(nc.Exact(), nc.Binomial(100, 0.1)).delta(0.1)
    for scale in (3e-4, 0.01):
        lower, upper = nc.privacy_curve([nc.Laplace(scale)] * answers, PEOPLE["hundred"]).bracket(0.1)
        assert (1 - 1e-6) * whole < lower <= upper <= whole * (1 + 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noise", [nc.Laplace(3), nc.DiscreteLaplace(3), nc.Laplace(20), nc.DiscreteLaplace(20)], ids=case_name
)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("size", [100, 1000])
def test_brackets_are_within_what_is_said(noise: nc.Mechanism, epsilon: float, size: int) -> None:
    """5e-4 of δ, at ε = 0 too, for few and for many answers."""
    for answers in (2, 3, 5, 16) if float(noise.scale) > 3 else (2, 3, 5, 16, 40, 256):
        lower, upper = nc.privacy_curve([noise] * answers, nc.Binomial(size, 0.1)).bracket(epsilon)
        assert upper - lower < 5e-4 * upper + 1e-12


@pytest.mark.thorough
def test_drawn_answers_show_as_much_as_is_computed() -> None:
    """Simulated δ of a count with four Laplace answers agrees with the curve, both ways, at two ε.

    Of 100,000 databases, with bounds that are wrong once in a million; `audits` has more settings.
    """
    size, rate, answers, scale, runs = 1000, 0.1, 4, 5.0, 100_000
    source = np.random.default_rng(18)
    counts = source.binomial(size - 1, rate, runs)
    told = counts[:, None] + source.laplace(0.0, scale, (runs, answers))
    before, after = moved_ratios(size - 1, rate, told, laplace(scale), 80)
    curve = nc.privacy_curve([nc.Laplace(scale)] * answers, nc.Binomial(size, rate))
    for epsilon in (0.0, 0.1):
        for ratio, delta in zip((after, before), curve.directions(epsilon), strict=True):
            low, high = interval(np.maximum(0.0, 1 - math.exp(epsilon) * ratio))
            assert low <= delta <= high
            assert high - low < 0.2 * delta + 1e-3
