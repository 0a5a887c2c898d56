"""The reading of a published table, wherever it is."""

from contextlib import ExitStack
from dataclasses import dataclass

from noisycount.app.config.config import Config
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.census import census_table
from noisycount.app.refine.tables.own_json import own_json
from noisycount.app.refine.tables.published import PublishedTable
from noisycount.app.refine.tables.rows_file import rows_table
from noisycount.app.refine.tables.stored.table import stored_table
from noisycount.app.refine.tables.wikimedia import is_wikimedia, wikimedia_table
from noisycount.errors import NoisyCountError, SourceError
from noisycount.release.sources.duckdb.noisy_measurements import has_measurements
from noisycount.release.sources.duckdb.public_table import PublicTable

__all__ = ["OpenedTable", "opened_table"]

_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """A published table, and the file that it is a part of.

    Attributes:
        published: The table.
        rows: The file, where its other columns are kept; None: it has none.
    """

    published: PublishedTable
    rows: PublicTable | None = None


def opened_table(asked: AskedTable, configuration: Config, opened: ExitStack) -> OpenedTable:
    """The table that was asked for.

    Args:
        asked: Where it is, and what is known of it.
        configuration: Where the ledger is.
        opened: What closes its file.

    Raises:
        NoisyCountError: It cannot be read, or something that it needs is missing.
    """
    if asked.file is None:
        return OpenedTable(_stored(asked, configuration))
    if not asked.file.is_file():
        raise SourceError(f"there is no file {str(asked.file)!r}: check the name")
    ending = asked.file.suffix.lower()
    if ending == ".json":
        return OpenedTable(own_json(asked, asked.file))
    if ending in _PARQUET and not asked.by and has_measurements(asked.file):
        return OpenedTable(census_table(asked, asked.file))
    if not asked.by and is_wikimedia(asked.file):
        return OpenedTable(wikimedia_table(asked, asked.file))
    rows = opened.enter_context(PublicTable.open(asked.file))
    return OpenedTable(rows_table(asked, rows), rows)


def _stored(asked: AskedTable, configuration: Config) -> PublishedTable:
    """The table of the ledger, which tells its noise."""
    if asked.noises:
        raise NoisyCountError(
            f"{asked.place}: the ledger knows the noise: leave --epsilon, --noise and --scale out"
        )
    return stored_table(asked.key or "", asked.source, configuration)
