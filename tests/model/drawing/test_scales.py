from fractions import Fraction

import pytest

from noisycount.model.drawing.many import LARGEST_TERM
from noisycount.model.drawing.scales import drawable, public_grid


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
