"""Public tables: columns of noisy measurements of a census, which need no privacy."""

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from noisycount.engines.duckdb.public import PublicColumns, PublicTable, has_measurements, measured_places, measurements
from noisycount.errors import NoisyCountError, SourceError

CANARY = "canary-7c1"
CSV = 'id,answer,note\n007,1.50,""\n008,,\n"9, a",-3,"q ""x"""\n010,1e3,1.10\n'
ADDED = {"mean": np.array([1.25, np.nan, -3, 0.1]), "median": np.array([1, 0, -3, 2**53])}
MISSING = dict.fromkeys(ADDED, np.array([False, True, False, False]))


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """A CSV file whose cells are easily lost: zeros in front, quotes, empty texts."""
    path = tmp_path / "answers.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def written(path: Path, out: Path) -> Path:
    """The file of a table with the added columns."""
    with PublicTable.open(path) as table:
        table.save(out, ADDED, MISSING)
    return out


def rows(path: Path) -> list[tuple[object, ...]]:
    """Return the rows of a Parquet file, in order."""
    return duckdb.read_parquet(str(path)).fetchall()


def refusal(act: Callable[[], object]) -> str:
    """The one line with which an act is refused."""
    with pytest.raises(SourceError) as caught:
        act()
    message = str(caught.value)
    assert "\n" not in message
    assert CANARY not in message
    return message


def test_missing_cells_are_nan(csv: Path) -> None:
    """An empty cell is a missing number, in CSV as in Parquet; a nan is one too."""
    with PublicTable.open(csv) as table:
        np.testing.assert_array_equal(table.numbers("answer"), [1.5, np.nan, -3, 1000])
    parquet = csv.with_suffix(".parquet")
    duckdb.sql(f"COPY (VALUES (1), (NULL), (3)) TO '{parquet}'")
    with PublicTable.open(parquet) as table:
        np.testing.assert_array_equal(table.numbers("col0"), [1, np.nan, 3])


@pytest.mark.parametrize("type_", ["TINYINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL(9, 3)"])
def test_every_number_is_read(tmp_path: Path, type_: str) -> None:
    """Whole, decimal and floating columns give the same numbers."""
    path = tmp_path / "numbers.parquet"
    values = duckdb.sql("VALUES (-3), (NULL), (120)").select(f"col0::{type_} AS x")
    values.write_parquet(str(path))
    with PublicTable.open(path) as table:
        np.testing.assert_array_equal(table.numbers("x"), [-3, np.nan, 120])


def test_csv_cells_stay_as_they_are(csv: Path, tmp_path: Path) -> None:
    """From CSV to CSV no cell, no order and no difference of missing and empty changes."""
    out = written(csv, tmp_path / "out.csv")
    assert out.read_text(encoding="utf-8") == (
        "id,answer,note,mean,median\n"
        '007,1.50,"",1.25,1\n'
        "008,,,,\n"
        '"9, a",-3,"q ""x""",-3.0,-3\n'
        "010,1e3,1.10,0.1,9007199254740992\n"
    )


def test_csv_becomes_typed_where_that_is_sure(csv: Path, tmp_path: Path) -> None:
    """In Parquet numbers become numbers, but 007 and a text stay text."""
    assert rows(written(csv, tmp_path / "out.parquet")) == [
        ("007", 1.5, "", 1.25, 1),
        ("008", None, None, None, None),
        ("9, a", -3.0, 'q "x"', -3.0, -3),
        ("010", 1000.0, "1.10", 0.1, 2**53),
    ]


def test_types_are_those_of_all_cells(tmp_path: Path) -> None:
    """Whole numbers, truth values and dates get their types; what only looks like it does not."""
    path, out = tmp_path / "types.csv", tmp_path / "out.parquet"
    path.write_text("whole,truth,day,noday,empty\n1,true,2020-02-29,2020-02-30,\n,,,,\n-2,false,1999-01-01,,\n")
    with PublicTable.open(path) as table:
        table.save(out, {"mean": np.ones(3)}, {"mean": np.zeros(3, dtype=bool)})
    types = [str(type_) for type_ in duckdb.read_parquet(str(out)).types]
    assert types == ["BIGINT", "BOOLEAN", "DATE", "VARCHAR", "VARCHAR", "DOUBLE"]


@pytest.mark.thorough
def test_parquet_columns_keep_type_and_order(tmp_path: Path) -> None:
    """Of 300,000 rows each has its own value beside it; lists and texts stay what they are."""
    path, out, size = tmp_path / "in.pq", tmp_path / "out.pq", 300_000
    relation = duckdb.sql("FROM range(300_000) r(i)").select("i, [i] AS l, 'r' || i AS t")
    relation.write_parquet(str(path))
    with PublicTable.open(path) as table:
        table.save(out, {"mean": np.arange(size) / 2}, {"mean": np.arange(size) % 7 == 0})
    relation = duckdb.read_parquet(str(out))
    assert [str(type_) for type_ in relation.types] == ["BIGINT", "BIGINT[]", "VARCHAR", "DOUBLE"]
    found = relation.fetchnumpy()
    assert found["i"].tolist() == list(range(size))
    means = np.ma.filled(found["mean"], -1)
    np.testing.assert_array_equal(means, np.where(found["i"] % 7 == 0, -1, found["i"] / 2))


@pytest.mark.parametrize("number", [1, 3, 200_000])
def test_rows_share_values_in_their_order(tmp_path: Path, number: int) -> None:
    """Of 300,000 rows each has the value of its index, or none; an index may be used by no row."""
    path, out, size = tmp_path / "in.pq", tmp_path / "out.pq", 300_000
    duckdb.sql("FROM range(300_000) r(i)").write_parquet(str(path))
    places = (np.arange(size) * 7919 % (number + 1) - 1).astype(np.int32)
    halves, wholes = np.arange(number) / 2, 2**53 - np.arange(number)
    with PublicTable.open(path) as table:
        table.save_shared(out, {"mean": halves, 'the "low"': wholes}, places)
    relation = duckdb.read_parquet(str(out))
    assert [str(type_) for type_ in relation.types] == ["BIGINT", "DOUBLE", "BIGINT"]
    found = relation.fetchnumpy()
    assert found["i"].tolist() == list(range(size))
    for name, values in (("mean", halves), ('the "low"', wholes)):
        expected = np.ma.masked_array(values[places], places < 0)
        assert found[name].tolist() == expected.tolist()


def test_without_values_rows_are_kept(csv: Path, tmp_path: Path) -> None:
    """No row has a value: the columns are added empty."""
    out = tmp_path / "out.csv"
    with PublicTable.open(csv) as table:
        table.save_shared(
            out, {"mean": np.zeros(0), "low": np.zeros(0, dtype=np.int64)}, np.full(4, -1, dtype=np.int32)
        )
    written_lines, lines = out.read_text().splitlines(), CSV.splitlines()
    assert written_lines[0] == f"{lines[0]},mean,low"
    assert all(line.endswith(",,") for line in written_lines[1:])
    assert len(written_lines) == len(lines)


def test_names_are_taken_literally(tmp_path: Path) -> None:
    """Quotes, spaces and characters of patterns in columns and files mean themselves."""
    path, out = tmp_path / "a [b]*'.csv", tmp_path / "o '?.csv"
    path.write_text('"an ""answer"", added.mean"\n3\n')
    (tmp_path / "a b.csv").write_text("other\n1\n")
    with PublicTable.open(path) as table:
        assert table.numbers('an "answer", added.mean').tolist() == [3]
        table.save(out, {"mean": np.array([1.5])}, {"mean": np.array([False])})
    assert out.read_text() == '"an ""answer"", added.mean",mean\n3,1.5\n'


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_usual_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    """A file from any spreadsheet is read."""
    path = tmp_path / "answers.csv"
    path.write_text(f"id{delimiter}answer\n1{delimiter}2.5\n")
    with PublicTable.open(path) as table:
        assert table.numbers("answer").tolist() == [2.5]


@pytest.mark.parametrize("cell", [CANARY, '" "', "NA", "1.2.3", "0x10"])
def test_a_text_is_refused_by_its_row(tmp_path: Path, cell: str) -> None:
    """The message names file, column and row, not the cell."""
    path = tmp_path / "answers.csv"
    path.write_text(f"id,answer\n1,3\n2,\n3,{cell}\n4,{cell}\n")
    with PublicTable.open(path) as table:
        message = refusal(lambda: table.numbers("answer"))
    assert re.search(r"row 3 below the names in '.*answers.csv' .* column 'answer' a number", message)


@pytest.mark.parametrize("value", ["DATE '2020-01-01'", "true", f"'{CANARY}'", "[1]"])
def test_a_column_of_no_numbers_is_refused(tmp_path: Path, value: str) -> None:
    """Dates, truth values, texts and lists are no answers."""
    path = tmp_path / "answers.parquet"
    duckdb.sql(f"COPY (SELECT {value} AS answer) TO '{path}'")
    with PublicTable.open(path) as table:
        assert "row 1 below the names" in refusal(lambda: table.numbers("answer"))


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("missing.csv", None, "does not exist: check the path"),
        ("table.xlsx", b"PK", "unknown extension '.xlsx': use .csv, .tsv, .parquet, .pq"),
        ("text.parquet", b"id,answer\n1,2\n", "cannot be read as parquet: check that the file"),
        ("latin.csv", b"id,answer\n1,\xff\n", "is not in utf-8: state its encoding"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, name: str, content: bytes | None, remedy: str) -> None:
    """Missing, of another format, or damaged: one line with a remedy."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert remedy in refusal(lambda: PublicTable.open(tmp_path / name))


@pytest.mark.parametrize("content", [f"id,answer\n1,2\n{CANARY}\n", f'id,answer\n1,"{CANARY}\n'])
def test_a_ragged_file_gives_no_numbers(tmp_path: Path, content: str) -> None:
    """A line with too few cells, or a quote that never ends, is never read as something else."""
    path = tmp_path / "ragged.csv"
    path.write_text(content)

    def numbers() -> None:
        with PublicTable.open(path) as table:
            table.numbers("answer")

    assert "ragged.csv" in refusal(numbers)


def test_a_missing_column_leads_to_the_right_one(csv: Path) -> None:
    """The message names columns that are like the one asked for."""
    wrong = r"has no column 'answr': use 'answer'$"
    with PublicTable.open(csv) as table, pytest.raises(NoisyCountError, match=wrong):
        table.numbers("answr")


def test_the_input_is_not_overwritten(csv: Path, tmp_path: Path) -> None:
    """Neither under its own name nor through a link; another file may be replaced."""
    link, other = tmp_path / "link.csv", tmp_path / "other.csv"
    link.symlink_to(csv)
    other.write_text("old")
    with PublicTable.open(csv) as table:
        for out in (csv, link):
            message = refusal(lambda out=out: table.check_new_columns(out, ["mean"]))
            assert "is the file that is read: write to another one" in message
        table.check_new_columns(other, ["mean"])
    assert written(csv, other).read_text().startswith("id,answer,note,mean,median\n")


def test_columns_are_not_overwritten(csv: Path) -> None:
    """A column of the same name, in whatever case, must be renamed first."""
    with PublicTable.open(csv) as table:
        message = refusal(lambda: table.check_new_columns(csv.with_name("o.csv"), ["mean", "NOTE"]))
    assert "has a column 'NOTE' already, which would be added: rename it there first" in message


def test_a_file_that_cannot_be_written_leaves_nothing(csv: Path, tmp_path: Path) -> None:
    """A missing folder, or a folder in the place of the file: one line, and no part is left."""
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for out in (tmp_path / "nowhere" / "o.csv", tmp_path / "folder.csv"):
        assert "cannot be written" in refusal(lambda out=out: written(csv, out))
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_table_stays_empty(tmp_path: Path) -> None:
    """Names without rows give names without rows."""
    path, out = tmp_path / "empty.csv", tmp_path / "out.csv"
    path.write_text("id,answer\n")
    with PublicTable.open(path) as table:
        assert table.numbers("answer").shape == (0,)
        table.save(out, {"mean": np.empty(0)}, {"mean": np.empty(0, dtype=bool)})
    assert out.read_text() == "id,answer,mean\n"


def test_tabs_stay_tabs(tmp_path: Path) -> None:
    """A .tsv file is read and written as one; each added column may miss other rows."""
    path, out = tmp_path / "t.tsv", tmp_path / "o.tsv"
    path.write_text("id\tnote\n1\ta,b\n2\t\n")
    with PublicTable.open(path) as table:
        assert table.texts(["note"]) == [("a,b",), (None,)]
        added = {"mean": np.array([1.5, 2.5]), "rank": np.array([1, 2])}
        missing = {"mean": np.array([True, False]), "rank": np.array([False, True])}
        table.save(out, added, missing)
    assert out.read_text().splitlines() == ["id\tnote\tmean\trank", "1\ta,b\t\t1", "2\t\t2.5\t"]


ROWS = [
    ('Zürich, "old"\ntown', 1, True, None),
    ("", -(2**62), False, None),
    (None, None, None, None),
    ("null", 0, None, None),
]
COLUMNS = PublicColumns(dict(zip(["to'wn", "answer", "poor", "none"], map(list, zip(*ROWS, strict=True)), strict=True)))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_file_holds_every_cell(tmp_path: Path, name: str) -> None:
    """Missing is not empty, nor is text that looks like it; whole numbers keep all digits."""
    out = tmp_path / name
    out.write_text("older")
    COLUMNS.save(out)
    read = (
        f"read_csv('{out}', allow_quoted_nulls=false, nullstr='', types={{none: 'VARCHAR'}})"
        if name.endswith("csv")
        else f"'{out}'"
    )
    assert duckdb.sql(f"SELECT * FROM {read}").fetchall() == ROWS  # noqa: S608 - our own names
    assert list(tmp_path.iterdir()) == [out]


def test_every_library_reads_the_stream() -> None:
    """Polars, Arrow, pandas and DuckDB give the same rows, several times."""
    for _ in range(2):
        assert pl.DataFrame(COLUMNS).rows() == ROWS
        table = pa.table(COLUMNS)
        assert [tuple(row.values()) for row in table.to_pylist()] == ROWS
        assert pd.DataFrame.from_arrow(COLUMNS)["answer"].tolist()[1] == -(2**62)


def test_no_rows_have_columns() -> None:
    """A table without shown keys keeps its column names."""
    assert pl.DataFrame(PublicColumns({"town": [], "answer": []})).shape == (0, 2)


def test_many_rows_keep_their_order() -> None:
    """Though engines read in parallel."""
    numbers = list(range(300_000))
    texts = [f"town {number}" for number in numbers]
    read = pl.DataFrame(PublicColumns({"town": texts, "answer": numbers}))
    assert read["answer"].to_list() == numbers
    assert read["town"].to_list() == texts


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """In one line without the engine's words."""
    with pytest.raises(SourceError, match="cannot be written: check its folder"):
        COLUMNS.save(tmp_path / "nowhere" / "rows.csv")


def test_a_column_with_one_text_is_of_texts(tmp_path: Path) -> None:
    """As the keys of cumulative tables are: numbers, and the names of ranges of them."""
    out = tmp_path / "t.csv"
    PublicColumns({"year": [1, 2, "1 … 2", None]}).save(out)
    assert out.read_text(encoding="utf-8").split("\n") == ["year", "1", "2", "1 … 2", "", ""]


MEASURED = """
    FROM (VALUES ('50', 'total', [7], 6.1), ('1', 'sex', [-3, 5], 4.0), ('1', 'total', [2], 6.1))
    AS t(geocode, query_name, value, variance)
"""


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A file of two places."""
    file = tmp_path / "m.parquet"
    duckdb.sql(MEASURED).write_parquet(str(file))
    return file


def test_a_place_has_its_own_measurements(measured: Path) -> None:
    """Lists of whole numbers in their order, with the variance of each query."""
    found = sorted(measurements(measured, "1"), key=lambda each: each.query)
    assert [(each.query, each.values.tolist(), each.variance) for each in found] == [  # noqa: PD011 - of ours
        ("sex", [-3, 5], 4.0),
        ("total", [2], 6.1),
    ]
    assert measurements(measured, "5") == []


def test_places_are_listed_in_order(measured: Path) -> None:
    """As many as are asked for."""
    assert measured_places(measured, 8) == ["1", "50"]
    assert measured_places(measured, 1) == ["1"]


def test_columns_tell_whether_it_is_such_a_file(measured: Path, tmp_path: Path) -> None:
    """Another Parquet file has others; what is none at all is refused."""
    duckdb.sql("SELECT 1 AS geocode").write_parquet(str(tmp_path / "o.parquet"))
    (tmp_path / "b.parquet").write_text("no")
    assert has_measurements(measured)
    assert not has_measurements(tmp_path / "o.parquet")
    with pytest.raises(SourceError, match="cannot be read as noisy measurements"):
        has_measurements(tmp_path / "b.parquet")
