import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount import DiscreteGaussian, DiscreteLaplace
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.tables.threshold import delta_of_threshold, smallest_surely_shown, threshold

mp.dps = 60

LAPLACE = [
    Fraction(1, 7),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(355, 113),
    Fraction(1000),
    Fraction(10**6),
]
GAUSSIAN = [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(18), Fraction(150)]
NOISES = [*map(DiscreteLaplace, LAPLACE), *map(DiscreteGaussian, GAUSSIAN)]
DELTAS = [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**12), Fraction(1, 10**40)]
GROUPS = [1, 3, 1000]


@cache
def gaussian_tails(scale: Fraction) -> list[mpf]:
    """P[Z >= z] for z = 0, 1, ... by summation."""
    reach = math.ceil(25 * scale) + 3
    masses = [mp.exp(-mpf(z * z) / (2 * mpf(scale.numerator) ** 2) * scale.denominator**2) for z in range(reach)]
    whole = 2 * mp.fsum(masses) - 1
    sums, tails = mpf(0), []
    for mass in reversed(masses):
        sums += mass
        tails.append(sums / whole)
    return tails[::-1]


def tail(noise: DiscreteNoise, z: int) -> mpf:
    """P[Z >= z] by the definition of the law."""
    if z <= 0:
        return 1 - tail(noise, 1 - z)
    if isinstance(noise, DiscreteLaplace):
        q = mp.exp(-mpf(noise.scale.denominator) / noise.scale.numerator)
        return q**z / (1 + q)
    tails = gaussian_tails(noise.scale)
    return tails[z] if z < len(tails) else mpf(0)


def chance(noise: DiscreteNoise, place: int, groups: int) -> mpf:
    """δ(T) by the definition: some key of a count of 1 is at least T."""
    return 1 - (1 - tail(noise, place - 1)) ** groups


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("delta", DELTAS, ids=lambda delta: f"{float(delta):g}")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_threshold_is_the_smallest(noise: DiscreteNoise, delta: Fraction, groups: int) -> None:
    """At it δ(T) is at most δ, one below it is not, in 60 digits."""
    place = threshold(noise, delta, groups)
    bound = mpf(delta.numerator) / delta.denominator

    def keeps(at: int) -> bool:
        return chance(noise, at, groups) <= bound

    assert keeps(place)
    assert place == 1 or not keeps(place - 1)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_delta_of_a_threshold_is_never_below_the_truth(noise: DiscreteNoise, groups: int) -> None:
    """And above it by less than 2e-10 of it."""
    scale = float(noise.scale)
    for place in {1, 2, 3, *(1 + math.ceil(scale * times) for times in (0.5, 1, 3, 10))}:
        exact = chance(noise, place, groups)
        if exact > mpf(10) ** -300:
            found = delta_of_threshold(noise, place, groups)
            assert exact <= found <= exact * (1 + mpf(2) / 10**10)


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_the_count_that_surely_appears_is_the_smallest(noise: DiscreteNoise, confidence: float) -> None:
    """It reaches the threshold with the confidence, and one less does not."""
    place = threshold(noise, Fraction(1, 10**6), 1)
    count = smallest_surely_shown(noise, place, confidence)
    assert tail(noise, place - count) >= confidence
    assert count == 1 or tail(noise, place - count + 1) < confidence


def test_a_strict_tail_is_too_small() -> None:
    """P[Z > T − 1], as some peers have it, understates δ by e^(1/scale): T is one too low."""
    noise, delta = DiscreteLaplace(1), Fraction(1, 10**6)
    strict = next(place for place in range(1, 99) if tail(noise, place) <= mpf(delta.numerator) / delta.denominator)
    right = threshold(noise, delta, 1)
    assert strict == right - 1
    assert chance(noise, strict, 1) > delta
    assert delta_of_threshold(noise, strict) > delta
    assert chance(noise, strict, 1) / tail(noise, strict) == pytest.approx(math.e)


REACH = 60


def outcomes(noise: DiscreteNoise, counts: list[int], place: int) -> np.ndarray:
    """The joint law of what is shown of some keys: hidden, or a number from the threshold on."""
    law = np.ones(1)
    for count in counts:
        one = np.zeros(REACH + 1)
        one[0] = 1
        if count:
            shown = np.array([float(tail(noise, z - count)) for z in range(place, place + REACH + 1)])
            one[1:] = shown[:-1] - shown[1:]
            one[0] = 1 - shown[0]
        law = np.multiply.outer(law, one).ravel()
    return law


def moves(groups: int, *, replaced: bool) -> list[tuple[list[int], list[int]]]:
    """Return the effects of a unit on a few counts: on keys of its own, and on keys of other units."""
    steps = [(0, 1), (2, 3), (1, 0), (3, 2)]
    found = []
    for count in range(1, 4 if replaced else groups + 1):
        for step in product(steps, repeat=count):
            before, after = (list(side) for side in zip(*step, strict=True))
            comes = sum(a > b for b, a in step)
            goes = count - comes
            if max(comes, goes) <= groups and (replaced or not min(comes, goes)):
                found.append((before, after))
    return found


@pytest.mark.thorough
@pytest.mark.few(2)
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("place", [1, 2, 5])
def test_no_unit_shows_more_than_epsilon_and_delta(place: int, groups: int, *, replaced: bool) -> None:
    """The exact joint laws of all that is shown, for every move; a key of one's own reaches δ."""
    noise = DiscreteLaplace(Fraction(3, 2))
    epsilon = (2 if replaced else 1) * groups / float(noise.scale)
    claimed = float(chance(noise, place, groups))
    worst = 0.0
    for before, after in moves(groups, replaced=replaced):
        law, other = outcomes(noise, before, place), outcomes(noise, after, place)
        worst = max(worst, float(np.maximum(law - math.exp(epsilon) * other, 0).sum()))
    assert worst == pytest.approx(claimed, abs=1e-12)
