"""True numbers of several tables together, for their owner: the persons of each table, and the rows with broken links.

`check_tables` counts persons with the predicates of the language. `link_statement` writes the statement about a link,
which each engine runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from noisycount.engines.counting import Counting, Reading
from noisycount.engines.dialect import ONE, Expression
from noisycount.engines.persons import Persons, persons_of
from noisycount.engines.spellings import Spellings
from noisycount.engines.table_facts import Link, TableFacts
from noisycount.engines.tables import Joins
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.person_values import Function, PersonValue
from noisycount.query.predicate import Literal, Operator, Predicate
from noisycount.query.schema import Kind


@frozen
class PersonCheck:
    """True numbers of the persons of a table."""

    persons: int
    alone: int  # persons in no other table
    repeated: int  # persons with several rows
    absent: Mapping[str, int]  # persons who are not in a table that has a row of every person, by the table's name


@frozen
class LinkCheck:
    """True numbers of the rows that a link joins: those of a linked table, or those that a look-up explains."""

    table: str  # table of the rows
    column: str  # column of these rows
    target: str  # table that the link leads to
    is_lookup: bool
    rows: int
    missing: int  # rows without a value
    unmatched: int  # rows with a value that the other table does not have
    unmatched_values: int  # number of these values
    shared: int  # rows with a value that leads to several persons
    shared_values: int  # number of these values


@frozen
class TablesCheck:
    """True numbers of several tables together."""

    persons: int  # persons of all tables
    tables: Mapping[str, PersonCheck]  # for each table of persons
    links: tuple[LinkCheck, ...]
    spellings: tuple[Spellings, ...]  # ids of all tables that differ only as spellings of one id do


def check_tables(
    tables: Sequence[TableFacts],
    persons: str | None,
    counting: Counting,
) -> TablesCheck:
    """Count the persons of each table, and the rows whose links lead to nobody or to several persons.

    Args:
        tables: The tables.
        persons: The table that has a row of every person who counts; None: there is none.
        counting: Counts the open tables.
    """
    names = [table.name for table in tables if table.on is None]
    registers = [table.name for table in tables if table.name == persons or table.is_one_row_a_unit]
    questions: dict[tuple[str, str], Predicate] = {}
    for name in names:
        present = _is_in(name)
        questions[name, "persons"] = present
        questions[name, "alone"] = _conjunction(
            [present, *(tree.Not(_is_in(other)) for other in names if other != name)]
        )
        questions[name, "repeated"] = tree.Comparison(
            PersonValue.from_function(Function.COUNT, table=name), Operator.AT_LEAST, Literal(Kind.INTEGER, 2)
        )
        for register in registers:
            if register != name:
                questions[name, f"absent {register}"] = _conjunction([present, tree.Not(_is_in(register))])
    everybody, *counts = counting.count([tree.joined(tree.Or, map(_is_in, names)), *questions.values()])
    numbers = dict(zip(questions, counts, strict=True))
    checks = {
        name: PersonCheck(
            numbers[name, "persons"],
            numbers[name, "alone"],
            numbers[name, "repeated"],
            {register: numbers[name, f"absent {register}"] for register in registers if register != name},
        )
        for name in names
    }
    links = tuple(_check_link(tables, table, link, counting) for table in tables for link in table.links)
    joint = counting.run(_persons)
    return TablesCheck(everybody, checks, links, () if joint is None else joint.spellings)


def _persons(reading: Reading) -> Persons | None:
    """Return facts about the persons of all tables."""
    person = reading.records.person
    return None if person is None else persons_of((), person, reading.records, reading.rows)


def _is_in(table: str) -> Predicate:
    """Return the predicate that a person has a row in a table."""
    return tree.Flag(PersonValue.from_function(Function.ANY, table=table))


def _conjunction(predicates: Sequence[Predicate]) -> Predicate:
    return tree.joined(tree.And, predicates)


def _check_link(tables: Sequence[TableFacts], table: TableFacts, link: Link, counting: Counting) -> LinkCheck:
    """Count the rows that a link joins."""
    is_lookup = table.on is not None
    # A linked table leads to the table of its link; the table that a look-up explains leads to the look-up.
    name, column, target = (link.table, link.column, table.name) if is_lookup else (table.name, link.key, link.table)
    numbers = counting.read_row(lambda parts: link_statement(Joins(tables, parts), table, link))
    return LinkCheck(name, column, target, is_lookup, *map(int, numbers))


def link_statement(joins: Joins, table: TableFacts, link: Link) -> sa.Select[*tuple[Any, ...]]:
    """Return the statement that counts the rows of a link. Its columns have the order of the fields of `LinkCheck`."""
    if table.on is not None:
        rows, own = joins.table_alone(joins.table_named(link.table))
        _, explained = joins.table_alone(table)
        value, target = own[f"{link.table}.{link.column}"], explained[f"{table.name}.{link.key}"]
        person: Expression = target  # a look-up has no persons: each value leads to one explanation
    else:
        rows, own = joins.table_alone(table)
        _, person, reached = joins.rows(joins.table_named(link.table))
        value, target = own[f"{table.name}.{link.key}"], reached[f"{link.table}.{link.column}"]
    owners = (
        sa.select(target.label("k"), sa.func.count(sa.distinct(person)).label("persons"))
        .where(target.is_not(None))
        .group_by(target)
        .subquery("owners")
    )
    is_unmatched = sa.and_(value.is_not(None), owners.c.k.is_(None))
    is_shared = owners.c.persons > ONE

    def rows_where(condition: Expression) -> Expression:
        return sa.func.count(sa.case((condition, ONE)))

    def values_where(condition: Expression) -> Expression:
        return sa.func.count(sa.distinct(sa.case((condition, value))))

    return sa.select(
        sa.func.count(),
        rows_where(value.is_(None)),
        *(count(condition) for condition in (is_unmatched, is_shared) for count in (rows_where, values_where)),
    ).select_from(rows.outerjoin(owners, value == owners.c.k))
