"""The groups that records have, and how many units each."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import CursorResult, Select, and_, func, or_, select

from noisycount.release.question.grouping import Part
from noisycount.release.question.keys import KeyCounts, KeyQuestion
from noisycount.release.sources.expressions.keys import decoded
from noisycount.release.sources.sql.counting import require_somebody
from noisycount.release.sources.sql.records import Records, is_inside
from noisycount.release.sources.sql.summands import NOTHING, ONE, is_true, number_of, number_where
from noisycount.release.sources.sql.units import Person, group_hash, kept

if TYPE_CHECKING:
    from noisycount.release.sources.sql.dialect import Expression

__all__ = ["key_counts", "keys_statement"]

_BATCH = 50_000  # groups, each of which takes some hundred bytes of Python


def keys_statement(question: KeyQuestion, records: Records) -> Select[Any]:
    """The keys of each group that has units, how many, and 1 where a record is of nobody."""
    if records.person is not None:
        return _by_units(question, records, records.person)
    keyed = records.keyed(question.parts, question.where)
    keys = [keyed.c[f"k{n}"] for n in range(len(question.parts))]
    inside = is_inside(question.parts, keys)
    counted = number_where(keyed.c.m == ONE)
    return select(*keys, counted, NOTHING).group_by(*keys).having(and_(counted > NOTHING, *inside))


def _by_units(question: KeyQuestion, records: Records, person: Person) -> Select[Any]:
    pairs = _pairs(question, records, person).subquery("pairs")
    keys = [pairs.c[f"k{n}"] for n in range(len(question.parts))]
    counted, nobody = number_of(pairs.c.kept), func.max(is_true(pairs.c.u.is_(None)))
    return (
        select(*keys, counted, nobody)
        .group_by(*keys)
        .having(or_(counted > NOTHING, nobody > NOTHING))
    )


def _pairs(question: KeyQuestion, records: Records, person: Person) -> Select[Any]:
    """Each unit with each of its groups, and 1 as `kept` where it is counted there."""
    keyed = records.keyed(question.parts, question.where)
    names = [f"k{n}" for n in range(len(question.parts))]
    keys = [keyed.c[name] for name in names]
    matches: Expression = func.max(keyed.c.m)
    inside = is_inside(question.parts, keys)
    if inside:
        matches = is_true(and_(matches > NOTHING, *inside))
    pairs = (
        select(keyed.c.u, *keys, matches.label("m")).group_by(keyed.c.u, *keys).subquery("found")
    )
    keys = [pairs.c[name] for name in names]
    if question.most is None:
        return select(pairs.c.u, *keys, pairs.c.m.label("kept"))
    tag = group_hash(question.parts, keys, question.salt, records.dialect)
    return kept(select(pairs, tag.label("tag")), person, question.most)


def key_counts(
    parts: Sequence[Part], result: CursorResult[*tuple[Any, ...]]
) -> Iterator[KeyCounts]:
    """What rows of that statement say, in batches."""
    while rows := result.fetchmany(_BATCH):
        require_somebody([row[-1] for row in rows])
        keys = [
            tuple(decoded(part, code) for part, code in zip(parts, row, strict=False))
            for row in rows
        ]
        yield KeyCounts(keys, np.array([row[-2] for row in rows], np.int64))
