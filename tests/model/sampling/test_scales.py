import re
from decimal import Decimal
from fractions import Fraction

import pytest

import noisycount as nc
from noisycount.model.sampling.scales import drawable, price_as_written, public_grid
from noisycount.model.sampling.vectors import LARGEST_TERM


@pytest.mark.parametrize(
    ("scale", "power"), [(0.75, -41), (1.0, -40), (10.0, -37), (1024.0, -30), (2.0**40, 0)]
)
def test_the_grid_of_continuous_answers_is_a_power_of_2_of_the_scale_alone(
    scale: float, power: int
) -> None:
    """2^(⌊log2 scale⌋ − 40), and never wider than a record."""
    assert public_grid(scale) == Fraction(2) ** power
    assert public_grid(scale * 2.0**50) == 1


@pytest.mark.parametrize(
    "scale",
    [Fraction(2**60 + 1, 1025), Fraction(10**17 + 1, 70), Fraction(12345678901234567, 2**60)],
)
def test_a_scale_of_large_terms_is_rounded_up(scale: Fraction) -> None:
    """More noise than was asked for costs no privacy; by less than one part in 2^51."""
    rounded = drawable(scale)
    assert scale < rounded <= scale * (1 + Fraction(1, 2**51))
    assert max(rounded.numerator, rounded.denominator) <= LARGEST_TERM


def test_a_scale_of_small_terms_is_kept() -> None:
    """Whatever it is."""
    assert drawable(Fraction(20, 3)) == Fraction(20, 3)


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace, nc.DiscreteGaussian, nc.Gaussian])
def test_both_ends_of_the_range_of_scales_are_scales(noise: type[nc.Laplace]) -> None:
    """As floats, whose decimals may lie beyond; what is less or more is refused."""
    for power in (-52, 52):
        assert noise(2.0**power).exact_scale == Fraction(2) ** power
        assert isinstance(noise(2.0**power).release(5), int | float)
    for scale in (2.0**-52 * (1 - 2.0**-53), 2.0**52 + 1):
        with pytest.raises(ValueError, match=r"^scale must be between 2\*\*-52 and 2\*\*52 "):
            noise(scale)


@pytest.mark.parametrize(
    "value", ["0.1", "1/10", " .1 ", "1e-1", Decimal("0.1"), 0.1, Fraction(1, 10)]
)
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
