import json
from fractions import Fraction
from typing import Any

import pytest

from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.typed import ColumnGrouping, TypedKey
from noisycount.release.query_plan import plan_of
from noisycount.release.rehearsal import Rehearsal, rehearse_query
from noisycount.release.results import Release
from noisycount.tasks.show import rehearsal_json, rehearsal_note, rehearsal_words

COLUMNS = {"age": Kind.INTEGER, "town": Kind.TEXT}


def rehearsal(query: Query, size: int | None = None) -> Rehearsal:
    """Give the rehearsal of a question."""
    plan = plan_of(query, COLUMNS, "person", is_replacement=False)
    return rehearse_query(query, plan, "person", size)


def count(**price: Any) -> Rehearsal:  # noqa: ANN401 - of several kinds
    """Give that of one count."""
    return rehearsal(Query(wheres=["age >= 65"], **(price or {"epsilon": Fraction(1)})), 5912)


def release_of(told: Rehearsal) -> Release:
    """Give its answer."""
    assert isinstance(told.release, Release)
    return told.release


def table() -> Rehearsal:
    """Give the rehearsal of a table."""
    keys = {"town": [TypedKey("Bern"), TypedKey("Biel")]}
    return rehearsal(Query(by=(ColumnGrouping("town"),), keys=keys, groups_per_unit=1, epsilon=Fraction(1)))


def test_error_is_that_of_the_price() -> None:
    """±3 at 95 % is what ε = 1 gives, here as for a real answer."""
    release = release_of(count())
    assert (release.error, release.epsilon) == (3, 1)


def test_goal_has_its_price() -> None:
    """A goal of ±20 with 95 % shows its ε."""
    release = release_of(count(within=1.0, guess=20, confidence=0.95))
    assert release.epsilon == Fraction("0.15")
    assert release.error <= 20


def test_price_must_be_in_epsilon() -> None:
    """A single count has no price in ρ."""
    with pytest.raises(ValueError, match="rho belongs to a table"):
        count(rho=Fraction(1))


@pytest.mark.parametrize("told", [count(), table()], ids=["count", "table"])
def test_nothing_is_said_of_the_data_set(told: Rehearsal) -> None:
    """Every rehearsal says that its records are made up, and what it charged: nothing."""
    sent = rehearsal_json(told)
    assert "no record of the data set was read" in rehearsal_note(told)
    assert (sent["rehearsal"], sent["charged"], sent["note"]) == (True, "0", rehearsal_note(told))
    json.dumps(sent, allow_nan=False)


def test_words_tell_how_far_off() -> None:
    """The sentence has the count, the answer and their distance."""
    told = count()
    assert told.counts is not None
    off = abs(release_of(told).answer - told.counts[0])
    assert rehearsal_words(told).endswith(f"so {off:,} off")


def test_rows_are_those_of_the_table() -> None:
    """Each row has its key, the made-up count and the answer."""
    rows = rehearsal_json(table())["rows"]
    assert [row["keys"]["town"] for row in rows] == ["Bern", "Biel"]
    assert all(row["made_up"] >= 0 for row in rows)
