"""The one place that opens engines: which one reads a source, imported only when it does."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from noisycount.engines.conformance.certificate import Certificate, EngineUnderTest, require_certified
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource
from noisycount.engines.places import LakePlace, ServerPlace
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import SourceError, install_hint

if TYPE_CHECKING:
    from noisycount.engines.duckdb.frames import FrameSource
    from noisycount.engines.duckdb.source import DuckDBSource
    from noisycount.engines.spark.source import SparkSource
    from noisycount.engines.sql.source import SqlSource


def files() -> "type[DuckDBSource]":
    """The engine of files, folders and lakes: its `found`, `of_copy`, `of_lake` and `checked`."""
    from noisycount.engines.duckdb.source import DuckDBSource  # noqa: PLC0415 - on first use

    return DuckDBSource


def frames() -> "type[FrameSource]":
    """The engine of tables in memory: its `open`."""
    from noisycount.engines.duckdb.frames import FrameSource  # noqa: PLC0415 - on first use

    return FrameSource


def served(  # noqa: PLR0913 - one argument a property of the records
    place: ServerPlace | LakePlace,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    seconds: float | None = None,
    uses_indexes: bool = False,
    certificates: Collection[Certificate] = (),
    claim: UnitClaim | None = None,
    kinds: Mapping[str, ColumnFormat] | None = None,
) -> CheckedSource:
    """The records of a table of a server or a cluster, by an engine that was tested.

    `seconds`: after which a count is given up; None: when the server gives it up. `uses_indexes`: whether only records
    that match are read, which is faster, and whose time tells how many they are. `certificates`: those that the owner
    has, for engines that no test of ours is made with. `claim`: what the owner states about the rows of a view; None:
    the unit alone. `kinds`: the columns in which NaN is missing.
    """
    if isinstance(place, LakePlace):
        return files().of_lake(place, unit=unit, columns=columns, seconds=seconds, kinds=kinds)
    from noisycount.engines.conformance.suite import suite_hash  # noqa: PLC0415 - on first use

    claim = claim or UnitClaim(unit)
    source = _server_engine(place).open(
        place, unit=unit, columns=columns, seconds=seconds, uses_indexes=uses_indexes, claim=claim, kinds=kinds
    )
    try:
        require_certified(place.shown, source.identity, suite_hash(), certificates)
    except SourceError:
        source.close()
        raise
    return source


def relation_identities(place: ServerPlace | LakePlace, public_tables: Sequence[str] = ()) -> tuple[str, ...]:
    """Return what identifies a table by whatever address, then the tables whose records it shares; () if unknown.

    `public_tables`: tables and views without private records, which any two views may share.
    """
    if isinstance(place, LakePlace) or place.engine != "postgresql":
        return ()
    from noisycount.engines.sql.source import SqlSource  # noqa: PLC0415 - on first use

    return SqlSource.relation_identities(place, public_tables)


def engine_under_test(place: ServerPlace | None) -> EngineUnderTest:
    """What tests an engine, on tables of made-up records.

    `place`: a table of the server or cluster, which is not touched; None: the engine of files.
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
    """The engine of a server; its driver is imported when it is opened."""
    if not place.is_cluster:
        from noisycount.engines.sql.source import SqlSource  # noqa: PLC0415 - on first use

        return SqlSource
    try:
        from noisycount.engines.spark.source import SparkSource  # noqa: PLC0415 - on first use
    except ImportError:
        raise SourceError(
            f"{place.shown!r} is counted by Spark, of which a part is missing: {install_hint('spark')}"
        ) from None
    return SparkSource
