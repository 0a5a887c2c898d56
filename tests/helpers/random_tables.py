"""Random tables: records, what they are grouped by, and which cells are asked for."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import product
from math import inf, nan

import numpy as np
from hypothesis import strategies as st

from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, GroupBy, Key, KeyQuestion, KeySet, NumberRanges, Period
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from noisycount.query.typed import PeriodLength

__all__ = ["SCHEMA", "cell_questions", "grid", "identity", "key_questions", "total"]

SCHEMA = {
    "person": Kind.TEXT,
    "town": Kind.TEXT,
    "k0": Kind.INTEGER,
    "cell": Kind.REAL,
    "m": Kind.BOOLEAN,
    "u": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
TOWNS = ["Bern", "bern", "Zürich", "Zu\u0308rich", "", "it's", '"', "👍", "a\0b", "1:x", "-", "other"]
EDGE_NUMBERS = [-(2**63), -3, -1, 0, 1, 2, 7, 2**53 + 1, 2**62, 2**63 - 1]
FIRST = datetime(1, 1, 1)  # noqa: DTZ001 - columns have no zone
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - columns have no zone
VALUES: Mapping[str, st.SearchStrategy[object]] = {
    "town": st.sampled_from(TOWNS),
    "k0": st.sampled_from([*EDGE_NUMBERS, -(2**62), -2, 3]),
    "cell": st.sampled_from([0.0, -0.0, 1.0, -1.5, 7.0, 2.0**53, 2.0**53 + 2, 1e300, -1e300])
    | st.sampled_from([nan, inf, -inf]),
    "m": st.booleans(),
    "u": st.sampled_from([date.min, date(2020, 1, 31), date(2020, 2, 1), date(2020, 12, 31), date.max]),
    "seen": st.sampled_from([FIRST, datetime(2020, 3, 31, 23, 59, 59, 999999), LAST]),  # noqa: DTZ001 - columns have no zone
}
QUESTIONS = ["true", "false", "m", "k0 > 0", "town like '%e%' or cell < 1", "u is null and not m"]
PERSONS = st.sampled_from(["ann", "bob", "Ève", "d'o", "1"])


def identity(cells: int, name: str = "cells") -> Level:
    """The cells themselves."""
    return Level(name, np.arange(cells, dtype=np.int32), cells)


def total(cells: int) -> Level:
    """The sum of all cells."""
    return Level("total", np.zeros(cells, np.int32), 1)


def grid(parts: Sequence[GroupBy], values: Sequence[Sequence[Key]]) -> KeySet:
    """Every combination of some values."""
    codes = np.array([*product(*map(range, map(len, values)))], np.int32)
    return KeySet(tuple(parts), tuple(map(tuple, values)), codes.reshape(-1, len(parts)))


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, object]]:
    """Some records, of one of which there may be a thousand."""
    cells = {name: st.none() | values for name, values in VALUES.items()}
    found = draw(st.lists(st.fixed_dictionaries({"person": PERSONS, **cells}), max_size=30))
    copies = draw(st.sampled_from([0, 0, 1, 1000]))
    return [*found, *(found[:1] * copies)]


@st.composite
def edges(draw: st.DrawFn) -> NumberRanges:
    """Ranges of whole or of real numbers, few or many."""
    whole, real = Column("k0", Kind.INTEGER), Column("cell", Kind.REAL)
    if draw(st.integers(0, 3)) == 0:
        size = draw(st.integers(65, 140))
        halves = NumberRanges(real, tuple(number / 2 for number in range(-70, size - 70)))
        return draw(st.sampled_from([halves, NumberRanges(whole, tuple(range(-60, size - 60)))]))
    numbers = st.sampled_from(EDGE_NUMBERS)
    if draw(st.booleans()):
        rising = draw(st.sets(numbers, min_size=1))
        return NumberRanges(whole, tuple(sorted(rising)))
    reals = st.sampled_from([-1.5, 0.0, 0.5, 2.0**53, 1e300])
    return NumberRanges(Column("cell", Kind.REAL), tuple(sorted(draw(st.sets(numbers | reals, min_size=1)))))


PARTS = st.one_of(
    st.sampled_from([EachValue(Column(n, SCHEMA[n])) for n in ("town", "k0", "m", "u")]),
    edges(),
    st.builds(
        Period, st.sampled_from([Column(n, SCHEMA[n]) for n in ("u", "seen")]), st.sampled_from(list(PeriodLength))
    ),
)
ROWS_AND_PARTS = st.lists(PARTS, min_size=1, max_size=3, unique_by=lambda part: part.text)
WHERE = st.none() | st.sampled_from(QUESTIONS).map(lambda text: parse(text, SCHEMA))
MOST = st.none() | st.integers(1, 4)
SALTS = st.sampled_from(["", "salt", "it's"])


@st.composite
def values_of(draw: st.DrawFn, part: GroupBy) -> list[Key]:
    """Some keys of a part, each once."""
    if part.known_keys is not None:
        known: list[Key] = list(part.known_keys)
    elif isinstance(part, Period):
        known = [part.key(each) for each in (date.min, date(2020, 2, 1), date.max)]
        known.append(part.canonical_key({1: "1999", 4: "1999-Q4", 12: "1999-12"}[part.span.value]))
    elif part.column.name == "town":
        known = [town for town in TOWNS if "\0" not in town]
    else:
        known = {"k0": [-(2**62), 0, 3, 99], "u": [date.min, date(2020, 2, 1)]}[part.column.name]
    return draw(st.lists(st.sampled_from([*known, None]), unique=True, max_size=6))


@st.composite
def levels(draw: st.DrawFn, cells: int) -> Level:
    """Sums of some cells."""
    size = draw(st.integers(1, 4))
    nodes = draw(st.lists(st.integers(-1, size - 1), min_size=cells, max_size=cells))
    return Level("sums", np.array(nodes, np.int32), size)


@st.composite
def cell_questions(draw: st.DrawFn) -> CellQuestion:
    """A table whose keys are known."""
    parts = draw(ROWS_AND_PARTS)
    keys = grid(parts, [draw(values_of(part)) for part in parts])
    if draw(st.booleans()):
        some = draw(st.permutations(range(len(keys))))
        keys = KeySet(keys.parts, keys.values, keys.codes[some[: (len(some) + 1) // 2]])
    has_other = draw(st.booleans())
    cells = len(keys) + has_other
    more = draw(st.lists(levels(cells), max_size=2))
    return CellQuestion(keys, draw(WHERE), (identity(cells), total(cells), *more), has_other, draw(MOST), draw(SALTS))


@st.composite
def key_questions(draw: st.DrawFn) -> KeyQuestion:
    """A table whose keys only the records know."""
    return KeyQuestion(draw(ROWS_AND_PARTS), draw(WHERE), draw(MOST), draw(SALTS))
