import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.model.searches import (
    Bracket,
    bracket_root,
    bracketed_by_factors,
    first_true,
    first_whole,
    first_wholes,
    root,
    roots,
)

SHAPES: dict[str, Callable[[float], float]] = {
    "line": lambda x: x,
    "steep": lambda x: math.copysign(min(x * x * x * x, 1e300), x),
    "flat": lambda x: math.atan(x * 1e6),
    "step": lambda x: math.copysign(math.inf, x) if x else 0.0,
}


@given(goal=st.floats(1e-12, 1e12))
def test_both_ends_of_a_root_are_safe(goal: float) -> None:
    """The function is negative at the lower end, not at the upper one, 10^-12 apart."""

    def function(x: float) -> float:
        return math.log(x / goal)

    found = root(function, Bracket(1e-13, 1e13))
    assert function(found.low) < 0 <= function(found.high)
    assert found.high - found.low <= 1e-12 * found.high


@pytest.mark.parametrize("shape", SHAPES)
@given(place=st.integers(-(10**15), 10**15), start=st.integers(-(10**15), 10**15))
def test_the_first_whole_number_is_the_first(shape: str, place: int, start: int) -> None:
    """Found from anywhere, whatever the shape, in 200 evaluations at most."""
    asked = []

    def function(x: float) -> float:
        asked.append(x)
        return SHAPES[shape](x - place + 0.25)

    found = first_whole(function, bracket_root(function, start, 1))
    assert (found.low, found.high) == (place - 1, place)
    assert len(asked) <= 200


@given(place=st.integers(0, 10**18), width=st.integers(0, 10**18))
def test_a_predicate_is_found_true_first_where_it_becomes_true(place: int, width: int) -> None:
    """Or at the end, which is not asked."""
    assert first_true(lambda x: x >= place, 0, place + width) == place
    assert first_true(lambda _: False, -width, place) == place


def test_what_lies_beyond_the_ends_is_open() -> None:
    """An infinite end says on which side, and closing it in leaves it."""
    below = bracket_root(lambda x: x + 7, 0.0, 1.0, (-5.0, 5.0))
    above = bracket_root(lambda x: x - 7, 0.0, 1.0, (-5.0, 5.0))
    assert (below.low, below.high) == (-math.inf, -5.0)
    assert (above.low, above.high) == (5.0, math.inf)
    assert root(math.exp, below) is below
    assert first_whole(math.exp, above) is above


@given(goal=st.floats(1e-300, 1e300), start=st.floats(1e-300, 1e300))
def test_factors_reach_every_magnitude(goal: float, start: float) -> None:
    """In a number of steps that grows with the logarithm of the magnitude."""
    found = bracketed_by_factors(lambda x: x - goal, start, 4.0)
    assert found.low < goal <= found.high


def test_neighbouring_numbers_are_reached() -> None:
    """A relative width of 0 ends at two doubles with none between."""
    found = root(lambda x: x * x - 2, Bracket(1.0, 2.0), precise=0)
    assert math.nextafter(found.low, 2) == found.high
    assert found.low**2 < 2 <= found.high**2


def test_many_roots_are_found_at_once() -> None:
    """Each component to the last places, and whole ones exactly."""
    goals = np.array([-3.5, 1e-3, 1.0, 8.0, 1e6])
    found = roots(lambda x: x**3 - goals, np.full(5, -200.0), np.full(5, 200.0))
    assert found == pytest.approx(np.cbrt(goals), rel=1e-13)
    whole = first_wholes(lambda x: x >= goals, np.full(5, -10.0), np.full(5, 2e6))
    assert whole.tolist() == [-3, 1, 1, 8, 1e6]


def test_roots_on_a_plateau_of_zeros_take_few_steps() -> None:
    """Each of the many zeros that rounding leaves is accepted as a root."""
    steps = 0

    def rounded(answers: np.ndarray) -> np.ndarray:
        nonlocal steps
        steps += 1
        return np.round(answers - 3e5, 6)

    assert roots(rounded, np.zeros(1), np.full(1, 1e6)) == pytest.approx(3e5, abs=1e-6)
    assert steps < 30


@pytest.mark.parametrize("start", [0.5, 1.9, 40.0])
def test_a_smooth_function_is_asked_few_times(start: float) -> None:
    """On either side of the root, as every value may be dear."""
    asked = []

    def function(x: float) -> float:
        asked.append(x)
        return math.log(x) ** 3 + math.log(x) - 1

    found = root(function, bracketed_by_factors(function, start, 2.0))
    assert function(found.low) < 0 <= function(found.high)
    assert len(asked) <= 20
