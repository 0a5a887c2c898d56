"""What a data set's owner writes of a table of a server, or of files on an object store."""

from noisycount.app.config.forms import FILE_KEYS
from noisycount.app.config.toml_table import TomlTable
from noisycount.errors import ConfigError, SourceError
from noisycount.release.ledger.arguments import check_text
from noisycount.release.register.served_table import SECONDS, ServedTable
from noisycount.release.sources.lakes import LakePlace, is_lake
from noisycount.release.sources.servers import ServerPlace

__all__ = ["SERVER_KEYS", "require_no_server", "served_in"]

SERVER_KEYS = ("timeout", "indexes", "edition")
"""What is said of a table of a server alone."""

_OF_FILES = {
    "table": "of a server stands behind the # of its address",
    "kinds": "are those of the server's columns",
    **dict.fromkeys(FILE_KEYS, "is of a file"),
}
_NOT_OF_LAKES = {
    "table": "is of a database, and Parquet files are one",
    "kinds": "are those that Parquet files state",
    "indexes": "are of servers, and Parquet files have none",
    **dict.fromkeys(FILE_KEYS, "is of a file of texts"),
}


def served_in(table: TomlTable, source: str) -> ServedTable:
    """The table of a server, or the lake, that a data set is, with what is said of counting it.

    Args:
        table: Of the configuration.
        source: The address.

    Raises:
        ConfigError: The address cannot be used, or something is said that does not fit it.
    """
    is_of_lake = is_lake(source)
    for key, why in (_NOT_OF_LAKES if is_of_lake else _OF_FILES).items():
        if key in table.values:
            raise table.refusal(key, f"{why}: leave {key} out")
    try:
        place = LakePlace.read(source) if is_of_lake else ServerPlace.read(source)
    except SourceError as error:
        raise ConfigError(f"{table.path}: [{table.name}] source: {error}") from None
    return ServedTable(
        place,
        edition=_edition(table),
        seconds=table.seconds("timeout") or SECONDS,
        uses_indexes=table.truth("indexes") or False,
    )


def require_no_server(table: TomlTable) -> None:
    """The refusal of what is said of a file, and fits a server alone.

    Raises:
        ConfigError: It is.
    """
    for key in SERVER_KEYS:
        if key in table.values:
            raise table.refusal(key, f"is of a table of a server: leave {key} out")


def _edition(table: TomlTable) -> str | None:
    """What the records are called as they are now."""
    edition = table.text("edition")
    try:
        if edition is not None:
            check_text("edition", edition)
    except ValueError as error:
        raise ConfigError(f"{table.path}: [{table.name}] {error}") from None
    return edition
