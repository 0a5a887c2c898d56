import numpy as np
import pytest

from noisycount.model.populations.binomial_sums import Kinds, sum_of_binomials


@pytest.mark.parametrize("spread", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("tilt", [-3.0, 0.0, 0.7, 5.0])
def test_few_kinds_have_the_law_of_many(spread: float, tilt: float) -> None:
    """The law, its moments and its growth are those of all rates, to rounding."""
    log_odds = np.sort(np.random.default_rng(7).normal(-1.0, spread, 3000))
    sizes = 1.0 + np.arange(3000) % 4
    kinds = Kinds(sizes, log_odds)
    rates = 1 / (1 + np.exp(-log_odds - tilt))
    first, logs = sum_of_binomials(sizes, rates, 1 / (1 + np.exp(log_odds + tilt)))
    few_first, few_logs = kinds.law(tilt)
    assert few_first == first
    assert np.exp(few_logs) == pytest.approx(np.exp(logs), abs=1e-13)
    assert kinds.moments(tilt)[0] == pytest.approx(float(sizes @ rates), rel=1e-14)
    assert kinds.few.shape[1] <= 16 * (2 + np.ptp(log_odds) // 2)


def test_few_kinds_are_all_kinds() -> None:
    """What is few already is not touched."""
    sizes, log_odds = np.array([3.0, 5.0]), np.array([-1.0, 0.5])
    assert (Kinds(sizes, log_odds).few == [sizes, log_odds]).all()


def test_equal_log_odds_are_one_kind() -> None:
    """Rates that are the same but for rounding leave a single node."""
    log_odds = np.sort(-1.0 + 1e-15 * np.arange(40))
    few = Kinds(np.ones(40), log_odds).few
    assert few[0].sum() == pytest.approx(40, rel=1e-14)
    assert few[1] == pytest.approx(np.full(few.shape[1], -1.0), rel=1e-13)
