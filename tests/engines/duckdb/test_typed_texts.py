"""Values of text cells: no cell changes another, and a check reports the cells that do not fit.

Tests of `engines/duckdb/cells.py` and `engines/duckdb/check_facts.py`.
"""

from collections.abc import Mapping, Sequence
from csv import QUOTE_ALL, QUOTE_MINIMAL, writer
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noisycount.engines.check import ColumnCheck
from noisycount.engines.duckdb.connection import quoted_name
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.duckdb.typed_texts import TextTable
from noisycount.engines.formats import EXCEL, ColumnFormat
from noisycount.errors import PredicateError, SourceError
from noisycount.query.language import parse
from noisycount.query.schema import ZONED, Kind
from tests.engines.duckdb.test_source import counts, write_csv
from tests.helpers.cases import examples
from tests.helpers.cell_reference import reference
from tests.helpers.sources import database

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
    with pytest.raises(SourceError, match="cells of 'x' do not fit their kind: their owner sees"):
        DuckDBSource.open(path, kinds={"x": kind})
    accepted = ColumnFormat(kind, accepts_unreadable=True)
    assert counts(path, question, kinds={"x": accepted}) == [count]


def test_cells_of_hidden_columns_refuse_nothing(tmp_path: Path) -> None:
    """Columns that no question may use need not fit; the unit needs its stated kind, or is a text."""
    path = write_csv(tmp_path, "person,x,y\n1,a,2\n")
    kinds = dict.fromkeys(["x", "y"], Kind.INTEGER)
    assert counts(path, "y = 2", columns=["y"], kinds=kinds) == [1]
    with pytest.raises(SourceError, match="cells of 'x' do not fit their kind"):
        counts(path, "y = 2", unit="x", columns=["y"], kinds=kinds)
    assert counts(path, "y = 2", unit="x", columns=["y"], kinds={"y": Kind.INTEGER}) == [1]


RANDOM_CELLS = st.sampled_from(
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
ROWS = st.lists(st.tuples(RANDOM_CELLS, RANDOM_CELLS), min_size=0, max_size=4)
PERSONS = ["7", "7.0", "07", "anna", "-0", "0"]
TWO_FORMS = st.sampled_from(
    [
        *(ColumnFormat(Kind.INTEGER), ColumnFormat(Kind.REAL, missing=("n/a", "NULL"))),
        *(ColumnFormat(Kind.REAL, decimal=","), ColumnFormat(Kind.TEXT, trim=True), ColumnFormat(Kind.TEXT)),
        *(ColumnFormat(Kind.BOOLEAN), ColumnFormat(Kind.DATE), ColumnFormat(Kind.TIMESTAMP)),
        *(ColumnFormat(Kind.REAL, nan="missing"), ColumnFormat(Kind.REAL, symbols=("%",), brackets=True)),
    ]
)
NEIGHBOURS = (
    ROWS,
    st.lists(st.tuples(RANDOM_CELLS, RANDOM_CELLS), min_size=1, max_size=2),
    st.sampled_from(["new", "1e1", "10", " 7", "nan"]),
    st.lists(QUESTIONS, min_size=8, max_size=24),
    st.tuples(TWO_FORMS, TWO_FORMS, st.sampled_from([QUOTE_ALL, QUOTE_MINIMAL])),
)


@pytest.mark.thorough
@given(*NEIGHBOURS)
@examples(20)
def test_one_more_record_moves_a_count_by_one_at_most_and_no_refusal(
    rows: list[tuple[str, str]],
    added: list[tuple[str, str]],
    person: str,
    questions: list[str],
    written: tuple[ColumnFormat, ColumnFormat, int],
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

    def replies(self, questions: list[str], kinds: Mapping[str, ColumnFormat]) -> Replies:
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


FORMS = [
    ColumnFormat(Kind.INTEGER),
    ColumnFormat(Kind.INTEGER, decimal=",", missing=("NA", "-1")),
    ColumnFormat(Kind.REAL),
    ColumnFormat(Kind.REAL, decimal=",", missing=("k.A.",)),
    ColumnFormat(Kind.REAL, nan="missing"),
    ColumnFormat(Kind.INTEGER, thousands=" "),
    ColumnFormat(Kind.REAL, thousands="'", symbols=("CHF", "Fr.")),
    ColumnFormat(Kind.REAL, decimal=",", thousands=" ", symbols=("€", "%")),
    ColumnFormat(Kind.REAL, symbols=("$",), brackets=True),
    ColumnFormat(Kind.INTEGER, brackets=True),
    ColumnFormat(Kind.INTEGER, thousands=" ", minus_behind=True),
    ColumnFormat(Kind.REAL, decimal=",", symbols=("€",), minus_behind=True),
    ColumnFormat(Kind.REAL, symbols=("$",), brackets=True, minus_behind=True),
    ColumnFormat(Kind.TEXT),
    ColumnFormat(Kind.TEXT, trim=True, missing=("it's", "NA")),
    ColumnFormat(Kind.TEXT, trim=True, fold_case=True, normalise="NFC", drop_zeros=True),
    ColumnFormat(Kind.TEXT, normalise="NFKC", missing=("n/a", "-")),
    ColumnFormat(Kind.TEXT, trim=True, fold_case=True, normalise="NFKC", drop_zeros=True),
    ColumnFormat(Kind.TEXT, drop_zeros=True),
    ColumnFormat(Kind.TEXT, drop_marks=True),
    ColumnFormat(Kind.TEXT, fold_case=True, normalise="NFKC", drop_zeros=True, drop_marks=True),
    ColumnFormat(Kind.BOOLEAN),
    ColumnFormat(Kind.BOOLEAN, true=("ja", "J'a"), false=("nein", "0")),
    ColumnFormat(Kind.DATE),
    ColumnFormat(Kind.DATE, date_format="%d.%m.%Y"),
    ColumnFormat(Kind.DATE, date_format="%m/%d/%y"),
    ColumnFormat(Kind.TIMESTAMP),
    ColumnFormat(Kind.TIMESTAMP, date_format=ZONED),
    ColumnFormat(Kind.TIMESTAMP, date_format="%d.%m.%Y %H:%M"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%Y%m%d %I:%M:%S %p"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%Y-%m-%dT%H:%M:%S.%n%z"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%d-%b-%Y, %H:%M:%S.%n"),
    ColumnFormat(Kind.DATE, date_format="%A, %B %d, %Y"),
    ColumnFormat(Kind.DATE, date_format="%b-%y"),
    ColumnFormat(Kind.DATE, date_format="%Y%m%d"),
    ColumnFormat(Kind.DATE, date_format="%d%m%y"),
    ColumnFormat(Kind.DATE, date_format="%Y%j"),
    ColumnFormat(Kind.DATE, date_format="%d %b %Y r."),
    ColumnFormat(Kind.TIMESTAMP, date_format="%b %d %Y %I:%M%p"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%d/%b/%Y:%H:%M:%S %z"),
    ColumnFormat(Kind.DATE, date_format="%d. %B %Y"),
    ColumnFormat(Kind.DATE, date_format="%A, %d de %B de %Y"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%d %b %Y %I:%M %p"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%Y/%m/%d %I:%M:%S %p %z"),
    ColumnFormat(Kind.TIMESTAMP, date_format="%Y%m%d%H%M%S%z"),
    ColumnFormat(Kind.DATE, date_format=EXCEL),
    ColumnFormat(Kind.TIMESTAMP, date_format=EXCEL),
]
EXTREMES = [
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e308", "1e309", "1_0", "0x10", "0b1"),
    *("1e1_0", ".", "+", "1.", ".5", "1,", ",5", "1,234", "1.234,5", "1,23", "1,234.5", "12,34", "0001,234", "007"),
    *("-0", "+-1", "-+1", "--1", "1e5", "1E-3", "e5", "1e", "1e0005", "1.5", "2.5", " 7 ", "\t7", "7\n", "7\r"),
    *("\v7.5\f", "7.5 \x1f", "\x1c7", "7\x85", "7 ", "inf", "-Infinity", "NaN", "+nan", "infin", "1 2", "5e-324"),
    *("1e-400", "0.1000000000000000056", "123456789012345678901234567890", "true", "T", "Yes", "JA", "j'a", "on"),
    *("NA", "-1", "k.A.", "it's", "", " ", "  NA ", "2020-02-29", "2021-02-29", "2020-2-9", "2020-01-31 24:00"),
    *("2020-01-31 23:59:60", "epoch", "2020-01-31T12:00", "2020-01-31 12:00:00.5", "2020-01-31 12:00:00.1234567"),
    *("infinity", "2020-01-31 12:00Z", "2020-01-31T12:00 +0230", "2020-01-31 00:00:00.25-11", "9999-12-31"),
    *("2020-01-31 12:00 -02:30", "2020-01-31 12:00:00+15", "2020-01-31 12:00:00 UTC", "now", "31.1.2020"),
    *("31.01.2020 7:05", "31.02.2020", "1/2/69", "1/2/68", "13/1/20", "31.01.20", "20200131 12:00:00 am"),
    *("20200131 13:00:00 PM", "20200131 1:05:09 Pm", "today", "Jan-24", "FEB-68", "feb-69", "Feb-2024", "Mai-24"),
    *("2020-01-31T12:00:00.1234569Z", "2020-01-31T23:59:59.999999999-01", "2020-01-31T12:00:00.5+0230", "31-Jan-2020"),
    *(
        "14. M\u00e4rz 2024",
        "14. Ma\u0308rz 2024",
        "31. juin 2024",
        "1er. f\u00e9vr. 2024",
        "1st. MAI 2024",
        "3. Mars 2024",
    ),
    *(
        "quarta-feira, 14 de mar\u00e7o de 2024",
        "mi\u00e9rcoles, 1\u00ba de ene de 2024",
        "mar., 5 de mar. de 2024",
        "14. Foo 2024",
    ),
    *("14 sept. 2024 1:30 p.\u00a0m.", "14th Sep 2024 12:00 A.M.", "14 okt 2024 1:30 pm.", "14 ott 2024 13:30 pm"),
    *("2024/02/14 1:30:00 PM GMT+1", "2024/02/14 1:30:00 p.m. UTC-05:30", "2024/02/14 1:30:00 AM GMT"),
    *("2024/02/14 1:30:00 AM +5:30", "2024/02/14 1:30:00 AMZ", "20240214133000+0100", "20240214133000GMT-11"),
    *("20240230133000Z", "20240214133000 UTC", "20240214133000+1", "20240214133000+530"),
    *(
        "29-Feb-2020, 23:59:59.9999999",
        "30-Feb-2020, 01:00:00.1",
        "Friday, January 31, 2020",
        "friday, january 1, 2021",
    ),
    *("45336", "45336.5", "45336.0", "61", "0", "0.25", "2958465", "45336.999999999", "-5.5", "45336.00001"),
    *(
        "1 234",
        "1\u00a0234",
        "1\u202f234,50",
        "12 34",
        "1 234 567",
        "1'234.50",
        "1\u2019234",
        "CHF 1'234.50",
        "5 Fr.",
        "-CHF5",
    ),
    *(
        "CHF-5",
        "CHF CHF 5",
        "CHF",
        "5 CHF CHF",
        "CHF5Fr.",
        "80,5 %",
        "%80",
        "€ 5",
        "5€",
        "-5,25 €",
        "+ €5",
        "1 234,50 €",
    ),
    *(
        "($5)",
        "$(5)",
        "(5)",
        "(-5)",
        "-(5)",
        "$ (1,234.50)",
        "( 5 )",
        "($ 5 )",
        "((5))",
        "()",
        "$",
        "(5",
        "5)",
        "-$5",
        "$-5",
    ),
    *(
        "300,50-",
        "1.300,50 -",
        "5-",
        "-5-",
        "5--",
        "-",
        "5,- \u20ac",
        "5 \u20ac-",
        "\u20ac5-",
        "(5)-",
        "(5-)",
        "1e5-",
        "$5-",
        "5$ -",
    ),
    *("20240214", "2024123", "202412", "2024366", "2023366", "140224", "14224", "310224", "2024-123"),
    *(
        "14 sty 2024 r.",
        "14  lip  2024 r.",
        "31 sty 2024 r.",
        "14 lisu 2024 r.",
        "14\u00a0wrz\u202f2024 r.",
        "14 feb 2024 r",
    ),
    *("Jan  1 2024  1:30PM", "Feb 14 2024 11:30AM", "Haz 14 2024 11:30p.m.", "\u0438\u044e\u043d 3 2024 1:05am"),
    *(
        "01/Jan/2024:13:30:00 +0100",
        "14/\u015eub/2024:13:30:00  -05",
        "30/FEB/2024:13:30:00 Z",
        "1/Mai/2024:3:30:00 +1",
    ),
    *("$5$", "(1,234)", "($5$)", "NAN", "nan", " nan ", "-nan", "(nan)", "$nan", "$inf"),
]
CELLS = st.one_of(
    st.sampled_from(EXTREMES),
    st.from_regex(
        r"[(]?[-+]?(\$|CHF|€)? ?[0-9]{1,3}([ '\u202f][0-9]{3})*[.,]?[0-9]{0,2}-? ?(%|€|\$)?-?[)]?", fullmatch=True
    ),
    st.from_regex(r"[+-]?[0-9]{0,4}[.,]?[0-9]{0,4}[.,]?[0-9]{0,3}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex("[0-9]{1,2}[./][0-9]{1,2}[./]([1-9][0-9]{3}|[0-9]{2})( [0-9]{1,2}:[0-9]{2})?", fullmatch=True),
    st.datetimes().map(str),
    st.dates().map(str),
    st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=6),
    st.text(st.characters(categories=["Lo", "Nd", "Zs", "Sm"]), max_size=4),
)


def checked(
    cells: Sequence[Sequence[str]], forms: Mapping[str, ColumnFormat] | None
) -> tuple[list[tuple[object, ...]], list[ColumnCheck]]:
    """The values of a table of rows of texts, of these forms or of guessed ones, and its check."""
    names = tuple(forms or [f"c{number}" for number in range(len(cells[0]))])
    with database() as connection:
        columns = ", ".join(f"nullif(unnest(?::VARCHAR[]), '') AS {quoted_name(name)}" for name in names)
        lists = [list(column) for column in zip(*cells, strict=True)]
        connection.execute(f"CREATE TABLE loaded AS SELECT {columns}", lists)
        table = TextTable(connection, names)
        found = table.make_typed(forms or {}, None)
        return connection.execute("FROM typed").fetchall(), found


@pytest.mark.thorough
@given(st.lists(CELLS, min_size=1, max_size=30))
@examples(25)
def test_cells_stand_for_what_plain_python_reads(cells: list[str]) -> None:
    """Whatever a cell is, in every form: its value, whether it is missing, whether it fits."""
    assume(not any("0000" in cell for cell in cells))  # a year that Python does not have
    check_cells(cells)


@pytest.mark.thorough
def test_extreme_cells_stand_for_what_plain_python_reads() -> None:
    """Overflows, separators of programmers, times that do not exist, blanks, and other traps."""
    check_cells(EXTREMES)


def check_cells(cells: list[str]) -> None:
    """Assert it of all forms at once."""
    forms = {f"c{number}": form for number, form in enumerate(FORMS)}
    rows, found = checked([[cell] * len(forms) for cell in cells], forms)
    for column, values, form in zip(found, zip(*rows, strict=True), FORMS, strict=True):
        expected = [reference(cell, form) for cell in cells]
        for cell, value, (_, meant) in zip(cells, values, expected, strict=True):
            assert repr(value) == repr(meant), (cell, form)  # nan, -0.0
        assert column.missing == sum(not given for given, _ in expected)
        unreadable = sorted({cell for cell, (g, v) in zip(cells, expected, strict=True) if g and v is None})
        assert column.unreadable == sum(g and v is None for g, v in expected)
        assert column.examples == tuple(unreadable[:3])


@given(st.lists(CELLS, min_size=2, max_size=12), st.sampled_from(FORMS))
@examples(10)
def test_a_cell_changes_no_other_cell(cells: list[str], form: ColumnFormat) -> None:
    """Each alone stands for what it stands for among others."""
    together, _ = checked([[cell] for cell in cells], {"x": form})
    alone = [checked([[cell]], {"x": form})[0][0] for cell in cells]
    assert repr(together) == repr(alone)


def test_what_is_not_stated_is_guessed() -> None:
    """Beside what is stated; a unit of which nothing is stated is text whatever its cells are: 7 and 7.0 may be two."""
    with database() as connection:
        connection.execute("CREATE TABLE loaded AS SELECT '7' AS person, '1' AS age, '2' AS code")
        table = TextTable(connection, ("person", "age", "code"))
        text = ColumnFormat(Kind.TEXT)
        person, age, code = table.make_typed({"code": text}, "person")
        (stated, *_) = table.make_typed({"code": text, "person": FORMS[0]}, "person")
    assert (stated.kind, stated.reason) == (Kind.INTEGER, "its owner says so")
    assert (person.kind, person.reason) == (Kind.TEXT, "it names the person")
    assert (age.kind, age.reason) == (Kind.INTEGER, "they are whole numbers")
    assert (code.kind, code.reason) == (Kind.TEXT, "its owner says so")


def test_a_few_odd_cells_among_many_are_told_and_change_no_kind() -> None:
    """A number column with three odd cells is a number column with three unreadable cells."""
    cells = [[str(number)] for number in range(3000)]
    cells[17], cells[1234], cells[2999] = ["unbekannt"], ["x"], ["k.A."]
    _, (column,) = checked([*cells, ["NA"], [""]], None)
    assert column.kind is Kind.INTEGER
    assert column.is_refused
    assert (column.unreadable, column.examples) == (2, ("unbekannt", "x"))
    assert column.missing == 3


@pytest.mark.parametrize("columns", [1, 2])
def test_words_for_missing_values_are_found_wherever_they_are(columns: int) -> None:
    """Between the rows from which the kind is guessed, too, in one column or in all."""
    cells = [[str(number)] * columns for number in range(9000)]
    cells[4321] = ["n/a", "5"][:columns]
    rows, found = checked(cells, None)
    assert found[0].form == ColumnFormat(Kind.INTEGER, missing=("n/a",))
    assert not any(column.is_refused for column in found)
    assert rows[4321] == (None, 5)[:columns]
    assert rows[8999] == (8999,) * columns


@pytest.mark.thorough
@pytest.mark.parametrize("number", [1, 250])
def test_all_columns_are_checked(number: int) -> None:
    """However many there are."""
    rows, found = checked(
        [[str(n) for n in range(number)], ["x"] * number], {f"c{n}": ColumnFormat(Kind.INTEGER) for n in range(number)}
    )
    assert rows == [tuple(range(number)), (None,) * number]
    assert [(column.name, column.unreadable) for column in found] == [(f"c{n}", 1) for n in range(number)]


TABLES = st.integers(3, 6).flatmap(
    lambda width: st.lists(st.lists(RANDOM_CELLS, min_size=width, max_size=width), min_size=1, max_size=30)
)
STATED = st.sampled_from([{}, {"c0": ColumnFormat(Kind.INTEGER), "text": ColumnFormat(Kind.DATE)}])


@pytest.mark.thorough
@examples(40)
@given(rows=TABLES, repeats=st.integers(1, 20), stated=STATED)
def test_columns_of_a_wide_file_are_checked_as_those_of_a_narrow_one(
    rows: list[list[str]], repeats: int, stated: Mapping[str, ColumnFormat]
) -> None:
    """Batched expressions give the values, examples, lines and counts of single ones."""
    names = ["text", "c0", "cell", "list_0", "text_0_0", "moment"][: len(rows[0])]  # also names in the statements
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer(file, quoting=QUOTE_ALL).writerows([names, *rows[:1] * repeats, *rows])
        narrow = DuckDBSource.check_file(path, kinds=stated)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("noisycount.engines.duckdb.typed_texts._AT_ONCE", 2)
            patch.setattr("noisycount.engines.duckdb.odd_rows._NARROW", 2)
            assert DuckDBSource.check_file(path, kinds=stated) == narrow
    expected = _sparse_and_letters([*rows[:1] * repeats, *rows])
    assert {*narrow.letters} <= expected[1]
    if not narrow.odd_rows:  # which are left out of the rest of the check
        assert (narrow.sparse_line is not None, bool(narrow.letters)) == (expected[0], bool(expected[1]))


def _sparse_and_letters(rows: Sequence[Sequence[str]]) -> tuple[bool, set[str]]:
    """Return if the last row is nearly empty and the only one, and the cells with letters beyond ASCII."""
    filled = [sum(cell != "" for cell in row) for row in rows]
    is_sparse = len(rows) > 1 and filled[-1] * 3 <= len(rows[-1]) and filled[-1] < min(filled[:-1])
    return is_sparse, {cell for row in rows for cell in row if not cell.isascii()}
