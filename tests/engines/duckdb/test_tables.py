"""Tables of files and frames: odd cells, time, memory, and what a message may not show."""

import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.expressions import edges_of
from noisycount.engines.memory import MemorySource
from noisycount.errors import SourceError
from noisycount.query.grouping import CellQuestion, EachValue, GroupBy, Key, KeyQuestion, NumberRanges, Period
from noisycount.query.language import parse
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind
from noisycount.query.typed import PeriodLength
from tests.engines.duckdb.test_source import CANARY, SLOW, write_notes
from tests.engines.test_tables import all_keys
from tests.helpers.random_tables import grid, identity, total
from tests.helpers.sources import database, write_parquet, writing
from tests.query.test_injections import CELLS, CORPUS, ODD, state

TOWN = EachValue(Column("town", Kind.TEXT))
NOT_THE_CANARY = parse(f"town <> '{CANARY}'", {"town": Kind.TEXT})


def write_database(folder: Path, type_: str, cells: Sequence[str]) -> Path:
    """A DuckDB file of one column ``x``."""
    path = folder / "records.duckdb"
    with database(path) as connection:
        connection.execute(f"CREATE TABLE t (x {type_})")
        for cell in cells:
            connection.execute(f"INSERT INTO t VALUES ({cell})")  # noqa: S608 - our own cells
    return path


def listed(source: DuckDBSource, part: GroupBy, values: Sequence[Key]) -> list[int]:
    """The counts of some keys, and of all others."""
    keys = grid([part], [values])
    question = CellQuestion(keys, None, (identity(len(keys) + 1),), has_other=True)
    return source.count_cells(question)[0].tolist()


MONTH, YEAR = PeriodLength.MONTH, PeriodLength.YEAR
ODD_DAYS = ["NULL", "'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'12000-01-01'"]


@pytest.mark.parametrize(
    ("type_", "cells", "part", "values", "expected"),
    [
        ("UBIGINT", ["2::UBIGINT**63", "5", "NULL"], EachValue, [5, -1, None], [1, 0, 1, 1]),
        ("UBIGINT", ["18446744073709551615", "5"], (-1, 5, 2**63 - 1), [0, 1, 2], [0, 1, 1, 0]),
        ("TINYINT", ["-128", "127"], (-(2**63), 127), [0, 1], [1, 1, 0]),
        ("TINYINT", ["-128", "127"], EachValue, [2**40, 127], [0, 1, 1]),
        ("FLOAT", ["'nan'", "'-inf'", "-0.0"], (0.0, 1e300), [0, 1], [1, 1, 1]),
        ("DECIMAL(38,0)", ["9" * 38, "7"], (7, 8), [0, 1], [1, 1, 0]),
        ("DATE", [*ODD_DAYS, "'2020-02-29'"], MONTH, [24241, 0, None], [1, 0, 1, 4]),
        ("DATE", [*ODD_DAYS, "'9999-12-31'"], EachValue, [date.max, None], [1, 1, 4]),
        ("TIMESTAMP", [*ODD_DAYS, "'9999-12-31 23:59'"], YEAR, [9999, None], [1, 1, 4]),
        ("TIMESTAMPTZ", ["'2020-01-01 00:30:00+01'"], YEAR, [2019, 2020], [1, 0, 0]),
        ("ENUM('b', 'a')", ["'b'", "NULL"], EachValue, ["b", "z", None], [1, 0, 1, 0]),
        ("VARCHAR COLLATE NOCASE", ["'A'", "'a'"], EachValue, ["A", "a"], [1, 1, 0]),
    ],
)
def test_cells_of_every_type_have_a_group_or_none(  # noqa: PLR0913, PLR0917 - a case
    tmp_path: Path,
    type_: str,
    cells: Sequence[str],
    part: type[EachValue] | PeriodLength | tuple[float, ...],
    values: Sequence[Key],
    expected: Sequence[int],
) -> None:
    """Extremes too, without an error; hidden keys are those of groups alone."""
    with DuckDBSource.open(write_database(tmp_path, type_, cells)) as source:
        column = Column("x", source.schema["x"])
        made: GroupBy
        match part:
            case PeriodLength():
                made = Period(column, part)
            case tuple():
                made = NumberRanges(column, part)
            case _:
                made = part(column)
        assert listed(source, made, values) == expected
        found = all_keys(source.count_keys(KeyQuestion([made], None)))
        for value, count in zip(values, expected, strict=False):
            assert found.get((value,), 0) == count


UNITS = ["DOUBLE", "FLOAT", "BIGINT", "UBIGINT", "DECIMAL(9,3)", "BOOLEAN", "VARCHAR", "BLOB"]
MOMENTS = ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS", "TIMESTAMPTZ"]


@pytest.mark.parametrize("type_", [*UNITS, *MOMENTS, "TIME", "HUGEINT", "UUID", "INTERVAL"])
def test_a_unit_of_any_type_is_left_in_so_many_cells(tmp_path: Path, type_: str) -> None:
    """A unit of any type is hashed, if necessary as a text, and the contribution bound holds."""
    path = tmp_path / "records.duckdb"
    cells = {
        "BOOLEAN": ["true"],
        "UUID": ["'2f1d2c3e-0000-4000-8000-000000000001'"],
        "BLOB": [r"'\xFF\x00'::BLOB"],
        "INTERVAL": ["INTERVAL 30 days", "INTERVAL 1 month"],
        "TIME": ["'08:30'"],
        "DOUBLE": ["'nan'", "-0.0", "0.0", "'inf'"],
        "TIMESTAMP_S": ["'290308-12-21 19:59:59'", "'infinity'"],
    }.get(type_, ["'infinity'", "'2020-01-01'"] if type_ in MOMENTS else ["'7'"])
    with database(path) as connection:
        connection.execute(f"CREATE TABLE t (unit {type_}, town VARCHAR)")
        for cell in cells:
            connection.execute(f"INSERT INTO t SELECT {cell}, 'town ' || i FROM range(9) t(i)")  # noqa: S608 - our own cells
        ((units,),) = connection.execute("SELECT count(DISTINCT unit) FROM t").fetchall()
    towns = [f"town {number}" for number in range(9)]
    with DuckDBSource.open(path, unit="unit") as source:
        keys = grid([TOWN], [towns])
        (counts,) = source.count_cells(CellQuestion(keys, None, (identity(9),), max_groups=2))
        assert counts.sum() == 2 * units
        hidden = all_keys(source.count_keys(KeyQuestion([TOWN], None, max_groups=2)))
        assert hidden == {(t,): n for t, n in zip(towns, counts.tolist(), strict=True) if n}


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("matching", [1, 2, 4])
def test_a_unit_is_left_in_cells_in_which_it_matches(tmp_path: Path, most: int, matching: int) -> None:
    """In as many as the bound says, also if only one cell is left out; cells without a match take no place."""
    path, towns = tmp_path / "x.parquet", [f"town {number}" for number in range(4)]
    rows = [{"unit": 1, "town": town, "ill": number < matching} for number, town in enumerate(towns)]
    write_parquet(path, rows, {"unit": Kind.INTEGER, "town": Kind.TEXT, "ill": Kind.BOOLEAN})
    keys, cells = grid([TOWN], [towns]), (identity(4),)
    with DuckDBSource.open(path, unit="unit") as source:
        ill = parse("ill", source.schema)
        for salt in ("", "a", "b", "c"):
            (counts,) = source.count_cells(CellQuestion(keys, ill, cells, max_groups=most, salt=salt))
            assert counts.sum() == min(most, matching)
            hidden = all_keys(source.count_keys(KeyQuestion([TOWN], ill, max_groups=most, salt=salt)))
            assert sum(hidden.values()) == min(most, matching)


def test_an_edge_between_two_doubles_is_the_larger_of_them() -> None:
    """The whole number 2^53 + 1 is no double: 2^53 is below it, and the next double is above."""
    part = NumberRanges(Column("x", Kind.REAL), (2**53 + 1, 2**53 + 3))
    assert edges_of(part) == [2.0**53 + 2, 2.0**53 + 4]


@pytest.mark.parametrize("salt", ["", "salt", "a", "b", "c", "d"])
def test_the_two_zeros_are_one_unit(tmp_path: Path, salt: str) -> None:
    """The unit −0.0 is left in the cells in which 0.0 is left: else a sign would choose what is counted."""
    found = []
    for number, unit in enumerate((0.0, -0.0)):
        path = tmp_path / f"{number}.parquet"
        rows = [{"unit": unit, "town": f"town {place}"} for place in range(30)]
        schema = {"unit": Kind.REAL, "town": Kind.TEXT}
        write_parquet(path, rows, schema)
        question = KeyQuestion([TOWN], None, max_groups=1, salt=salt)
        with DuckDBSource.open(path, unit="unit") as source, MemorySource(rows, schema, unit="unit") as reference:
            found += [all_keys(source.count_keys(question)), all_keys(reference.count_keys(question))]
    assert found[1:] == found[:-1]


KEYS = sorted({text for text in [*CELLS, *CORPUS, *ODD] if text.isprintable()} | {"", "\n", "\x1b"})


@pytest.mark.parametrize("opened", ["file", "frame"])
def test_keys_are_texts_whatever_they_say(tmp_path: Path, opened: str) -> None:
    """Quotes, statements and 5,000 characters: each is the key of its one record, and no more."""
    path = tmp_path / "records.parquet"
    rows = [{"town": text} for text in KEYS]
    write_parquet(path, rows, {"town": Kind.TEXT})
    frame = pl.DataFrame({"town": KEYS})
    with DuckDBSource.open(path) as file, FrameSource.open(frame, unit=None) as table:
        before = state(file, tmp_path)
        source = file if opened == "file" else table
        keys = grid([TOWN], [[*KEYS, "in no record"]])
        question = CellQuestion(keys, None, (identity(len(keys)), total(len(keys))))
        cells, (whole,) = source.count_cells(question)
        assert cells.tolist() == [1] * len(KEYS) + [0]
        assert whole == len(KEYS)
        hidden = all_keys(source.count_keys(KeyQuestion([TOWN], None, 1, "'; DROP TABLE x; --")))
        assert hidden == {(text,): 1 for text in KEYS}
        assert state(file, tmp_path) == before


def asked(source: DuckDBSource, part: GroupBy, where: Predicate, *, hidden: bool) -> None:
    """A table with one key."""
    if hidden:
        all_keys(source.count_keys(KeyQuestion([part], where)))
    else:
        source.count_cells(CellQuestion(grid([part], [[None]]), where, (identity(1),)))


@pytest.mark.parametrize("hidden", [False, True])
def test_a_file_that_breaks_meanwhile_shows_nothing(tmp_path: Path, hidden: bool) -> None:  # noqa: FBT001 - a case
    """Neither a cell, nor a key, nor an error of the engine, in any part of the refusal."""
    path = tmp_path / "records.parquet"
    write_parquet(path, [{"town": CANARY + str(n)} for n in range(1000)], {"town": Kind.TEXT})
    with DuckDBSource.open(path) as source:
        content = path.read_bytes()
        path.write_bytes(b"PAR1" + bytes(len(content) - 8) + content[-4:])
        with pytest.raises(SourceError) as caught:
            asked(source, TOWN, NOT_THE_CANARY, hidden=hidden)
    shown = "".join(traceback.format_exception(caught.value))
    assert CANARY not in str(caught.value)
    assert "duckdb.Error" not in shown
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("hidden", [False, True])
def test_a_changed_file_gives_no_table(tmp_path: Path, hidden: bool) -> None:  # noqa: FBT001 - a case
    """Reading hidden keys to the end raises the error."""
    path = tmp_path / "records.parquet"
    write_parquet(path, [{"town": "a"}], {"town": Kind.TEXT})
    with DuckDBSource.open(path) as source:
        write_parquet(path, [{"town": "a"}, {"town": "b"}], {"town": Kind.TEXT})
        with pytest.raises(SourceError, match="records"):
            asked(source, TOWN, NOT_THE_CANARY, hidden=hidden)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file about which `SLOW` takes long."""
    return write_notes(tmp_path_factory.mktemp("notes") / "notes.parquet", 500_000)


@pytest.mark.thorough
@pytest.mark.parametrize("hidden", [False, True])
def test_a_table_that_takes_too_long_is_given_up(notes: Path, hidden: bool) -> None:  # noqa: FBT001 - a case
    """Within its seconds, and no statement after them is asked."""
    part = EachValue(Column("k", Kind.INTEGER))
    with DuckDBSource.open(notes, seconds=0.2) as source:
        where = parse(SLOW, source.schema)
        start = time.monotonic()
        with pytest.raises(SourceError, match="cannot be counted"):
            asked(source, part, where, hidden=hidden)
        assert time.monotonic() - start < 3
        assert not source.cursors.is_busy


def test_a_closed_source_gives_no_further_keys(notes: Path) -> None:
    """Also in the midst of them."""
    source = DuckDBSource.open(notes)
    batches = source.count_keys(KeyQuestion([EachValue(Column("note", Kind.TEXT))], None))
    assert len(next(batches).keys) < 200_000
    source.close()
    with pytest.raises(SourceError):
        list(batches)
    assert not source.cursors.is_busy


def test_whoever_stops_reading_keys_holds_nothing(notes: Path) -> None:
    """The cursor is let go of with the iterator."""
    with DuckDBSource.open(notes) as source:
        batches = source.count_keys(KeyQuestion([EachValue(Column("note", Kind.TEXT))], None))
        next(batches)
        assert source.cursors.is_busy
        batches.close()  # type: ignore[attr-defined] # of a generator
        assert not source.cursors.is_busy


MILLION = """
import pathlib, sys
from noisycount.query.grouping import EachValue, KeyQuestion
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from noisycount.engines.duckdb.source import DuckDBSource
with DuckDBSource.open(sys.argv[1]) as source:
    question = KeyQuestion([EachValue(Column("k", Kind.TEXT))], None)
    print(sum(len(batch.keys) for batch in source.count_keys(question)))
(line,) = [line for line in pathlib.Path("/proc/self/status").open() if line.startswith("VmHWM")]
print(line.split()[1])
"""


@pytest.mark.thorough
def test_hidden_keys_are_never_all_in_memory(tmp_path: Path) -> None:
    """A million and two million of them take nearly the same; each would take 200 bytes."""
    peaks = []
    for size in (10**6, 2 * 10**6):
        path = tmp_path / f"{size}.parquet"
        with writing().cursor() as connection:
            keys = connection.sql("SELECT 'key ' || i AS k FROM range(?) t(i)", params=[size])
            keys.write_parquet(str(path))
        ran = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", MILLION, path], capture_output=True, check=True, text=True
        )
        counted, peak = map(int, ran.stdout.split())
        assert counted == size
        peaks.append(peak * 1024)
    assert peaks[1] - peaks[0] < 150e6
