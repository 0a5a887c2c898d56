"""A published table refined: every count given all answers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noisycount.analysis.tables.table_estimates import TablePosterior
from noisycount.analysis.tables.table_posterior import table_posterior_of
from noisycount.app.refine.tables.asked import AskedTable
from noisycount.app.refine.tables.drawn import SEED, number_of_draws, ranks, shares
from noisycount.app.refine.tables.estimates import Estimates, Spread
from noisycount.app.refine.tables.nested import Nested, PlacedLevel, nested
from noisycount.app.refine.tables.published import PublishedTable, Rows
from noisycount.app.refine.tables.selected import selected_estimates
from noisycount.app.terminal.progress import Done
from noisycount.errors import NoisyCountError
from noisycount.model.below import below
from noisycount.model.laws.expansion import Reals
from noisycount.model.tables.splits import Splits

__all__ = ["RefinedTable", "refined_table"]

_TOLD = 0.95  # the level of the intervals that a posterior tells of all nodes


@dataclass(frozen=True, slots=True)
class RefinedTable:
    """A published table with the estimates of its rows.

    Attributes:
        published: The table.
        estimates: Of its rows.
        level: The probability of each interval.
        nested: The tree of its levels; None: each row was refined by itself.
        told: The law of the whole table; None: the same.
        draws: How many tables shares and ranks come from; 0: neither was asked for.
    """

    published: PublishedTable
    estimates: Estimates
    level: float
    nested: Nested | None = None
    told: TablePosterior | None = None
    draws: int = 0


def refined_table(asked: AskedTable, table: PublishedTable, done: Done) -> RefinedTable:
    """A table with the estimates that were asked for.

    Args:
        asked: What is known of the table, and what is to be told.
        table: Its answers.
        done: Told from time to time which share of the work is done.

    Raises:
        NoisyCountError: What was asked cannot be told of such a table.
        ValueError: No table can give these answers.
    """
    if table.is_selected:
        _check_selected(asked)
        return RefinedTable(table, selected_estimates(table, asked.level), asked.level)
    tree = nested(table)
    prior = None if asked.concentration is None else Splits(asked.concentration)
    told = table_posterior_of(
        {level.depth: _answers(table, level, tree) for level in tree.levels},
        {level.depth: level.published.mechanism for level in tree.levels},
        tree=tree.tree,
        total=asked.total,
        prior=prior,
    )
    done(0.7)
    estimates = _estimates(table, tree, told, asked.level)
    done(0.8)
    refined = RefinedTable(table, estimates, asked.level, tree, told)
    return _drawn(asked, refined, told) if asked.has_shares or asked.has_ranks else refined


def _check_selected(asked: AskedTable) -> None:
    """The refusal of what only a whole table tells."""
    for option, is_given in (
        ("--total", asked.total is not None),
        ("--shares", asked.has_shares),
        ("--ranks", asked.has_ranks),
        ("--prior", asked.concentration is not None or asked.is_learned),
    ):
        if is_given:
            raise NoisyCountError(
                f"{asked.place} has only answers from a threshold on, which say nothing of the "
                f"others: leave {option} out"
            )


def _answers(table: PublishedTable, level: PlacedLevel, tree: Nested) -> Any:  # noqa: ANN401 - numbers and suppressed ones
    """The answers of a level in the order of its nodes."""
    rows = level.published.rows
    size = tree.tree.sizes[level.depth]
    answers = np.full(size, np.nan)
    answers[level.places] = table.answers[rows]
    limits = np.full(size, np.nan)
    limits[level.places] = table.below[rows]
    suppressed = np.flatnonzero(~np.isnan(limits)).tolist()
    if not suppressed:
        return answers
    mixed: list[Any] = answers.tolist()
    for place in suppressed:
        mixed[place] = below(float(limits[place]))
    return mixed


def _estimates(
    table: PublishedTable, tree: Nested, told: TablePosterior, level: float
) -> Estimates:
    """What is told of each row whose level is in the tree."""
    estimates = Estimates.empty(len(table.answers))
    for placed in tree.levels:
        nodes = told.level(placed.depth)
        columns = {name: getattr(nodes, name)[placed.places] for name in ("mean", "median")}
        if level == _TOLD:
            ends = np.stack([nodes.low[placed.places], nodes.high[placed.places]])
        else:
            ends = _intervals(told, placed, level)
        estimates.tell(placed.published.rows, {**columns, "low": ends[0], "high": ends[1]})
    return estimates


def _intervals(told: TablePosterior, placed: PlacedLevel, level: float) -> Rows:
    """The ends of the intervals of another level, shape (2, rows)."""
    found = [told.node((placed.depth, place)).interval(level) for place in placed.places.tolist()]
    return np.array(found, dtype=np.int64).T


def _drawn(asked: AskedTable, refined: RefinedTable, told: TablePosterior) -> RefinedTable:
    """The same with shares and ranks of the cells."""
    table = refined.published
    number = number_of_draws(len(table.cells.rows))
    tables = told.draws(number, random_state=SEED)
    wide = [
        _spread_out(of(tables, asked.level), table, empty) if is_asked else None
        for of, empty, is_asked in ((shares, np.nan, asked.has_shares), (ranks, 0, asked.has_ranks))
    ]
    estimates = replace(refined.estimates, shares=wide[0], ranks=wide[1])
    return replace(refined, estimates=estimates, draws=number)


def _spread_out(found: Spread, table: PublishedTable, empty: float) -> Spread:
    """What is told of the cells as columns of all rows."""

    def wide(values: Reals | Rows) -> Reals | Rows:
        column = np.empty_like(values, shape=len(table.answers))
        column[:] = empty
        column[table.cells.rows] = values
        return column

    return Spread(wide(found.middle), wide(found.low), wide(found.high))
