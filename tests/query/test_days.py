"""A day beside a column of times stands for all of its moments, as `date()` of Python cuts them."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.engines.truth import truth
from noisycount.query.language import parse
from noisycount.query.normal_form import normal_form
from noisycount.query.predicate import TESTS, canonical_text
from noisycount.query.schema import Kind

SCHEMA = {"seen": Kind.TIMESTAMP}
DAYS = st.one_of(st.dates(), st.sampled_from([date.min, date.max, date(2024, 2, 29), date(2023, 12, 31)]))
NEAR = st.sampled_from([0, 1, -1, 43_200_000_000, 86_399_999_999, 86_400_000_000, -86_400_000_000])


@st.composite
def moments(draw: Callable[[st.SearchStrategy[object]], object]) -> tuple[datetime, date]:
    """A day, and a moment that is often near one of its ends."""
    day = draw(DAYS)
    assert isinstance(day, date)
    try:
        moment = datetime.combine(day, time.min) + timedelta(microseconds=int(str(draw(NEAR))))
    except OverflowError:
        moment = datetime.combine(day, time.max)
    return moment, day


def is_true(where: str, moment: datetime) -> bool:
    """Return True if a moment satisfies a question; check its normal form and canonical text."""
    asked = parse(where, SCHEMA)
    normal = normal_form(asked)
    assert parse(canonical_text(normal), SCHEMA) == normal
    (found,) = {truth(form, {"seen": moment}) for form in (asked, normal)}
    assert truth(asked, {"seen": None}) is truth(normal, {"seen": None})
    return bool(found)


@given(moments())
def test_every_operator_compares_days(case: tuple[datetime, date]) -> None:
    """On either side of it, and negated."""
    moment, day = case
    for operator, compared in TESTS.items():
        expected = compared(moment.date(), day)
        assert is_true(f"seen {operator.value} '{day}'", moment) is expected
        assert is_true(f"'{day}' {operator.mirrored.value} seen", moment) is expected
        assert is_true(f"not seen {operator.value} '{day}'", moment) is not expected


@given(moments(), DAYS, st.datetimes())
def test_ranges_and_lists_compare_days(case: tuple[datetime, date], other: date, at: datetime) -> None:
    """Also beside moments, and with the ends the wrong way round."""
    moment, day = case
    for low, high in ((day, other), (other, day), (day, day)):
        expected = low <= moment.date() <= high
        assert is_true(f"seen between '{low}' and '{high}'", moment) is expected
        assert is_true(f"seen not between '{low}' and '{high}'", moment) is not expected
        expected = moment.date() in (low, high) or moment == at
        assert is_true(f"seen in ('{low}', '{at}', '{high}')", moment) is expected
        assert is_true(f"seen not in ('{low}', '{at}', '{high}')", moment) is not expected
    assert is_true(f"seen between '{at}' and '{day}'", moment) is (at <= moment and moment.date() <= day)
    assert is_true(f"seen between '{day}' and '{at}'", moment) is (day <= moment.date() and moment <= at)


@pytest.mark.parametrize("moment", ["2024-01-31 00:00", "2024-01-31T00:00:00", "2024-01-31 00:00:00.000"])
def test_a_written_time_is_one_moment(moment: str) -> None:
    """Midnight too: only a day alone stands for a whole day."""
    assert canonical_text(parse(f"seen <= '{moment}'", SCHEMA)) == "seen <= '2024-01-31 00:00:00'"
