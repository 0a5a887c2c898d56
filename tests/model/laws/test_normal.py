import math

import numpy as np
import pytest
from mpmath import mp, mpf

from noisycount.model.laws.normal import erfcx, log_two_sided, normal_tail, two_sided_quantile

UNITS = 8 * 2.0**-53
"""Relative: a few units in the last place."""


def relative(found: float, exact: mpf) -> float:
    """Return the relative error of a value."""
    return abs(float(mpf(found) / exact - 1))


def test_erfcx_equals_its_definition() -> None:
    """From just below 0 over the end of the pole, at 2π, to far out, in 60 digits."""
    pole = 2 * math.pi
    ends = [-1.0, -1e-3, 0.0, 1e-300, math.nextafter(pole, 0), pole, 1e4]
    places = np.array([*ends, *np.linspace(0, 12, 600), *np.geomspace(1e-9, 1e3, 200)])
    with mp.workdps(60):
        for place, found in zip(places, erfcx(places), strict=True):
            exact = mp.exp(mpf(place) ** 2) * mp.erfc(mpf(place))
            assert relative(found, exact) < UNITS


def test_erfcx_falls_as_1_over_x() -> None:
    """Its square need not be a float."""
    for place in (1e9, 1e90, 1e99):
        found = float(erfcx(np.array([place]))[0])
        assert found == pytest.approx(1 / (place * math.sqrt(math.pi)), rel=UNITS)


def test_tails_equal_their_definition() -> None:
    """To all digits down to the smallest normal float, on both sides of 0."""
    places = np.array([*np.linspace(-9, 37.5, 600), *np.geomspace(1e-9, 30, 100), 0.0, -0.0])
    with mp.workdps(60):
        for place, found in zip(places, normal_tail(places), strict=True):
            assert relative(found, mp.erfc(mpf(place) / mp.sqrt(2)) / 2) < UNITS


def test_tails_have_their_ends() -> None:
    """Nothing lies beyond infinity, and all above its negative; what is no number stays none."""
    tails = normal_tail(np.array([math.inf, 1e308, -1e308, -math.inf, math.nan]))
    assert tails.tolist()[:4] == [0, 0, 1, 1]
    assert math.isnan(tails[4])
    assert log_two_sided(np.array([1e308, math.inf])).tolist() == [-math.inf, -math.inf]
    assert normal_tail(np.empty((0, 3))).shape == (0, 3)


def test_logarithms_go_on_where_tails_underflow() -> None:
    """Ln P[|Z| >= z], to the rounding of the logarithm of erfcx or of z²/2."""
    places = np.array([*np.linspace(0, 50, 200), 1e3, 1e6, 1e12])
    with mp.workdps(60):
        for place, found in zip(places, log_two_sided(places), strict=True):
            exact = mp.log(mp.erfc(mpf(place) / mp.sqrt(2)))
            assert abs(float(mpf(found) - exact)) <= UNITS * max(1, abs(found))


@pytest.mark.parametrize(
    "log_beta", [-1e-300, -1e-17, -0.01, -0.5, -0.69314, -0.69316, -1.0, -3.0, -50.0, -744.0, -1e9]
)
def test_the_quantile_has_the_tail(log_beta: float) -> None:
    """To the tail, which near 1 is its complement, and far out its logarithm."""
    found = two_sided_quantile(log_beta)
    with mp.workdps(400):
        place = mpf(found) / mp.sqrt(2)
        if log_beta > -1:
            assert relative(float(mp.erf(place)), -mp.expm1(mpf(log_beta))) < UNITS
        else:
            assert relative(float(mp.log(mp.erfc(place))), mpf(log_beta)) < UNITS


def test_all_is_within_0() -> None:
    """The quantile of a tail of 1."""
    assert two_sided_quantile(0.0) == 0
