"""Opening of sources: the only module that imports engines, each of them when it is used."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from noisycount.engines.conformance.certificate import Certificate, EngineUnderTest, require_certified
from noisycount.engines.interface import CheckedSource
from noisycount.engines.places import LakePlace, ServedTable, ServerPlace
from noisycount.engines.table_facts import TableFacts
from noisycount.engines.tables import TablesSource
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError, install_hint

if TYPE_CHECKING:
    from noisycount.engines.duckdb.frames import FrameSource
    from noisycount.engines.duckdb.source import DuckDBSource
    from noisycount.engines.spark.source import SparkSource
    from noisycount.engines.sql.source import SqlSource


def file_engine() -> "type[DuckDBSource]":
    """Return the engine of files, folders and lakes."""
    from noisycount.engines.duckdb.source import DuckDBSource  # noqa: PLC0415 - on first use

    return DuckDBSource


def frame_engine() -> "type[FrameSource]":
    """Return the engine of tables in memory."""
    from noisycount.engines.duckdb.frames import FrameSource  # noqa: PLC0415 - on first use

    return FrameSource


def open_served_table(
    place: ServerPlace | LakePlace,
    *,
    uses_indexes: bool = False,
    certificates: Collection[Certificate] = (),
    claim: UnitClaim | None = None,
    **options: Any,  # noqa: ANN401 - those of all engines
) -> CheckedSource:
    """Open a table of a server, cluster or lake with an engine that passed the conformance suite.

    Args:
        place: The address and the table.
        uses_indexes: True if only matching records are read. This is faster, but the time reveals their number.
        certificates: The owner's certificates, for engines that this project does not test.
        claim: What the owner states about the rows of a view; None: its unit only.
        options: `unit`, `columns`, `seconds`, `kinds` and `session`, as for `SqlSource.open`.

    Raises:
        SourceError: If the table cannot be opened, or its engine has no certificate.
    """
    if isinstance(place, LakePlace):
        return file_engine().of_lake(place, **options)
    from noisycount.engines.conformance.suite import suite_hash  # noqa: PLC0415 - on first use

    source = _server_engine(place).open(place, uses_indexes=uses_indexes, claim=claim, **options)
    try:
        require_certified(place.shown, source.identity, suite_hash(), certificates)
    except SourceError:
        source.close()
        raise
    return source


def table_names(place: ServerPlace) -> list[str]:
    """Return the names of the tables of a server, in the schema of the account.

    Raises:
        SourceError: If the server cannot be read, or is a cluster, whose tables are not listed.
    """
    if place.is_cluster:
        raise SourceError(f"{place.shown!r} is a cluster, whose tables are not listed: name one behind a #")
    from noisycount.engines.sql.source import SqlSource  # noqa: PLC0415 - on first use

    return SqlSource.table_names(place)


def join_tables(server: ServedTable | None, facts: Sequence[TableFacts], **options: Any) -> TablesSource:  # noqa: ANN401
    """Open several tables of files, or of one server or cluster, together; see `tables.open_tables`."""
    if server is None:
        from noisycount.engines.duckdb.tables import join as join_files  # noqa: PLC0415 - on first use

        return join_files(facts, **options)
    if isinstance(server.place, ServerPlace) and server.place.is_cluster:
        from noisycount.engines.spark.tables import join as join_on_cluster  # noqa: PLC0415 - on first use

        return join_on_cluster(server, facts, **options)
    from noisycount.engines.sql.tables import join as join_on_server  # noqa: PLC0415 - on first use

    return join_on_server(server, facts, **options)


def relation_identities(place: ServerPlace | LakePlace, public_tables: Sequence[str] = ()) -> tuple[str, ...]:
    """Return an identity of a table that is equal at every address, then those of tables whose records it shares.

    Return () if the server has no such identity.

    Args:
        place: The address and the table.
        public_tables: Tables and views without private records, which any two views may share.
    """
    if isinstance(place, LakePlace) or place.engine != "postgresql":
        return ()
    from noisycount.engines.sql.source import SqlSource  # noqa: PLC0415 - on first use

    return SqlSource.relation_identities(place, public_tables)


def engine_under_test(place: ServerPlace | None) -> EngineUnderTest:
    """Return an engine for the conformance suite: that of a server or cluster, or for None that of files.

    The table that the place names is not read.
    """
    if place is None:
        from noisycount.engines.duckdb.under_test import DuckDBUnderTest  # noqa: PLC0415 - on first use

        return DuckDBUnderTest()
    if place.is_cluster:
        from noisycount.engines.spark.under_test import SparkUnderTest  # noqa: PLC0415 - on first use

        return SparkUnderTest(place.url)
    from noisycount.engines.sql.under_test import ServerUnderTest  # noqa: PLC0415 - on first use

    return ServerUnderTest(place.url)


def _server_engine(place: ServerPlace) -> "type[SqlSource | SparkSource]":
    """Return the engine of a server. Its driver is imported when a table is opened."""
    if not place.is_cluster:
        from noisycount.engines.sql.source import SqlSource  # noqa: PLC0415 - on first use

        return SqlSource
    try:
        from noisycount.engines.spark.source import SparkSource  # noqa: PLC0415 - on first use
    except ImportError:
        raise SourceError(
            f"{place.shown!r} is counted by Spark, and a part of Spark is missing: {install_hint('spark')}"
        ) from None
    return SparkSource
