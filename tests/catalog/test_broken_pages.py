# ruff: noqa: S608, as all SQL here is our own
"""Files with a broken page: a question that would meet it is refused before its debit, and no other question is."""

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from noisycount.catalog import contents as module
from noisycount.catalog.folder import Copies
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.errors import SourceError
from noisycount.ledger.ledger import Ledger
from noisycount.release.desk import Desk
from tests.catalog.conftest import EXACTLY, Asked

RECORDS = (
    "SELECT (i % 7)::INTEGER AS age, ['best', 'good', 'poor'][(hash(i) % 3)::INTEGER + 1] AS town, "
    "hash(i, 'income') / 1e15 AS income, (i // 2)::BIGINT AS person FROM range({first}, {last}) t(i)"
)
ROWS, GROUPS = 6144, 3
QUESTIONS = {"age": "age = 3", "town": "town = 'good'", "income": "income < 8000", "person": "person < 1500"}
TIME = (1_000_000_000, 1_000_000_000)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all changes so far be long ago, so that what is found in files is kept."""
    monkeypatch.setattr(module, "_CLOCK_TICK", -10.0)


def written(path: Path, first: int = 0, last: int = ROWS, columns: str = "*") -> Path:
    """Write records into a Parquet file of several row groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options = f"FORMAT parquet, ROW_GROUP_SIZE {ROWS // GROUPS}, COMPRESSION zstd"
    duckdb.sql(f"COPY (SELECT {columns} FROM ({RECORDS.format(first=first, last=last)})) TO '{path}' ({options})")
    return path


def overwrite(path: Path, place: int, length: int = 24) -> None:
    """Overwrite some bytes of a file; its size and its time stay."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff" * length)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def page_of(path: Path, group: int, column: str, page: str) -> int:
    """Return the place of a page of a column in a row group."""
    fields = "dictionary_page_offset, data_page_offset, total_compressed_size"
    where = f"row_group_id = {group} AND path_in_schema = '{column}'"
    ((dictionary, data, size),) = duckdb.sql(
        f"SELECT {fields} FROM parquet_metadata('{path}') WHERE {where}"
    ).fetchall()
    end = (dictionary or data) + size
    places = {"dictionary": dictionary, "data": data, "cells": (data + end) // 2}
    return int(places[page])


def counts(path: Path) -> dict[str, int | None]:
    """Return the count of each question as DuckDB gives it; None if it fails."""
    found: dict[str, int | None] = {}
    for column, where in QUESTIONS.items():
        try:
            found[column] = duckdb.sql(f"SELECT count(*) FROM read_parquet('{path}') WHERE {where}").fetchall()[0][0]
        except duckdb.Error:
            found[column] = None
    return found


def answer_to(desk: Desk, where: str) -> int | None:
    """Return the answer to a question; None if it was refused before its debit."""
    spent = desk.ledger.spent("survey")
    try:
        return desk.release(where, EXACTLY).answer
    except SourceError as error:
        refusal = str(error)
    assert "cannot be read as" in refusal
    assert desk.ledger.spent("survey") == spent
    return None


def answers(desk: Callable[[], Desk]) -> dict[str, int | None]:
    """Return the answer about each column."""
    return {column: answer_to(desk(), where) for column, where in QUESTIONS.items()}


@pytest.mark.few(6)
@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize(
    ("column", "page"),
    [*((c, p) for c in ("age", "town") for p in ("dictionary", "data")), ("income", "data"), ("income", "cells")],
)
def test_only_questions_about_a_broken_page_are_refused(
    tmp_path: Path, asked: Asked, group: int, column: str, page: str
) -> None:
    """They are refused before their debit, at first and when proofs of other columns are known."""
    path = written(tmp_path / "x.parquet")
    overwrite(path, page_of(path, group, column, page))
    expected = counts(path)
    assert (expected[column] is None) == (page != "cells")  # where other cells stand now
    desk = asked(path, unit="row")
    assert answers(lambda: asked(path)) == answers(lambda: desk) == expected


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_broken_page_of_the_unit_refuses_all(tmp_path: Path, asked: Asked, ledger: Ledger, group: int) -> None:
    """Each count of persons reads it; nothing is written down."""
    path = written(tmp_path / "x.parquet")
    overwrite(path, page_of(path, group, "person", "data"))
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        asked(path, unit="person")
    assert not ledger.descriptions()
    asked(path, unit="row", columns=["age"]).release(QUESTIONS["age"], EXACTLY)


def test_columns_are_read_once(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column is read for a proof before the first question about it, in whichever process."""
    path = written(tmp_path / "x.parquet")
    proved: list[int] = []
    monkeypatch.setattr(module.Contents, "cache_facts", counted(module.Contents.cache_facts, proved))
    for number, column in enumerate(["age", "town", "age", "town"]):
        asked(path, unit="person").release(f"{QUESTIONS[column]} and true", str(number + 1))
    assert proved == [0, 2, 3]  # the digest; the unit and age; town


def counted(keep: Callable[..., None], proved: list[int]) -> Callable[..., None]:
    """Return a `keep` that notes how many proofs it keeps."""

    def keeping(contents: object, content: module.Content, name: str) -> None:
        proved.append(content.proof_count)
        keep(contents, content, name)

    return keeping


@pytest.mark.few(2)
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("keyed", [False, True])
def test_of_several_files_only_those_that_changed_are_read_again(
    tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch, number: int, *, keyed: bool
) -> None:
    """A page of any of them may be broken; a file without a column has nothing to read there."""
    folder = tmp_path / "visits"
    paths = [folder / (f"year=202{n}" if keyed else "") / f"{n}.parquet" for n in range(3)]
    for n, path in enumerate(paths):
        written(path, n * ROWS, (n + 1) * ROWS, "* EXCLUDE (town)" if n == 1 else "*")
    overwrite(paths[number], page_of(paths[number], 1, "income", "data"))
    asked(folder, unit="row")
    found = answers(lambda: asked(folder))
    assert (found["age"], found["income"], found["person"]) == (ROWS * 3 // 7, None, 3000)
    assert asked(folder, unit="row").release("town is null", EXACTLY).answer == ROWS
    hashed: list[Path] = []
    digest = module._file_digest  # noqa: SLF001 - which files are read again
    monkeypatch.setattr(module, "_file_digest", lambda file: (hashed.append(file), digest(file))[1])
    written(paths[number], number * ROWS, (number + 1) * ROWS, "* EXCLUDE (town)" if number == 1 else "*")
    assert asked(folder, unit="row").release("income < 8000 or age = 9", EXACTLY).answer > 0
    assert hashed == [paths[number]]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_breaks_while_a_desk_is_open_is_refused(
    tmp_path: Path, asked: Asked, ledger: Ledger, *, is_replaced: bool
) -> None:
    """Its size and time stay, and the columns were proved before."""
    path = written(tmp_path / "x.parquet")
    os.utime(path, TIME)
    desk = asked(path, unit="row")
    desk.release(QUESTIONS["age"], EXACTLY)
    if is_replaced:
        other = tmp_path / "y"
        other.write_bytes(path.read_bytes())
        os.utime(other, TIME)
        overwrite(other, page_of(other, 1, "age", "data"))
        other.replace(path)
    else:
        overwrite(path, page_of(path, 1, "age", "data"))
    assert path.stat().st_mtime == TIME[1]
    spent = ledger.spent("survey")
    with pytest.raises(SourceError, match="changed while it was open"):
        desk.release("age = 4", EXACTLY)
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        asked(path, unit="row").release("age = 4", EXACTLY)
    assert ledger.spent("survey") == spent


def test_a_footer_that_changed_is_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a disk states the same times."""
    path, contents = written(tmp_path / "x.parquet"), module.Contents(tmp_path / "data")
    first = contents.read_files((path,))
    monkeypatch.setattr(module, "state_of", lambda _: first.state)
    overwrite(path, path.stat().st_size - 40, 4)
    assert contents.read_files((path,)).digest != first.digest


def test_a_copy_with_a_broken_page_is_made_again(survey: Path, asked: Asked, folder: Path, ledger: Ledger) -> None:
    """The question is answered, and charged once."""
    survey.write_text("person,age\n" + "".join(f"{n},{n % 90}\n" for n in range(4096)))
    assert asked(survey, unit="person").release("age = 3", EXACTLY).answer == 46
    (copy,) = Copies(folder).all(["survey"])
    assert asked(survey).release("age = 4", EXACTLY).answer == 46
    open_desk = asked(survey)
    open_desk.release("age = 4", EXACTLY)
    for number, desk in enumerate((asked(survey), open_desk)):
        overwrite(copy.path, page_of(copy.path, 0, "age", "data"))
        with pytest.raises(duckdb.Error):
            duckdb.sql(f"SELECT max(hash(age)) FROM '{copy.path}'").fetchall()
        assert desk.release(f"age = {number + 5}", EXACTLY).answer == 46
        duckdb.sql(f"SELECT max(hash(age)) FROM '{copy.path}'").fetchall()
    assert ledger.spent("survey") == 4 * 40


@pytest.mark.thorough
def test_a_broken_block_of_a_database_is_found_before_the_debit(tmp_path: Path, asked: Asked) -> None:
    """Its tables are read in the same way."""
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS {RECORDS.format(first=0, last=300_000)}")
    whole = path.read_bytes()
    asked(path, unit="row").release(QUESTIONS["age"], EXACTLY)
    refused = 0
    for place in range(3 * 4096 + 2000, len(whole), 1 << 20):
        path.write_bytes(whole)
        overwrite(path, place)
        for number, where in enumerate(QUESTIONS.values()):
            refused += answer_to(asked(path), f"{where} and age < {place * 4 + number}") is None
    assert refused >= 4


def test_a_lost_proof_is_made_again(tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """If no proof can be stored, each opening reads the columns of its questions again."""
    path = written(tmp_path / "x.parquet")
    sound = DuckDBSource.require_sound
    read: list[bool] = []

    def noting(source: DuckDBSource, columns: object = None) -> None:
        before = sum(map(len, source.proofs))
        sound(source, columns)  # type: ignore[arg-type]  # as it is called
        read.append(sum(map(len, source.proofs)) > before)

    monkeypatch.setattr(DuckDBSource, "require_sound", noting)
    monkeypatch.setattr(module, "_CLOCK_TICK", 10.0)
    for number in range(2):
        desk = asked(path, unit="row")
        read.clear()
        desk.release(f"age = {number}", "1")
        assert read == [True, False]  # before the debit, and as it is counted
