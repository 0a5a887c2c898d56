from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noisycount.engines.memory import MemorySource
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release.query_plan import CellsPlan, HiddenKeysPlan, plan_of

SCHEMA_OF_QUESTIONS = {"town": Kind.TEXT, "age": Kind.INTEGER}
SCHEMA = {"person": Kind.INTEGER, **SCHEMA_OF_QUESTIONS}
Rows = list[Mapping[str, Any]]

ROWS = st.lists(
    st.fixed_dictionaries(
        {"town": st.sampled_from(["a", "b", "c", "d", None]), "age": st.one_of(st.none(), st.integers(-5, 90))}
    ),
    max_size=6,
)
WISHES = st.fixed_dictionaries(
    {
        "by": st.sampled_from(["town", "town,age:0,18,65", "age:0,18,65"]),
        "keys": st.sampled_from([{"town": ["a", "b"]}, {"town": ["a", None, "c"]}]),
        "where": st.sampled_from([None, "age >= 30", "town = 'a' or age < 20"]),
        "margins": st.sampled_from([(), ("total",), ("all",)]),
        "other": st.booleans(),
        "groups_per_unit": st.sampled_from([None, 1, 2, 3]),
    }
)


def records(persons: Mapping[int, Sequence[Mapping[str, Any]]]) -> Rows:
    """The rows of all persons, each under its number."""
    return [{"person": number, **row} for number, rows in persons.items() for row in rows]


ONE, TWO = ([{"town": town, "age": 30} for town in towns] for towns in ("ab", "cd"))
EVERYTHING = {"by": "town", "keys": {"town": ["a", "b", "c", "d"]}, "where": None, "margins": ("total",), "other": True}


@pytest.mark.parametrize("is_replacement", [False, True])
@given(others=st.lists(ROWS, max_size=5), mine=ROWS, instead=ROWS, wish=WISHES)
@example(others=[], mine=ONE, instead=TWO, wish={**EVERYTHING, "groups_per_unit": 1})
@example(others=[], mine=ONE, instead=TWO, wish={**EVERYTHING, "groups_per_unit": 2})
@example(others=[], mine=ONE + TWO, instead=[], wish={**EVERYTHING, "groups_per_unit": None})
def test_one_person_moves_no_level_by_more_than_its_noise_hides(
    others: list[Rows], mine: Rows, instead: Rows, wish: dict[str, Any], *, is_replacement: bool
) -> None:
    """Whatever rows a person has, and whoever stands in their place; each count moves by one."""
    wish = {**wish, "keys": wish["keys"] if "town" in wish["by"] else None}
    where = wish.pop("where")
    query = Query(epsilon=1, wheres=[] if where is None else [where], **wish)
    asked = plan_of(query, SCHEMA_OF_QUESTIONS, "person", is_replacement=is_replacement)
    assert isinstance(asked, CellsPlan)
    rest = dict(enumerate(others))
    first, second = (
        counts(asked, records({**rest, 99: mine})),
        counts(asked, records({**rest, 99: instead} if is_replacement else rest)),
    )
    for level, one, other in zip(asked.noise.levels, first, second, strict=True):
        moved = np.abs(one - other)
        assert moved.sum() <= level.sensitivity
        assert moved.max(initial=0) <= 1


def counts(asked: CellsPlan, rows: Rows) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """The true counts of each level."""
    question = asked.question.cell_question(asked.canonical)
    with MemorySource(rows, SCHEMA, unit="person") as source:
        return source.count_cells(question)


@pytest.mark.parametrize("is_replacement", [False, True])
@given(
    others=st.lists(ROWS, max_size=5),
    mine=ROWS,
    instead=ROWS,
    most=st.integers(1, 3),
    by=st.sampled_from(["town", "town,age:0,18,65"]),
)
def test_one_person_has_no_more_hidden_keys_than_the_threshold_hides(  # noqa: PLR0913
    others: list[Rows], mine: Rows, instead: Rows, most: int, by: str, *, is_replacement: bool
) -> None:
    """Keys that only one of two neighbours has are as many as groups, of one person each."""
    query = Query(by=by, epsilon=1, delta="1e-6", groups_per_unit=most)
    asked = plan_of(query, SCHEMA_OF_QUESTIONS, "person", is_replacement=is_replacement)
    assert isinstance(asked, HiddenKeysPlan)
    rest = dict(enumerate(others))
    first, second = (
        hidden(asked, records({**rest, 99: mine})),
        hidden(asked, records({**rest, 99: instead} if is_replacement else rest)),
    )
    for one, other in ((first, second), (second, first)):
        alone = [count for key, count in one.items() if key not in other]
        assert len(alone) <= most
        assert set(alone) <= {1}
    moved = sum(abs(first[key] - second[key]) for key in first | second)
    assert moved <= asked.noise.levels[0].sensitivity


def hidden(asked: HiddenKeysPlan, rows: Rows) -> Counter[tuple[object, ...]]:
    """The true count of each key."""
    found: Counter[tuple[object, ...]] = Counter()
    with MemorySource(rows, SCHEMA, unit="person") as source:
        for batch in source.count_keys(asked.question.key_question()):
            found.update(dict(zip(batch.keys, batch.counts.tolist(), strict=True)))
    return found
