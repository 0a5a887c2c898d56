"""An odd record beside the numbers of a column: a described column keeps its kind, or all questions are refused."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import noisycount as nc
from noisycount.errors import SourceError
from tests.helpers.workbooks import write_workbook

NUMBERS = [10, 20, 30, 40, 50] * 4
WHERE, TRUTH = "x >= 30", 12


def write_csv(path: Path, cells: Sequence[object]) -> None:
    """A CSV file of one column."""
    path.write_text("x\n" + "".join(f"{cell}\n" for cell in cells))


def write_lines(path: Path, cells: Sequence[object]) -> None:
    """A file of one JSON object a line."""
    path.write_text("".join(json.dumps({"x": cell}) + "\n" for cell in cells))


def write_sqlite(path: Path, cells: Sequence[object]) -> None:
    """A SQLite file whose column has no type."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (x)")
        database.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        database.commit()


def statistics_frame(cells: Sequence[object]) -> pd.DataFrame:
    """Cells as a column that a file of statistics can hold: of numbers, or of texts if one is a text."""
    has_text = any(isinstance(cell, str) for cell in cells)
    return pd.DataFrame({"x": [str(cell) if has_text else float(str(cell)) for cell in cells]})


def write_folders(path: Path, cells: Sequence[object]) -> None:
    """Parquet files in folders that are named by the cells."""
    shutil.rmtree(path, ignore_errors=True)
    for number, cell in enumerate(cells):
        folder = path / f"x={cell}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"y": [number]}), folder / f"{number}.parquet")


WRITTEN: dict[str, Callable[[Path, Sequence[object]], object]] = {
    "a.csv": write_csv,
    "a.jsonl": write_lines,
    "a.xlsx": lambda path, cells: write_workbook(path, {"s": [["x"], *([cell] for cell in cells)]}),
    "a.sqlite": write_sqlite,
    "a.sav": lambda path, cells: pyreadstat.write_sav(statistics_frame(cells), str(path)),
    "a.dta": lambda path, cells: pyreadstat.write_dta(statistics_frame(cells), str(path)),
    "a.parquet": lambda path, cells: pq.write_table(pa.table({"x": statistics_frame(cells)["x"]}), path),
    "folders": write_folders,
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*WRITTEN, "pandas"])
@pytest.mark.parametrize("odd", ["a word", "007", "7.0"])
def test_an_odd_record_turns_no_described_column_to_text(tmp_path: Path, name: str, odd: str) -> None:
    """Later records are read as numbers, or refuse every question by the name of the column; no cell is quoted."""

    def reply(cells: Sequence[object]) -> int | str:
        if name == "pandas":
            place: object = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
        else:
            place = tmp_path / name
            WRITTEN[name](tmp_path / name, cells)
        try:
            with nc.open_desk(place, unit="row", ledger=tmp_path / "ledger.db", name="d", budget=10**6) as desk:
                return desk.release(WHERE, 1000).answer
        except SourceError as refusal:
            return str(refusal)

    assert reply(NUMBERS) == TRUTH
    with_odd = reply([*NUMBERS, odd])
    if isinstance(with_odd, str):
        assert "'x'" in with_odd
        assert odd not in with_odd
    else:
        assert with_odd == TRUTH
    assert reply([*NUMBERS, 60]) == TRUTH + 1
