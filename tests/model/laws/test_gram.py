import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.model.laws.gram import POINTS, gram_rule


@given(length=st.integers(1, 10**15))
def test_weights_are_positive_and_count_the_integers(length: int) -> None:
    """The weights add up to the number of integers and the nodes lie among them."""
    nodes, weights = gram_rule(length)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(length, rel=1e-14)
    assert (nodes >= 0).all()
    assert (nodes <= length - 1).all()


@pytest.mark.parametrize("length", [POINTS + 1, 40, 64, 333, 4096, 100_000])
@pytest.mark.parametrize("rate", [0.0, 0.3, 2.0, 8.0])
def test_sums_of_exponentials_equal_the_geometric_series(length: int, rate: float) -> None:
    """Σ e^(−rate·k/length) over k < length, to 1e-13."""
    nodes, weights = gram_rule(length)
    direct = np.exp(-rate * np.arange(length) / length).sum()
    assert np.exp(-rate * nodes / length) @ weights == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize("length", [1, 2, POINTS])
def test_short_runs_are_summed_term_by_term(length: int) -> None:
    """Up to POINTS integers the nodes are the integers themselves."""
    nodes, weights = gram_rule(length)
    assert np.array_equal(nodes[:length], np.arange(length))
    assert np.array_equal(weights, [1.0] * length + [0.0] * (POINTS - length))
