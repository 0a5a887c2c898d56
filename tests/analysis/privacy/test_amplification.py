import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from noisycount.analysis.privacy.smallest_scale import amplified_directions
from tests.oracles.pairs import binomial_pairs
from tests.oracles.privacy import directions
from tests.oracles.subsampled_sum import subsampled_deltas

SIZES = [(2, 1), (3, 2), (7, 6), (10, 10), (50, 5), (100, 99), (1000, 1), (1000, 100), (10**9, 300)]
RATES = [1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.95, 1 - 1e-4]
EPSILONS = np.concatenate([[0.0], np.geomspace(1e-6, 20, 24)])
NUMERICS = 1e-9


def pure_deltas(drawn: int, rate: float, growth: mpf) -> tuple[mpf, mpf]:
    """δ₊ and δ₋ of the count of `drawn` records at ln(growth), from the definition."""
    return directions(nc.Exact(), binomial_pairs(drawn, rate), mp.log(growth))


@pytest.mark.parametrize(("size", "drawn"), [(2, 1), (5, 2), (12, 11), (30, 7)])
@pytest.mark.parametrize("rate", [0.001, 0.3, 0.5, 0.98])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 4.0])
def test_the_sum_over_counts_is_the_sum_over_databases(size: int, drawn: int, rate: float, epsilon: float) -> None:
    """The grids' reference is within 1e-12 of the hypergeometric mixture in 50 digits."""
    fast = subsampled_deltas(size, drawn, rate, np.array(epsilon))
    true = directions(nc.Subsample(drawn), binomial_pairs(size, rate), epsilon)
    for ours, exact in zip(fast, true, strict=True):
        assert abs(float(ours) - exact) <= 1e-12 * exact + mpf("1e-17")


@pytest.mark.parametrize(("size", "drawn"), SIZES)
@pytest.mark.parametrize("rate", RATES)
def test_the_bound_is_never_below_the_sample(size: int, drawn: int, rate: float) -> None:
    """In both directions, by the independent sum; equal at ε = 0 and for a sample of all."""
    bounds = amplified_directions(size, drawn, rate, EPSILONS)
    for bound, exact in zip(bounds, subsampled_deltas(size, drawn, rate, EPSILONS), strict=True):
        assert (bound >= exact * (1 - NUMERICS) - 1e-300).all()
        equal = EPSILONS == 0 if drawn < size else EPSILONS >= 0
        assert bound[equal] == pytest.approx(exact[equal], rel=NUMERICS, abs=1e-300)


@pytest.mark.parametrize(("size", "drawn"), SIZES)
def test_the_bound_as_it_is_printed_is_never_below_the_curve(size: int, drawn: int) -> None:
    """To the last bit, also where both are equal but for rounding."""
    for rate in RATES:
        curve = nc.privacy_curve(nc.Subsample(drawn), nc.Binomial(size, rate))
        assert (curve.delta(EPSILONS) <= nc.amplified_delta(size, drawn, rate, EPSILONS)).all()


@pytest.mark.parametrize(("size", "drawn"), [(2, 1), (10, 10), (40, 3), (1000, 100), (10**9, 30)])
@pytest.mark.parametrize("rate", [1e-9, 0.01, 0.5, 0.9, 1 - 2**-53])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.01, 1.0, 30.0, 700.0])
def test_the_bound_is_what_theorem_4_3_says(size: int, drawn: int, rate: float, epsilon: float) -> None:
    """λ(1 − (1 − β)π)·δ₊,m(ε), and 1 − π in the other direction, in 50 digits."""
    fraction, target = mpf(drawn) / size, mp.exp(mpf(epsilon))
    growth = 1 + (target - 1) / fraction
    shares = mpf(rate), 1 - mpf(rate)
    pure = pure_deltas(drawn, rate, growth)
    bounds = amplified_directions(size, drawn, rate, epsilon)
    for bound, share, delta in zip(bounds, shares, pure, strict=True):
        exact = fraction * (1 - (1 - target / growth) * share) * delta
        assert abs(float(bound) - exact) <= NUMERICS * exact + mpf("1e-300")


@pytest.mark.parametrize(("size", "drawn"), [(2, 1), (10, 9), (60, 12), (10**6, 80)])
@pytest.mark.parametrize("rate", [0.004, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.03, 0.3, 2.0])
def test_the_exact_value_is_what_theorem_4_4_says(size: int, drawn: int, rate: float, epsilon: float) -> None:
    """λ·u·δ₊,m(ln(v/u)), or 0, by the independent sum."""
    fraction, target = mpf(drawn) / size, mp.exp(mpf(epsilon))
    rise = (target - 1) / fraction
    for side, share in enumerate((mpf(rate), 1 - mpf(rate))):
        kept = 1 - (1 - fraction) * rise * share
        exact = mpf(0)
        if kept > 0:
            exact = fraction * kept * pure_deltas(drawn, rate, (kept + rise) / kept)[side]
        found = subsampled_deltas(size, drawn, rate, np.array(epsilon))[side]
        assert abs(float(found) - exact) <= 1e-11 * exact + mpf("1e-17")


@pytest.mark.parametrize(("size", "drawn"), SIZES)
@pytest.mark.parametrize("rate", RATES)
def test_the_bound_lies_between_the_sample_and_the_conjecture(size: int, drawn: int, rate: float) -> None:
    """δ of `Subsample` <= the bound <= λ·δ of `Exact` on the sample's size, by the curves."""
    bound = nc.amplified_delta(size, drawn, rate, EPSILONS)
    larger = np.log1p(np.expm1(EPSILONS) * size / drawn)
    conjectured = drawn / size * nc.privacy_curve(nc.Exact(), nc.Binomial(drawn, rate)).delta(larger)
    exact = nc.privacy_curve(nc.Subsample(drawn), nc.Binomial(size, rate)).delta(EPSILONS)
    assert (exact <= bound * (1 + NUMERICS) + 1e-300).all()
    assert (bound <= conjectured * (1 + NUMERICS) + 1e-300).all()


@pytest.mark.parametrize(
    "noise",
    [None, nc.Laplace(2.0), nc.Gaussian(1.5), nc.DiscreteLaplace(2), nc.DiscreteGaussian(3)],
    ids=["none", "laplace", "gaussian", "discrete-laplace", "discrete-gaussian"],
)
@pytest.mark.parametrize(("size", "drawn", "rate"), [(20, 19, 0.3), (1000, 100, 0.1)])
def test_noise_on_a_sample_is_noise_on_the_count_of_its_size(
    noise: nc.Mechanism | None, size: int, drawn: int, rate: float
) -> None:
    """Theorem 4.4 by two curves: a sample with noise, and the noise on as many records."""
    epsilons = np.array([0.0, 0.001, 0.01, 0.02])
    sample = nc.privacy_curve(nc.Subsample(drawn, noise), nc.Binomial(size, rate)).directions(epsilons)
    whole = nc.privacy_curve(noise or nc.Exact(), nc.Binomial(drawn, rate))
    rise = np.expm1(epsilons) * size / drawn
    for side, share in enumerate((rate, 1 - rate)):
        kept = 1 - (size - drawn) / size * rise * share
        exact = drawn / size * kept * whole.directions(np.log1p(rise / kept))[side]
        assert sample[side] == pytest.approx(exact, rel=NUMERICS)


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.875])
def test_rates_mirror_the_directions(rate: float) -> None:
    """Adding a positive record at rate π equals removing a negative one at rate 1 − π, and vice versa."""
    plus, minus = amplified_directions(500, 40, rate, EPSILONS)
    mirrored = amplified_directions(500, 40, 1 - rate, EPSILONS)
    assert plus == pytest.approx(mirrored[1], rel=NUMERICS, abs=1e-300)
    assert minus == pytest.approx(mirrored[0], rel=NUMERICS, abs=1e-300)


Query = Callable[[tuple[int, ...]], object]
QUERIES: list[Query] = [sum, max, lambda values: tuple(sorted(values)), lambda v: sorted(v)[1]]


def databases(chances: dict[int, Fraction], first: int, size: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Each database of `size` records, the first of them known, and its probability."""
    for others in product(chances, repeat=size - 1):
        yield (first, *others), math.prod((chances[one] for one in others), start=Fraction(1))


def law_of(pairs: Iterable[tuple[object, Fraction]]) -> dict[object, Fraction]:
    """The probabilities of equal answers, added up."""
    law: dict[object, Fraction] = {}
    for answer, chance in pairs:
        law[answer] = law.get(answer, Fraction(0)) + chance
    return law


def delta_of(laws: list[dict[object, Fraction]], growth: Fraction) -> Fraction:
    """The largest hockey-stick divergence between two of the laws."""
    return max(
        sum((max(Fraction(0), chance - growth * q.get(a, 0)) for a, chance in p.items()), Fraction(0))
        for p, q in product(laws, repeat=2)
    )


@pytest.mark.parametrize("query", QUERIES, ids=["sum", "largest", "table", "second"])
@pytest.mark.parametrize("drawn", [2, 3, 4])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(21, 20), Fraction(3, 2), Fraction(4)])
def test_the_conjecture_holds_for_other_symmetric_queries(query: Query, drawn: int, growth: Fraction) -> None:
    """Records of three values, every database and every sample, in exact rationals (Theorem 4.2)."""
    size, chances = 4, {0: Fraction(1, 2), 1: Fraction(1, 3), 5: Fraction(1, 6)}
    fraction = Fraction(drawn, size)
    places = list(combinations(range(size), drawn))
    whole, sampled = [], []
    for first in chances:
        known = databases(chances, first, drawn)
        whole.append(law_of((query(values), chance) for values, chance in known))
        sampled.append(
            law_of(
                (query(tuple(values[place] for place in chosen)), chance / len(places))
                for values, chance in databases(chances, first, size)
                for chosen in places
            )
        )
    smaller = 1 + fraction * (growth - 1)
    assert delta_of(sampled, smaller) <= fraction * delta_of(whole, growth)


def test_shapes_are_kept() -> None:
    """A single ε gives a float, and an array gives an array of its shape with the same values."""
    grid = np.array([[0.0, 0.1], [0.01, 2.0]])
    bounds = nc.amplified_delta(100, 10, 0.3, grid)
    assert isinstance(bounds, np.ndarray)
    assert bounds.shape == grid.shape
    singles = [nc.amplified_delta(100, 10, 0.3, epsilon) for epsilon in grid.ravel().tolist()]
    assert all(type(single) is float for single in singles)
    assert bounds.ravel().tolist() == pytest.approx(singles, rel=1e-14)
