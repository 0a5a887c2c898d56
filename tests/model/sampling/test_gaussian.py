import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.model.sampling import scalar as sampler
from noisycount.model.sampling import vectors as many
from noisycount.model.sampling.scalar import LARGEST_TERM, RandomIntegers, bernoulli_exp, discrete_gaussian
from noisycount.model.sampling.vectors import _bernoulli_exp_half_square, _bernoulli_exp_power, discrete_gaussian_array
from tests.oracles.chi_square import chi_square_p_value
from tests.oracles.enumeration import (
    Script,
    ScriptOfComparisons,
    Undecided,
    Uniform,
    bracket,
    enumerated,
    scripted_exponential,
)

SCALES = [
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(1000),
    Fraction(10**6),
    Fraction(123_456_789_012_345, 98_765_432_101),
    Fraction(2**53 - 1, 2**53 - 3),
]
SMALL_SCALES = [Fraction(scale) for scale in ("1/2", "1", "3/2", "2", "7/3", "3")]
FALSE_ALARM = 1e-6 / (2 * len(SCALES))


def probability(value: int, scale: Fraction) -> mpf:
    """P[Z = value] of the discrete Gaussian law of a small scale."""
    variance = mpf(scale.numerator) ** 2 / scale.denominator**2
    weights = [mp.exp(-mpf(z * z) / (2 * variance)) for z in range(-300, 301)]
    return mp.exp(-mpf(value * value) / (2 * variance)) / mp.fsum(weights)


def gaussian_p_value(draws: np.ndarray, scale: Fraction) -> float:
    """The p-value of draws against the discrete Gaussian law of that scale."""
    reach = int(9 * scale) + 9
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / float(scale)) ** 2)
    cumulative = np.concatenate(([0.0], np.cumsum(weights))) / weights.sum()
    return chi_square_p_value(draws, float(scale), lambda edge: mpf(cumulative[edge + reach]))


def decided_mass_is_exact(draw: Callable[[Script], object], chance: mpf) -> bool:
    """Whether the enumerated probability of True is `chance` within the undecided mass."""
    masses, undecided = enumerated(draw, ScriptOfComparisons, 1e-9)
    assert undecided < Fraction(1, 10**6)
    low, high = bracket(masses[True], undecided)
    return bool(low <= chance <= high)


@pytest.mark.parametrize("gamma", [Fraction(4, 3), Fraction(2), Fraction(7, 2), Fraction(5)])
def test_exponentials_of_more_than_one_unit_are_exact(gamma: Fraction) -> None:
    """Whole units of γ are split off; the enumerated mass is e^−γ."""
    assert decided_mass_is_exact(
        lambda integers: bernoulli_exp(gamma.numerator, gamma.denominator, integers),
        mp.exp(-mpf(gamma.numerator) / gamma.denominator),
    )


@cache
def laplace_chances(scale: Fraction) -> list[Fraction]:
    """P[Z = 0], P[Z = 1], P[Z = −1] and so on of the discrete Laplace law, in 20 digits."""
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)
    sizes = [0, *(size for size in range(1, math.ceil(20 * scale) + 13) for _ in "+-")]
    return [Fraction(mp.nstr((1 - x) / (1 + x) * x**size, 20)) for size in sizes]


class FirstTry(Script):
    """A script in which a second proposal is never made: the path stays undecided."""

    proposals = 0

    def laplace(self, scale: Fraction) -> int:
        """One choice in place of `discrete_laplace`, within 20 scales."""
        chances = laplace_chances(scale)
        self.proposals += 1
        if self.proposals > 1:
            raise Undecided([])
        place = self.choose(chances)
        return (place + 1) // 2 * (1 if place % 2 else -1)


@pytest.fixture
def _scripted_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each e^−γ and each Laplace draw becomes one choice: they are tested exact by themselves."""
    monkeypatch.setattr(sampler, "bernoulli_exp", scripted_exponential)
    monkeypatch.setattr(sampler, "discrete_laplace", lambda scale, script: script.laplace(scale))


@pytest.mark.few(2)
@pytest.mark.usefixtures("_scripted_steps")
@pytest.mark.parametrize("scale", [*SMALL_SCALES, Fraction(1, 10), Fraction(123, 10)])
def test_the_law_is_exact_by_enumerating_the_first_try(scale: Fraction) -> None:
    """What the first try keeps is the law to 18 digits, and at least 58 % of all tries."""
    masses, refused = enumerated(lambda script: discrete_gaussian(scale, script), FirstTry, 0)
    kept = 1 - refused
    assert kept > Fraction(58, 100)
    for value in range(-12, 13):
        share = masses[value] / kept
        exact = probability(value, scale)
        assert abs(mpf(share.numerator) / share.denominator - exact) <= 1e-18 * exact


@dataclass(frozen=True)
class Lane:
    """One lane of bulk integers below a bound, which is only ever compared."""

    integer: Uniform

    def __lt__(self, limits: np.ndarray) -> np.ndarray:
        return np.array([self.integer < int(limit) for limit in limits])


@pytest.fixture
def scripted_below(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], None]:
    """Makes the bulk integers of one lane choices of a script."""

    def use(script: Script) -> None:
        monkeypatch.setattr(many, "_below", lambda bound, _size, _entropy: Lane(script.below(bound)))

    return use


def no_entropy(size: int) -> bytes:
    """Refuse to give bytes: all choices come from the script."""
    raise AssertionError(size)


@pytest.mark.parametrize(("part", "units"), [(0, 1), (0, 3), (1, 2), (2, 3), (1, 5)])
def test_bulk_half_squares_are_exact(scripted_below: Callable[[Script], None], part: int, units: int) -> None:
    """The enumerated mass is e^(−(part/units)²/2)."""

    def draw(script: Script) -> bool:
        scripted_below(script)
        numerators = np.array([part], dtype=np.uint64)
        return bool(_bernoulli_exp_half_square(numerators, units, no_entropy)[0])

    assert decided_mass_is_exact(draw, mp.exp(-(mpf(part) ** 2) / (2 * units**2)))


@pytest.mark.parametrize(("part", "units", "power"), [(1, 2, 0), (1, 2, 1), (1, 2, 4), (2, 3, 2)])
def test_bulk_powers_are_exact(scripted_below: Callable[[Script], None], part: int, units: int, power: int) -> None:
    """The enumerated mass is e^(−power·part/units)."""

    def draw(script: Script) -> bool:
        scripted_below(script)
        numerators, powers = (np.array([x], dtype=np.uint64) for x in (part, power))
        return bool(_bernoulli_exp_power(numerators, units, powers, no_entropy)[0])

    assert decided_mass_is_exact(draw, mp.exp(-mpf(power * part) / units))


@pytest.mark.few(0)
@pytest.mark.parametrize("scale", SCALES)
def test_single_draws_follow_the_law(scale: Fraction) -> None:
    """χ² of the scalar path; false-alarm rate of all scales and both paths together 1e-6."""
    draws = np.array([discrete_gaussian(scale, RandomIntegers()) for _ in range(60_000)])
    assert gaussian_p_value(draws, scale) > FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", SCALES)
def test_bulk_draws_follow_the_law(scale: Fraction) -> None:
    """χ² of the vectorised path; false-alarm rate of all scales and both paths together 1e-6."""
    assert gaussian_p_value(discrete_gaussian_array(scale, 1_000_000), scale) > FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("factor", [Fraction(98, 100), Fraction(102, 100)])
def test_chi_square_refuses_a_scale_two_percent_off(factor: Fraction) -> None:
    """The χ² above can fail: it refuses noise whose scale is 2 % too small or too large."""
    draws = discrete_gaussian_array(Fraction(10) * factor, 1_000_000)
    assert gaussian_p_value(draws, Fraction(10)) < FALSE_ALARM


@pytest.mark.parametrize(
    "scale", [Fraction(LARGEST_TERM - 1), Fraction(LARGEST_TERM, LARGEST_TERM - 1), Fraction(2**52)]
)
def test_bulk_draws_of_the_largest_terms_do_not_overflow(scale: Fraction) -> None:
    """The mean square is the variance within 5 standard errors (√(2/n) of it, less the grid)."""
    draws = discrete_gaussian_array(scale, 100_000) / float(scale)
    assert np.abs(draws).max() < 10
    assert abs((draws**2).mean() - 1) < 5 * np.sqrt(2 / draws.size)


def test_bulk_draws_of_the_smallest_scale_are_zero() -> None:
    """At 2^−52 records any other draw has a chance below e^−(2^102)."""
    assert not discrete_gaussian_array(Fraction(1, 2**52), 10_000).any()


def test_bulk_draws_come_from_the_entropy_that_is_given() -> None:
    """The same bytes give the same draws: no other randomness takes part."""
    first, again = (discrete_gaussian_array(Fraction(7, 3), 1000, np.random.default_rng(7).bytes) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100_001])
def test_bulk_draws_come_in_the_number_asked(size: int) -> None:
    """The array has exactly the size asked, across chunk boundaries too."""
    assert discrete_gaussian_array(Fraction(1, 3), size).shape == (size,)
