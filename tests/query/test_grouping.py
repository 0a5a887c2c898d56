from datetime import date, datetime, timedelta
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.query.grouping import OUTSIDE, EachValue, GroupBy, NumberRanges, Period
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from noisycount.query.typed import PeriodLength

AGE = Column("age", Kind.INTEGER)
COST = Column("cost", Kind.REAL)
TOWN = Column("town", Kind.TEXT)
VISIT = Column("visit", Kind.DATE)
SEEN = Column("seen", Kind.TIMESTAMP)


@given(value=st.integers(-100, 200))
def test_a_number_is_in_the_range_whose_ends_hold_it(value: int) -> None:
    """Edge <= value < next edge, the last range without end, nothing below the first edge."""
    edges = (0, 18, 65)
    ends = [(0, 18), (18, 65), (65, inf)]
    inside = [place for place, (low, high) in enumerate(ends) if low <= value < high]
    assert NumberRanges(AGE, edges).key(value) == (inside[0] if inside else OUTSIDE)


def test_a_missing_number_is_a_key_of_its_own_and_nan_the_largest() -> None:
    """NaN follows every number, as it does in comparisons."""
    cost = NumberRanges(COST, (0.0, 1.5))
    assert cost.key(None) is None
    assert cost.key(nan) == cost.key(inf) == 1
    assert cost.key(-inf) == OUTSIDE


@pytest.mark.parametrize("span", PeriodLength)
@given(day=st.dates())
def test_a_day_is_in_the_period_that_its_label_names(span: PeriodLength, day: date) -> None:
    """The label of a key, read again, is the key; keys of later periods are larger."""
    visit = Period(VISIT, span)
    key = visit.key(day)
    assert visit.canonical_key(visit.label(key)) == key
    assert str(visit.label(key)).startswith(f"{day.year:04d}")
    assert visit.key(datetime.combine(day, datetime.min.time())) == key
    if day < date(9999, 1, 1):
        assert visit.key(day + timedelta(days=366)) > key


def test_a_month_is_in_the_quarter_of_its_three_months() -> None:
    """January to March are the first quarter."""
    visit = Period(VISIT, PeriodLength.QUARTER)
    labels = [visit.label(visit.key(date(2026, month, 1))) for month in range(1, 13)]
    assert labels == [f"2026-Q{(month - 1) // 3 + 1}" for month in range(1, 13)]


def test_ranges_have_labels_that_can_be_read_again() -> None:
    """A label stands for its range wherever a key may stand."""
    age, cost = NumberRanges(AGE, (0, 18, 19, 65)), NumberRanges(COST, (0.0, 2.5))
    assert [age.label(key) for key in age.known_keys] == ["0 to 17", "18", "19 to 64", "65 or more"]
    assert [cost.label(key) for key in cost.known_keys] == ["0 to under 2.5", "2.5 or more"]
    assert [age.canonical_key(age.label(key)) for key in age.known_keys] == list(age.known_keys)


@pytest.mark.parametrize(
    ("part", "key", "words"),
    [
        (EachValue(TOWN), 3, "a text"),
        (EachValue(TOWN), "a\0b", "a text"),
        (EachValue(TOWN), "a" * 1001, "a text"),
        (EachValue(AGE), "3", "a number"),
        (EachValue(AGE), True, "a number"),
        (EachValue(AGE), 2**63, "a number"),
        (EachValue(VISIT), "2026-02-30", "a date"),
        (EachValue(VISIT), datetime.fromisoformat("2026-01-01T12:00"), "a date"),
        (NumberRanges(AGE, (0, 18)), 2, "they follow from the edges"),
        (NumberRanges(AGE, (0, 18)), "0 to 18", "they follow from the edges"),
        (Period(VISIT, PeriodLength.MONTH), "2026-13", "2026-01"),
        (Period(VISIT, PeriodLength.QUARTER), "2026-Q5", "2026-Q1"),
        (Period(VISIT, PeriodLength.YEAR), True, "2026"),
    ],
)
def test_a_key_of_another_kind_is_refused_in_one_line(part: GroupBy, key: object, words: str) -> None:
    """The refusal names the part, the key and what to write."""
    with pytest.raises(PredicateError, match=words) as refused:
        part.canonical_key(key)
    assert part.text in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        (AGE, ()),
        (AGE, (0, 0)),
        (AGE, (18, 0)),
        (AGE, (0.5, 1)),
        (COST, (0.0, inf)),
        (COST, (nan,)),
        (TOWN, (0, 1)),
        (VISIT, (0, 1)),
    ],
)
def test_edges_that_are_none_are_refused(column: Column, edges: tuple[int | float, ...]) -> None:
    """Edges are finite numbers that rise, of a column of numbers."""
    with pytest.raises(PredicateError, match="edges"):
        NumberRanges(column, edges)


@pytest.mark.parametrize("column", [COST, SEEN])
def test_values_of_which_few_are_equal_are_no_groups(column: Column) -> None:
    """The refusal says how to group them."""
    with pytest.raises(PredicateError, match=f"{column.name}:"):
        EachValue(column)


def test_periods_belong_to_dates() -> None:
    """A number has no months."""
    with pytest.raises(PredicateError, match="dates"):
        Period(AGE, PeriodLength.MONTH)
