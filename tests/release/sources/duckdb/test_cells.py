"""What cells of CSV files stand for, and that none changes what another does."""

from csv import QUOTE_ALL, QUOTE_MINIMAL, writer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.release.question.parser import parse
from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.source import DuckDBSource
from tests.release.sources.duckdb.test_source import counts, write_csv

if TYPE_CHECKING:
    from noisycount.release.question.tree import Predicate


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
def test_a_cell_that_does_not_fit_its_stated_kind_is_missing(
    tmp_path: Path, kind: Kind, cells: list[str], question: str, count: int
) -> None:
    """It is neither rounded, nor read without its zone, nor as a day without its hour."""
    path = write_csv(tmp_path, "x\n" + "".join(f'"{cell}"\n' for cell in cells))
    assert counts(path, question, kinds={"x": kind}) == [count]


NUMBERS = ["65", "65.0", "7e1", " 70 ", "-0", "0", "0.0", "n/a", "", "seventy", "1_0", "64.999"]


@pytest.mark.parametrize(
    ("cells", "question", "count"),
    [
        (NUMBERS, "x >= 65", 4),
        (NUMBERS, "not x >= 65", 4),
        (NUMBERS, "x = 0", 3),
        (NUMBERS, "x <> 0", 5),
        (NUMBERS, "x in (65, 70.0)", 4),
        (NUMBERS, "x between 64.999 and 65", 3),
        (NUMBERS, "x = '65'", 1),
        (NUMBERS, "x like '6%'", 3),
        (NUMBERS, "x is null", 1),
        (["9007199254740991", "9007199254740990", "9007199254740993"], "x = 9007199254740991", 1),
        (["0.1", ".1", "1e-1", "0.1000000000000000056"], "x = 0.1", 4),
        (["true", "TRUE", "t", "yes", "1", "no", "f", "maybe", ""], "x = true", 5),
        (["true", "TRUE", "t", "yes", "1", "no", "f", "maybe", ""], "x <> true", 2),
        (["true", "TRUE", "t", "yes", "1", "no", "f", "maybe", ""], "x = 'true'", 1),
        (["2020-01-05", "2020-02-01", "2020-1-5", "unknown"], "x < '2020-02-01'", 1),
        (["007", "7", "7.0"], "x = '007'", 1),
        (["007", "7", "7.0"], "x = 7", 3),
    ],
)
def test_a_literal_says_what_each_cell_is_read_as(
    tmp_path: Path, cells: list[str], question: str, count: int
) -> None:
    """Where no kinds are stated; a cell that is no number is missing beside a number."""
    path = write_csv(tmp_path, "x\n" + "".join(f'"{cell}"\n' for cell in cells))
    assert counts(path, question) == [count]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("a < b", "column 'a' (no stated kind) with column 'b' (no stated kind): compare each"),
        ("a = a", "compare each with a literal, or state their kinds in noisycount.toml"),
        ("a", "column 'a' (no stated kind) where a predicate belongs: write = true after it"),
        ("a in (1, 'x')", "literals of several kinds: write them all as texts, or all as numbers"),
        ("a between '1' and 2", "literals of several kinds"),
        ("a = 9007199254740992", "9007199254740992, which may not be told from its neighbours"),
        ("a = -9007199254740993", "state the kind of the column in noisycount.toml"),
        ("a in ()", "empty list"),
        ("a > true", "use = or <>"),
        ("a in (true)", "use = or <>"),
    ],
)
def test_what_only_all_cells_together_could_decide_is_refused(
    tmp_path: Path, question: str, words: str
) -> None:
    """Whether two columns hold numbers is nothing that a question may depend on."""
    with (
        DuckDBSource.open(write_csv(tmp_path, "a,b\n1,2\n")) as source,
        pytest.raises(PredicateError) as caught,
    ):
        parse(question, source.schema)
    assert words in str(caught.value)


def test_one_record_turns_no_comparison_of_others(tmp_path: Path) -> None:
    """A record of texts made two columns of numbers compare as texts, for all 2,000 rows."""
    rows = "systolic,diastolic\n" + "120,80\n" * 2000
    told = []
    for text in (rows, rows + "n/a,n/a\n"):
        with DuckDBSource.open(write_csv(tmp_path, text)) as source:
            with pytest.raises(PredicateError) as caught:
                parse("systolic < diastolic", source.schema)
            told.append((str(caught.value), counts(source.path, "systolic < 130", "true")))
    assert told[0][0] == told[1][0]
    assert [counted for _, counted in told] == [[2000, 2000], [2000, 2001]]


def test_one_record_splits_no_other_person(tmp_path: Path) -> None:
    """Persons of no stated kind are texts, whether or not all of them could be numbers."""
    rows = "person,x\n" + "".join(f"{n},1\n{n}.0,1\n" for n in range(1000))
    told = [
        counts(write_csv(tmp_path, text), "true", unit="person")
        for text in (rows, rows + "anna,1\n")
    ]
    assert told == [[2000], [2001]]


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


NEIGHBOURS = (
    ROWS,
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=2),
    st.sampled_from(["new", "1e1", "10", " 7", "nan"]),
    st.lists(QUESTIONS, min_size=8, max_size=24),
    st.sampled_from([QUOTE_ALL, QUOTE_MINIMAL]),
)


@given(*NEIGHBOURS)
def test_one_more_record_moves_a_count_by_one_at_most_and_no_refusal(
    rows: list[tuple[str, str]],
    added: list[tuple[str, str]],
    person: str,
    questions: list[str],
    quoting: int,
) -> None:
    """Whatever its cells and those of others are, for rows, and for a person with all records."""
    check_neighbours(rows, added, person, questions, quoting)


def check_neighbours(
    rows: list[tuple[str, str]],
    added: list[tuple[str, str]],
    person: str,
    questions: list[str],
    quoting: int,
) -> None:
    """Assert it of one file, twenty times as long, and what is added to it."""
    others = [(PERSONS[n % len(PERSONS)], *row) for n, row in enumerate(rows * 20)]
    new = [(person, *row) for row in added]
    for unit, records in ((None, new[:1]), ("person", new)):
        without, with_new = (
            replies(written, questions, unit, quoting) for written in (others, [*others, *records])
        )
        assert without.keys() == with_new.keys()
        for text, told in without.items():
            if isinstance(told, str):
                assert with_new[text] == told
            else:
                assert with_new[text] - told in (0, 1), text


def replies(
    rows: list[tuple[str, str, str]], questions: list[str], unit: str | None, quoting: int
) -> dict[str, int | str]:
    """The count, or the words of the refusal, of each question about a file of rows."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer(file, quoting=quoting).writerows([("person", "a", "b"), *rows])
        with DuckDBSource.open(path, unit=unit) as source:
            told: dict[str, int | str] = {}
            admitted: dict[str, Predicate] = {}
            for text in questions:
                try:
                    admitted[text] = parse(text, source.schema)
                except PredicateError as refusal:
                    told[text] = str(refusal)
            counted = source.count([*admitted.values()])
            return told | dict(zip(admitted, counted, strict=True))
