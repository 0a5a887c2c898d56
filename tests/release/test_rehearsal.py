from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.query_plan import plan_of
from noisycount.release.rehearsal import MOST_UNITS, Rehearsal, make_up_records, rehearse_query
from noisycount.release.results import Release
from noisycount.release.table_release import TableRelease

COLUMNS = {
    "age": Kind.INTEGER,
    "income": Kind.REAL,
    "town": Kind.TEXT,
    "smokes": Kind.BOOLEAN,
    "born": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
WHERES = [
    "age >= 65",
    "age between 18 and 30 and income < 1.5",
    "town in ('Bern', 'Biel') or town like 'Z%'",
    "smokes and born < '1960-01-01'",
    "not (seen > '2026-01-01 12:00:00' and age = 7)",
    "age >= -5",
    "age < 9223372036854775807",
    "born >= '9999-12-31'",
    "born <= '0001-01-01'",
    "number(town) >= 100 or date(town) < '2024-02-01' or town = 'Bern'",
    "number(town) < income and number(town) is not null",
]


SPELLED = ("number(town) >= 100", "date(town) < '2024-02-01'")


def made_of(query: Query, unit: str | None, size: int | None = None) -> Rehearsal:
    """Give the rehearsal of a question."""
    plan = plan_of(query, COLUMNS, unit, is_replacement=False)
    return rehearse_query(query, plan, unit, size)


def count_of(where: str, unit: str | None, epsilon: int, size: int | None) -> Rehearsal:
    """Give that of one count."""
    return made_of(Query(wheres=[where], epsilon=epsilon), unit, size)


@pytest.mark.parametrize("where", WHERES)
@pytest.mark.parametrize("unit", [None, "person"])
def test_every_question_has_a_rehearsal(where: str, unit: str | None) -> None:
    """Records can be made up for every kind of column and every literal, for rows and persons."""
    made = count_of(where, unit, 1, 300)
    assert made.units == 300
    assert made.counts is not None
    assert 0 <= made.counts[0] <= 300


def test_some_match_and_some_do_not() -> None:
    """A rehearsal shows a shape: its values lie on both sides of those that the question names."""
    for where in ("age >= 65", "town = 'Bern'", "smokes", "born < '1960-01-01'", "income < 1.5", *SPELLED):
        made = count_of(where, None, 1, 500)
        assert made.counts is not None
        assert 0 < made.counts[0] < 500, where


def test_same_question_has_same_records() -> None:
    """A second rehearsal has equal records, and differs in its noise only."""
    first, again = (count_of("age >= 65", None, 9, 500) for _ in "12")
    assert first.counts == again.counts


def test_noise_is_that_of_the_price() -> None:
    """The answer is off as far as real ones are: so far with a probability of one in 1e12."""
    errors = []
    for _ in range(100):
        made = count_of("age >= 65", None, 2, 50)
        assert isinstance(made.release, Release)
        assert made.counts is not None
        errors.append(abs(made.release.answer - made.counts[0]))
    assert max(errors) < DiscreteLaplace.for_epsilon(Fraction(2)).smallest_error(1e-12)
    assert len(set(errors)) > 1


@given(st.integers(1, 10**12))
def test_size_is_bounded(size: int) -> None:
    """However large a public size is, a rehearsal stays quick."""
    with make_up_records({}, None, {}, 1) as source:
        assert source.check().rows == 1
    assert count_of("true", None, 1, size).units <= MOST_UNITS


def test_question_outside_the_language_is_refused() -> None:
    """A rehearsal refuses a question in the words of the desk."""
    with pytest.raises(PredicateError, match="wage"):
        count_of("wage > 3", None, 1, None)


@pytest.mark.parametrize("unit", [None, "person"])
def test_table_has_its_shape(unit: str | None) -> None:
    """Every cell and margin that would be answered is there, with the counts behind them."""
    keys = {"town": ["Bern", "Biel", None]}
    query = Query(
        by=["town", "age:0,18,65", "smokes"],
        keys=keys,
        epsilon=Fraction(1),
        margins=("total",),
        other=True,
        groups_per_unit=None if unit is None else 1,
    )
    made = made_of(query, unit, 200)
    assert isinstance(made.release, TableRelease)
    assert len(made.release) == 3 * 3 * 2 + 1 + 1
    assert made.counts is not None
    assert len(made.counts) == len(made.release)
    assert sum(made.counts[:-1]) == made.counts[-1] <= 200


def test_periods_are_filled() -> None:
    """Months that are asked for have made-up visits."""
    query = Query(by=["born:month"], keys={"born": ["2026-01", "2026-02"]}, epsilon=Fraction(1))
    made = made_of(query, None, 500)
    assert made.counts is not None
    assert min(made.counts) > 0


def test_hidden_keys_stay_hidden() -> None:
    """Nobody listed the keys, so those of made-up records are shown from the threshold on alone."""
    query = Query(by=["town"], epsilon=Fraction(1), delta=Fraction(1, 10**6))
    made = made_of(query, None, 900)
    assert made.counts is None
    assert isinstance(made.release, TableRelease)
    assert len(made.release) >= 1


def test_several_questions_have_counts() -> None:
    """Each question has its own count, in the order in which they were asked."""
    query = Query(wheres=["age >= 65", "true"], is_list=True, epsilon=Fraction(1))
    made = made_of(query, None, 100)
    assert made.counts is not None
    assert made.counts[0] < made.counts[1] == 100
