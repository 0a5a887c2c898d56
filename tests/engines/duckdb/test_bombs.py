"""Small files that ask for gigabytes: each is refused in one line, and a reader's memory is limited."""

import gzip
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from noisycount.engines.duckdb.apart import memory_limit, read_in_subprocess, sheet_rows, statistics_columns
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.errors import SourceError
from tests.helpers.workbooks import write_workbook

NAMES = '<row r="1"><c r="A1" t="inlineStr"><is><t>age</t></is></c></row>'
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
MEGABYTE = 1 << 20
OPENED = """
import re, resource, sys
from pathlib import Path
from noisycount.engines.duckdb.source import DuckDBSource
try:
    DuckDBSource.open(Path(sys.argv[1]))
except Exception as error:
    print(error)
# ru_maxrss of a process includes that of the process which started it
own = re.search("VmHWM:[^0-9]*([0-9]+) kB", Path("/proc/self/status").read_text())[1]
print(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


MEMORY = (
    "needs more than {} MB of memory to be read, which is the limit for a file of its size: save it as CSV or Parquet"
)
CELLS = "has a cell of more than 32,767 characters, which Excel does not keep: shorten it, or save the sheet as CSV"


def packed(path: Path, sheet: str, *, times: int = 0) -> Path:
    """Write a workbook with a sheet of this XML, in which @ stands for so many megabytes of x."""
    base = write_workbook(path.with_name("base.xlsx"), {"a": [["age"]]})
    before, _, after = f"<worksheet {MAIN}><sheetData>{NAMES}{sheet}</sheetData></worksheet>".partition("@")
    with ZipFile(base) as parts, ZipFile(path, "w", ZIP_DEFLATED) as file:
        for name in parts.namelist():
            if name != "xl/worksheets/sheet1.xml":
                file.writestr(name, parts.read(name))
        with file.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
            part.write(before.encode())
            for _ in range(times):
                part.write(b"x" * MEGABYTE)
            part.write(after.encode())
    return path


def far_corner(path: Path) -> Path:
    """Write a workbook of two cells, the first and the last that a sheet can have: 17 billion with those between."""
    return packed(path, '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def long_cells(path: Path) -> Path:
    """Write a workbook with a cell of 900 MB, which has .92 MB packed."""
    cell = '<c r="A2" t="inlineStr"><is><t>@</t></is></c>'
    return packed(path, f'<row r="2">{cell}</row>', times=900)


def rich_cell(path: Path) -> Path:
    """Write a workbook with a cell of many short texts."""
    texts = "<r><t>abcdefgh</t></r>" * 900_000
    return packed(path, f'<row r="2"><c r="A2" t="inlineStr"><is>{texts}</is></c></row>')


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no process's memory so")
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("write", "words"),
    [(far_corner, MEMORY), (long_cells, CELLS), (rich_cell, CELLS)],
)
def test_a_workbook_that_expands_is_refused_in_little_memory(
    tmp_path: Path, write: Callable[[Path], Path], words: str
) -> None:
    """Neither the process that asks nor the one that reads uses more than the stated limit."""
    path = write(tmp_path / "x.xlsx")
    limit = memory_limit(path)
    assert path.stat().st_size < MEGABYTE
    told = subprocess.run(  # noqa: S603 - of this test alone
        [sys.executable, "-c", OPENED, path], capture_output=True, text=True, check=True
    )
    refusal, used = told.stdout.splitlines()
    assert refusal.endswith(words.format(f"{limit // MEGABYTE:,}"))
    own, readers = (int(kilobytes) * 1024 for kilobytes in used.split())
    assert own < limit / 2
    assert readers < limit


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no process's memory so")
def test_a_reader_that_runs_out_of_memory_ends_alone(tmp_path: Path) -> None:
    """The process that asks goes on, and refuses in one line; part of a file is never taken for the whole."""
    with pytest.raises(SourceError, match="needs more than 512 MB of memory to be read"):
        DuckDBSource.open(far_corner(tmp_path / "x.xlsx"))


def test_a_cell_as_long_as_excel_keeps_is_read(tmp_path: Path) -> None:
    """In characters that XML writes with several bytes each, and behind a piece of the file."""
    rows = [["note"], *[["x" * 1000]] * 2000, ["&" * 32_767], ["é" * 32_767]]
    path = write_workbook(tmp_path / "x.xlsx", {"a": rows})
    with DuckDBSource.open(path) as source:
        note = source.cursors.connection.execute("SELECT max(length(note)) FROM records").fetchall()
    assert note == [(32_767,)]
    with pytest.raises(SourceError, match=re.escape(CELLS)):
        DuckDBSource.open(write_workbook(tmp_path / "y.xlsx", {"a": [["note"], ["x" * 300_000]]}))


@pytest.mark.thorough
def test_readers_yield_what_a_process_of_its_own_hands_over(tmp_path: Path) -> None:
    """The parts are those of the reader, in its order."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": [["age", "town"], [1.0, None], [2.5, "Ulm"]], "b": []})
    for table in ("a", "b", "c", None):
        assert read_in_subprocess("sheet", path, table, bool(table)) == list(sheet_rows(str(path), table, bool(table)))
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pytest.importorskip("pandas").DataFrame({"age": [1.0, 2.0], "town": ["Ulm", ""]})
    survey = tmp_path / "x.sav"
    pyreadstat.write_sav(frame, str(survey), variable_value_labels={"age": {1: "one"}})
    parts = [{"age": {1.0: "one"}}, ("age", [1.0, 2.0]), ("town", ["Ulm", ""])]
    assert read_in_subprocess("statistics", survey, "read_sav", None) == parts
    assert list(statistics_columns(str(survey), "read_sav", None)) == parts


@pytest.mark.thorough
def test_a_line_of_json_that_is_too_long_is_refused_by_its_number(tmp_path: Path) -> None:
    """It is never held as a whole."""
    path = tmp_path / "x.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"a": 1}\n{"a": "')
        for _ in range(130):
            file.write(b"x" * MEGABYTE)
        file.write(b'"}\n')
    with pytest.raises(SourceError, match="line 2 has more than 64 MB, which no object may have: shorten it"):
        DuckDBSource.open(path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_a_last_line_that_is_longer_than_the_engines_buffer_is_not_dropped(tmp_path: Path, name: str) -> None:
    """DuckDB would leave it out without a word where several threads read the file."""
    path, content = tmp_path / name, b"a,b\n1," + b"x" * (33 * MEGABYTE) + b"\n"
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    with pytest.raises(SourceError, match="what follows line 1 has a cell or a line of more than 2,097,152 characters"):
        DuckDBSource.open(path)
