"""Random predicates over random records, and the properties that every one of them must have."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy import case, func, select, table

from noisycount.engines.dialect import text_of
from noisycount.engines.duckdb.dialect import DUCKDB, records_of
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.memory import MemorySource
from noisycount.engines.truth import truth as truth_of
from noisycount.errors import PredicateError
from noisycount.query.english import english
from noisycount.query.language import parse
from noisycount.query.predicate import Not, Predicate, canonical_text, columns
from tests.helpers.predicate_grammar import DIRTY, dirty_records, predicate_text
from tests.helpers.sources import Record, write_parquet

__all__ = ["Found", "fuzz"]

AT_ONCE = 250
ROWS = 20
# What the SQL of a predicate may consist of, as DuckDB itself names the parts.
PARTS = frozenset(
    ["BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "OPERATOR", "PARAMETER", "TYPE"]
)
# LIKE, NOT LIKE, and what takes a number or a day out of a text.
FUNCTIONS = frozenset(["~~", "!~~", "replace", "substr", "translate", "trim"])


@dataclass
class Found:
    """Numbers of predicates of a run, by their outcome."""

    admitted: int = 0
    refused: int = 0
    with_matches: int = 0
    with_unknowns: int = 0


def fuzz(size: int, seed: int, folder: Path) -> Found:
    """Check a number of random predicates, each on dirty records in both engines.

    Each is admitted or refused by a `PredicateError` of one printable line. An admitted one reads
    back from its canonical text, calls nothing but LIKE and functions of texts, names no column but its own, and its
    counts of true, false and unknown records add up and are the same in both engines.
    """
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    found = Found()
    with duckdb.connect() as reader:
        while found.admitted + found.refused < size:
            texts = [predicate_text(DIRTY, chance) for _ in range(AT_ONCE)]
            admitted = [predicate for text in texts if (predicate := _admitted(text)) is not None]
            found.admitted += len(admitted)
            found.refused += AT_ONCE - len(admitted)
            _check_parts(reader, admitted)
            _check_counts(dirty_records(ROWS, chance), admitted, folder, found)
    return found


def _admitted(text: str) -> Predicate | None:
    try:
        predicate = parse(text, DIRTY)
    except PredicateError as refusal:
        assert str(refusal).isprintable()  # noqa: PT017 - admitted texts go on below
        return None
    assert parse(canonical_text(predicate), DIRTY) == predicate
    assert english(predicate).isprintable()
    return predicate


def _check_parts(reader: duckdb.DuckDBPyConnection, predicates: Sequence[Predicate]) -> None:
    """The parts of the SQL, as DuckDB's own parser tells them, are known ones."""
    texts = [text_of(records_of(None, None).condition(predicate), DUCKDB)[0] for predicate in predicates]
    query = f"SELECT {', '.join(texts)}"
    text = reader.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0]
    (statement,) = json.loads(text)["statements"]
    for predicate, tree in zip(predicates, statement["node"]["select_list"], strict=True):
        own = {column.name for column in columns(predicate)}
        for node in _nodes(tree):
            known = FUNCTIONS if node["class"] == "FUNCTION" else PARTS
            assert node.get("function_name", node["class"]) in known, canonical_text(predicate)
            assert own.issuperset(node.get("column_names", ())), canonical_text(predicate)


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Every part of a tree that DuckDB gives."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for part in tree.values():
            yield from _nodes(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def _check_counts(records: Sequence[Record], predicates: Sequence[Predicate], folder: Path, found: Found) -> None:
    path = folder / "records.parquet"
    write_parquet(path, records, DIRTY)
    with MemorySource(records, DIRTY) as reference, DuckDBSource.open(path) as source:
        true, false = (source.count([*map(form, predicates)]) for form in (lambda predicate: predicate, Not))
        unknown = _unknowns(source, predicates)
        assert reference.count(predicates) == true
    whole = [{name: record.get(name) for name in DIRTY} for record in records]
    for predicate, *parts in zip(predicates, true, false, unknown, strict=True):
        assert sum(parts) == len(records), canonical_text(predicate)
        truths = [truth_of(predicate, record) for record in whole]
        assert parts == [truths.count(truth) for truth in (True, False, None)]
    found.with_matches += sum(map(bool, true))
    found.with_unknowns += sum(map(bool, unknown))


def _unknowns(source: DuckDBSource, predicates: Sequence[Predicate]) -> tuple[int, ...]:
    """For how many records each predicate is neither true nor false, which no text can ask."""
    if not predicates:
        return ()
    records = records_of(None, None)
    conditions = map(records.condition, predicates)
    counts = [func.count(case((func.coalesce(each).is_(None), 1))) for each in conditions]
    statement = text_of(select(*counts).select_from(table("records")), DUCKDB)
    row: tuple[int, ...] = source.cursors.connection.execute(*statement).fetchall()[0]
    return row
