import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc


@given(epsilon=st.floats(1e-9, 700), prior=st.floats(1e-9, 1 - 1e-9))
def test_beliefs_move_by_at_most_epsilon_on_the_log_odds_scale(
    epsilon: float, prior: float
) -> None:
    """The odds change by the factor e^±ε."""
    low, high = nc.belief_bounds(epsilon, prior)
    assert low <= prior <= high
    log_odds = math.log(prior / (1 - prior))
    if low > 1e-12 and high < 1 - 1e-6:
        assert math.log(high / (1 - high)) - log_odds == pytest.approx(epsilon, abs=1e-6)
        assert math.log(low / (1 - low)) - log_odds == pytest.approx(-epsilon, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf")])
def test_an_epsilon_that_is_no_loss_is_refused(epsilon: float) -> None:
    """ε is positive and finite."""
    with pytest.raises(ValueError, match=r"^epsilon must be positive and finite, got "):
        nc.belief_bounds(epsilon)
