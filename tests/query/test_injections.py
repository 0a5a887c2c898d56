"""Strings that do harm elsewhere: here each is a count or a refusal, and changes nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.connection import quoted_name, quoted_text
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.memory import MemorySource
from noisycount.errors import PredicateError
from noisycount.query.language import parse
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind
from noisycount.query.syntax import MAXIMUM_PATTERNS
from tests.helpers.sources import write_parquet

CORPUS = Path(__file__).with_name("injections.txt").read_text(encoding="utf-8").splitlines()
ODD = [
    *("\0", "a\0b", "\r\n", "\u2028", "\x1b[2J", "\ufeff", "\u200b", "\u202e", "\ud800", "\x7f"),
    *("\\", "\\'", "'\0", "\0'", "'\n;\ndrop view records\n", "\ufffd", "\u00ad", "\u0085", "\x1a"),
    *("a" * 5000, "'" * 4001, "(" * 4000, "not " * 900, "- " * 900, "true or " * 400, "\U0010ffff"),
    *("true" + " or true" * 400, "age in (" + "1," * 2000 + "1)", "1" * 4000, "1e" + "9" * 300),
]
INJECTIONS = [*CORPUS, *ODD]
PLACES: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "in a literal": lambda text: f"health = {quoted_text(text)}",
    "glued into a literal": lambda text: f"health = '{text}'",
    "glued into a pattern": lambda text: f"health like '{text}%'",
    "glued into a list": lambda text: f"health in ('x', '{text}')",
    "glued into a name": lambda text: f'"{text}" = 1',
    "after a predicate": lambda text: f"age > 1 {text}",
    "before a predicate": lambda text: f"{text} or age > 1",
    "as a number": lambda text: f"age > {text}",
    "as a date": lambda text: f"born > '{text}'",
}
SCHEMA = {
    "person": Kind.INTEGER,
    "age": Kind.INTEGER,
    "bmi": Kind.REAL,
    "health": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "born": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
CELLS = [text for text in INJECTIONS if text.isprintable() and len(text) < 1000]
RECORDS = [
    {"person": number // 2, "age": number % 90, "bmi": 20.5, "health": cell, "smoker": True}
    for number, cell in enumerate(CELLS)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the records, and nothing else."""
    folder = tmp_path_factory.mktemp("injected")
    write_parquet(folder / "records.parquet", RECORDS, SCHEMA)
    return folder


@pytest.fixture(scope="module")
def sources(folder: Path) -> Iterator[tuple[MemorySource, DuckDBSource]]:
    """The records in both engines."""
    with DuckDBSource.open(folder / "records.parquet", unit="person") as source:
        yield MemorySource(RECORDS, SCHEMA, "person"), source


def state(source: DuckDBSource, folder: Path) -> object:
    """Everything that an injection could have changed: files, tables, settings, records."""
    files = sorted((path.name, path.read_bytes()) for path in folder.iterdir())
    queries = [
        "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        "SELECT database_name, table_name FROM duckdb_tables() ORDER BY ALL",
        "SELECT view_name, sql FROM duckdb_views() ORDER BY ALL",
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
        "SELECT database_name FROM duckdb_databases() ORDER BY ALL",
        "FROM records",
    ]
    return files, [source.cursors.connection.execute(query).fetchall() for query in queries]


def admitted(texts: list[str], source: DuckDBSource) -> list[Predicate]:
    """The predicates among some texts; all others are refused in one line of our own."""
    found = []
    for text in texts:
        try:
            found.append(parse(text, source.schema))
        except PredicateError as refusal:
            message = str(refusal)
            assert message.isprintable()
            assert len(message) < 400
            assert refusal.__cause__ is None  # noqa: PT017
    return found


def test_the_corpus_is_large() -> None:
    """At least 300 different strings."""
    assert len(set(INJECTIONS)) == len(INJECTIONS) >= 500


@pytest.mark.few(1)
@pytest.mark.parametrize("place", PLACES)
def test_every_injection_is_a_count_or_a_refusal(
    sources: tuple[MemorySource, DuckDBSource], folder: Path, place: str
) -> None:
    """Both engines agree on what is admitted, and nothing has changed afterwards."""
    reference, source = sources
    before = state(source, folder)
    found = admitted([PLACES[place](text) for text in INJECTIONS], source)
    assert source.count(found) == reference.count(found)
    assert state(source, folder) == before


@pytest.mark.thorough
@pytest.mark.always
def test_an_injection_between_quotes_is_a_text(sources: tuple[MemorySource, DuckDBSource]) -> None:
    """It is equal to the one cell that holds it, in both engines."""
    reference, source = sources
    found = [parse(f"health = {quoted_text(cell)}", source.schema) for cell in CELLS]
    assert source.count(found) == reference.count(found) == [1] * len(CELLS)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_an_injection_in_a_pattern_matches_no_more_than_like_does(
    sources: tuple[MemorySource, DuckDBSource], part: int
) -> None:
    """Backslashes escape nothing, and no character but % and _ stands for others."""
    reference, source = sources
    short = [cell for cell in CELLS if len(cell) <= MAXIMUM_PATTERNS][part::4]
    found = [parse(f"health like {quoted_text(cell)}", source.schema) for cell in short]
    counts = source.count(found)
    assert counts == reference.count(found)
    plain = [count for count, cell in zip(counts, short, strict=True) if not set(cell) & set("%_")]
    assert plain == [1] * len(plain)
    assert len(plain) > 75


@pytest.mark.thorough
def test_an_injection_as_the_name_of_a_column_is_a_name(tmp_path: Path) -> None:
    """A column may have any name that a file can give it."""
    different = {cell.lower(): cell for cell in CELLS if cell.strip()}
    names = [*different.values()][:400]
    schema = dict.fromkeys(names, Kind.INTEGER)
    path = tmp_path / "records.parquet"
    with duckdb.connect() as connection:
        listed = ", ".join(f"{n} AS {quoted_name(name)}" for n, name in enumerate(names))
        connection.sql(f"SELECT {listed}").write_parquet(str(path))
    with DuckDBSource.open(path) as source:
        assert set(source.schema) == set(names)
        found = [parse(f"{quoted_name(name)} = {n}", schema) for n, name in enumerate(names)]
        assert source.count(found) == [1] * len(names)


def test_what_is_admitted_of_the_corpus_alone_is_a_comparison(sources: tuple[MemorySource, DuckDBSource]) -> None:
    """Few strings are predicates as they stand; each is known."""
    _, source = sources
    harmless = {text for text in CORPUS if admitted([text], source)}
    of_persons = {"sum(age) > 1", "max(age) = 42"}
    assert harmless - of_persons == {"health = 'poor'''", "age > 1e-400"}
