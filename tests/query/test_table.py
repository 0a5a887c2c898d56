from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import permutations, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from noisycount.cli.main import option_spelling
from noisycount.errors import PredicateError, QueryError
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import EachValue, GroupBy, Key, KeySet, NumberRanges, Period, resolve_group_by
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind, key_to_json
from noisycount.query.table import (
    TableQuestion,
    in_canonical_order,
    key_set,
    key_set_from_json,
    key_set_to_json,
    margins_of,
)
from noisycount.query.typed import PeriodLength, parse_by, parse_column_keys

TOWN, SEX, YEAR = PARTS = tuple(EachValue(Column(name, Kind.TEXT)) for name in ("town", "sex", "year"))


@given(
    rows=st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 2), unique=True, min_size=1),
    has_other=st.booleans(),
)
def test_every_node_finds_its_answer_again(rows: list[tuple[str | None, str | None]], *, has_other: bool) -> None:
    """Stored cells and margins appear under the right keys if the keys are asked in another order."""
    question = TableQuestion(
        (TOWN, SEX),
        key_set((TOWN, SEX), rows),
        margins=margins_of(["total", "sex", "town"], (TOWN, SEX)),
        has_other=has_other,
    )
    table = question.canonical()
    worth = {row: number for number, row in enumerate(sorted(rows, key=str), start=1)}
    kept = [worth[table.keys.key(cell)] for cell in range(len(rows))] + [1000] * has_other
    asked = [worth[row] for row in rows] + [1000] * has_other
    assert [sums.tolist() for sums in table.in_requested_order(sums_of(kept, table.levels))] == [
        sums.tolist() for sums in sums_of(asked, question.levels())
    ]


def sums_of(cells: list[int], levels: Sequence[Level]) -> list[NDArray[np.int64]]:
    """The sum of the cells of each node."""
    found = []
    for level in levels:
        sums = np.zeros(level.size, dtype=np.int64)
        for cell, node in enumerate(level.of_cell):
            sums[node] += cells[cell] if node >= 0 else 0
        found.append(sums)
    return found


def test_the_order_of_keys_and_margins_is_the_same_question() -> None:
    """Whoever lists them otherwise has asked before."""
    facts = []
    for towns, margins in product(permutations("abc"), permutations(["total", "town", "sex"])):
        keys = key_set((TOWN, SEX), {"town": towns, "sex": ["f", "m"]})
        question = TableQuestion((TOWN, SEX), keys, margins=margins_of(margins, (TOWN, SEX)))
        facts.append(question.facts(question.canonical().keys))
    assert all(each == facts[0] for each in facts)


def test_the_order_of_ranges_is_another_question() -> None:
    """Sums up to a cell depend on which cells come before."""
    questions = [TableQuestion((TOWN,), key_set((TOWN,), list(keys)), is_cumulative=True) for keys in ("ab", "ba")]
    first, second = (each.facts(each.canonical().keys) for each in questions)
    assert first != second


@pytest.mark.parametrize(
    ("written", "margins"),
    [
        ((), ()),
        ("total", ((),)),
        (["total", "town"], (("town",), ())),
        (["sex*town"], (("town", "sex"),)),
        ([("year", "sex"), ()], (("sex", "year"), ())),
        ("all", (*(("town", "sex"), ("town", "year"), ("sex", "year")), *(("town",), ("sex",), ("year",), ()))),
    ],
)
def test_margins_come_in_one_order(written: object, margins: object) -> None:
    """Margins of more parts come first, and the total last."""
    assert margins_of(written, PARTS) == margins  # type: ignore[arg-type]  # all that it takes


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["village"], "'town'"),
        (["town*village"], "'village'"),
        (["town", "town"], "twice"),
        (["total", ()], "twice"),
        (["town*sex*year"], "the table itself"),
        ([3], "3"),
    ],
)
def test_what_is_no_margin_is_refused_in_one_line(written: object, words: str) -> None:
    """The refusal names it, and what there is."""
    with pytest.raises(PredicateError, match=words) as refused:
        margins_of(written, PARTS)  # type: ignore[arg-type]  # on purpose
    assert "\n" not in str(refused.value)


KEYS = {"town": ["a", "b"], "sex": ["f", "m"], "year": ["1"], "total": ["a"], "other": ["a"]}
TOTAL, OTHER = EachValue(Column("total", Kind.TEXT)), EachValue(Column("other", Kind.TEXT))


@pytest.mark.parametrize(
    ("parts", "keys", "others", "words"),
    [
        ((TOTAL, SEX), KEYS, {"margins": (("total",), ())}, "called 'total'"),
        ((OTHER,), KEYS, {"has_other": True}, "called 'other'"),
        ((OTHER, SEX), KEYS, {"margins": (("other",),), "has_other": True}, "called 'other'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    parts: tuple[GroupBy, ...], keys: dict[str, list[Key]] | None, others: dict[str, object], words: str
) -> None:
    """Before anything is charged, in one line."""
    listed = keys and {part.text: keys[part.text] for part in parts}
    cells = None if listed is None else key_set(parts, listed)
    with pytest.raises(PredicateError, match=words):
        TableQuestion(parts, cells, **others)  # type: ignore[arg-type]  # of their kinds


@pytest.mark.parametrize("by", ["town", "age", "visit", "visit:month", "visit:quarter", "visit:year"])
def test_keys_are_asked_for_by_an_example_that_can_be_typed(by: str) -> None:
    """Whoever puts it in place has keys."""
    schema = {"town": Kind.TEXT, "age": Kind.INTEGER, "visit": Kind.DATE}
    parts = resolve_group_by([by], schema, None)
    with pytest.raises(QueryError, match="are missing: list them, keys=") as refused:
        key_set(parts, None)
    example = refused.value.spelled(option_spelling).partition("--keys ")[2].partition(", or show")[0]
    assert len(key_set(parts, dict([parse_column_keys(example)]))) > 1


def test_months_that_are_called_like_a_function_are_named_as_they_are_written() -> None:
    """As in SQL, where it is month(visit)."""
    with pytest.raises(PredicateError, match=r"^by calls month: write visit:month$"):
        resolve_group_by(["month(visit)"], {"visit": Kind.DATE}, None)


SCHEMA = {
    "town": Kind.TEXT,
    "age": Kind.INTEGER,
    "cost": Kind.REAL,
    "visit": Kind.DATE,
    "poor": Kind.BOOLEAN,
    "a,b": Kind.TEXT,
    "x:month": Kind.TEXT,
    "n,m": Kind.REAL,
}


@pytest.mark.parametrize(
    ("by", "texts"),
    [
        ("town", ["town"]),
        ("town,poor", ["town", "poor"]),
        (" town , poor ", ["town", "poor"]),
        (["town", "poor"], ["town", "poor"]),
        ("age:0,18,65", ["age:0,18,65"]),
        ("age:0,18,65,town", ["age:0,18,65", "town"]),
        ("town,age:-5,0,visit:month", ["town", "age:-5,0", "visit:month"]),
        ("cost:0,2.5,1e3", ["cost:0,2.5,1000"]),
        ("visit:YEAR", ["visit:year"]),
        ("a,b", ["a,b"]),
        (["a,b", "town"], ["a,b", "town"]),
        ("x:month", ["x:month"]),
        (["n,m:0,18", "town"], ["n,m:0,18", "town"]),
        (parse_by(['"n,m":0,18', "town"]), ["n,m:0,18", "town"]),
    ],
)
def test_columns_edges_and_periods_are_told_apart(by: str | list[str], texts: list[str]) -> None:
    """Numbers after edges belong to them; a name that has commas or colons is a name."""
    assert [part.text for part in resolve_group_by(by, SCHEMA, None)] == texts


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("", "empty name"),
        ("town,,poor", "empty name"),
        ([], "1 to 8"),
        ("twon", "'town'"),
        ("town,town", "twice"),
        ("town,age:0,18,age:0,65", "twice"),
        ("person", "the unit"),
        ("person:0,1", "the unit"),
        ("age:", "edges"),
        ("age:old", "edges"),
        ("age:0,1.5", "write edges"),
        ("age:18,0", "rise"),
        ("town:0,1", "numbers"),
        ("town:month", "dates"),
        ("cost", "few are equal"),
        ([3], "names of columns"),
    ],
)
def test_what_is_no_part_is_refused_in_one_line(by: str | list[str], words: str) -> None:
    """The refusal names what is wrong and how to mend it."""
    with pytest.raises(PredicateError, match=words) as refused:
        resolve_group_by(by, SCHEMA, "person")
    assert "\n" not in str(refused.value)


POOR = EachValue(Column("poor", Kind.BOOLEAN))
AGE = NumberRanges(Column("age", Kind.INTEGER), (0, 18, 65))
DAY = EachValue(Column("day", Kind.DATE))
MONTH = Period(Column("visit", Kind.DATE), PeriodLength.MONTH)


def cells(keys: KeySet) -> list[tuple[object, ...]]:
    """The keys of every cell, in order."""
    return [keys.key(cell) for cell in range(len(keys))]


def test_lists_by_column_give_every_combination_in_order() -> None:
    """The first part changes slowest; what everybody knows needs no list."""
    keys = key_set([TOWN, POOR, AGE], {"town": ["b", None, "a"]})
    assert cells(keys) == list(product(["b", None, "a"], [False, True], [0, 1, 2]))
    assert keys.is_grid


def test_cells_may_be_listed_one_by_one() -> None:
    """Dates may be texts, ranges their labels, and the order is the asker's."""
    keys = key_set([DAY, AGE], [("2026-01-31", "18 to 64"), (date(2026, 1, 1), None)])
    assert cells(keys) == [(date(2026, 1, 31), 1), (date(2026, 1, 1), None)]
    assert not keys.is_grid
    assert cells(key_set([TOWN], ["b", "a"])) == [("b",), ("a",)]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_cells_may_be_the_rows_of_a_table(library: Callable[[dict[str, object]], object]) -> None:
    """Its columns are found by their names; what it knows as missing is missing."""
    frame = library({"age": ["0 to 17", "65 or more", None], "town": ["a", None, "ä"]})
    assert cells(key_set([TOWN, AGE], frame)) == [("a", 0), (None, 2), ("ä", None)]
    with pytest.raises(PredicateError, match="give a table of town"):
        key_set([TOWN], frame)


def test_keys_may_be_those_of_numpy() -> None:
    """Integers, texts and truths of NumPy are those of Python; a midnight is a day."""
    number = EachValue(Column("number", Kind.INTEGER))
    assert cells(key_set([number], np.arange(2))) == [(0,), (1,)]
    assert cells(key_set([TOWN], {"town": np.array(["a", "b"])})) == [("a",), ("b",)]
    assert cells(key_set([POOR], [np.True_])) == [(True,)]
    assert cells(key_set([DAY], [pd.Timestamp("2026-01-31")])) == [(date(2026, 1, 31),)]
    with pytest.raises(PredicateError, match="a number"):
        key_set([number], [np.float64(1)])


def test_missing_values_alone_are_added_to_what_everybody_knows() -> None:
    """Edges give their ranges, and a null beside them is one key more."""
    assert cells(key_set([AGE], {"age": [None]})) == [(0,), (1,), (2,), (None,)]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", "ä", None]), st.sampled_from([0, 1, 2, None])), unique=True, min_size=1
    )
)
def test_the_order_of_the_list_does_not_matter_to_the_ledger(rows: list[tuple[str | None, int | None]]) -> None:
    """Any order of the same cells is written alike, and every cell finds its place again."""
    keys = key_set([TOWN, AGE], rows)
    ordered, places = in_canonical_order(keys)
    again, _ = in_canonical_order(key_set([TOWN, AGE], rows[::-1]))
    assert key_set_to_json(ordered) == key_set_to_json(again)
    assert [ordered.key(int(place)) for place in places] == rows
    assert sorted(places.tolist()) == list(range(len(rows)))


def test_a_grid_is_written_as_its_lists() -> None:
    """A thousand by a thousand keys take two thousand words, not a million."""
    keys = key_set([TOWN, AGE], {"town": [str(number) for number in range(1000)]})
    assert key_set_to_json(in_canonical_order(keys)[0]).keys() == {"grid"}


def test_found_keys_come_back_from_what_a_ledger_keeps() -> None:
    """Days are kept as texts, all else as it is."""
    rows = [(date(2026, 1, 31), 24_312), (None, 24_313), (date(2026, 1, 31), None)]
    stored = [[key_to_json(key) for key in row] for row in rows]
    assert cells(key_set_from_json([DAY, MONTH], stored)) == rows
    assert len(key_set_from_json([DAY, MONTH], [])) == 0


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "keys of town are missing"),
        (None, "keys of town are missing"),
        ({"town": "abc"}, "keys of town are missing"),
        ({"town": []}, "at least one"),
        ({"town": ["a", "b", "a"]}, "'a' twice"),
        ({"town": [1]}, "write a text"),
        ({"town": ["a"], "village": ["b"]}, "keys name 'village', which is not in by: "),
        ("town=a", "must be a list"),
        ([], "at least one cell"),
        ([("a",)], "one key for each of town, age"),
        ([("a", 0, 1)], "one key for each of town, age"),
        ([("a", 0), ("b", 0), ("a", 0)], "twice"),
        ([("a", 7)], "follow from the edges"),
    ],
)
def test_keys_that_are_none_are_refused_in_one_line(keys: Iterable[object] | None, words: str) -> None:
    """The refusal names the part, the key and the remedy."""
    with pytest.raises(PredicateError, match=words) as refused:
        key_set([TOWN, AGE], keys)  # type: ignore[arg-type]  # on purpose
    assert "\n" not in str(refused.value)


def test_too_many_cells_are_refused_before_they_are_made() -> None:
    """A million cells are the most; the product is looked at first."""
    many = [str(number) for number in range(1001)]
    with pytest.raises(PredicateError, match="1,002,001 cells"):
        key_set([TOWN, EachValue(Column("name", Kind.TEXT))], {"town": many, "name": many})
