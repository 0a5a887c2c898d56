"""Sums of independent counts: transforms beside sums of positive terms."""

import math

import numpy as np
import pytest

from noisycount.analysis.tables.given_sums import ConditionalAverages, law_by_characteristic
from noisycount.analysis.tables.sums import FastSum, PositiveSum, log_bounds, moments, sum_bounds
from noisycount.model.laws.gamma import Reals

CASES = [  # nodes, sets, summands, width, scale
    (1, 1, 2, 5, 1.0),
    (2, 2, 3, 40, 3.0),
    (1, 1, 33, 60, 2.0),
    (1, 2, 70, 25, 1.0),
    (3, 1, 12, 200, 8.0),
    (1, 1, 1, 30, 3.0),
    (2, 1, 9, 1, 1.0),
]


def peaked(case: tuple[int, int, int, int, float]) -> Reals:
    """Laws that fall on both sides of a random place, as likelihoods under noise do."""
    nodes, sets, summands, width, scale = case
    random = np.random.default_rng(sum(case[:4]))
    middle = random.uniform(0, width, (nodes, sets, summands, 1))
    weights = np.exp(-np.abs(np.arange(width) - middle) / scale)
    weights *= random.uniform(0.5, 1.5, weights.shape)
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("case", CASES)
def test_the_law_of_a_sum_is_that_of_positive_terms(case: tuple[int, int, int, int, float]) -> None:
    """Within 1e-14 of the largest probability, in the places that are kept."""
    weights = peaked(case)
    fast, exact = FastSum(weights), PositiveSum(weights)
    for node, first in enumerate(fast.first.tolist()):
        kept = exact.law[node][:, first : first + fast.law.shape[-1]]
        found = fast.law[node][:, : kept.shape[-1]]
        assert np.abs(found - kept).max() <= 2e-14 * kept.max()
        assert exact.law[node].sum() - kept.sum() <= 1e-13


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_to_each_summand_is_within_the_stated_rounding(case: tuple[int, int, int, int, float]) -> None:
    """The stated bound holds at every place, and is small where the outside meets the sum."""
    weights = peaked(case)
    fast, exact = FastSum(weights), PositiveSum(weights)
    places = np.arange(exact.law.shape[-1])
    mean = (exact.law * places).sum(axis=-1, keepdims=True)
    outside = np.exp(-0.5 * ((places - mean - 3) / (2 * case[4] + 1)) ** 2)
    kept = np.zeros_like(fast.law)
    for node, first in enumerate(fast.first.tolist()):
        part = outside[node, :, first : first + kept.shape[-1]]
        kept[node, :, : part.shape[-1]] = part
    found, expected = fast.leave_one_out(kept), exact.leave_one_out(outside)
    error = np.abs(found.values - expected.values).max(axis=(-1, -2))
    assert (error <= found.rounding + 1e-15).all()
    assert (found.rounding <= 1e-12).all()


@pytest.mark.parametrize("case", CASES[:5])
def test_both_tails_are_within_their_bounds(case: tuple[int, int, int, int, float]) -> None:
    """No probability exceeds Chernoff's bound, and little lies beyond the bounds of the sum."""
    weights = peaked(case)
    law = PositiveSum(weights).law
    known = moments(weights)
    places = np.broadcast_to(np.arange(law.shape[-1], dtype=np.float64), law.shape)
    with np.errstate(divide="ignore"):
        assert (np.log(law) <= log_bounds(weights, known, places) + 1e-9).all()
    low, high = sum_bounds(weights, known)
    outside = (places < low[..., None]) | (places > high[..., None])
    assert (np.where(outside, law, 0).sum(axis=-1) <= 2e-21).all()


def test_a_law_comes_back_from_its_characteristic_function() -> None:
    """A wide law from few angles, a law with a spike from all."""
    places = np.arange(-300, 301)
    wide = np.exp(-0.5 * (places / 30.0) ** 2)
    spiked = np.where(places == -2, 5.0, np.exp(-np.abs(places - 4) / 2.0))
    for law in (wide / wide.sum(), spiked / spiked.sum()):
        centre = round(float(law @ places))
        deviation = float(np.sqrt(law @ (places - centre) ** 2))

        def turned(angles: Reals, law: Reals = law, centre: int = centre) -> Reals:
            return np.exp(1j * angles[:, None] * (places - centre)) @ law

        reach = -300 - centre, 300 - centre
        low, found = law_by_characteristic(turned, float(law @ places) - centre, deviation, reach)
        start = centre + low + 300
        assert np.abs(found - law[start : start + found.size]).max() < 5e-15


def test_few_angles_invert_a_sum_of_many_cells() -> None:
    """A longer run computes only the angles between those of the shorter one."""
    places, angles = np.arange(2001), []
    law = np.exp(-0.5 * ((places - 1000) / 30.0) ** 2)
    law /= law.sum()

    def turned(new_angles: Reals) -> Reals:
        angles.extend(new_angles.tolist())
        return np.exp(1j * new_angles[:, None] * (places - 1000)) @ law

    for deviation, most in ((30.0, 48), (5.0, 96)):
        angles.clear()
        low, found = law_by_characteristic(turned, float(law @ places) - 1000, deviation, (-1000, 1000), 1e-9)
        assert np.abs(found - law[1000 + low :][: found.size]).max() < 1e-9
        assert len(set(angles)) == len(angles) <= most


@pytest.mark.thorough
def test_mass_far_beyond_the_deviation_is_not_folded_back() -> None:
    """Of a law with a rare part far away, or with a deviation that was said too small."""
    places = np.arange(0, 2001)
    near, far = (np.exp(-np.abs(places - at) / 2.0) for at in (100, 1900))
    law = near / near.sum() + 1e-5 * far / far.sum()
    law /= law.sum()

    def turned(angles: Reals) -> Reals:
        return np.exp(1j * angles[:, None] * (places - 100)) @ law

    low, found = law_by_characteristic(turned, float(law @ places) - 100, 3.0, (-100, 1900))
    start = 100 + low
    assert np.abs(found - law[start : start + found.size]).max() < 5e-15
    assert found @ np.arange(start, start + found.size) == pytest.approx(law @ places, rel=1e-12)


def test_what_is_no_characteristic_function_is_refused() -> None:
    """A function that is not 1 at 0, or is above 1 anywhere, raises ArithmeticError."""
    for wrong in (-1.4e117, 1.001, math.nan):
        with pytest.raises(ArithmeticError, match="must be 1 at 0"):
            law_by_characteristic(lambda t, w=wrong: np.full(t.size, w + 0j), 0.0, 1.0, (-50, 50))


@pytest.mark.parametrize("distance", [0, 30, 60])
def test_averages_given_a_sum_keep_within_1_however_rare_it_is(distance: int) -> None:
    """Averages are exact to 1e-12, however unlikely the sum that they are given."""
    places = np.arange(400)
    law = np.exp(-np.abs(places - 60) / 1.0)[None]
    law /= law.sum()
    whole = PositiveSum(np.stack([law, law], axis=1)[None])
    given = np.where(np.arange(whole.length) == 120 + distance, 1.0, 0.0)
    crossing = ConditionalAverages.from_parts(
        whole, np.ones_like(whole.law[0]), [(0, law), (0, law)], given, is_rough=False
    )
    angles = np.linspace(0, math.pi, 16)
    turned = law * np.exp(1j * angles[:, None] * places)[:, None]
    found = crossing.averages([turned, law[None] + 0j])[:, 120 + distance]
    assert bool(crossing.length) == (distance == 0)
    first = np.arange(distance + 121)
    weights = law[0][first] * law[0][120 + distance - first]
    exact = np.exp(1j * angles[:, None] * first) @ (weights / weights.sum())
    assert np.abs(found - exact).max() <= 1e-12


@pytest.mark.parametrize("summands", [7, 70])
@pytest.mark.parametrize("wanted", [(300, 300), (0, 40), (250, 420), (10**6, 10**6)])
def test_wanted_sums_have_the_probabilities_that_they_have_among_all_sums(
    summands: int, wanted: tuple[int, int]
) -> None:
    """A transform that is long enough for the wanted sums alone gives them no other sum, also without one summand."""
    generator = np.random.default_rng(summands)
    weights = generator.dirichlet(np.full(60, 0.4), (1, 2, summands))
    low, high = (np.array([end]) for end in wanted)
    part, whole = FastSum(weights, (low, high)), FastSum(weights)
    start = int(part.first[0] - whole.first[0])
    expected = whole.law[:, :, start : start + part.law.shape[-1]]
    assert part.law == pytest.approx(expected, rel=1e-9, abs=1e-16)
    assert part.length <= whole.length
    outside = np.zeros(whole.law.shape)
    outside[:, :, start : start + part.law.shape[-1]] = 1.0
    others = part.leave_one_out(np.ones(part.law.shape)).values
    assert others == pytest.approx(whole.leave_one_out(outside).values, rel=1e-9, abs=1e-15)
