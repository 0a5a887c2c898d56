"""Tables of a server, and temporary ones that are made to test it."""

import sqlite3
from datetime import date
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

from noisycount.engines.conformance.certificate import require_certified
from noisycount.engines.memory import MemorySource
from noisycount.engines.places import ServerPlace
from noisycount.engines.sql.source import SqlSource
from noisycount.engines.sql.under_test import ServerUnderTest
from noisycount.errors import SourceError
from noisycount.query.grouping import CellQuestion, EachValue, KeyQuestion, KeySet, NumberRanges, resolve_group_by
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from tests.engines.test_tables import all_keys
from tests.helpers.postgresql import Server
from tests.helpers.random_tables import grid, identity, total
from tests.helpers.server_tables import table_of


def test_four_thousand_edges_part_numbers_as_few_do(postgresql: Server) -> None:
    """Whole numbers at the ends of 64 bits, reals with NaN and infinities, and missing ones."""
    schema = {"whole": Kind.INTEGER, "real": Kind.REAL}
    whole = [-(2**63), -1, 0, 1, 4094, 4095, 2**62, 2**63 - 1, None]
    real = [-inf, -0.0, 0.25, 0.5, 2047.25, 2047.5, 1e300, inf, nan, None]
    records = [{"whole": one, "real": other} for one in whole for other in real]
    edges = [
        NumberRanges(Column("whole", Kind.INTEGER), (*range(4095), 2**63 - 1)),
        NumberRanges(Column("real", Kind.REAL), (*(number / 2 for number in range(4095)), 2**62 + 1)),
    ]
    with (
        MemorySource(records, schema) as reference,
        SqlSource.open(table_of(postgresql, records, schema), unit=None, columns=None) as source,
    ):
        for part in edges:
            question = KeyQuestion([part], None)
            assert all_keys(source.count_keys(question)) == all_keys(reference.count_keys(question))


@pytest.mark.parametrize(
    ("cells", "unit"),
    [(20_000, None), (20_000, "who"), pytest.param(1_000_000, None, marks=pytest.mark.thorough)],
)
def test_a_table_may_have_a_million_listed_cells(postgresql: Server, cells: int, unit: str | None) -> None:
    """Combined and single keys are bound as arrays, so that a statement has few values."""
    schema = {"who": Kind.INTEGER, "town": Kind.TEXT, "age": Kind.INTEGER}
    towns = [f"t{number}" for number in range(cells // 100)]
    records = [
        {"who": number % 7, "town": towns[number * 31 % len(towns)], "age": number % 101} for number in range(500)
    ]
    parts = [EachValue(Column("town", Kind.TEXT)), EachValue(Column("age", Kind.INTEGER))]
    keys = grid(parts, [towns, range(100)])
    some = KeySet(keys.parts, keys.values, keys.codes[::-1][: cells // 2])
    with SqlSource.open(table_of(postgresql, records, schema), unit=unit, columns=None) as source:
        for listed in (keys, some):
            size = len(listed) + 1
            question = CellQuestion(listed, None, (identity(size), total(size)), has_other=True)
            counts, (whole,) = source.count_cells(question)
            assert whole == (500 if unit is None else 7)
            brute = np.zeros(size, np.int64)
            places = {listed.key(cell): cell for cell in range(size - 1)} if size < 30_000 else None
            if places is not None:
                pairs = [(r["who"], places.get((r["town"], r["age"]), size - 1)) for r in records]
                for _, cell in pairs if unit is None else set(pairs):
                    brute[cell] += 1
                assert counts.tolist() == brute.tolist()


SCHEMA = {
    "who": Kind.INTEGER,
    "age": Kind.INTEGER,
    "cost": Kind.REAL,
    "town": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "born": Kind.DATE,
}
QUESTIONS = [
    *("true", "smoker", "not smoker", "smoker is null or age > 30.5", "smoker = false and not (age >= 31)"),
    *("cost between 1 and 2.5 and age in (30, 31)", "town = 'Bern' or town < 'B'"),
    *("town like 'B%n' or town like '100\\_%'", "born >= '1990-01-31'"),
]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A file of SQLite, whose truth values are numbers, and which takes no arrays."""
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as shell:
        shell.execute(
            "CREATE TABLE visits (who INTEGER NOT NULL, age BIGINT, cost NUMERIC, town VARCHAR(9),"
            " smoker BOOLEAN, born DATE, scan BLOB, odd JSON)"
        )
        shell.executemany(
            "INSERT INTO visits (who, age, cost, town, smoker, born) VALUES (?, ?, ?, ?, ?, ?)",
            [[*row.values()] for row in RECORDS],
        )
    shell.close()
    return path


RECORDS = [
    dict(zip(SCHEMA, row, strict=True))
    for row in [
        (1, 30, 1.5, "Bern", True, "1990-01-31"),
        (1, 31, 2.5, "Aarau", False, "1980-02-29"),
        (2, 31, None, "100\\_%", None, None),
        (2, None, 7.0, None, True, "2020-12-31"),
        (3, 32, 0.0, "", False, "1990-01-30"),
        (3, 32, 0.0, "Bern", False, "1990-01-30"),
    ]
]


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("uses_indexes", [False, True])
def test_a_server_of_another_kind_counts_the_same(
    clinic: Path,
    unit: str | None,
    uses_indexes: bool,  # noqa: FBT001 - a case
) -> None:
    """A statement for servers that are not at hand is executed too, by SQLite."""
    dated = [{**row, "born": None if row["born"] is None else date.fromisoformat(str(row["born"]))} for row in RECORDS]
    place = ServerPlace.read(f"sqlite:///{clinic}#visits")
    with (
        MemorySource(dated, SCHEMA, unit) as reference,
        SqlSource.open(place, unit=unit, columns=None, uses_indexes=uses_indexes) as source,
    ):
        assert dict(source.schema) == dict(reference.schema)
        assert source.schema.others.keys() == {"scan", "odd"}
        assert source.identity.engine == "sqlite"
        asked = [parse(text, source.schema) for text in QUESTIONS]
        assert source.count(asked) == reference.count(asked)
        where = parse("age is not null", SCHEMA)
        parts = resolve_group_by(["town", "smoker", "born:month", "age:31,32"], SCHEMA, None)
        hidden = KeyQuestion(parts, where)
        assert all_keys(source.count_keys(hidden)) == all_keys(reference.count_keys(hidden))
        keys = grid(resolve_group_by(["town", "age:31"], SCHEMA, None), [["Bern", "", None], [0]])
        cells = CellQuestion(keys, where, (identity(4), total(4)), has_other=True)
        for given, expected in zip(source.count_cells(cells), reference.count_cells(cells), strict=True):
            assert given.tolist() == expected.tolist()


def test_the_suite_needs_no_right_but_to_make_temporary_tables(postgresql: Server) -> None:
    """An account that may read and make nothing else is enough; nothing is left behind."""
    name = postgresql.database()
    with postgresql.shell(name) as shell:
        shell.execute("CREATE ROLE tester LOGIN; REVOKE ALL ON SCHEMA public FROM public")
        shell.execute(f"REVOKE ALL ON DATABASE {name} FROM public".encode())
        shell.execute(f"GRANT CONNECT ON DATABASE {name} TO tester".encode())
    engine = ServerUnderTest(postgresql.url(name, "tester"))
    with pytest.raises(SourceError, match="let its owner grant TEMPORARY on the database"):
        engine.source([], {"age": Kind.INTEGER}).__enter__()
    with postgresql.shell(name) as shell:
        shell.execute(f"GRANT TEMPORARY ON DATABASE {name} TO tester".encode())
    with engine.source([{"age": 31}], {"age": Kind.INTEGER}) as source:
        assert source.count([parse("age = 31", source.schema)]) == [1]
    with postgresql.shell(name) as shell:
        left = shell.execute("SELECT count(*) FROM pg_class WHERE relpersistence = 't'").fetchone()
    assert left == (0,)


def test_the_servers_of_our_tests_are_certified(postgresql: Server) -> None:
    """Whatever the collation of a database, its texts are compared by their code points."""
    identity = ServerUnderTest(postgresql.url("postgres")).identity
    assert (identity.engine, identity.collation) == ("postgresql", "C (UTF8)")
    require_certified("records", identity, "", [])


def test_another_encoding_is_another_engine(postgresql: Server) -> None:
    """Bytes are in the order of code points in UTF-8 alone."""
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE DATABASE western ENCODING LATIN1 TEMPLATE template0")
    identity = ServerUnderTest(postgresql.url("western")).identity
    assert identity.collation == "C (LATIN1)"
    with pytest.raises(SourceError, match="which is not counted, as it was never tested here"):
        require_certified("records", identity, "", [])


def test_server_answers_no_question_of_a_closed_bench(postgresql: Server) -> None:
    """A source outside its block counts nothing."""
    with ServerUnderTest(postgresql.url("postgres")).source([], {"age": Kind.INTEGER}) as source:
        pass
    with pytest.raises(SourceError, match="is closed: open it again"):
        source.prepare()


def test_wrong_types_are_refused_in_one_line(postgresql: Server) -> None:
    """A value that a server cannot hold is refused without the server's text."""
    engine = ServerUnderTest(postgresql.url("postgres"))
    with pytest.raises(SourceError) as caught:
        engine.source([{"note": "canary\0"}], {"note": Kind.TEXT}).__enter__()
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
