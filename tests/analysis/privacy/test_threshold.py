import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.analysis.privacy.threshold import Search, extrapolated, first_whole, root


@given(
    place=st.floats(-1e6, 1e6),
    guess=st.floats(-1e6, 1e6),
    steepness=st.floats(1e-3, 1e3),
)
def test_roots_of_curves_that_flatten_are_found(
    place: float, guess: float, steepness: float
) -> None:
    """Tanh is 1 to all digits not far from its root."""
    found = root(lambda x: math.tanh((x - place) * steepness), Search(guess, 1.0))
    assert found.answer == pytest.approx(place, abs=1e-10 / steepness + 1e-9)
    assert -1e-9 <= found.log_odds <= 0 or found.next - found.answer <= 1e-9


def test_a_step_is_found_however_sharp() -> None:
    """The log-odds are infinite on both sides."""
    found = root(lambda x: math.copysign(math.inf, x - 0.3), Search(5.0, 1.0))
    assert found.answer < 0.3 <= found.next
    assert found.next - found.answer <= 1e-15


def test_log_odds_that_stay_below_0_have_no_root() -> None:
    """Up to the limit."""
    for search in (root, first_whole):
        assert search(lambda x: -1 / (1 + x * x), Search(0.0, 1.0, 1000.0)).answer == math.inf


def test_log_odds_that_stay_above_0_have_no_root() -> None:
    """Down to the lowest answer, below which they are constant."""
    search = Search(0.0, 1.0, 1000.0, lowest=-1000.0)
    assert root(lambda _: 0.5, search).answer == -math.inf
    assert first_whole(lambda _: 0.5, search).answer == -math.inf
    assert first_whole(lambda x: x + 999.5, search).answer == -999


def test_log_odds_with_a_flat_top_are_followed_to_their_root() -> None:
    """They grow up to a kink, and stay a millionth above 0: the root is just before the kink."""
    found = root(lambda x: min(x, 1.0) - 1 + 1e-6, Search(5.0, 1.0, 1000.0))
    assert found.answer == pytest.approx(1 - 1e-6, abs=1e-11)
    assert -1e-12 <= found.log_odds <= 0


@given(place=st.integers(-(10**6), 10**6), guess=st.integers(-(10**6), 10**6))
def test_the_first_integer_is_found(place: int, guess: int) -> None:
    """Also where the log-odds are 0 there."""
    found = first_whole(lambda x: x - place, Search(float(guess), 1.0))
    assert found.answer == place
    assert found.log_odds < 0
    assert place - 1 <= found.place <= place
    assert first_whole(lambda x: x - place - 0.5, Search(float(guess), 3.0)).answer == place + 1


def test_a_root_beyond_the_margin_is_not_searched_for() -> None:
    """The result lies beyond it, too."""
    assert root(lambda x: x - 1000, Search(0.0, 1.0, margin=40.0)).answer > 40
    assert first_whole(lambda x: x + 1000, Search(0.0, 1.0, margin=40.0)).answer < -40


def test_polynomials_are_extrapolated_exactly() -> None:
    """A parabola from three points, with the size of the last correction."""
    value, correction = extrapolated([(0.0, 1.0), (1.0, 2.0), (3.0, 10.0)], 4.0)
    assert value == pytest.approx(17.0)
    assert correction == pytest.approx(17.0 - 14.0)
