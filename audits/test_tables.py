"""The black-box audit of tables: one person moves, appears, has 1,000 rows, or a key of their own.

`tests/ledger/test_loss.py` has the same by the exact laws of what is planned; here nothing
is known of a plan, only what a desk answers.
"""

from collections.abc import Callable

import pytest
from tests.helpers.neighbours import DELTA, HIDDEN, PAIRS
from tests.helpers.table_black_box import loss_told, own_keys_told

ANSWERS = 1000

Tell = Callable[[str], None]


@pytest.mark.parametrize("name", PAIRS)
def test_tables_of_neighbours_differ_by_no_more_than_the_price(name: str, tell: Tell) -> None:
    """The least log-ratio that the answers show is below ε = 1."""
    told = loss_told(PAIRS[name], ANSWERS)
    tell(f"table, a person {name}, 2 × {ANSWERS:,} answers: shows {told:.3f} of a loss of 1")
    assert told <= 1


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("moves", "a replaced person as one that comes"),
        ("has 1,000 rows", "a person as in one group"),
    ],
)
def test_tables_that_charge_too_little_are_found(name: str, mutant: str, tell: Tell) -> None:
    """The answers show more than ε = 1."""
    told = loss_told(PAIRS[name], ANSWERS, mutant)
    tell(f"table, a person {name}, {mutant}: shows {told:.3f} of a loss of 1")
    assert told > 1


@pytest.mark.parametrize("name", HIDDEN)
def test_keys_of_one_person_appear_with_no_more_than_delta(name: str, tell: Tell) -> None:
    """The least probability that the answers show is below δ, and their loss below ε."""
    told = own_keys_told(HIDDEN[name], ANSWERS)
    tell(f"hidden keys, a person {name}: own keys appear with {told:.4f} or more of {DELTA}")
    assert told <= float(DELTA)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("has a key of their own", "a threshold one too low"),
        ("has a key of their own", "keys as they are in the data"),
        ("has 1,000 rows of three keys", "a threshold for one group"),
    ],
)
def test_tables_that_show_keys_too_often_are_found(name: str, mutant: str, tell: Tell) -> None:
    """The answers show more than δ."""
    told = own_keys_told(HIDDEN[name], ANSWERS, mutant)
    tell(f"hidden keys, a person {name}, {mutant}: they appear with {told:.4f} or more of {DELTA}")
    assert told > float(DELTA)
