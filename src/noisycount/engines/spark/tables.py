"""Several tables of one Spark cluster, which the cluster joins and counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeAlias

import sqlalchemy as sa

from noisycount.engines import tables as joined
from noisycount.engines.expressions import StatementRecords
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.spark.connection import Session
from noisycount.engines.spark.source import SparkCounting, SparkSource, ViewOpener
from noisycount.engines.table_facts import TableFacts
from noisycount.engines.tables import Part, TablesSource
from noisycount.query.schema import Schema

# This rule of Spark 4.3 makes invalid plans of unions whose branches join one view twice.
_WITHOUT_ALIASES = (
    "spark.sql.optimizer.excludedRules",
    "org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases",
)


def join(  # noqa: PLR0913 - one argument a property of the tables
    server: ServedTable,
    tables: Sequence[TableFacts],
    *,
    openers: Mapping[str, Callable[[Session], SparkSource]],
    schema: Schema,
    unit: str,
    persons: str | None,
) -> TablesSource:
    """Open several tables of a cluster, and return the source that counts them together.

    The arguments are those of `sql.tables.join`.
    """
    if not isinstance(server.place, ServerPlace):
        raise TypeError(f"server must be a place of a cluster, got {server.place}")
    session = Session.open(server.place.url, server.place.shown)
    try:
        session.run(lambda: session.api.session.conf.set(*_WITHOUT_ALIASES), None)
        sources = {name: open_table(session) for name, open_table in openers.items()}
        counting = SparkCounting(session, server.seconds, lambda: _read_view(tables, sources, schema))

        def read_row(write_statement: Callable[[Mapping[str, Part]], sa.Select[*tuple[Any, ...]]]) -> Sequence[int]:
            open_parts = _read_parts(sources)

            def run_on_views() -> Sequence[int]:
                with open_parts() as parts:
                    return counting.row(write_statement(parts))

            return session.run(run_on_views, server.seconds)

        joined.require_single_keys(tables, read_row)
    except BaseException:
        session.close()
        raise
    functions = joined.JoinedCounting(counting.counts, counting.cells, counting.keys, read_row)
    return TablesSource(tables, sources, schema, unit, persons, functions)


PartsOpener: TypeAlias = Callable[[], AbstractContextManager[dict[str, Part]]]
"""A function that makes views of all tables in the session for the time of a context."""


def _read_parts(sources: Mapping[str, SparkSource]) -> PartsOpener:
    """Read the present state of all tables, and return the function that makes a view of each."""
    openers = {name: source.read_view() for name, source in sources.items()}

    @contextmanager
    def open_parts() -> Iterator[dict[str, Part]]:
        with ExitStack() as stack:
            yield {
                name: Part(stack.enter_context(open_view()), sources[name].schema.kinds)
                for name, open_view in openers.items()
            }

    return open_parts


def _read_view(tables: Sequence[TableFacts], sources: Mapping[str, SparkSource], schema: Schema) -> ViewOpener:
    """Read the present state of all tables, and return the function that joins views of them."""
    open_parts = _read_parts(sources)

    @contextmanager
    def open_records() -> Iterator[StatementRecords]:
        with open_parts() as parts:
            yield joined.joined_records(tables, parts, schema.kinds)

    return open_records
