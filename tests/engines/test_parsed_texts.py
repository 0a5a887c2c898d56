"""Which texts spell a number or a day: by the standard library, by the reference, and by every engine."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.engines.sql.source import SqlSource
from noisycount.query.language import parse
from noisycount.query.predicate import Column, Comparison, Literal, Missing, Operator, Predicate
from noisycount.query.readings import BLANKS, FUNCTIONS, READERS
from noisycount.query.schema import Kind
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import table_of
from tests.helpers.sources import write_parquet

SCHEMA = {"cell": Kind.TEXT}
NUMBERS = [
    *("0", "-0", "+0", "00", "007", "1.", ".5", "-.5", "+1.50", "1e5", "1E-05", "1.e+5", "9" * 32, "0." + "1" * 32),
    *("9007199254740993", "0.1", "0.30000000000000004", "1e99", "1e-99", f"{'9' * 32}.{'9' * 32}e99", "0e00"),
    *(f".{'0' * 31}1e-99", "179769313486231570000000000000", " 12 ", "\t12\r\n", "12\v"),
]
NO_NUMBERS = [
    *(
        "",
        " ",
        ".",
        "+",
        "-",
        "e5",
        "1e",
        "1e+",
        "1e100",
        "1e400",
        "1e-400",
        "1e005",
        "1 2",
        "1,5",
        "1_0",
        "1'000",
        "0x10",
    ),
    *(
        "NaN",
        "nan",
        "inf",
        "Infinity",
        "-Infinity",
        "++1",
        "+-1",
        "--1",
        "1-",
        "1.2.3",
        "1..2",
        "9" * 33,
        "0." + "1" * 33,
    ),
    *(
        "٣",
        "\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}",
        "1\N{FULLWIDTH DIGIT TWO}",
        "²",
        "Ⅷ",
        "\u00a012",
        "12\u2003",
        "12\u200b",
        "−5",
        "5%",
        "€5",
        "(5)",
        "1e5.0",
        "1f",
        "1d",
        "true",
    ),
]
DAYS = [
    *(
        "2024-02-29",
        "2000-02-29",
        "0001-01-01",
        "9999-12-31",
        "0004-02-29",
        "1600-02-29",
        "2023-04-30",
        " 2024-01-31\n",
    ),
    *(
        "2024-01-31 10:30",
        "2024-01-31T10:30:59",
        "2024-01-31 10:30:59.123456",
        "2024-01-31T23:30:00Z",
        "2024-01-31\t9:05",
    ),
    *(
        "2024-01-31 23:30:00+14:00",
        "2024-01-31 23:30 -05",
        "2024-01-31T23:30:00+0200",
        "2024-01-31 1:2:3.1234567890123456 Z",
    ),
]
NO_DAYS = [
    *("2023-02-29", "1900-02-29", "2100-02-29", "2024-02-30", "2024-04-31", "2024-00-10", "2024-13-01", "2024-01-00"),
    *("2024-01-32", "0000-01-01", "0000-02-29", "10000-01-01", "2024-1-31", "24-01-31", "31.01.2024", "2024/01/31"),
    *(
        "20240131",
        "2024-01-311",
        "2024-01-31x",
        "2024-01-31 ",
        "2024-01-31T",
        "2024-01-31 10",
        "2024-01-31 10:30:",
    )[:3],
    *(
        "2024-01-31T",
        "2024-01-31 10",
        "2024-01-31 10:30:",
        "2024-01-31  10:30",
        "2024-01-31 10:30 UTC",
        "2024-01-31t10:30",
    ),
    *(
        "\N{FULLWIDTH DIGIT TWO}\N{FULLWIDTH DIGIT ZERO}\N{FULLWIDTH DIGIT TWO}\N{FULLWIDTH DIGIT FOUR}-01-31",
        "2024-01-3\N{FULLWIDTH DIGIT ONE}",
        "2024−01−31",
        "infinity",
        "today",
        "epoch",
        "2024-01-31 BC",
        "2024-01-31 (approx.)",
    ),
    *("2024-01-31 to 2024-02-01", "2024-01-31 10:30:59.12345678901234567", "-2024-01-31", "+2024-01-31", "2024-01+31"),
]


def column(function: str) -> Column:
    """The cells under a function of the language."""
    return Column("cell", FUNCTIONS[function], is_parsed=True)


def questions(texts: Sequence[str]) -> list[Predicate]:
    """Each value that a text spells by the reference, and how many spell none: they tell every reading apart."""
    found: list[Predicate] = []
    for function, kind in FUNCTIONS.items():
        values = {value for value in map(READERS[kind], texts) if value is not None}
        found.append(Missing(column(function)))
        found += [Comparison(column(function), Operator.EQUAL, Literal(kind, value)) for value in values]
    return found


def counts_agree(source: Source, texts: Sequence[str]) -> None:
    """The source counts what plain Python does."""
    asked = questions(texts)
    with MemorySource([{"cell": text} for text in texts], SCHEMA) as reference:
        assert source.count(asked) == reference.count(asked)


def spelt(alphabets: Sequence[str]) -> st.SearchStrategy[str]:
    """Texts of pieces, most of them nearly a number or a day."""
    pieces = st.one_of(*(st.sampled_from(alphabet.split("|")) for alphabet in alphabets))
    return st.lists(pieces, max_size=12).map("".join)


PIECES = [
    "0|1|9|2024|-|-02|-29|-31|T| |:|30|.|Z|+|+02|e|E|e5|\t|\n",
    "00|0000|1e|\N{FULLWIDTH DIGIT ONE}|٣|\u00a0|'|\\|é|👍|,|_|x|%|--",
]
NEAR = st.one_of(
    spelt(PIECES),
    st.dates().map(date.isoformat),
    st.datetimes().map(str),
    st.floats().map(repr),
    st.integers().map(str),
    st.decimals(allow_nan=True, places=3).map(str),
    st.sampled_from([*NUMBERS, *NO_NUMBERS, *DAYS, *NO_DAYS]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
)


@pytest.mark.parametrize("text", NUMBERS)
def test_a_numeral_is_the_nearest_double(text: str) -> None:
    """Whatever its sign, its exponent of two digits and the blanks around it."""
    assert READERS[Kind.REAL](text) == float(text.strip(BLANKS))


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_other_texts_spell_no_number(text: str) -> None:
    """Digits of other scripts, marks of groups, words and what an engine could not hold."""
    assert READERS[Kind.REAL](text) is None


@pytest.mark.parametrize("text", DAYS)
def test_a_day_is_read_with_and_without_a_time(text: str) -> None:
    """By the day as it is written, whatever zone follows."""
    assert READERS[Kind.DATE](text) == date.fromisoformat(text.strip(BLANKS)[:10])


@pytest.mark.parametrize("text", NO_DAYS)
def test_other_texts_spell_no_day(text: str) -> None:
    """No day of the calendar, another form, or more than a time after it."""
    assert READERS[Kind.DATE](text) is None


@pytest.mark.thorough
@given(NEAR)
@settings(max_examples=300)
def test_the_readings_are_those_of_the_standard_library(text: str) -> None:
    """Plain ASCII texts within the bounds have the value that Python's own parsers give."""
    stripped = text.strip(BLANKS)
    number, day = READERS[Kind.REAL](text), READERS[Kind.DATE](text)
    plain = re.fullmatch(r"[+-]?[0-9.]+([eE][+-]?[0-9][0-9]?)?", stripped, re.ASCII)
    digits = max(map(len, re.findall("[0-9]+", stripped)), default=0)
    expected = None
    if plain and digits <= 32:
        try:
            expected = float(stripped)
        except ValueError:
            expected = None
    assert number == expected
    if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", stripped, re.ASCII):
        try:
            assert day == date.fromisoformat(stripped)
        except ValueError:
            assert day is None


EVERY = [*NUMBERS, *NO_NUMBERS, *DAYS, *NO_DAYS]


def test_duckdb_reads_every_known_text_alike(tmp_path: Path) -> None:
    """Each number and each day, and no other text."""
    write_parquet(tmp_path / "texts.parquet", [{"cell": text} for text in EVERY], SCHEMA)
    with DuckDBSource.open(tmp_path / "texts.parquet") as source:
        counts_agree(source, EVERY)


@pytest.mark.thorough
@given(st.lists(NEAR, max_size=60))
@example(EVERY)
def test_duckdb_reads_random_texts_alike(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Each number and each day, and no other text."""
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    write_parquet(path, [{"cell": text} for text in texts], SCHEMA)
    with DuckDBSource.open(path) as source:
        counts_agree(source, texts)


@pytest.mark.thorough
@given(st.lists(NEAR, max_size=60))
@example(EVERY)
def test_postgresql_reads_random_texts_alike(postgresql: Server, texts: list[str]) -> None:
    """A server whose casts raise where a text is no number: they never see one."""
    place = table_of(postgresql, [{"cell": text} for text in texts], SCHEMA)
    with SqlSource.open(place, unit=None, columns=None) as source:
        counts_agree(source, texts)


@pytest.mark.thorough
def test_spark_reads_every_known_text_alike(spark_url: str) -> None:
    """Java reads digits of other scripts, suffixes of types and the words for what is no number: none gets there."""
    records = [{"cell": text} for text in EVERY]
    with SparkUnderTest(spark_url).source(records, SCHEMA) as source:
        counts_agree(source, EVERY)


MIXED = ["5", "12", "n/a", None, "2024-01-31", "104.0", "5", None, " 7 ", "x"] * 3
ABOUT_MIXED = [
    *("number(cell) >= 7", "not number(cell) >= 7", "number(cell) is null", "number(cell) is not null", "cell is null"),
    *("number(cell) is null or cell = 'x'", "number(cell) is null and cell is not null", "date(cell) = '2024-01-31'"),
    *("number(cell) in (5, 7)", "not (number(cell) is null or cell = '5')", "number(cell) = number(cell)"),
    *("not date(cell) > '2024-01-30'", "number(cell) between 5 and 12 and cell like '%5%'"),
]
WORDS = sorted({text for text in MIXED if text is not None})
FRAMES: dict[str, Callable[[], object]] = {
    "polars": lambda: pl.DataFrame({"cell": MIXED}),
    "polars categories": lambda: pl.DataFrame({"cell": pl.Series(MIXED, dtype=pl.Categorical)}),
    "polars enumeration": lambda: pl.DataFrame({"cell": pl.Series(MIXED, dtype=pl.Enum(WORDS))}),
    "pandas": lambda: pd.DataFrame({"cell": MIXED}),
    "pandas categories": lambda: pd.DataFrame({"cell": pd.Categorical(MIXED)}),
    "arrow dictionary": lambda: pa.table({"cell": pa.array(MIXED).dictionary_encode()}),
}


def mixed_counts(source: Source) -> None:
    """Each question alone, and all in one scan, as plain Python counts them."""
    with MemorySource([{"cell": text} for text in MIXED], SCHEMA) as reference:
        asked = [parse(text, SCHEMA) for text in ABOUT_MIXED]
        counts = reference.count(asked)
    assert [source.count([each])[0] for each in asked] == counts
    assert source.count(asked) == counts


@pytest.mark.thorough
@pytest.mark.parametrize("frame", FRAMES)
def test_texts_of_frames_are_read_alike(frame: str) -> None:
    """Categories too, which are counted by their numbers where a test of them is never unknown."""
    with FrameSource.open(FRAMES[frame](), unit=None) as source:
        mixed_counts(source)


@pytest.mark.thorough
def test_texts_of_database_files_are_read_alike(tmp_path: Path) -> None:
    """An enumeration of DuckDB, and texts of SQLite."""
    words = ", ".join(f"'{text}'" for text in WORDS)
    with duckdb.connect(tmp_path / "a.duckdb") as connection:
        connection.execute(f"CREATE TYPE word AS ENUM ({words}); CREATE TABLE t (cell word)")
        connection.executemany("INSERT INTO t VALUES (?)", [[text] for text in MIXED])
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (cell TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [(text,) for text in MIXED])
        connection.commit()
    for name in ("a.duckdb", "a.db"):
        with DuckDBSource.open(tmp_path / name) as source:
            mixed_counts(source)
