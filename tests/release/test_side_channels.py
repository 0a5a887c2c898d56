"""Replies, refusals, logs and exceptions reveal the noisy answer, and nothing else about the records."""

import logging
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from noisycount.catalog.catalog import Catalog, DatasetRecord, DatasetSettings
from noisycount.catalog.contents import Contents
from noisycount.engines.counts import count_statement
from noisycount.engines.dialect import text_of
from noisycount.engines.duckdb.dialect import DUCKDB, records_of
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.engines.places import files_of
from noisycount.errors import NoisyCountError, SourceError
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.records import Records as PrivateRecords
from noisycount.release.reply_tick import ReplyTick
from tests.helpers.predicate_grammar import DIRTY, dirty_records, predicate_text
from tests.helpers.sources import Record, database, write_parquet, writing
from tests.query.test_injections import CORPUS
from tests.release.test_desk import WatchedSource, everything_that_an_error_knows

PRICE = Fraction(1, 10**6)
CHANCE = random.Random(3)  # noqa: S311 - repeatable, not secret
QUESTIONS = [
    *(predicate_text(DIRTY, CHANCE, odd=0.3) for _ in range(60)),
    *CORPUS[::50],
    *(f"health = '{text}'" for text in CORPUS[::50]),
]
Records = Sequence[Record]
Opened = Callable[[Path, Records], Source]


def opened_in_memory(_: Path, records: Records) -> Source:
    """Records in plain Python."""
    return MemorySource(records, DIRTY)


def opened_as_parquet(folder: Path, records: Records) -> Source:
    """Records in a Parquet file."""
    write_parquet(folder / "records.parquet", records, DIRTY)
    return DuckDBSource.open(folder / "records.parquet")


def opened_as_table(folder: Path, records: Records) -> Source:
    """Records in a DuckDB file."""
    write_parquet(folder / "records.parquet", records, DIRTY)
    with database(folder / "records.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS FROM '{folder}/records.parquet'")
    return DuckDBSource.open(folder / "records.duckdb")


def opened_as_csv(folder: Path, records: Records) -> Source:
    """Records in a CSV file whose kinds the owner stated."""
    write_parquet(folder / "records.parquet", records, DIRTY)
    path = folder / "records.csv"
    with writing().cursor() as connection:
        connection.execute(f"COPY (FROM '{folder}/records.parquet') TO '{path}' (HEADER true)")
    return DuckDBSource.open(path, kinds=DIRTY)


def replies(opened: Opened, folder: Path, records: Records, slot: ReplyTick | None = None) -> list[str]:
    """Every reply to the questions, with the answer and the name of the debit left out."""
    folder.mkdir()
    told = []
    with opened(folder, records) as source, Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        desk = Desk(source, ledger, Dataset("survey", Fraction(len(QUESTIONS), 4) * PRICE), slot)
        for question in QUESTIONS:
            try:
                release = desk.release(question, PRICE)
            except NoisyCountError as refusal:
                told.append(f"{type(refusal).__name__}: {refusal}")
            else:
                told.append(repr(replace(release, answer=0, key="")))
    return told


def opened_as_described(folder: Path, records: Records) -> Source:
    """Open a CSV file whose kinds were written down, and which is read when it is counted."""
    opened_as_csv(folder, records).close()
    path = folder / "records.csv"
    forms = {name: ColumnFormat(kind) for name, kind in DIRTY.items()}
    digest = Contents().read_files(files_of(path)).digest
    written = DatasetRecord(None, forms, digest, form=FileFormat("utf-8", ",", 0))
    catalog = Catalog({"survey": written})
    described = PrivateRecords.open(path, DatasetSettings("survey"), catalog)
    return described._source  # noqa: SLF001 - as its desk has it


def opened_with_guessed_kinds(folder: Path, records: Records) -> Source:
    """Records in a CSV file with the kinds that its cells have by now: a mutant."""
    opened_as_csv(folder, records).close()
    return DuckDBSource.open(folder / "records.csv")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "opened", [opened_in_memory, opened_as_parquet, opened_as_table, opened_as_csv, opened_as_described]
)
@pytest.mark.parametrize("others", [0, 5])
def test_replies_and_refusals_do_not_depend_on_a_record(opened: Opened, others: int, tmp_path: Path) -> None:
    """With and without a row they are the same bytes, also where it is the only row."""
    row, *rest = dirty_records(others + 1, random.Random(others))  # noqa: S311
    with_row = replies(opened, tmp_path / "with", [row, *rest])
    assert with_row == replies(opened, tmp_path / "without", rest)
    for start in ("PredicateError: where ", "BudgetError: epsilon ", "Release("):
        assert any(text.startswith(start) for text in with_row)


@pytest.mark.thorough
@pytest.mark.always
def test_kinds_guessed_from_the_cells_would_tell_of_a_record(tmp_path: Path) -> None:
    """The comparison above can fail."""
    rows: list[Record] = [{"age": 31}, {"age": 32}]
    odd: Record = {"bmi": 2.5}
    told = [
        replies(opened_with_guessed_kinds, tmp_path / name, [*rows, *added])
        for name, added in (("with", [odd]), ("without", []))
    ]
    assert told[0] != told[1]


TRUE_COUNT, NOISE = 8_675_309, 1_234_567
ANSWER = TRUE_COUNT + NOISE
CELL = "canary-7c1"
SECRETS = re.compile(rf"{TRUE_COUNT}|{NOISE}|{CELL}|Conversion Error|InvalidInput")


def fail_like_the_engine() -> int:
    """Fail as DuckDB does, which quotes a cell."""
    with writing().cursor() as connection:
        return len(connection.execute(f"SELECT CAST('{CELL}' AS INTEGER)").fetchall())


def fail_after_counting() -> int:
    """Fail with the true count in the message."""
    raise RuntimeError(f"{TRUE_COUNT} records")


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Switch every logger on, SQLAlchemy's of statements and parameters too."""
    caplog.set_level(logging.DEBUG)
    for name in ("sqlalchemy.engine", "sqlalchemy.pool", "sqlglot", "noisycount"):
        caplog.set_level(logging.DEBUG, name)
    return lambda: "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)


@pytest.mark.parametrize("slot", [None, ReplyTick(0.5)], ids=["at once", "slot"])
@pytest.mark.parametrize("during", [lambda: TRUE_COUNT, fail_like_the_engine, fail_after_counting])
def test_no_secret_is_in_a_reply_a_log_an_exception_or_the_ledger(  # noqa: PLR0913, PLR0917 - one fixture a place where a secret could show
    during: Callable[[], int],
    slot: ReplyTick | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    everything_logged: Callable[[], str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Neither true count nor noise, which are known here, nor a cell, nor the engine's words."""
    known = DiscreteLaplace.sampler._replace(one=lambda *_: NOISE)
    monkeypatch.setattr(DiscreteLaplace, "sampler", known)
    told = ""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        desk = Desk(WatchedSource(during), ledger, Dataset("survey", Fraction(1)), slot)
        try:
            told = repr(desk.release("age >= 50", Fraction(1, 2)))
        except SourceError as error:
            told = everything_that_an_error_knows(error)
        told += "".join(map(repr, ledger.entries()))
    logged = everything_logged()
    kept = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir())
    for text in (told, logged, "".join(capfd.readouterr()), kept):
        assert not SECRETS.search(text)
    assert "Created new connection" in logged  # of SQLAlchemy, which logs as much as it can
    succeeds = fail_like_the_engine is not during is not fail_after_counting
    assert (str(ANSWER) in told) == (str(ANSWER) in kept) == succeeds


def test_the_canaries_can_be_seen_where_nothing_hides_them(everything_logged: Callable[[], str]) -> None:
    """The search above finds what it looks for."""
    seen = []
    for failure in (fail_like_the_engine, fail_after_counting):
        with pytest.raises((duckdb.Error, RuntimeError)) as raised:
            failure()
        seen.append(everything_that_an_error_knows(raised.value))
    logging.getLogger("noisycount").debug("counted %s", TRUE_COUNT)
    assert all(SECRETS.search(text) for text in (*seen, everything_logged()))


def test_a_file_that_is_changed_into_another_quotes_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's error on a column that is text by now becomes the desk's one fixed line."""
    monkeypatch.setattr(DuckDBSource, "require_unchanged", lambda _: None)  # it changes thereafter
    path = tmp_path / "records.parquet"
    schema: Mapping[str, Kind] = {"age": Kind.INTEGER}
    write_parquet(path, [{"age": 31}], schema)
    with DuckDBSource.open(path) as source, Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        write_parquet(path, [{"age": CELL}], {"age": Kind.TEXT})
        with pytest.raises(SourceError, match="the reason is withheld") as raised:
            Desk(source, ledger, Dataset("survey", Fraction(1))).release("age = 31", PRICE)
    assert not SECRETS.search(everything_that_an_error_knows(raised.value))


@pytest.mark.parametrize("unit", [None, "person"])
def test_every_row_group_is_read_whatever_can_match(unit: str | None, tmp_path: Path) -> None:
    """A group whose statistics exclude the value is read too; as a filter it would be skipped."""
    path = tmp_path / "records.parquet"
    with duckdb.connect() as connection:
        numbers = connection.sql("SELECT i AS person, i AS age FROM range(20480) t(i)")
        numbers.write_parquet(str(path), row_group_size=2048)
        filtered = f"SELECT count(*) FROM '{path}' WHERE age = 7 AND person < 9"  # noqa: S608
        assert groups_read(connection, filtered) == (1, 10)
    with DuckDBSource.open(path, unit=unit, columns=["age"]) as source:
        for age in (7, 20479, -1):
            question = parse(f"age = {age}", source.schema)
            statement = count_statement([question], records_of(unit, None if unit is None else Kind.INTEGER))
            assert groups_read(source.cursors.connection, *text_of(statement, DUCKDB)) == (10, 10)


def groups_read(
    connection: duckdb.DuckDBPyConnection, query: str, values: dict[str, object] | None = None
) -> tuple[int, int]:
    """Return the number of row groups that a query reads, and the number in the Parquet file."""
    plan = connection.execute(f"EXPLAIN ANALYZE {query}", values).fetchall()[0][1]
    read, there = re.findall(r"Row Groups Scanned: (\d+) / (\d+)", plan)[0]
    return int(read), int(there)
