from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from noisycount.engines.duckdb.public import PublicColumns
from noisycount.errors import SourceError

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
    """Where no key is shown, the file has its names."""
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
