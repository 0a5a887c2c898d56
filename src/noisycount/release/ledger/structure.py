"""Whether the file of a ledger is whole around its rows."""

from sqlalchemy import Connection

from noisycount.errors import LedgerError
from noisycount.release.ledger.table import LEDGER, REPLIES, RESTORE

__all__ = ["check_structure"]


def check_structure(connection: Connection, place: str) -> None:
    """Refuse a SQLite file whose pages, indexes or columns contradict each other or a ledger's.

    No hash covers them, and one byte of a page can hide the newest rows: the chain that is left is
    an intact one. A server looks after its files itself.

    Args:
        connection: To the ledger.
        place: What messages call the ledger.

    Raises:
        LedgerError: The file is damaged.
    """
    if connection.dialect.name != "sqlite":
        return
    if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
        raise LedgerError(f"{place} is damaged; {RESTORE}")
    for table in (LEDGER, REPLIES):
        kinds = {column.name: column.type.compile(connection.dialect) for column in table.columns}
        for _, name, kind, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table.name})"):
            if kinds.get(name) != kind:
                raise LedgerError(
                    f"{place} has a column {name!r} of {kind!r}, as no ledger has; {RESTORE}"
                )
