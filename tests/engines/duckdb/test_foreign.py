"""Files of SQLite, SPSS, Stata and SAS: values as those programs mean them."""

import ctypes
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest
from pyreadstat import _readstat_writer

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import SourceError
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import counts


def write_sqlite(path: Path, *statements: str) -> Path:
    """A SQLite file that statements made."""
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
    return path


MADE = "CREATE TABLE visits (person INTEGER, age INTEGER, cost REAL, town TEXT, seen DATE, note)"
ROWS = (
    "INSERT INTO visits VALUES (1, 34, 1.5, 'Bern', '2024-01-31', 'x'), (1, 71, 0.1, 'bern', '2024-02-01', NULL), "
    "(2, NULL, 1e300, 'Köln', NULL, ''), (3, 9007199254740993, 3.0, '007', '2024-03-01', x'ff00')"
)
QUESTIONS = {
    "true": 4,
    "age = 9007199254740993": 1,
    "age > 71": 1,
    "age is null": 1,
    "cost = 0.1": 1,
    "cost >= 1.5": 3,
    "town = 'Bern'": 1,
    "town = '007'": 1,
    "seen >= '2024-02-01'": 2,
    "note is null": 2,
    "note = 'ff00'": 1,
}


def asked(path: Path, questions: Mapping[str, int], **options: object) -> dict[str, int]:
    """The true counts of some questions."""
    return dict(zip(questions, counts(path, *questions, **options), strict=True))


@pytest.mark.parametrize("name", ["visits.db", "visits.sqlite", "visits.SQLITE3", "visits.duckdb", "it's 50% [a]?.db"])
def test_a_sqlite_file_is_told_by_what_it_holds(tmp_path: Path, name: str) -> None:
    """Whatever its ending says."""
    path = write_sqlite(tmp_path / name, MADE, ROWS)
    assert asked(path, QUESTIONS) == QUESTIONS
    assert counts(path, "true", unit="person") == [3]


def test_many_rows_come_in_batches(tmp_path: Path) -> None:
    """Of which one may have cells of other types than another."""
    many = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 139999) INSERT INTO t SELECT i, "
    half = "CASE WHEN i < 70000 THEN i ELSE i || '' END FROM n"
    path = write_sqlite(tmp_path / "many.db", "CREATE TABLE t (a INTEGER, b)", many + half)
    assert asked(path, dict.fromkeys(["a < 70000", "b = '69999'", "b = '139999'"])) == {
        "a < 70000": 70_000,
        "b = '69999'": 1,
        "b = '139999'": 1,
    }


def test_a_table_or_view_of_sqlite_is_chosen(tmp_path: Path) -> None:
    """A file with several tables requires a name, and a file without tables is refused."""
    path = write_sqlite(tmp_path / "x.db", MADE, ROWS, "CREATE VIEW old AS SELECT person FROM visits WHERE age > 40")
    assert counts(path, "true", table="old") == [2]
    with pytest.raises(
        SourceError, match=r"has 2 tables \('old', 'visits'\): state the one with the records, by --table"
    ):
        DuckDBSource.open(path)
    with pytest.raises(SourceError, match="has no table: choose a file that has a table"):
        DuckDBSource.open(write_sqlite(tmp_path / "empty.db", MADE, "DROP TABLE visits"))


def test_a_sqlite_file_that_is_being_written_is_refused(tmp_path: Path) -> None:
    """A file with an unfinished write-ahead log is refused, as its latest rows would be missing."""
    path = tmp_path / "live.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode=wal")
        writer.execute(MADE)
        writer.commit()
        with pytest.raises(SourceError, match=r"has changes that are still in 'live.db-wal': close the prog"):
            DuckDBSource.open(path)
    assert counts(path, "true") == [0]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["live.db"]  # nothing was left beside it


@pytest.mark.parametrize(
    ("column", "cells", "losses"),
    [
        ("note", [b"\7\0\0\0\0\0\0\0", 7, None], {"bytes": 1}),  # as NumPy's integers are stored
        ("seen DATETIME", [1_704_844_800, 1_705_449_600.5, "2024-01-31"], {"moments": 2}),
        ("seen DATETIME", ["2024-01-31 12:00:00", None], {}),
        ("town TEXT", ["Bern", "7"], {}),
    ],
)
def test_cells_of_sqlite_that_are_read_otherwise_are_reported(
    tmp_path: Path, column: str, cells: list[object], losses: dict[str, int]
) -> None:
    """Bytes among numbers are other values, and numbers among times are no times."""
    path = write_sqlite(tmp_path / "a.db", f"CREATE TABLE visits (id, {column})")
    with closing(sqlite3.connect(path)) as database, database:
        database.executemany("INSERT INTO visits VALUES (?, ?)", enumerate(cells))
    found = DuckDBSource.check_file(path, unit="id").columns[1]
    assert dict(found.losses) == losses


def test_numbers_and_texts_of_one_column_have_several_types(tmp_path: Path) -> None:
    """The file does not say that all of them are texts."""
    path = write_sqlite(tmp_path / "a.db", "CREATE TABLE visits (cost)", "INSERT INTO visits VALUES (1), ('2.5'), (3)")
    check = with_findings(DuckDBSource.check_file(path), None)
    assert check.columns[0].reason == "the cells have several types in the file"
    text = "The cells have several types in the file: until its owner states a form, the column is text"
    assert [finding.text for finding in check.findings] == [text]


def test_ids_of_bytes_are_reported_among_others_alone(tmp_path: Path) -> None:
    """A person with an id of bytes and one of a text has two ids."""
    path = write_sqlite(tmp_path / "a.db", "CREATE TABLE visits (id)", "INSERT INTO visits VALUES (x'41'), (x'42')")
    assert with_findings(DuckDBSource.check_file(path, unit="id"), "id").findings == ()
    write_sqlite(path, "INSERT INTO visits VALUES ('A')")
    (finding,) = with_findings(DuckDBSource.check_file(path, unit="id"), "id").findings
    assert (finding.title, finding.column, finding.rows) == ("bytes", "id", 2)


def test_texts_of_sqlite_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    """And are not quoted."""
    path = write_sqlite(tmp_path / "x.db", "CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES (CAST(x'ff61' AS TEXT))")
    with pytest.raises(SourceError, match="cannot be read as SQLite: check that the file is whole, and that") as caught:
        DuckDBSource.open(path)
    assert caught.value.__context__ is None


FRAME = pd.DataFrame(
    {
        "person": [1, 1, 2, 3, 4, 5],
        "sex": [1.0, 2.0, None, 2.0, 1.0, 2.0],
        "age": [34, 71, -9, 20, 21, 22],
        "kin": [1.0, 2.0, 3.0, 4.0, 1.0, 1.0],
        "cost": [1.5, 0.1, 7.0, None, 1e300, 2.0],
        "town": ["Köln", "", "Bern", "007", "Bern", "Bern"],
        "day": [date(2024, 1, 31), None, *[date(2024, 2, 1)] * 4],
        "seen": [datetime(2024, 1, 31, 12, 30), None, *[datetime(2024, 2, 1)] * 4],  # noqa: DTZ001 - as in files
    }
)
LABELS = {
    "sex": {1: "male", 2: "female"},
    "age": {-9: "not answered"},
    "kin": {1: "other", 2: "mother", 3: "other", 4: "1"},
}
ANSWERS = {
    "true": 6,
    "cost = 0.1": 1,
    "cost is null": 1,
    "town = '007'": 1,
    "town is null": 1,
    "day < '2024-02-01'": 1,
    "seen >= '2024-01-31 12:30:00'": 5,
}
LABELLED = {
    "sex = 'female'": 3,
    "sex is null": 1,
    "kin = 'mother'": 1,
    "kin = 'other (1)'": 3,
    "kin = 'other (3)'": 1,
    "kin = '1 (4)'": 1,
}


MONTHS = pd.to_datetime(["2024-01-15", "2024-08-20", "1959-12-31"])
SPSS_SECONDS = [13_900_000_000.0, 13_950_000_000.0, None]  # since 1582-10-14: 2023-04-04 and 2024-11-03
SAS_DAYS = [23_376.0, 23_400.0, None]  # since 1960-01-01


@pytest.mark.parametrize(("form", "days"), [("MOYR8", SPSS_SECONDS), ("QYR8", SPSS_SECONDS), ("WKYR8", SPSS_SECONDS)])
def test_months_and_quarters_of_spss_are_days(tmp_path: Path, form: str, days: list[float | None]) -> None:
    """As a format says that shows a part of the day."""
    pyreadstat.write_sav(pd.DataFrame({"seen": days}), str(tmp_path / "x.sav"), variable_format={"seen": form})
    asked_days = {"seen = '2023-04-04'": 1, "seen >= '2023-05-01'": 1, "seen is null": 1}
    assert asked(tmp_path / "x.sav", asked_days) == asked_days


@pytest.mark.parametrize("form", ["MONYY7", "WORDDATE18", "YYQ6", "DATE9"])
def test_dates_of_sas_are_days_in_any_form(tmp_path: Path, form: str) -> None:
    """Also in those that show a month, a quarter or words."""
    pyreadstat.write_xport(pd.DataFrame({"seen": SAS_DAYS}), str(tmp_path / "x.xpt"), variable_format={"seen": form})
    asked_days = {"seen = '2024-01-01'": 1, "seen >= '2024-01-02'": 1, "seen is null": 1}
    assert asked(tmp_path / "x.xpt", asked_days) == asked_days


@pytest.mark.parametrize(
    ("unit", "first"), [("tm", "2024-08-01"), ("tq", "2024-07-01"), ("th", "2024-07-01"), ("tw", "2024-08-19")]
)
def test_periods_of_stata_are_their_first_day(tmp_path: Path, unit: str, first: str) -> None:
    """Before 1960, too."""
    pd.DataFrame({"seen": MONTHS}).to_stata(tmp_path / "x.dta", convert_dates={"seen": unit}, write_index=False)
    asked_days = {f"seen = '{first}'": 1, "seen >= '2024-01-01'": 2, "seen < '1960-02-01'": 1}
    assert asked(tmp_path / "x.dta", asked_days) == asked_days


@pytest.mark.few(1)
@pytest.mark.parametrize(("longest", "losses"), [(80_000.0, {}), (90_000.0, {"durations": 2})])
def test_times_of_a_day_or_more_are_durations(tmp_path: Path, longest: float, losses: dict[str, int]) -> None:
    """No day of them is lost, and the other cells are read as they were."""
    path, table = tmp_path / "x.sav", pd.DataFrame({"took": [5_400.0, longest, None]})
    pyreadstat.write_sav(table, str(path), variable_format={"took": "TIME8"})
    assert dict(DuckDBSource.check_file(path).columns[0].losses) == losses
    expected = {"took = '01:30:00'": 1, "took = '25:00:00'": int(bool(losses)), "took is null": 1}
    assert asked(path, expected) == expected


def test_codes_of_which_some_have_a_label_are_reported(tmp_path: Path) -> None:
    """Numbers are read from those without a label alone."""
    path = tmp_path / "x.sav"
    table = pd.DataFrame({"liked": [1.0, 2, 3, 4, 5, 5]})
    pyreadstat.write_sav(table, str(path), variable_value_labels={"liked": {1: "not at all", 5: "very much"}})
    (finding,) = with_findings(DuckDBSource.check_file(path), None).findings
    assert (finding.title, finding.rows) == ("codes of which some have no label", 3)
    assert counts(path, "liked in ('4', 'very much')", "number(liked) >= 4") == [3, 1]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["x.sav", "x.dta"])
def test_the_codes_of_a_column_can_be_chosen_in_place_of_the_labels(tmp_path: Path, name: str) -> None:
    """Codes that have no label are numbers as well, and other columns keep their labels."""
    path, labels = tmp_path / name, {"liked": {1: "not at all", 5: "very much"}, "sex": {1: "male", 2: "female"}}
    table = pd.DataFrame({"liked": [1, 2, 3, 4, 5, 5], "sex": [1, 2, 1, 2, 1, 2], "age": [30, 31, 32, 33, 34, 35]})
    {"x.sav": pyreadstat.write_sav, "x.dta": pyreadstat.write_dta}[name](table, str(path), variable_value_labels=labels)
    known = {"liked": ColumnFormat(Kind.INTEGER, codes=True)}
    questions = {"liked >= 4": 3, "liked between 2 and 3": 2, "sex = 'female'": 3}
    assert asked(path, questions, kinds=known) == questions
    assert with_findings(DuckDBSource.check_file(path, kinds=known), None).findings == ()
    wrong = replace(known["liked"], kind=Kind.BOOLEAN)
    (liked, *_) = DuckDBSource.check_file(path, kinds={"liked": wrong}).columns
    assert all(form.codes for form in liked.fitting)
    with pytest.raises(SourceError, match="kinds states codes of 'age', which has no labels in the file"):
        DuckDBSource.open(path, kinds={"age": ColumnFormat(Kind.INTEGER, codes=True)})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_codes_of_a_file_without_labels_are_refused(tmp_path: Path, ending: str) -> None:
    """The refusal names the column, whether it is the unit or not."""
    path = tmp_path / f"x.{ending}"
    table = pd.DataFrame({"id": ["a", "b"], "sex": ["1", "2"]})
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    for column in table:
        with pytest.raises(SourceError, match=f"kinds states codes of '{column}', which has no labels"):
            DuckDBSource.open(path, unit="id", kinds={str(column): ColumnFormat(Kind.TEXT, codes=True)})


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["x.sav", "x.zsav", "x.SAV", "x.dta"])
def test_labels_are_the_values_that_one_asks_by(tmp_path: Path, name: str) -> None:
    """And no two codes become one; a code without a number's meaning is told as a cell that does not fit."""
    path = tmp_path / name
    if name == "x.dta":
        pyreadstat.write_dta(FRAME, str(path), variable_value_labels=LABELS)
    else:
        pyreadstat.write_sav(FRAME, str(path), compress=name == "x.zsav", variable_value_labels=LABELS)
    with pytest.raises(SourceError, match=r"as cells of .age. do not fit their kind"):
        DuckDBSource.open(path)
    (age,) = (each for each in DuckDBSource.check_file(path).columns if each.name == "age")
    assert (age.kind, age.examples) == (Kind.INTEGER, ("not answered",))
    known = {"age": ColumnFormat(Kind.INTEGER, missing=("not answered",))}
    questions = {**ANSWERS, **LABELLED, "age < 30": 3, "age is null": 1}
    assert asked(path, questions, kinds=known) == questions
    assert counts(path, "true", unit="person", kinds=known) == [5]


def test_what_spss_declares_missing_is_missing(tmp_path: Path) -> None:
    """A declared missing value is missing, with and without a label."""
    path = tmp_path / "x.sav"
    pyreadstat.write_sav(FRAME, path, variable_value_labels=LABELS, missing_ranges={"age": [-9], "kin": [4]})
    questions = {"age is null": 1, "age < 30": 3, "kin is null": 1}
    assert asked(path, questions) == questions


def test_a_sas_transport_file_is_read(tmp_path: Path) -> None:
    """Which has no labels."""
    path = tmp_path / "x.xpt"
    pyreadstat.write_xport(FRAME, str(path))
    questions = {**ANSWERS, "sex = 2": 3, "age = -9": 1}
    assert asked(path, questions) == questions


def sas7bdat(path: Path, columns: dict[str, tuple[int, str]], rows: list[list[float | str | None]]) -> None:
    """Write a file as SAS has them, by the writer of ReadStat, which pyreadstat has and does not offer.

    A column has the width of its texts, 0 for numbers, and a format of SAS.
    """
    library = ctypes.CDLL(_readstat_writer.__file__)
    pointer, content = ctypes.c_void_p, bytearray()
    library.readstat_writer_init.restype = library.readstat_add_variable.restype = pointer

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, pointer, ctypes.c_size_t, pointer)
    def write(data: int, size: int, _: object) -> int:
        content.extend(ctypes.string_at(data, size))
        return size

    writer = pointer(library.readstat_writer_init())
    library.readstat_set_data_writer(writer, write)
    variables = []
    for name, (width, form) in columns.items():
        kind, size = 0 if width else 5, ctypes.c_size_t(width)
        variables.append(pointer(library.readstat_add_variable(writer, name.encode(), kind, size)))
        library.readstat_variable_set_format(variables[-1], form.encode())
    assert library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(rows))) == 0
    for row in rows:
        library.readstat_begin_row(writer)
        for variable, cell in zip(variables, row, strict=True):
            if cell is None:
                library.readstat_insert_missing_value(writer, variable)
            elif isinstance(cell, str):
                library.readstat_insert_string_value(writer, variable, cell.encode())
            else:
                library.readstat_insert_double_value(writer, variable, ctypes.c_double(cell))
        assert library.readstat_end_row(writer) == 0
    assert library.readstat_end_writing(writer) == 0
    path.write_bytes(content)


@pytest.mark.thorough
def test_a_sas_file_is_read(tmp_path: Path) -> None:
    """Its dates and times are days and seconds since 1960, by their formats; cut off anywhere it is refused."""
    path = tmp_path / "x.sas7bdat"
    forms = {"sex": (0, "BEST12"), "cost": (0, ""), "town": (20, ""), "day": (0, "DATE9"), "seen": (0, "DATETIME20")}
    frame = FRAME[[*forms]].astype(object)
    frame["day"] = [day and (day - date(1960, 1, 1)).days for day in FRAME["day"]]
    frame["seen"] = (FRAME["seen"] - datetime(1960, 1, 1)).dt.total_seconds()  # noqa: DTZ001 - as in files
    sas7bdat(path, forms, frame.astype(object).where(frame.notna(), None).to_numpy().tolist())
    questions = {**ANSWERS, "sex = 2": 3, "sex is null": 1, "seen = '2024-01-31 12:30:00'": 1}
    assert asked(path, questions) == questions
    whole = path.read_bytes()
    for share in (0.2, 0.5, 0.9, 0.999):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(SourceError, match="cannot be read as SAS: check that the file is whole"):
            DuckDBSource.open(path)


def test_a_sas_transport_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Whose reader gives what rows there are, as the file does not say how many it has."""
    path = tmp_path / "x.xpt"
    pyreadstat.write_xport(pd.concat([FRAME] * 100), str(path))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(SourceError, match="cannot be read as SAS: check that the file is whole"):
        DuckDBSource.open(path)


@pytest.mark.thorough
def test_labels_of_texts_are_values(tmp_path: Path) -> None:
    """A label that equals another text of its column is refused, as the two could not be distinguished."""
    frame = pd.DataFrame({"code": ["a", "b", "c"]})
    pyreadstat.write_sav(frame, tmp_path / "x.sav", variable_value_labels={"code": {"a": "Alpha"}})
    assert counts(tmp_path / "x.sav", "code = 'Alpha'", "code = 'b'") == [1, 1]
    pyreadstat.write_sav(frame, tmp_path / "y.sav", variable_value_labels={"code": {"a": "b"}})
    with pytest.raises(SourceError, match="has 'b' as a label and as a value without a label: change the label"):
        DuckDBSource.open(tmp_path / "y.sav")


@pytest.mark.parametrize("name", ["x.sav", "x.zsav", "x.por", "x.dta", "x.xpt", "x.sas7bdat"])
def test_a_file_of_statistics_that_is_not_whole_is_refused(tmp_path: Path, name: str) -> None:
    """In one line."""
    (tmp_path / name).write_bytes(b"person,age\n1,2\n" * 100)
    with pytest.raises(SourceError, match=r"cannot be read as S[a-zA-Z]+: check that the file is whole, or state its"):
        DuckDBSource.open(tmp_path / name)


def test_the_extra_for_statistics_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    (tmp_path / "x.sav").write_bytes(b"$FL2")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(SourceError, match=r"needs a reader of SPSS files: .*pip install '\.\[statistics\]' in .*CSV"):
        DuckDBSource.open(tmp_path / "x.sav")


def test_what_says_nothing_of_a_file_of_statistics_is_refused(tmp_path: Path) -> None:
    """It has an encoding of texts, and no delimiter."""
    pyreadstat.write_sav(FRAME, tmp_path / "x.sav")
    assert counts(tmp_path / "x.sav", "town = 'Köln'", form=FileFormat(encoding="utf-8")) == [1]
    with pytest.raises(SourceError, match=r"delimiter does not apply to .*, a file of Stata, SPSS or SAS: leave it"):
        DuckDBSource.open(tmp_path / "x.sav", form=FileFormat(delimiter=";"))
