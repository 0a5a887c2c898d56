"""What half and twice the concentration of a prior change."""

import numpy as np
import pytest

from noisycount import Binomial, DiscreteLaplace, Splits, table_posterior

ANSWERS = np.array([31, -4, 0, 118, 9])
NOISE = DiscreteLaplace(7)


def test_sensitivity_is_that_of_the_table_solved_again() -> None:
    """Moves are differences to posteriors under half and twice the stated concentration."""
    known = Binomial(200, 0.8)
    own = table_posterior(ANSWERS, NOISE, total=known, prior=Splits(0.6))
    found = own.sensitivity
    assert [move.factor for move in found.moves] == [0.5, 2]
    for move in found.moves:
        prior = Splits(0.6 * move.factor)
        other = table_posterior(ANSWERS, NOISE, total=known, prior=prior)
        moved = np.abs(other.mean - own.mean)
        assert move.largest == pytest.approx(moved.max(), rel=1e-7)
        assert move.average == pytest.approx(moved.mean(), rel=1e-7)
        assert move.largest_deviations == pytest.approx((moved / own.std).max(), rel=1e-7)
        assert move.average_deviations == pytest.approx((moved / own.std).mean(), rel=1e-7)
        assert move.log_evidence == pytest.approx(other.evidence - own.evidence, abs=1e-9)
    assert f"{max(move.largest for move in found.moves):.1f} at most" in found.words
    assert found.to_dict()["moves"][1]["factor"] == 2


@pytest.mark.parametrize(
    ("total", "prior", "words"),
    [
        (None, None, "a law of a cell has no concentration"),
        (160, None, "a law of a cell has no concentration"),
        (160, Splits.multinomial([2, 1, 1, 6, 1]), "known rates have no concentration"),
    ],
)
def test_what_has_no_concentration_says_so(total: int | None, prior: Splits | None, words: str) -> None:
    """Nothing is varied under a law of a cell or known rates."""
    found = table_posterior(ANSWERS, NOISE, total=total, prior=prior).sensitivity
    assert (found.moves, found.words) == ((), words)
