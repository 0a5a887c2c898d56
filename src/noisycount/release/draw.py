"""The noisy counts of a table: the only callers of a source for tables.

Which columns of a question have cells that could not be read.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.interface import Source
from noisycount.errors import SourceError
from noisycount.ledger.entries import TableAnswer
from noisycount.query.grouping import MOST_CELLS, CellQuestion, KeyQuestion
from noisycount.query.key_sets import written_key
from noisycount.query.predicate import Column, Constant, Predicate
from noisycount.release.plan import LevelPlan, TablePlan

__all__ = ["drawn_cells", "drawn_counts", "drawn_keys", "unreadable_as_missing"]


def drawn_cells(source: Source, question: CellQuestion, plan: TablePlan) -> TableAnswer:
    """The noisy counts of every level of a table whose keys are known."""
    counts = source.count_cells(question)
    return TableAnswer.of(
        [_noisy(each, level) for each, level in zip(counts, plan.levels, strict=True)]
    )


def drawn_counts(source: Source, predicates: Sequence[Predicate], plan: TablePlan) -> TableAnswer:
    """The noisy counts of several questions."""
    counts = np.array(source.count(predicates), dtype=np.int64)
    return TableAnswer.of([_noisy(counts, plan.levels[0])])


def drawn_keys(source: Source, question: KeyQuestion, plan: TablePlan) -> TableAnswer:
    """The noisy counts that reach the threshold, with their keys in order, and the total.

    Raises:
        SourceError: More keys reach it than a table has cells.
    """
    assert plan.threshold is not None  # noqa: S101 - the plan of hidden keys has one
    found = []
    for batch in source.count_keys(question):
        noisy = _noisy(batch.counts, plan.levels[0])
        shown = np.flatnonzero(noisy >= plan.threshold).tolist()
        found += [(batch.keys[place], int(noisy[place])) for place in shown]
        if len(found) > MOST_CELLS:
            raise SourceError(f"more than {MOST_CELLS:,} keys are shown: group by fewer columns")
    found.sort(key=lambda row: [(key is None, 0 if key is None else key) for key in row[0]])
    levels = [np.array([count for _, count in found], dtype=np.int64)]
    if len(plan.levels) > 1:
        total = source.count([question.where or Constant(value=True)])
        levels.append(_noisy(np.array(total, dtype=np.int64), plan.levels[1]))
    return TableAnswer.of(levels, [[written_key(key) for key in keys] for keys, _ in found])


def _noisy(counts: NDArray[np.int64], level: LevelPlan) -> NDArray[np.int64]:
    """True counts with independent exact noise."""
    return counts + level.mechanism.samples(len(counts))


def unreadable_as_missing(read: Iterable[Column], source: Source) -> tuple[str, ...]:
    """The columns of a question whose cells, where they could not be read, count as missing.

    Args:
        read: The columns that the question reads.
        source: The records.
    """
    names = {column.name for column in read} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)
