"""The turn of a writer at a PostgreSQL ledger."""

from sqlalchemy import Connection

__all__ = ["LOCK", "take_turn"]

LOCK = 0x6E6F697379636E74
"""Whoever writes to a ledger of a PostgreSQL database holds this lock."""


def take_turn(connection: Connection) -> None:
    """Wait until nobody else writes; a writer of SQLite has waited as its transaction began.

    The server lets those who wait have their turns in the order in which they came.

    Args:
        connection: In a transaction, at whose end the lock is given back.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
