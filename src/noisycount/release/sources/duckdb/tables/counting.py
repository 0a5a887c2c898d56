"""The tables of an open source: their counts, and nothing of the engine's errors."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.release.question.keys import CellQuestion, KeyCounts, KeyQuestion
from noisycount.release.sources.duckdb.failures import without_engine_errors
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.statements import Statements, limited
from noisycount.release.sources.duckdb.tables.cell_counts import cell_counts
from noisycount.release.sources.duckdb.tables.key_counts import key_counts_sql
from noisycount.release.sources.duckdb.tables.ranges import list_edges
from noisycount.release.sources.duckdb.tables.units import Person

__all__ = ["TableCounting"]

_BATCH = 50_000  # groups, each of which takes some hundred bytes of Python


@dataclass(frozen=True, slots=True)
class TableCounting:
    """How the tables of a source are counted.

    Attributes:
        opened: A cursor that has the view ``records``.
        require_open: Refuses a source that is closed.
        require_unchanged: Refuses one whose records may have changed.
        person: The column that names the person, or None where every record is one unit.
        seconds: After which a count is given up; None: never.
        refusal: What is said where the engine fails.
    """

    opened: Callable[[], AbstractContextManager[Connection]]
    require_open: Callable[[], None]
    require_unchanged: Callable[[], None]
    person: Person | None
    seconds: float | None
    refusal: str

    def cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        """The counts of listed cells; see ``Source.count_cells``."""

        def counted() -> list[NDArray[np.int64]]:
            with self.opened() as cursor, limited(cursor, self.seconds):
                return cell_counts(Statements(cursor, self.require_open), question, self.person)

        counts = without_engine_errors(counted, self.refusal)
        self.require_unchanged()
        return counts

    def keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        """The groups that have units; see ``Source.count_keys``."""
        query = key_counts_sql(question, self.person)
        with self.opened() as cursor:
            statements = Statements(cursor, self.require_open)

            def answered() -> None:
                with limited(cursor, self.seconds):
                    list_edges(statements, question.parts)
                    statements.run(query)

            def batch() -> list[Any]:
                self.require_open()
                with limited(cursor, self.seconds):
                    return cursor.fetchmany(_BATCH)

            without_engine_errors(answered, self.refusal)
            while rows := without_engine_errors(batch, self.refusal):
                yield _key_counts(rows)
        self.require_unchanged()


def _key_counts(rows: list[Any]) -> KeyCounts:
    """Rows of keys with a count as their last cell."""
    counts = np.array([row[-1] for row in rows], np.int64)
    return KeyCounts([row[:-1] for row in rows], counts)
