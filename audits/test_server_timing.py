"""A person's records on a PostgreSQL server, told from the time of replies."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from tests.helpers.postgresql import Server, postgresql

from audits.test_timing import PRICE, Desks, asked_for_a_count, asked_for_a_table, told
from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.reply_tick import ReplyTick

__all__ = ["postgresql"]

NUMBERS = count()
PAIRS = 400
BY_CHANCE = 0.58  # of 400 guesses; more are right by chance in less than 1 case of 1,000
SLOT, TABLE_SLOT = ReplyTick(0.2), ReplyTick(0.4)
OTHERS = 20_000
RECORDS = """
    CREATE TABLE {name} AS
    SELECT CASE WHEN i < {records} THEN {owner} ELSE i + 1000 END AS owner,
           CASE WHEN i < {records} THEN repeat('ab', 1000) || i ELSE 'x' END AS note
    FROM generate_series(0, {others} - 1) AS numbers(i)
"""
FEW_RECORDS = {"one record": 1, "a thousand records": 1000}

Opened = Callable[..., Desks]


@pytest.fixture
def desks(postgresql: Server, tmp_path: Path) -> Iterator[Opened]:
    """Give the desks of two tables of 20,000 records: in one of them person 7 has some.

    In the other table these are person 8's, so that the tables are of one size.
    """
    with ExitStack() as stack:

        def opened(slot: ReplyTick | None, records: int = 1000, *, uses_indexes: bool = False) -> Desks:
            found = []
            for owner in (7, 8):
                name = f"timed_{next(NUMBERS)}"
                with postgresql.shell("postgres") as shell:
                    shell.execute(RECORDS.format(name=name, owner=owner, records=records, others=OTHERS).encode())
                    shell.execute(f"CREATE INDEX ON {name} (owner)".encode())
                    shell.execute(f"VACUUM ANALYZE {name}".encode())
                place = ServerPlace.read(f"{postgresql.url('postgres')}#{name}")
                source = stack.enter_context(open_served_table(place, uses_indexes=uses_indexes))
                ledger = stack.enter_context(Ledger.open(f"sqlite:///{tmp_path}/{name}.db"))
                found.append(Desk(source, ledger, Dataset("survey", Fraction(1)), slot))
            return found[0], found[1]

        yield opened


@pytest.mark.parametrize("slot", [None, SLOT], ids=["at once", "slot"])
def test_the_time_of_replies_tells_no_person_through_the_slot(
    slot: ReplyTick | None, desks: Opened, tell: Callable[[str], None]
) -> None:
    """A guess from the time is right in at most 58 % of cases; what it is at once is told."""
    right, line = told(asked_for_a_count, desks(slot), slot, PAIRS)
    tell(f"PostgreSQL, replies with a count, {line}")
    assert slot is None or right <= BY_CHANCE


@pytest.mark.parametrize("slot", [None, TABLE_SLOT], ids=["at once", "slot"])
def test_the_time_of_tables_tells_no_person_through_the_slot(
    slot: ReplyTick | None, desks: Opened, tell: Callable[[str], None]
) -> None:
    """Through the slot the time is guessed right no more often than by chance."""
    right, line = told(asked_for_a_table, desks(slot), slot, PAIRS)
    tell(f"PostgreSQL, replies with a table, {line}")
    assert slot is None or right <= BY_CHANCE


@pytest.mark.parametrize("records", FEW_RECORDS)
@pytest.mark.parametrize(
    ("slot", "uses_indexes"),
    [(None, False), (None, True), (SLOT, True)],
    ids=["all records", "indexes", "indexes and a slot"],
)
def test_the_time_of_an_index_tells_that_records_exist_but_through_the_slot(
    slot: ReplyTick | None, records: str, desks: Opened, tell: Callable[[str], None], *, uses_indexes: bool
) -> None:
    """With `indexes` the time shows that a person exists, except through the slot."""
    numbers = count()

    def asked(desk: Desk, _: str) -> None:
        desk.release(f"owner = 7 and note != '{next(numbers)}'", PRICE)

    found = desks(slot, FEW_RECORDS[records], uses_indexes=uses_indexes)
    right, line = told(asked, found, slot, PAIRS)
    how = "only records that match" if uses_indexes else "all records"
    tell(f"PostgreSQL, {how} read, {records} or none, {line}")
    assert slot is None or right <= BY_CHANCE
