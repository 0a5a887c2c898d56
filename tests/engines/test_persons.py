"""Checks of persons report the same on every engine."""

import pytest

from noisycount.engines.persons import Persons, SpoiltIds
from noisycount.query.schema import Kind
from tests.helpers.sources import OpenSource, Record

SCHEMA = {"who": Kind.TEXT, "number": Kind.INTEGER, "sex": Kind.INTEGER, "lab": Kind.TEXT, "full": Kind.BOOLEAN}
IDS = (
    "1.0",
    "2",
    "2.0",
    "A7",
    "a7",
    "A7 ",
    "Zürich",
    "Zu\u0308rich",
    "É",
    "e\u0301",
    "Weiß",
    "Weiss",
    "B1",
    "B1\u00a0",
    "\u3000B1",
    "C-1",
    "C\u20131",
    "C\u200b-\uff11",
)
RECORDS: list[Record] = [
    {"who": who, "number": number // 3, "sex": None if row else 1, "lab": "pos" if row else None, "full": True}
    for number, who in enumerate(IDS)
    for row in range(2)
]
ALIKE = (("2", "2.0"), ("A7", "A7 ", "a7"), ("Zu\u0308rich", "Zürich"))


@pytest.mark.parametrize("open_source", ["duckdb", "arrow", "polars", "postgresql"], indirect=True)
def test_every_engine_shows_the_same_of_persons(open_source: OpenSource) -> None:
    """Rows of each, columns of some rows only, and ids that may be one."""
    with open_source(RECORDS, SCHEMA, unit="who") as source:
        persons = source.check().persons
    assert isinstance(persons, Persons)
    assert (persons.median_rows, persons.largest_rows) == (2, 2)
    assert (persons.partial, persons.apart) == (("sex", "lab"), (("sex", "lab"),))
    (spellings,) = persons.spellings
    assert {*spellings.examples} <= {*ALIKE, ("e\u0301", "É"), ("B1", "B1\u00a0", "\u3000B1")}
    assert (spellings.texts, spellings.largest) == (6, 3)
    assert spellings.parts == {"trim": True, "fold_case": True, "normalise": "NFKC", "drop_zeros": True}


@pytest.mark.thorough
@pytest.mark.parametrize("open_source", ["duckdb", "arrow", "polars", "postgresql"], indirect=True)
def test_persons_of_numbers_have_one_spelling(open_source: OpenSource) -> None:
    """And records without persons show none."""
    with open_source(RECORDS, SCHEMA, unit="number") as source:
        persons = source.check().persons
    assert isinstance(persons, Persons)
    assert (persons.median_rows, persons.largest_rows, persons.spellings) == (6, 6, ())
    for records in ([], RECORDS):
        with open_source(records, SCHEMA, unit=None if records else "who") as source:
            assert source.check().persons is None


ODD = ("P7", "P007", "unknown", "999", "1.5E+12", "9,5e+15", "1-Mar", "123-45", "12345", "A", "B", "C", "D", "E")
ODD_RECORDS: list[Record] = [{"who": who, "number": n} for n, who in enumerate(ODD)]


@pytest.mark.parametrize("open_source", ["duckdb", "arrow", "polars", "postgresql"], indirect=True)
def test_every_engine_shows_the_same_of_odd_ids(open_source: OpenSource) -> None:
    """Words and numbers for a missing id, ids that lost digits or became dates, and ids with marks."""
    schema = {"who": Kind.TEXT, "number": Kind.INTEGER}
    with open_source(ODD_RECORDS, schema, unit="who") as source:
        persons = source.check().persons
    assert isinstance(persons, Persons)
    assert (persons.missing_ids, persons.placeholders) == (("unknown",), ("999",))
    assert persons.rounded == SpoiltIds(2, 2, ("1.5E+12", "9,5e+15"))
    assert persons.dates == SpoiltIds(1, 1, ("1-Mar",))
    examples = [spellings.examples for spellings in persons.spellings]
    assert examples == [(("P007", "P7"),), (("123-45", "12345"),)]
