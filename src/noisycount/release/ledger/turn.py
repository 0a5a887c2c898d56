"""The turn of a writer at a PostgreSQL ledger: one writes, a few read on and are ready."""

import secrets
from collections.abc import Callable

from sqlalchemy import Connection

__all__ = ["LOCK", "take_turn"]

LOCK = 0x6E6F697379636E74
"""Whoever writes to a ledger of a PostgreSQL database holds this lock."""

_ROOM = 0x6E6F6973  # the rooms' locks are pairs of it and a room's number
_ROOMS = 8


def take_turn(connection: Connection, read_on: Callable[[], object]) -> None:
    """Wait until nobody else writes; a writer of SQLite has waited as its transaction began.

    Who finds the ledger busy waits for one of a few rooms, and there reads what all who were ahead
    have written; under the lock there is so no more to read than the rows of a few. The lock alone
    keeps two writers apart: nothing is decided by what was read before it.

    Args:
        connection: In a transaction, at whose end the lock is given back.
        read_on: Reads what was written since it was called last.
    """
    if connection.dialect.name != "postgresql" or _is_free(connection):
        return
    _wait(connection, f"{_ROOM}, {secrets.randbelow(_ROOMS)}")
    with connection.begin_nested() as reading:
        read_on()
        reading.rollback()  # else whoever adds columns would wait for us, and we for them
    _wait(connection, f"{LOCK}")


def _is_free(connection: Connection) -> bool:
    """Whether nobody writes or waits; then the lock is taken."""
    taken = connection.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({LOCK})")
    return bool(taken.scalar_one())


def _wait(connection: Connection, lock: str) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")
