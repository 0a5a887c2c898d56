import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from noisycount.model.sampling import scalar as sampler
from noisycount.model.sampling import vectors as many
from noisycount.model.sampling.scalar import (
    discrete_gaussian,
    discrete_laplace,
    drawable_scale,
    price_as_written,
    public_grid,
)
from noisycount.model.sampling.vectors import (
    _below_by_mask,
    _bernoulli_exp,
    _bernoulli_exp_half_square,
    _gaussian_by_steps,
    _laplace_by_steps,
)
from tests.oracles.polynomials import Abandoned, ExactScript, Polynomial, first_tries

SCALES = [Fraction(text) for text in ("1/2", "1", "3/2", "2", "7/3", "3", "5/4", "1/3", "10")]
Draw = Callable[[ExactScript], object]


@pytest.fixture
def _scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each e^−γ of the scalar path becomes one choice: its steps are tested exact by themselves."""
    monkeypatch.setattr(sampler, "bernoulli_exp", lambda a, b, script: script.exponential(a, b))


@pytest.fixture
def in_bulk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Draw]:
    """Make one draw of a bulk law depend on a script.

    Of the lanes that are proposed at once only the first is followed, and the others are rejected: lanes are
    independent, so it stands for each.
    """

    def drawn(law: Callable[..., np.ndarray], scale: Fraction) -> Draw:
        def draw(script: ExactScript) -> object:
            def below(bound: int, size: int, _: object) -> np.ndarray:
                return np.array([script.below(bound)] + [0] * (size - 1), dtype=np.uint64)

            def exponential(numerators: np.ndarray, denominator: int, _: object) -> np.ndarray:
                first = script.exponential(int(numerators[0]), denominator)
                return np.array([first] + [False] * (numerators.size - 1))

            def half_square(numerators: np.ndarray, denominator: int, _: object) -> np.ndarray:
                if not numerators.size:
                    return np.zeros(0, dtype=np.bool_)
                part = int(numerators[0])
                return np.array([script.exponential(part * part, 2 * denominator**2)])

            monkeypatch.setattr(many, "_uniform_below", below)
            monkeypatch.setattr(many, "_bernoulli_exp", exponential)
            monkeypatch.setattr(many, "_bernoulli_exp_half_square", half_square)
            draws = law(scale, 1, lambda _: bytes([script.bits(1) << 7]))
            if draws.size == 0:
                raise Abandoned
            return int(draws[0])

        return draw

    return drawn


def laplace_mass(value: int, scale: Fraction, unit: int) -> Polynomial:
    """P[the first try gives the value]: e^(−|z|/scale) times what does not depend on z.

    With n/d the scale and x = e^(−1/n): x^(d·|z|)·(1 + … + x^(d−1))·(1 − x^n)/(2n).
    """
    n, d = scale.numerator, scale.denominator
    step = unit // n
    whole = Polynomial.power(0) - Polynomial.power(n * step)
    parts = Polynomial.from_terms((g * step, Fraction(1, 2 * n)) for g in range(d))
    return Polynomial.power(d * abs(value) * step) * parts * whole


def gaussian_mass(value: int, scale: Fraction, unit: int) -> Polynomial:
    """P[the first try gives the value]: e^(−z²/(2·scale²)) times what does not depend on z."""
    square = (value * scale.denominator) ** 2 + scale.numerator**2
    return laplace_mass(0, scale, unit) * Polynomial.power(square * unit // (2 * scale.numerator**2))


def assert_equal_rationals(masses: dict[object, Polynomial], mass: Callable[[int], Polynomial], reach: int) -> None:
    """Each outcome within reach, both signs, has exactly the stated polynomial."""
    for value in range(-reach, reach + 1):
        assert masses[value] == mass(value)


def reach_of(scale: Fraction, wholes: int) -> int:
    """The largest outcome that takes no more whole units than that."""
    return int(wholes * scale) - 1


@pytest.mark.usefixtures("_scripted")
@pytest.mark.parametrize("scale", SCALES)
def test_single_laplace_draws_are_exact(scale: Fraction) -> None:
    """Every path of up to four whole units, as polynomials in e^(−1/n)."""
    unit = scale.numerator
    masses = first_tries(lambda script: discrete_laplace(scale, script), unit, longest=8)
    assert_equal_rationals(masses, lambda value: laplace_mass(value, scale, unit), max(1, reach_of(scale, 4)))


@pytest.mark.parametrize("scale", SCALES)
def test_bulk_laplace_draws_are_exact(scale: Fraction, in_bulk: Callable[..., Draw]) -> None:
    """Bulk draws have the polynomials of single draws."""
    unit = scale.numerator
    masses = first_tries(in_bulk(_laplace_by_steps, scale), unit, longest=8)
    assert_equal_rationals(masses, lambda value: laplace_mass(value, scale, unit), max(1, reach_of(scale, 4)))


@pytest.mark.usefixtures("_scripted")
@pytest.mark.parametrize("scale", SCALES)
def test_single_gaussian_draws_are_exact(scale: Fraction) -> None:
    """Every path of up to three whole units, as polynomials in e^(−1/(2n²))."""
    unit = 2 * scale.numerator**2
    masses = first_tries(lambda script: discrete_gaussian(scale, script), unit, longest=8)
    assert_equal_rationals(masses, lambda value: gaussian_mass(value, scale, unit), max(1, reach_of(scale, 3)))


@pytest.mark.few(0)
@pytest.mark.parametrize("scale", SCALES)
def test_bulk_gaussian_draws_are_exact(scale: Fraction, in_bulk: Callable[..., Draw]) -> None:
    """Bulk draws have the polynomials of single draws."""
    unit = 2 * scale.numerator**2
    masses = first_tries(in_bulk(_gaussian_by_steps, scale), unit, longest=16)
    assert_equal_rationals(masses, lambda value: gaussian_mass(value, scale, unit), max(1, reach_of(scale, 3)))


@pytest.mark.usefixtures("_scripted")
def test_another_scale_has_other_polynomials() -> None:
    """The comparison can fail: 1.01 is not 1, as little as it differs."""
    scale = Fraction(101, 100)
    masses = first_tries(lambda script: discrete_laplace(scale, script), 101, longest=4)
    with pytest.raises(AssertionError):
        assert_equal_rationals(masses, lambda value: laplace_mass(value, Fraction(1), 101), 1)


class Stopping:
    """Lanes below a bound whose trials succeed until a given one fails; keeps the probability."""

    def __init__(self, fails_at: int) -> None:
        self.left = fails_at - 1
        self.chance = Fraction(1)
        self.bound = 1

    def below(self, bound: int, _size: int, _entropy: object) -> "Stopping":
        """Store the bound, and return this lane, which supports comparisons only."""
        self.bound = bound
        return self

    def __lt__(self, limits: np.ndarray) -> np.ndarray:
        success = Fraction(int(limits[0]), self.bound)
        succeeds = self.left > 0
        self.left -= 1
        self.chance *= success if succeeds else 1 - success
        return np.array([succeeds])


@pytest.mark.parametrize(("part", "units"), [(1, 1), (1, 3), (2, 3), (4, 5)])
def test_bulk_exponentials_are_exact_as_rationals(part: int, units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """P[stops at trial k] is γ^(k−1)/(k−1)! − γ^k/k!, whose odd terms add up to e^−γ."""
    power, factorial = Fraction(1), 1
    for fails_at in range(1, 12):
        lanes = Stopping(fails_at)
        monkeypatch.setattr(many, "_uniform_below", lanes.below)
        accepted = _bernoulli_exp(np.array([part], dtype=np.uint64), units, bytes)
        following = power * Fraction(part, units)
        assert lanes.chance == power / factorial - following / (factorial * fails_at)
        assert bool(accepted[0]) == (fails_at % 2 == 1)
        power, factorial = following, factorial * fails_at


@pytest.mark.parametrize(("part", "units"), [(1, 1), (1, 3), (2, 3), (4, 5)])
def test_bulk_half_squares_are_exact_as_rationals(part: int, units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial with γ = (part/units)²/2 succeeds if both of its comparisons do."""
    gamma = Fraction(part * part, 2 * units * units)
    for fails_at in range(1, 8):
        stops = Fraction(0)
        for which in (0, 1):
            lanes = Halves(fails_at, which)
            monkeypatch.setattr(many, "_uniform_below", lanes.below)
            numerators = np.array([part], dtype=np.uint64)
            accepted = _bernoulli_exp_half_square(numerators, units, bytes)
            assert bool(accepted[0]) == (fails_at % 2 == 1)
            stops += lanes.chance
        before, after = (gamma**k / factorial(k) for k in (fails_at - 1, fails_at))
        assert stops == before - after


def factorial(number: int) -> int:
    """The product of 1..number."""
    return number * factorial(number - 1) if number else 1


class Halves(Stopping):
    """Trials of two comparisons each: the last fails at its first, or at its second alone."""

    def __init__(self, fails_at: int, which: int) -> None:
        super().__init__(fails_at)
        self.failing = {2 * (fails_at - 1) + which}
        self.free = {2 * (fails_at - 1) + 1} if which == 0 else set()
        self.done = 0

    def __lt__(self, limits: np.ndarray) -> np.ndarray:
        success = Fraction(int(limits[0]), self.bound)
        place, self.done = self.done, self.done + 1
        if place in self.free:
            return np.array([True])
        succeeds = place not in self.failing
        self.chance *= success if succeeds else 1 - success
        return np.array([succeeds])


@pytest.mark.parametrize("bound", [2**24 + 1, 2**25 - 3, 2**52 + 5, 2**53])
def test_wide_bulk_integers_are_uniform(bound: int) -> None:
    """A value below the bound is its word's low bits, and every such word is accepted."""
    width = (bound - 1).bit_length()
    lows = np.array([0, 1, bound - 1, bound, 2**width - 1], dtype=np.uint64)
    for high in (0, 1, 2 ** (64 - width) - 1):
        words = lows + np.uint64(high) * np.uint64(2**width % 2**64)
        values, fair = _below_by_mask(bound, lows.size, lambda _, words=words: words.tobytes())
        assert values.tolist() == (lows % np.uint64(2**width)).tolist()
        assert fair.tolist() == [value < bound for value in values.tolist()]


@pytest.mark.parametrize(("scale", "power"), [(0.75, -41), (1.0, -40), (10.0, -37), (1024.0, -30), (2.0**40, 0)])
def test_the_grid_of_continuous_answers_is_a_power_of_2_of_the_scale_alone(scale: float, power: int) -> None:
    """2^(⌊log2 scale⌋ − 40), and never wider than a record."""
    assert public_grid(scale) == Fraction(2) ** power
    assert public_grid(scale * 2.0**50) == 1


def test_a_scale_of_small_terms_is_kept() -> None:
    """Whatever it is."""
    assert drawable_scale(Fraction(20, 3)) == Fraction(20, 3)


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace, nc.DiscreteGaussian, nc.Gaussian])
def test_both_ends_of_the_range_of_scales_are_scales(noise: type[nc.Laplace]) -> None:
    """As floats, whose decimals may lie beyond; what is less or more is refused."""
    for power in (-52, 52):
        assert noise(2.0**power).exact_scale == Fraction(2) ** power
        assert isinstance(noise(2.0**power).release(5), int | float)
    for scale in (2.0**-52 * (1 - 2.0**-53), 2.0**52 + 1):
        with pytest.raises(ValueError, match=r"^scale must be between 2\*\*-52 and 2\*\*52 "):
            noise(scale)


@pytest.mark.parametrize("value", ["0.1", "1/10", " .1 ", "1e-1", Decimal("0.1"), 0.1, Fraction(1, 10)])
def test_a_price_may_be_written_in_any_way(value: str | float | Decimal | Fraction) -> None:
    """A text, a decimal, a float as it shows, or a rational: one tenth."""
    assert price_as_written(value, "epsilon") == Fraction(1, 10)
    assert nc.DiscreteLaplace.for_epsilon(value).scale == 10
    assert nc.Laplace.for_epsilon(value).scale == 10
    assert nc.epsilon_of_group(value, 3) == Fraction(3, 10)
    assert nc.affordable_answers(value, 30, 0.05) == nc.affordable_answers(0.1, 30, 0.05)


@pytest.mark.parametrize("value", ["", "0", "-1", "a tenth", "1/0", "nan", "inf", Decimal("NaN")])
def test_a_text_that_is_no_price_is_refused(value: str | Decimal) -> None:
    """By the argument and its value."""
    for made in (nc.DiscreteLaplace.for_epsilon, nc.Laplace.for_epsilon):
        with pytest.raises(ValueError, match=rf"^epsilon must be .* got {re.escape(repr(value))}$"):
            made(value)
