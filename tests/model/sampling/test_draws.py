from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.model.sampling import vectors
from noisycount.model.sampling.scalar import (
    LARGEST_TERM,
    RandomIntegers,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
)
from noisycount.model.sampling.vectors import _bernoulli_exp_power, discrete_gaussian_array, discrete_laplace_array
from tests.oracles.chi_square import chi_square_p_value
from tests.oracles.enumeration import (
    Script,
    ScriptOfComparisons,
    Uniform,
    bracket,
    enumerated,
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
FALSE_ALARM = 1e-6 / (4 * len(SCALES))


def laplace_p_value(draws: np.ndarray, scale: Fraction) -> float:
    """The p-value of draws against the discrete Laplace law of that scale."""
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)

    def below(edge: int) -> mpf:
        """P[Z < edge]."""
        return x ** (1 - edge) / (1 + x) if edge <= 0 else 1 - x**edge / (1 + x)

    return chi_square_p_value(draws, float(scale), below)


def gaussian_p_value(draws: np.ndarray, scale: Fraction) -> float:
    """The p-value of draws against the discrete Gaussian law of that scale."""
    reach = int(9 * scale) + 9
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / float(scale)) ** 2)
    cumulative = np.concatenate(([0.0], np.cumsum(weights))) / weights.sum()
    return chi_square_p_value(draws, float(scale), lambda edge: mpf(cumulative[edge + reach]))


def decided_mass_is_exact(draw: Callable[[Script], object], chance: mpf) -> bool:
    """Return True if the enumerated probability of True is `chance`, up to the undecided mass."""
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


@dataclass(frozen=True)
class Lane:
    """A lane of bulk integers below a bound, which supports comparisons only."""

    integer: Uniform

    def __lt__(self, limits: np.ndarray) -> np.ndarray:
        return np.array([self.integer < int(limit) for limit in limits])


@pytest.fixture
def scripted_below(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], None]:
    """Makes the bulk integers of one lane choices of a script."""

    def use(script: Script) -> None:
        monkeypatch.setattr(vectors, "_uniform_below", lambda bound, _size, _entropy: Lane(script.below(bound)))

    return use


def no_entropy(size: int) -> bytes:
    """Refuse to give bytes: all choices come from the script."""
    raise AssertionError(size)


@pytest.mark.parametrize(("part", "units", "power"), [(1, 2, 0), (1, 2, 1), (1, 2, 4), (2, 3, 2)])
def test_bulk_powers_are_exact(scripted_below: Callable[[Script], None], part: int, units: int, power: int) -> None:
    """The enumerated mass is e^(−power·part/units)."""

    def draw(script: Script) -> bool:
        scripted_below(script)
        numerators, powers = (np.array([x], dtype=np.uint64) for x in (part, power))
        return bool(_bernoulli_exp_power(numerators, units, powers, no_entropy)[0])

    assert decided_mass_is_exact(draw, mp.exp(-mpf(power * part) / units))


Bulk = Callable[..., np.ndarray]
PValue = Callable[[np.ndarray, Fraction], float]
SINGLE = [(discrete_laplace, laplace_p_value), (discrete_gaussian, gaussian_p_value)]
BULK = [(discrete_laplace_array, laplace_p_value), (discrete_gaussian_array, gaussian_p_value)]


@pytest.mark.thorough
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("law", "p_value"), SINGLE)
def test_single_draws_follow_the_law(
    law: Callable[[Fraction, RandomIntegers], int], p_value: PValue, scale: Fraction
) -> None:
    """χ² of the scalar path; false-alarm rate of all laws and scales and both paths together 1e-6."""
    draws = np.array([law(scale, RandomIntegers()) for _ in range(30_000)])
    assert p_value(draws, scale) > FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("law", "p_value"), BULK)
def test_bulk_draws_follow_the_law(law: Bulk, p_value: PValue, scale: Fraction) -> None:
    """χ² of the vectorised path."""
    assert p_value(law(scale, 1_000_000), scale) > FALSE_ALARM


@pytest.mark.parametrize("factor", [Fraction(98, 100), Fraction(102, 100)])
@pytest.mark.parametrize(("law", "p_value"), BULK)
def test_chi_square_refuses_a_scale_two_percent_off(law: Bulk, p_value: PValue, factor: Fraction) -> None:
    """The χ² above can fail: it refuses noise whose scale is 2 % too small or too large."""
    assert p_value(law(Fraction(10) * factor, 1_000_000), Fraction(10)) < FALSE_ALARM


@pytest.mark.parametrize("law", [law for law, _ in BULK])
def test_bulk_draws_come_from_the_entropy_that_is_given(law: Bulk) -> None:
    """Equal bytes give equal draws, so no other randomness is used."""
    first, again = (law(Fraction(7, 3), 1000, np.random.default_rng(7).bytes) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("law", [law for law, _ in BULK])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 100_001])
def test_bulk_draws_come_in_the_number_asked(law: Bulk, size: int) -> None:
    """The array has exactly the size asked, across chunk boundaries too."""
    assert law(Fraction(1, 3), size).shape == (size,)


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
