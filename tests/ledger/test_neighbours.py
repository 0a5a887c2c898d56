"""A privacy unit moves a count by at most 1, and a histogram by as much as its charge."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.engines.memory import MemorySource
from noisycount.ledger.budget import NeighbourRelation
from noisycount.model.concentrated import l1_sensitivity
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.helpers.predicate_grammar import DIRTY, dirty_records, predicate_text
from tests.helpers.sources import OpenSource, Record

SCHEMA = {"person": Kind.INTEGER, **DIRTY}
ROWS_OF_A_PERSON = [1, 2, 200]


def people(numbers: Sequence[int], rows: int, chance: random.Random) -> dict[int, list[Mapping[str, object]]]:
    """Random dirty records of some persons, each with as many."""
    return {number: [{**record, "person": number} for record in dirty_records(rows, chance)] for number in numbers}


def joined(records: Mapping[int, Sequence[Record]]) -> list[Record]:
    """Return all records of all persons, in a random order."""
    found = [record for each in records.values() for record in each]
    random.shuffle(found)
    return found


@pytest.mark.few(0)
@pytest.mark.parametrize("rows", ROWS_OF_A_PERSON)
def test_one_person_moves_a_count_by_at_most_one(open_source: OpenSource, rows: int) -> None:
    """Random predicates on random neighbouring data sets: with one person, without, with another."""
    chance = random.Random(rows)  # noqa: S311 - not a secret
    others = people(range(3), min(rows, 3), chance)
    one, another = people([8], rows, chance), people([9], rows, chance)
    asked = [predicate_text(DIRTY, chance, odd=0) for _ in range(20)]
    tables = [joined({**others, **added}) for added in (one, another, {})]
    counts = []
    for unit in ("person", None):
        for table in tables:
            with open_source(table, SCHEMA, unit=unit, columns=[*DIRTY]) as source:
                counts.append(source.count([parse(text, source.schema) for text in asked]))
    with_one, with_another, without, *by_row = counts
    for a, b, c in zip(with_one, with_another, without, strict=True):
        assert c <= a <= c + 1
        assert c <= b <= c + 1
        assert abs(a - b) <= 1
    assert with_one != without
    moved = max(a - c for a, c in zip(by_row[0], by_row[2], strict=True))
    assert moved <= rows
    assert moved > rows // 2


@pytest.mark.thorough
def test_one_record_moves_a_count_by_at_most_one(open_source: OpenSource) -> None:
    """If every record is a unit, adding or replacing a record moves each count by at most 1."""
    chance = random.Random(5)  # noqa: S311 - not a secret
    table = dirty_records(20, chance)
    asked = [predicate_text(DIRTY, chance, odd=0) for _ in range(30)]
    counts = []
    for records in (table, table[1:], [*dirty_records(1, chance), *table[1:]]):
        with open_source(records, DIRTY) as source:
            counts.append(source.count([parse(text, source.schema) for text in asked]))
    for a, without, b in zip(*counts, strict=True):
        assert without <= a <= without + 1
        assert without <= b <= without + 1


def test_a_public_size_means_replacement() -> None:
    """A data set with one unit less would have another size."""
    assert NeighbourRelation.of_size(5912) is NeighbourRelation.REPLACEMENT
    assert NeighbourRelation.of_size(None) is NeighbourRelation.ADD_REMOVE


def units(groups: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every unit that is in some of the groups, at most in that many: 0 or 1 a group."""
    return (unit for unit in product((0, 1), repeat=groups) if sum(unit) <= most)


@pytest.mark.parametrize(("groups", "most"), [(g, m) for g in range(1, 6) for m in range(1, 5)])
@pytest.mark.parametrize("neighbours", NeighbourRelation)
def test_a_histogram_is_charged_for_the_farthest_that_one_unit_moves_it(
    groups: int, most: int, neighbours: NeighbourRelation
) -> None:
    """Neither more nor less, over every unit that there can be, or every pair of them."""
    nothing = (0,) * groups
    others = [nothing] if neighbours is NeighbourRelation.ADD_REMOVE else [*units(groups, most)]
    farthest = max(
        sum(abs(a - b) for a, b in zip(one, other, strict=True)) for one in units(groups, most) for other in others
    )
    assert l1_sensitivity(groups, most, replaced=neighbours is NeighbourRelation.REPLACEMENT) == farthest


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=30))
def test_disjoint_groups_of_records_are_not_disjoint_for_persons(rows: list[tuple[int, int]]) -> None:
    """A person with records in several groups counts in each: the charge covers all of them."""
    schema = {"person": Kind.INTEGER, "group": Kind.INTEGER}
    records = [{"person": person, "group": group} for person, group in rows]
    leaver = rows[0][0]
    counts = []
    for table in (records, [record for record in records if record["person"] != leaver]):
        source = MemorySource(table, schema, unit="person")
        asked = [parse(f"group = {group}", source.schema) for group in range(4)]
        counts.append(source.count(asked))
    moved = sum(abs(a - b) for a, b in zip(*counts, strict=True))
    groups_of_leaver = len({group for person, group in rows if person == leaver})
    assert moved == groups_of_leaver
    assert moved <= l1_sensitivity(4, groups_of_leaver, replaced=False)
