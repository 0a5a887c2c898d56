import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc

mp.dps = 50

COUNTS = st.floats(0.5, 1e12)
WIDTHS = st.floats(1e-6, 10)
CONFIDENCES = st.one_of(st.floats(1e-12, 0.999), st.sampled_from([1e-250, 0.95, 1 - 2**-53]))
CLOSE = mpf(10) ** -15


def test_the_example_of_the_paper_gives_its_number() -> None:
    """Naldi and D'Acquisto (2015), section 3: 0.08 (0.0805) for ±20 % of 100 with 80 %."""
    assert round(nc.epsilon_for_relative_error(100, 0.2, 0.8), 4) == 0.0805


@given(count=COUNTS, within=WIDTHS, confidence=CONFIDENCES)
def test_equation_10_and_its_inverses_agree(count: float, within: float, confidence: float) -> None:
    """ε·w·c = −ln(1 − p), whichever of the four is asked for, to 4 units in the last place."""
    surprisal = -mp.log1p(-mpf(confidence))
    epsilon = nc.epsilon_for_relative_error(count, within, confidence)
    assert abs(mpf(epsilon) * within * count / surprisal - 1) <= CLOSE
    width = nc.relative_error(count, confidence, epsilon)
    assert abs(mpf(epsilon) * width * count / surprisal - 1) <= CLOSE
    guess = nc.count_for_relative_error(within, confidence, epsilon)
    assert abs(mpf(epsilon) * within * guess / surprisal - 1) <= CLOSE
    exact = -mp.expm1(-mpf(epsilon) * within * count)
    assert abs(nc.relative_confidence(count, within, epsilon) / exact - 1) <= CLOSE


def test_arrays_give_arrays() -> None:
    """Of the common shape, each value that of the numbers alone."""
    epsilons = np.array([[0.1], [0.5]])
    confidences = [0.5, 0.9, 0.99]
    found = nc.relative_error(100, confidences, epsilons)
    assert isinstance(found, np.ndarray)
    assert found.shape == (2, 3)
    assert found[1, 2] == nc.relative_error(100, 0.99, 0.5)
    assert np.shape(nc.relative_confidence(100, [0.1, 0.2], 0.1)) == (2,)
    assert np.shape(nc.count_for_relative_error(0.2, 0.95, epsilons)) == (2, 1)
    assert np.shape(nc.epsilon_for_relative_error([10, 100, 1000], 0.2, 0.95)) == (3,)


def test_iso_epsilon_curves_lie_where_epsilon_is_the_same() -> None:
    """Fig. 1: on each curve eq. (10) gives back its ε; a lower ε lies at larger widths."""
    epsilons, confidences = [0.05, 0.08, 0.1], np.linspace(0.5, 0.99, 9)
    widths = nc.iso_epsilon_curves(100, epsilons, confidences)
    assert widths.shape == (3, 9)
    for epsilon, curve in zip(epsilons, widths, strict=True):
        assert nc.epsilon_for_relative_error(100, curve, confidences) == pytest.approx(
            [epsilon] * 9
        )
    assert (np.diff(widths, axis=0) < 0).all()
    assert (np.diff(widths, axis=1) > 0).all()


@pytest.mark.parametrize("extreme", [5e-324, 1e-200, 1e200, 1.7e308])
def test_extreme_values_give_numbers(extreme: float) -> None:
    """Where a product overflows or underflows, the result is 0 or infinite, not nan."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            nc.epsilon_for_relative_error(extreme, extreme, 0.95),
            nc.relative_error(extreme, 0.95, extreme),
            nc.relative_confidence(extreme, extreme, extreme),
            nc.count_for_relative_error(extreme, 0.95, extreme),
        ]
    assert not any(map(math.isnan, found))


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True, "1", None])
def test_what_is_not_positive_is_refused(bad: float) -> None:
    """A guess, a width or an ε, by its name."""
    with pytest.raises(ValueError, match=r"^count must be positive and finite, got "):
        nc.relative_error(bad, 0.95, 0.1)
    with pytest.raises(ValueError, match=r"^within must be positive and finite, got "):
        nc.relative_confidence(100, bad, 0.1)
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got "):
        nc.count_for_relative_error(0.2, 0.95, bad)


def test_one_bad_value_in_an_array_is_named() -> None:
    """The message quotes the value, not the array."""
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got -2.0"):
        nc.relative_error(100, 0.95, [0.1, -2.0])


@pytest.mark.parametrize("bad", [0, 1, -0.5, 95, math.nan])
def test_a_confidence_outside_the_unit_interval_is_refused(bad: float) -> None:
    """A confidence lies strictly between 0 and 1."""
    with pytest.raises(ValueError, match=r"^confidence must lie strictly between 0 and 1, got "):
        nc.iso_epsilon_curves(100, [0.1], [0.5, bad])


@pytest.mark.parametrize("count", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("width", [1e-310, 1e-300, 1e300])
def test_what_is_a_double_is_found_though_a_step_to_it_is_none(count: float, width: float) -> None:
    """Neither products nor quotients leave the doubles on the way to a result that does not."""
    for other in (1e-300, 1.0, 1e300):
        quotient = -mp.log1p(-mpf(0.5)) / count / width
        power = other * mpf(count) * width
        for found, exact in (
            (nc.epsilon_for_relative_error(count, width, 0.5), quotient),
            (nc.relative_error(count, 0.5, width), quotient),
            (nc.count_for_relative_error(width, 0.5, count), quotient),
            (nc.relative_confidence(count, width, other), -mp.expm1(-power)),
        ):
            if 1e-307 < exact < 1e308:
                assert abs(found / exact - 1) <= CLOSE
