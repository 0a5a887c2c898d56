"""A connection that holds private records: nothing is read, written or loaded beside them."""

import duckdb

from noisycount.release.sources.duckdb.paths import Connection

__all__ = ["lock", "private_connection"]

# Statistics and pushed-down filters would let the time of a count tell which values occur.
_LOCKS = (
    "disabled_optimizers = 'statistics_propagation,filter_pushdown'",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "python_enable_replacements = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


def private_connection() -> Connection:
    """A connection whose tables stay in memory.

    Nothing private may spill to a disk, where it would stay after a kill.
    """
    return duckdb.connect(":memory:", config={"temp_directory": ""})


def lock(connection: Connection) -> None:
    """The end of all access of a connection to anything but what it has open."""
    for setting in _LOCKS:
        connection.execute(f"SET {setting}")
