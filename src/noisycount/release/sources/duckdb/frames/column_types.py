"""The types of the columns of a table in memory, and what is looked at before it is counted."""
# ruff: noqa: S608, as all SQL here is made of names that it quotes

from collections.abc import Sequence

import duckdb

from noisycount.errors import SourceError
from noisycount.release.sources.duckdb.frames.snapshot import FRAME, Snapshot
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.duckdb.view import column_types, require_units

__all__ = ["frame_types", "require_readable_cells"]

_ZONED = ("timestamp with time zone", "timestamptz_ns")  # DuckDB may fail to read cells of these
_UNREADABLE = "type that is not read"


def frame_types(snapshot: Snapshot, connection: Connection) -> dict[str, str]:
    """The type of each column as DuckDB names it, also of those that it does not read."""
    found: dict[str, str] = {}
    for names in snapshot.parts:
        found |= _types_of(names, snapshot, connection)
    return {name: found[name] for name in snapshot.names}


def _types_of(names: Sequence[str], snapshot: Snapshot, connection: Connection) -> dict[str, str]:
    """The types of some columns; if one cannot be read, halves of them are tried."""
    try:
        snapshot.attach(connection, names)
        return column_types(connection, FRAME)
    except duckdb.Error:
        if len(names) == 1:
            return {names[0]: _UNREADABLE}
    middle = len(names) // 2
    return _types_of(names[:middle], snapshot, connection) | _types_of(
        names[middle:], snapshot, connection
    )


def require_readable_cells(
    snapshot: Snapshot, connection: Connection, types: dict[str, str], unit: str | None
) -> None:
    """The refusal of cells that cannot be read, and of records without a unit."""
    zoned = [name for name, type_ in types.items() if type_ in _ZONED]
    try:
        if zoned:
            snapshot.attach(connection, zoned)
            latest = ", ".join(f"max({quoted_name(name)})" for name in zoned)
            connection.execute(f"SELECT {latest} FROM {FRAME}")
        if unit is not None:
            snapshot.attach(connection, [unit])
            require_units(connection, FRAME, unit)
    except duckdb.Error:
        columns_ = ", ".join(map(repr, [*zoned, *([unit] if unit else [])]))
        message = f"frame has cells in {columns_} that cannot be read: convert them"
    else:
        return
    raise SourceError(message)
