"""The groups that records have, and how many units each."""
# ruff: noqa: S608, as all SQL here is made of typed trees and of our own names

from noisycount.release.question.keys import KeyQuestion
from noisycount.release.sources.duckdb.tables.parts import is_inside
from noisycount.release.sources.duckdb.tables.records import (
    key_names,
    keyed_records,
    matching_records,
    matching_units,
)
from noisycount.release.sources.duckdb.tables.units import Person, group_text, kept_sql

__all__ = ["key_counts_sql"]


def key_counts_sql(question: KeyQuestion, person: Person | None) -> str:
    """The query of the keys of each group that has units, and of how many; see ``Source``."""
    keys = ", ".join(key_names(question.parts))
    if person is None:
        groups = _by_records(question, keys)
    else:
        groups = (
            f"SELECT {keys}, count(CASE WHEN kept THEN 1 END) AS n "
            f"FROM ({_pairs(question, person, keys)}) GROUP BY {keys}"
        )
    return f"SELECT {keys}, n::BIGINT FROM ({groups}) WHERE n > 0 AND {_inside(question)}"


def _by_records(question: KeyQuestion, keys: str) -> str:
    records = keyed_records(question.parts, question.where, None)
    return (
        f"SELECT {keys}, {matching_records(question.where)} AS n FROM ({records}) GROUP BY {keys}"
    )


def _pairs(question: KeyQuestion, person: Person, keys: str) -> str:
    """The query of each unit with each of its groups, and whether it is counted there."""
    records = keyed_records(question.parts, question.where, person)
    pairs = (
        f"SELECT u, {keys}, {matching_units(question.where)} AND {_inside(question)} AS m "
        f"FROM ({records}) GROUP BY u, {keys}"
    )
    if question.most is None:
        return f"SELECT {keys}, m AS kept FROM ({pairs})"
    tag = group_text(key_names(question.parts), question.salt)
    tagged = f"SELECT *, {tag} AS tag FROM ({pairs})"
    return f"SELECT {keys}, kept FROM ({kept_sql(tagged, person.kind, question.most)})"


def _inside(question: KeyQuestion) -> str:
    """Whether all keys are those of groups."""
    named = zip(question.parts, key_names(question.parts), strict=True)
    return " AND ".join(is_inside(part, name) for part, name in named)
