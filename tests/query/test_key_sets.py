from collections.abc import Callable, Iterable
from datetime import date
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.query.grouping import Edges, KeySet, Period, Plain, Span
from noisycount.query.key_sets import found_keys, in_one_order, key_set, written_key, written_keys
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind

TOWN = Plain(Column("town", Kind.TEXT))
POOR = Plain(Column("poor", Kind.BOOLEAN))
AGE = Edges(Column("age", Kind.INTEGER), (0, 18, 65))
DAY = Plain(Column("day", Kind.DATE))
MONTH = Period(Column("visit", Kind.DATE), Span.MONTH)


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
    number = Plain(Column("number", Kind.INTEGER))
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
    ordered, places = in_one_order(keys)
    again, _ = in_one_order(key_set([TOWN, AGE], rows[::-1]))
    assert written_keys(ordered) == written_keys(again)
    assert [ordered.key(int(place)) for place in places] == rows
    assert sorted(places.tolist()) == list(range(len(rows)))


def test_a_grid_is_written_as_its_lists() -> None:
    """A thousand by a thousand keys take two thousand words, not a million."""
    keys = key_set([TOWN, AGE], {"town": [str(number) for number in range(1000)]})
    assert written_keys(in_one_order(keys)[0]).keys() == {"grid"}


def test_found_keys_come_back_from_what_a_ledger_keeps() -> None:
    """Days are kept as texts, all else as it is."""
    rows = [(date(2026, 1, 31), 24_312), (None, 24_313), (date(2026, 1, 31), None)]
    stored = [[written_key(key) for key in row] for row in rows]
    assert cells(found_keys([DAY, MONTH], stored)) == rows
    assert len(found_keys([DAY, MONTH], [])) == 0


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, "keys of town are missing"),
        (None, "keys of town are missing"),
        ({"town": "abc"}, "keys of town are missing"),
        ({"town": []}, "at least one"),
        ({"town": ["a", "b", "a"]}, "'a' twice"),
        ({"town": [1]}, "write a text"),
        ({"town": ["a"], "village": ["b"]}, "not in by"),
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
        key_set([TOWN, Plain(Column("name", Kind.TEXT))], {"town": many, "name": many})
