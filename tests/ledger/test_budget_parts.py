from fractions import Fraction

import pytest

from noisycount.ledger.budget import ApproximateBudget, Budget, ConcentratedBudget, PureBudget, Written, budget_from

MICRO = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ("2", PureBudget(Fraction(2))),
        (0.1, PureBudget(Fraction(1, 10))),
        (ConcentratedBudget(Fraction(1)), ConcentratedBudget(Fraction(1))),
        ({"rho": "0.1"}, ConcentratedBudget(Fraction(1, 10))),
        ({"epsilon": "2", "delta": "1e-6"}, ApproximateBudget(Fraction(2), MICRO, MICRO / 2)),
        (
            {"delta": MICRO, "epsilon": 2, "for_keys": "0"},
            ApproximateBudget(Fraction(2), MICRO),
        ),
        (
            {"delta": MICRO, "epsilon": 2, "for_keys": "1e-7"},
            ApproximateBudget(Fraction(2), MICRO, MICRO / 10),
        ),
    ],
)
def test_a_budget_has_parts(written: Written, budget: Budget) -> None:
    """Half of δ is for hidden keys where nothing else is said."""
    assert budget_from(written) == budget


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({}, "budget must be"),
        ({"epsilon": "2"}, "got parts 'epsilon'"),
        ({"rho": "1", "delta": "1e-6"}, "budget must be"),
        ({"epsilon": "2", "delta": "1"}, "delta must be"),
        ({"epsilon": "2", "delta": "1e-6", "for_keys": "1e-5"}, "for_keys must be at most"),
        (
            {"epsilon": "2", "delta": "1e-6", "for_keys": "-1"},
            "for_keys must be a decimal .* from 0",
        ),
        ({"epsilon": "0", "delta": "1e-6"}, "epsilon must be"),
        ("two", "budget must be"),
    ],
)
def test_parts_that_are_none_are_refused(written: Written, words: str) -> None:
    """In one line that names the part."""
    with pytest.raises(ValueError, match=words) as refused:
        budget_from(written)
    assert "\n" not in str(refused.value)
