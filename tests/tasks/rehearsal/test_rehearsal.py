import json
from fractions import Fraction

import pytest

from noisycount.errors import NoisyCountError
from noisycount.query.schema import Kind
from noisycount.tasks.rehearsal import (
    CountRehearsal,
    Rehearsal,
    TableRehearsal,
    made_up_words,
    rehearsal_object,
    rehearsal_words,
)
from noisycount.tasks.table.asked import Asked, Item, Word
from noisycount.tasks.table.table import Pay
from noisycount.tasks.table.wish import RowGoal, Viewed

VIEW = Viewed({"age": Kind.INTEGER, "town": Kind.TEXT}, "person", is_replacement=False)
PRICE = Pay(Fraction(1), None, 0.95)


def count(pay: Pay = PRICE) -> CountRehearsal:
    """Give the rehearsal of one question."""
    return CountRehearsal.of("age >= 65", VIEW, pay, 5912)


def table() -> TableRehearsal:
    """Give the rehearsal of a table."""
    keys = {"town": [Word("Bern"), Word("Biel")]}
    asked = Asked(by=(Item("town"),), keys=keys, groups_per_unit=1)
    return TableRehearsal.of(asked, VIEW, PRICE, None)


def test_error_is_that_of_the_price() -> None:
    """±3 at 95 % is what ε = 1 gives, here as for a real answer."""
    assert (count().error, count().epsilon) == (3, 1)


def test_goal_has_its_price() -> None:
    """Who asks for ±20 with 95 % sees the ε that it costs."""
    goal = Pay(None, RowGoal(1.0, 20, 0.95), 0.95)
    assert count(goal).epsilon == Fraction("0.15")
    assert count(goal).error <= 20


def test_price_must_be_in_epsilon() -> None:
    """One count has no other price."""
    with pytest.raises(NoisyCountError, match="needs a price"):
        count(Pay(None, None, 0.95))


@pytest.mark.parametrize("told", [count(), table()], ids=["count", "table"])
def test_nothing_is_said_of_the_data_set(told: Rehearsal) -> None:
    """Every rehearsal says that its records are made up, and what it charged: nothing."""
    sent = rehearsal_object(told)
    assert "no record of the data set was read" in made_up_words(told)
    assert (sent["rehearsal"], sent["charged"], sent["note"]) == (True, "0", made_up_words(told))
    json.dumps(sent, allow_nan=False)


def test_words_tell_how_far_off() -> None:
    """The sentence has the count, the answer and their distance."""
    told = count()
    off = abs(told.told.answer - told.told.count)
    assert rehearsal_words(told).endswith(f"so {off:,} off")


def test_rows_are_those_of_the_table() -> None:
    """Each row has its key, the made-up count and the answer."""
    rows = rehearsal_object(table())["rows"]
    assert [row["keys"]["town"] for row in rows] == ["Bern", "Biel"]
    assert all(row["made_up"] >= 0 for row in rows)
