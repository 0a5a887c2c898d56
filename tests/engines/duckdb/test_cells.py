"""What cells of CSV files stand for, and that none changes what another does."""

from collections.abc import Mapping
from csv import QUOTE_ALL, QUOTE_MINIMAL, writer
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.forms import ColumnForm
from noisycount.errors import PredicateError, SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import counts, write_csv
from tests.layers import examples

if TYPE_CHECKING:
    from noisycount.query.predicate import Predicate

Replies: TypeAlias = dict[str, int | str] | None


@pytest.mark.parametrize(
    ("kind", "cells", "question", "count"),
    [
        (Kind.INTEGER, ["2", "1.5", "2.5", "2_0", "0x2", "1e1", " +7 ", "-0"], "true", 8),
        (Kind.INTEGER, ["2", "1.5", "2.5", "2_0", "0x2", "1e1", " +7 ", "-0"], "x is null", 5),
        (Kind.INTEGER, ["2", "1.5", "2.5", "2_0", "0x2", "1e1", " +7 ", "-0"], "x = 7", 1),
        (Kind.REAL, ["1_0.5", "0x1p3", "2.5 m", ".5", "5.", "-inf", "NaN"], "x is null", 3),
        (Kind.DATE, ["2020-1-5", "epoch", "infinity", "2020-01-05 10:00"], "x is null", 4),
        (Kind.TIMESTAMP, ["2020-01-05 10:00:00+02", "2020-01-05T10:00", "now"], "x is null", 2),
        (Kind.BOOLEAN, ["true", "F", "2", "on"], "x is null", 2),
    ],
)
def test_a_cell_that_does_not_fit_its_stated_kind_refuses_all_until_it_is_accepted(
    tmp_path: Path, kind: Kind, cells: list[str], question: str, count: int
) -> None:
    """Then it is missing: neither rounded, nor read without its zone, nor as a day."""
    path = write_csv(tmp_path, "x\n" + "".join(f'"{cell}"\n' for cell in cells))
    with pytest.raises(SourceError, match="cells of 'x' do not fit their kind: whoever owns it"):
        DuckDBSource.open(path, kinds={"x": kind})
    accepted = ColumnForm(kind, accepts_unreadable=True)
    assert counts(path, question, kinds={"x": accepted}) == [count]


def test_cells_of_hidden_columns_refuse_nothing(tmp_path: Path) -> None:
    """What no question may use need not fit, and any text names a person."""
    path = write_csv(tmp_path, "person,x,y\n1,a,2\n")
    kinds = dict.fromkeys(["x", "y"], Kind.INTEGER)
    assert counts(path, "y = 2", columns=["y"], kinds=kinds) == [1]
    assert counts(path, "y = 2", unit="x", columns=["y"], kinds=kinds) == [1]


CELLS = st.sampled_from(
    [
        *("1", "-3", "007", "+1", "2.5", "1e3", "9007199254740993", "900719925474099", "0.1"),
        *("true", "false", "t", "2020-01-05", "2020-1-5", "2020-01-05 10:00:00", "unknown", ""),
        *("nan", "inf", "1_0", "99999999999999999999", "2020-13-01", "1.0", "-0", "0", "10"),
        *("n/a", " 7 ", "a,b", 'say "x"', "two\nlines", "'", "#", "é", "1,5", "NULL", "Infinity"),
    ]
) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
COLUMNS = st.sampled_from(["a", "b", '"a"', "B"])
WRITTEN = st.sampled_from(
    [
        *("1", "0", "-0.0", "1.0", "2.5", "10", "1e3", "900719925474099", "9007199254740993"),
        *("true", "false", "'1'", "'1.0'", "'2020-01-05'", "'unknown'", "''", "'2020-01-05 09:00'"),
    ]
)
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
TESTS = st.one_of(
    st.builds("{} {} {}".format, COLUMNS, OPERATORS, WRITTEN | COLUMNS),
    st.builds("{} {} {}".format, WRITTEN, OPERATORS, COLUMNS),
    st.builds("{} between {} and {}".format, COLUMNS, WRITTEN, WRITTEN),
    st.builds("{} in ({}, {})".format, COLUMNS, WRITTEN, WRITTEN),
    st.builds("{} like '{}'".format, COLUMNS, st.sampled_from(["%0%", "1%", "_", "%"])),
    st.builds("{} is null".format, COLUMNS),
    COLUMNS,
)
QUESTIONS = st.recursive(
    TESTS,
    lambda inner: (
        st.builds("not ({})".format, inner)
        | st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
    ),
    max_leaves=4,
)
ROWS = st.lists(st.tuples(CELLS, CELLS), min_size=0, max_size=4)
PERSONS = ["7", "7.0", "07", "anna", "-0", "0"]


FORMS = st.sampled_from(
    [
        ColumnForm(Kind.INTEGER),
        ColumnForm(Kind.REAL, missing=("n/a", "NULL")),
        ColumnForm(Kind.REAL, decimal=","),
        ColumnForm(Kind.TEXT, trim=True),
        ColumnForm(Kind.TEXT),
        ColumnForm(Kind.BOOLEAN),
        ColumnForm(Kind.DATE),
        ColumnForm(Kind.TIMESTAMP),
    ]
)
NEIGHBOURS = (
    ROWS,
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=2),
    st.sampled_from(["new", "1e1", "10", " 7", "nan"]),
    st.lists(QUESTIONS, min_size=8, max_size=24),
    st.tuples(FORMS, FORMS, st.sampled_from([QUOTE_ALL, QUOTE_MINIMAL])),
)


@given(*NEIGHBOURS)
@examples(30)
def test_one_more_record_moves_a_count_by_one_at_most_and_no_refusal(
    rows: list[tuple[str, str]],
    added: list[tuple[str, str]],
    person: str,
    questions: list[str],
    written: tuple[ColumnForm, ColumnForm, int],
) -> None:
    """Whatever its cells and those of others are, for rows, and for a person with all records."""
    others = [(PERSONS[n % len(PERSONS)], *row) for n, row in enumerate(rows * 20)]
    new = [(person, *row) for row in added]
    *forms, quoting = written
    kinds = dict(zip("ab", forms, strict=True))
    accepted = {name: replace(form, accepts_unreadable=True) for name, form in kinds.items()}
    for unit, records in ((None, new[:1]), ("person", new)):
        with TemporaryDirectory() as folder:
            without, with_new = (
                File(Path(folder, "x.csv"), lines, unit, quoting) for lines in (others, [*others, *records])
            )
            check_neighbours(without.replies(questions, accepted), with_new.replies(questions, accepted))
            assert with_new.replies(questions, kinds) in (None, with_new.replies(questions, accepted))


def check_neighbours(without: Replies, with_new: Replies) -> None:
    """Assert it of the replies about records, and about those with what is added to them."""
    assert without is not None
    assert with_new is not None
    assert without.keys() == with_new.keys()
    for text, told in without.items():
        if isinstance(told, str):
            assert with_new[text] == told
        else:
            assert with_new[text] - told in (0, 1), text


@dataclass(frozen=True)
class File:
    """A CSV file of rows."""

    path: Path
    rows: list[tuple[str, str, str]]
    unit: str | None
    quoting: int

    def replies(self, questions: list[str], kinds: Mapping[str, ColumnForm]) -> Replies:
        """The count, or the words of the refusal, of each question; None: all are refused."""
        with self.path.open("w", encoding="utf-8", newline="") as file:
            writer(file, quoting=self.quoting).writerows([("person", "a", "b"), *self.rows])
        try:
            source = DuckDBSource.open(self.path, unit=self.unit, kinds=kinds)
        except SourceError:
            return None
        with source:
            told: dict[str, int | str] = {}
            admitted: dict[str, Predicate] = {}
            for text in questions:
                try:
                    admitted[text] = parse(text, source.schema)
                except PredicateError as refusal:
                    told[text] = str(refusal)
            counted = source.count([*admitted.values()])
            return told | dict(zip(admitted, counted, strict=True))
