"""A column kind is one class: with it, and a line of an engine, questions can be about it."""

import copy
import pickle
import re
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import types

from noisycount.display.values import to_json_types
from noisycount.engines import expressions
from noisycount.engines.duckdb import table
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.memory import MemorySource
from noisycount.errors import PredicateError
from noisycount.query.grouping import CellQuestion, EachValue
from noisycount.query.language import parse
from noisycount.query.predicate import Column, canonical_text
from noisycount.query.schema import KINDS, Kind, Spelling, key_to_json
from noisycount.query.table import key_set, key_set_from_json
from noisycount.release.rehearsal import make_up_records
from tests.helpers.random_tables import identity

FIRST, SECOND = UUID(int=1), UUID(int=2**127)


class Uuid(Kind):
    """A kind that noisycount does not have, as somebody would add it."""

    value = "uuid"
    type = UUID
    noun = "uuid"
    example = "a uuid such as '00000000-0000-0000-0000-000000000001'"
    literal = "'00000000-0000-0000-0000-000000000001'"
    iso = "(?i:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    quoted = re.compile(iso)
    spellings = (Spelling(iso, "uuids"),)


UUIDS = Uuid()


@pytest.fixture
def with_uuids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind, and its one line of DuckDB."""
    monkeypatch.setitem(KINDS, "uuid", UUIDS)
    monkeypatch.setitem(table.SQL_TYPES, UUIDS, "UUID")
    monkeypatch.setitem(expressions.TYPES, UUIDS, types.Uuid)
    monkeypatch.setitem(table.READ_TYPES, "uuid", (UUIDS, "{}"))


@pytest.mark.usefixtures("with_uuids")
@pytest.mark.parametrize(
    ("where", "count"),
    [
        (f"who = '{FIRST}'", 2),
        (f"who > '{FIRST}'", 1),
        (f"who in ('{FIRST}', '{SECOND}')", 3),
        (f"who between '{FIRST}' and '{SECOND}'", 3),
        ("who is null", 1),
    ],
)
def test_a_new_kind_is_asked_about(tmp_path: Path, where: str, count: int) -> None:
    """In a file of texts, a typed file and in memory, with one normal text."""
    table = tmp_path / "records.csv"
    table.write_text(f"who,age\n{FIRST},1\n{str(FIRST).upper()},2\n{SECOND},3\n,4\n")
    forms = {"who": ColumnFormat.from_parts({"kind": "uuid"})}
    copy_of = tmp_path / "copy.parquet"
    with DuckDBSource.open(table, kinds=forms, copy=copy_of) as source:
        assert source.schema["who"] is UUIDS
        asked = parse(where, source.schema)
        assert canonical_text(asked) == canonical_text(parse(canonical_text(asked), source.schema))
        assert source.count([asked]) == [count]
    with DuckDBSource.open(copy_of) as typed:
        assert typed.count([asked]) == [count]
    records = [{"who": who} for who in (FIRST, FIRST, SECOND, None)]
    with MemorySource(records, {"who": UUIDS}) as memory:
        assert memory.count([asked]) == [count]


@pytest.mark.usefixtures("with_uuids")
def test_a_table_is_by_a_new_kind(tmp_path: Path) -> None:
    """Its keys are counted by each engine, and are texts in a ledger."""
    part = EachValue(Column("who", UUIDS))
    keys = key_set([part], [FIRST, SECOND, None])
    kept = key_set_from_json([part], [[key_to_json(key) for key in keys.key(n)] for n in range(3)])
    assert [kept.key(n) for n in range(3)] == [keys.key(n) for n in range(3)]
    question = CellQuestion(keys, None, (identity(3),))
    records = [{"who": who} for who in (FIRST, FIRST, SECOND, None)]
    table = tmp_path / "records.csv"
    table.write_text("who,age\n" + "".join(f"{each['who'] or ''},1\n" for each in records))
    with (
        MemorySource(records, {"who": UUIDS}) as memory,
        DuckDBSource.open(table, kinds={"who": ColumnFormat(UUIDS)}) as source,
    ):
        counted = [engine.count_cells(question)[0].tolist() for engine in (memory, source)]
    assert counted == [[2, 1, 1]] * 2


@pytest.mark.usefixtures("with_uuids")
def test_a_new_kind_is_made_up() -> None:
    """For a rehearsal: the values that a question names, or the example of its kind."""
    assert make_up_records({"who": UUIDS}, None, {"who": [SECOND]}, 9).check().rows == 9
    assert make_up_records({"who": UUIDS}, None, {}, 9).check().columns[0].missing < 9


@pytest.mark.usefixtures("with_uuids")
def test_a_new_kind_refuses_what_is_none(tmp_path: Path) -> None:
    """In a question and in a cell, with its own example, and its texts are not taken for others."""
    with pytest.raises(PredicateError, match=re.escape(UUIDS.example)):
        parse("who = 'ann'", {"who": UUIDS})
    key = EachValue(Column("who", UUIDS))
    assert key.canonical_key(FIRST) == FIRST
    assert key.label(FIRST) == str(FIRST)
    table = tmp_path / "records.csv"
    table.write_text(f"who\n{FIRST}\nann\n")
    (column,) = DuckDBSource.check_file(table, kinds={"who": UUIDS}).columns
    assert (column.unreadable, column.examples) == (1, ("ann",))


def test_each_kind_has_one_instance_also_in_copies() -> None:
    """As it is compared by what it is, in this process and the next."""
    for name, kind in KINDS.items():
        assert copy.deepcopy(kind) is kind
        assert pickle.loads(pickle.dumps(kind)) is kind  # noqa: S301 - our own
        assert to_json_types(kind) == name
        assert repr(kind) == f"<Kind.{name.upper()}: '{name}'>"


@pytest.mark.parametrize(
    ("kind", "cell", "is_one"),
    [
        (Kind.INTEGER, 2**64 - 1, True),
        (Kind.INTEGER, 2**64, False),
        (Kind.INTEGER, True, False),
        (Kind.REAL, 1, True),
        (Kind.REAL, "1", False),
        (Kind.DATE, date(2026, 1, 31), True),
        (Kind.DATE, datetime(2026, 1, 31), False),  # noqa: DTZ001 - as columns are
        (Kind.TIMESTAMP, date(2026, 1, 31), False),
        (Kind.BOOLEAN, 1, False),
    ],
)
def test_a_kind_knows_its_cells(kind: Kind, cell: object, is_one: bool) -> None:  # noqa: FBT001
    """By their very type: a truth is no number, and a time no day."""
    assert kind.holds(cell) is is_one
