"""Tables: every engine counts as the reference does, and that as their definition says."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.engines.truth import truth
from noisycount.query.grouping import OUTSIDE, CellQuestion, EachValue, KeyCounts, KeyQuestion
from tests.helpers.cases import examples
from tests.helpers.frames import FRAMES
from tests.helpers.random_tables import SCHEMA, cell_questions, key_questions, records
from tests.helpers.sources import database, opened_frame, write_parquet, writing

Records = Sequence[Mapping[str, object]]
Keys = dict[tuple[object, ...], int]
FEW_CELL_QUESTIONS = st.lists(cell_questions(), min_size=1, max_size=4)
FEW_KEY_QUESTIONS = st.lists(key_questions(), min_size=1, max_size=4)


def all_keys(batches: Iterable[KeyCounts]) -> Keys:
    """Everything that a source says of hidden keys, each key once."""
    pairs = [pair for batch in batches for pair in zip(batch.keys, batch.counts.tolist(), strict=True)]
    found = dict(pairs)
    assert len(found) == len(pairs)
    return found


def digest(text: str) -> bytes:
    """The hash that truncation is by."""
    return md5(text.encode(), usedforsecurity=False).digest()


def rank(salt: str, unit: object, keys: tuple[object, ...] | None) -> bytes:
    """The place of a group among those of a unit, written again."""
    told = "other"
    if keys is not None:
        texts = [None if k is None else str(k).lower() if type(k) is bool else str(k) for k in keys]
        told = "".join("-" if text is None else f"{len(text)}:{text}" for text in texts)
    return digest(digest(digest(salt).hex() + told).hex() + str(unit))[::-1]


def brute_groups(
    rows: Records, unit: str | None, question: CellQuestion | KeyQuestion
) -> dict[object, set[tuple[object, ...] | None]]:
    """The groups that each unit is left in; None is that of all others."""
    listed = None
    parts = question.keys.parts if isinstance(question, CellQuestion) else question.parts
    if isinstance(question, CellQuestion):
        listed = {question.keys.key(cell) for cell in range(len(question.keys))}
    whose: dict[object, set[tuple[object, ...] | None]] = {}
    for number, row in enumerate(rows):
        if question.where is not None and truth(question.where, row) is not True:
            continue
        keys: tuple[object, ...] | None = tuple(p.key(row[p.column.name]) for p in parts)
        outside = any(k == OUTSIDE and type(p) is not EachValue for p, k in zip(parts, keys, strict=True))
        if listed is None and outside:
            continue
        if listed is not None and keys not in listed:
            if not question.has_other:
                continue
            keys = None
        whose.setdefault(number if unit is None else row[unit], set()).add(keys)
    for name, groups in whose.items():
        text = "" if unit is None else name
        best = sorted(groups, key=lambda group: rank(question.salt, text, group))
        whose[name] = set(best[: question.max_groups])
    return whose


def brute_cells(rows: Records, unit: str | None, question: CellQuestion) -> list[list[int]]:
    """The counts of each level by their definition: for each node, the units that are in it."""
    whose = brute_groups(rows, unit, question)
    names = [question.keys.key(cell) for cell in range(len(question.keys))]
    names += [None] * question.has_other
    return [
        [
            sum(not named.isdisjoint(groups) for groups in whose.values())
            for node in range(level.size)
            for named in [{names[cell] for cell in np.flatnonzero(level.of_cell == node)}]
        ]
        for level in question.levels
    ]


@contextmanager
def every_source(rows: Records, unit: str | None) -> Iterator[dict[str, Source]]:
    """The records in every engine and format that takes them."""
    with TemporaryDirectory() as folder:
        files = {ending: Path(folder, f"records.{ending}") for ending in ("parquet", "duckdb")}
        write_parquet(files["parquet"], rows, SCHEMA)
        with database(files["duckdb"]) as connection:
            connection.execute(f"CREATE TABLE t AS FROM '{files['parquet']}'")
        opened: dict[str, Source] = {
            "memory": MemorySource(rows, SCHEMA, unit),
            "parquet": DuckDBSource.open(files["parquet"], unit=unit),
            "duckdb": DuckDBSource.open(files["duckdb"], unit=unit),
            **{name: opened_frame(made, rows, SCHEMA, unit) for name, made in FRAMES.items() if name != "pandas"},
        }
        try:
            yield opened
        finally:
            for source in opened.values():
                source.close()


def require_cells(
    sources: Mapping[str, Source], rows: Records, unit: str | None, questions: Sequence[CellQuestion]
) -> None:
    """The refusal of any count that is not as its definition says."""
    for question in questions:
        expected = brute_cells(rows, unit, question)
        for name, source in sources.items():
            counts = source.count_cells(question)
            assert [each.tolist() for each in counts] == expected, name
            assert {each.dtype for each in counts} == {np.dtype(np.int64)}


def require_keys(
    sources: Mapping[str, Source], rows: Records, unit: str | None, questions: Sequence[KeyQuestion]
) -> None:
    """The refusal of any key and count that is not as its definition says."""
    for question in questions:
        whose = brute_groups(rows, unit, question).values()
        expected = Counter(keys for groups in whose for keys in groups)
        for name, source in sources.items():
            assert all_keys(source.count_keys(question)) == expected, name


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("unit", [None, "person"])
@given(records(), FEW_CELL_QUESTIONS)
@settings(max_examples=25)  # so many of rows and so many of persons
def test_listed_cells_are_counted_as_the_definition_says(
    unit: str | None, rows: Records, questions: Sequence[CellQuestion]
) -> None:
    """Of records and of persons, at every level, by every engine."""
    with every_source(rows, unit) as sources:
        require_cells(sources, rows, unit, questions)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("unit", [None, "person"])
@given(records(), FEW_KEY_QUESTIONS)
@settings(max_examples=25)  # so many of rows and so many of persons
def test_hidden_keys_are_those_that_have_units(
    unit: str | None, rows: Records, questions: Sequence[KeyQuestion]
) -> None:
    """With how many units each has, in every engine; no key has none."""
    with every_source(rows, unit) as sources:
        require_keys(sources, rows, unit, questions)


@pytest.mark.thorough
@given(records(), FEW_CELL_QUESTIONS, FEW_KEY_QUESTIONS, st.sampled_from([None, "person"]))
@examples(25)
def test_texts_and_pandas_give_the_tables_of_the_reference(
    rows: Records, cells: Sequence[CellQuestion], keys: Sequence[KeyQuestion], unit: str | None
) -> None:
    """Tables agree with the reference if an empty text and NaN are missing values."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    with TemporaryDirectory() as folder:
        path, whole = Path(folder, "records.csv"), Path(folder, "records.parquet")
        write_parquet(whole, plain, SCHEMA)
        with writing().cursor() as connection:
            connection.execute(f"COPY (FROM '{whole}') TO '{path}' (HEADER true)")
        with (
            DuckDBSource.open(path, unit=unit, kinds=SCHEMA) as texts,
            opened_frame(FRAMES["pandas"], plain, SCHEMA, unit) as frame,
        ):
            sources = {"CSV": texts, "pandas": frame}
            require_cells(sources, plain, unit, cells)
            require_keys(sources, plain, unit, keys)


def _plain(value: object) -> object:
    """The value, unless a text or a frame of pandas cannot tell it from a missing one."""
    is_lost = value == "" or value != value  # noqa: PLR0124 - NaN
    return None if is_lost or (isinstance(value, str) and "\0" in value) else value
