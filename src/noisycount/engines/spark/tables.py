"""Several tables of one Spark cluster, which the cluster joins and counts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from noisycount.engines import tables as joined
from noisycount.engines.counting import Part
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.spark.connection import Api, Session
from noisycount.engines.spark.source import SparkCounting, SparkReading, SparkSource
from noisycount.engines.table_facts import TableFacts
from noisycount.engines.tables import TablesSource
from noisycount.query.schema import Schema

# This rule of Spark 4.3 makes invalid plans of unions whose branches join one view twice.
_WITHOUT_ALIASES = (
    "spark.sql.optimizer.excludedRules",
    "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases",
)


def join(server: ServedTable, tables: Sequence[TableFacts], *, schema: Schema, **options: Any) -> TablesSource:  # noqa: ANN401 - of `open_tables`
    """Open several tables of a cluster, and return the source that counts them together; see `sql.tables.join`."""
    if not isinstance(server.place, ServerPlace):
        raise TypeError(f"server must be a place of a cluster, got {server.place}")
    session = Session.open(server.place.url, server.place.shown)

    def make_counting(sources: Mapping[str, SparkSource]) -> SparkCounting:
        session.run(lambda: session.api.session.conf.set(*_WITHOUT_ALIASES), None)
        return SparkCounting(session, server.seconds, lambda: _open_tables(session.api, tables, sources, schema))

    return joined.open_tables(session, tables, make_counting, schema=schema, **options)


def _open_tables(
    api: Api, tables: Sequence[TableFacts], sources: Mapping[str, SparkSource], schema: Schema
) -> AbstractContextManager[SparkReading]:
    """Read the present version of all tables, and return a context manager that opens and joins these versions.

    The context manager yields the joined records, ready to be counted. All counts within it see the same records.
    """
    views = {name: source.read_view() for name, source in sources.items()}

    @contextmanager
    def join_views() -> Iterator[SparkReading]:
        with ExitStack() as stack:
            parts = {name: Part(stack.enter_context(view), sources[name].schema.kinds) for name, view in views.items()}
            yield SparkReading(joined.joined_records(tables, parts, schema.kinds), api, parts)

    return join_views()
