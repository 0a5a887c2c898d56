"""Estimates of every count of a published table from all its answers, with shares and ranks from exact draws.

Some tables hold only answers above a threshold. Publication then depends on the answer alone, so the posterior
distribution of a count given its answer is the same as if all answers were published, for any prior. However, a prior
learned from large answers alone would be wrong, as it never sees the small counts. In such a table all counts are
therefore equally likely before the answers, and each row is refined by itself.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.posterior.law import shortest_interval
from noisycount.analysis.tables.table_posterior import TablePosterior, solve_table
from noisycount.display.output import Done
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.exact import below
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.tables.splits import Splits
from noisycount.tasks.refine.published import NestedTable, PlacedLevel, PublishedTable, RefineQuery, nested_levels

Counts = NDArray[np.int64]
# Columns by name, each of shape (rows,), masked if the value is unknown: `mean`, the expected count, in records;
# `median`, the smallest count k with P[K <= k] >= 1/2; `low` and `high`, the ends of the interval; and, if requested,
# for cells `share` in the total and `rank`, 1 for the largest, each with its own `_low` and `_high`.
Estimates = dict[str, np.ma.MaskedArray[Any, Any]]


def _masked_column(rows: int, kind: Any) -> np.ma.MaskedArray[Any, Any]:  # noqa: ANN401 - of a number
    """Return a masked column: no value is known yet."""
    return np.ma.array(np.zeros(rows, kind), mask=True)


def _unknown_estimates(rows: int) -> Estimates:
    """Return the columns of estimates of a table with `rows` rows, all masked."""
    return {
        "mean": _masked_column(rows, np.float64),
        **{name: _masked_column(rows, np.int64) for name in ("median", "low", "high")},
    }


SEED = 1  # fixed, so that the same table has the same estimates again
_MOST, _FEWEST = 10_000, 100
_NUMBERS = 10_000_000  # approximate number of counts in all draws together, between the limits of the number of draws
_BLOCK = 1_000_000  # number of counts that are processed together


def shares(tables: Counts, level: float) -> Reals:
    """Return the mean share of each cell in the total and the ends of its interval, shape (3, cells).

    `tables` are draws of the counts, shape (draws, cells). The shares of a table without records are 0.

    Example:
        >>> shares(np.array([[1, 3], [2, 2]]), 0.9)[0].tolist()
        [0.375, 0.625]
    """
    totals = np.maximum(tables.sum(axis=1), 1)
    statistics = np.empty((3, tables.shape[1]))
    step = max(1, _BLOCK // len(tables))
    for start in range(0, tables.shape[1], step):
        block = slice(start, start + step)
        cell_shares = tables[:, block] / totals[:, None]
        statistics[:, block] = cell_shares.mean(axis=0), *np.quantile(cell_shares, _tail_probabilities(level), axis=0)
    return statistics


def ranks(tables: Counts, level: float) -> Counts:
    """Return the median rank of each cell and the ends of its interval, shape (3, cells).

    `tables` are draws of the counts, shape (draws, cells). Rank 1 is the largest count; equal counts have the same
    rank.

    Example:
        >>> ranks(np.array([[1, 3, 3], [2, 5, 1]]), 0.9)[1].tolist()
        [2, 1, 1]
    """
    cell_ranks = np.empty(tables.shape, dtype=np.int32)
    for row, table in enumerate(tables):
        order = np.sort(table)
        cell_ranks[row] = table.size - np.searchsorted(order, table, side="right") + 1
    low, high = _tail_probabilities(level)
    statistics = np.quantile(cell_ranks, [0.5, low, high], axis=0, method="inverted_cdf", overwrite_input=True)
    return np.asarray(statistics, dtype=np.int64)


def _tail_probabilities(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


_SELECTED = "each count as likely before its answer, as only large answers were published"
_REACH = 20  # standard deviations of the noise; less than 1e-12 of its mass lies beyond


def selected_estimates(table: PublishedTable, level: float) -> Estimates:
    """Return the estimate of each row from its own answer alone.

    All counts from 0 on are equally likely before the answer. `level` is the probability of each interval.
    """
    estimates = _unknown_estimates(len(table.answers))
    for level_of_noise in table.levels:
        rows = level_of_noise.rows[~np.isnan(table.answers[level_of_noise.rows])]
        for name, values in _posterior_from_zero(table.answers[rows], level_of_noise.mechanism, level).items():
            estimates[name][rows] = values
    return estimates


def _posterior_from_zero(answers: Reals, noise: Mechanism, level: float) -> dict[str, Reals | NDArray[np.int64]]:
    """Return the mean, the median and the interval of the posterior distribution of each count K, shape (answers,).

    The answer is y = K + Z with noise Z. As counts are not negative, Z is at most y. With the cumulative distribution
    W(e) = P[Z <= e] of the noise, P[K >= k | y] = W(y − k)/W(y), and E[K | y] = y − E[Z | Z <= y].

    Raise SourceError if an answer is a fraction, or too far below 0 for the noise.
    """
    assert isinstance(noise, SymmetricNoise)  # noqa: S101 - published counts have added noise
    reach = math.ceil(_REACH * math.sqrt(noise.variance)) + 1
    errors = np.arange(-reach, reach + 1)
    chances = np.exp(noise.logpmf(0, -errors))
    mass, moment = np.cumsum(chances), np.cumsum(chances * errors)
    if (answers != np.floor(answers)).any() or (answers <= -reach).any():
        raise SourceError("answers that reach a threshold must be whole numbers above it: correct them")
    index = np.minimum(answers, reach).astype(np.int64) + reach
    quantiles = zip(("median", "low", "high"), (0.5, *_tail_probabilities(level)), strict=True)
    counts = answers.astype(np.int64)
    return {
        "mean": answers - moment[index] / mass[index],
        **{
            name: counts - errors[np.searchsorted(mass, (1 - share) * mass[index], side="right")]
            for name, share in quantiles
        },
    }


_POSTERIOR_LEVEL = 0.95  # level of the intervals that a posterior has for all nodes


@frozen
class RefinedTable:
    """A published table with the estimates of its rows."""

    published: PublishedTable
    estimates: Estimates  # estimates of the rows
    level: float  # probability of each interval
    nested: NestedTable | None = None  # tree of the levels; None: each row was refined by itself
    # posterior distribution of the whole table; None: each row was refined by itself
    posterior: TablePosterior | None = None
    draws: int = 0  # number of tables that were drawn for shares and ranks; 0: neither was requested

    def intervals(self) -> Iterator[tuple[int, int, int]]:
        """Yield each row of the tree, with its shortest interval of probability `level`.

        If the rows were refined by themselves, yield their equal-tailed intervals.
        """
        if self.posterior is None or self.nested is None:
            rows_with_estimate = np.flatnonzero(~np.ma.getmaskarray(self.estimates["low"]))
            ends = (self.estimates[name][rows_with_estimate].tolist() for name in ("low", "high"))
            yield from zip(rows_with_estimate.tolist(), *ends, strict=True)
            return
        for level in self.nested.levels:
            for row, position in zip(level.published.rows.tolist(), level.places.tolist(), strict=True):
                yield row, *shortest_interval(self.posterior.node((level.depth, position)).law, self.level)

    @property
    def prior_words(self) -> str:
        """The prior, given or learned from the answers, as text."""
        return _SELECTED if self.posterior is None else self.posterior.prior.words


def refined_table(
    query: RefineQuery, table: PublishedTable, done: Done, total: int | Population | None = None
) -> RefinedTable:
    """Return a table with the requested estimates.

    Args:
        query: The request.
        table: The table.
        done: Receives the finished share of the work.
        total: The number of all records, or its distribution, in place of the total of the request.

    Raises:
        NoisyCountError: If only answers from a threshold on were published, and an option of the request needs all.
        SourceError: If two rows of a level have the same keys, or if a sum has no cell.
    """
    if table.is_selected:
        _check_selected(query)
        return RefinedTable(table, selected_estimates(table, query.level), query.level)
    tree = nested_levels(table)
    prior = Splits(query.prior) if isinstance(query.prior, float) else None
    posterior = solve_table(
        {level.depth: _node_answers(table, level, tree) for level in tree.levels},
        {level.depth: level.published.mechanism for level in tree.levels},
        tree=tree.tree,
        total=query.total if total is None else total,
        prior=prior,
    )
    done(0.7)
    estimates = _tree_estimates(table, tree, posterior, query.level)
    done(0.8)
    refined = RefinedTable(table, estimates, query.level, tree, posterior)
    return _with_shares_and_ranks(query, refined, posterior) if query.has_shares or query.has_ranks else refined


def _check_selected(query: RefineQuery) -> None:
    """Raise NoisyCountError if the request has an option that needs the answers of all cells."""
    for option, is_given in (
        ("--total", query.total is not None),
        ("--shares", query.has_shares),
        ("--ranks", query.has_ranks),
        ("--prior", query.prior is not None),
    ):
        if is_given:
            raise NoisyCountError(
                f"{query.place} has only the answers that reach a threshold, which reveal nothing about the "
                f"others: leave {option} out"
            )


def _node_answers(table: PublishedTable, level: PlacedLevel, tree: NestedTable) -> Any:  # noqa: ANN401 - numbers and suppressed ones
    """Return the answers of a level in the order of its nodes; a suppressed answer is given by its threshold."""
    rows = level.published.rows
    size = tree.tree.sizes[level.depth]
    answers = np.full(size, np.nan)
    answers[level.places] = table.answers[rows]
    thresholds = np.full(size, np.nan)
    thresholds[level.places] = table.below[rows]
    suppressed = np.flatnonzero(~np.isnan(thresholds)).tolist()
    if not suppressed:
        return answers
    mixed: list[Any] = answers.tolist()
    for position in suppressed:
        mixed[position] = below(float(thresholds[position]))
    return mixed


def _tree_estimates(table: PublishedTable, tree: NestedTable, posterior: TablePosterior, level: float) -> Estimates:
    """Return the mean, the median and the interval of each row whose level is in the tree."""
    estimates = _unknown_estimates(len(table.answers))
    for placed in tree.levels:
        nodes, rows = posterior.level(placed.depth), placed.published.rows
        for name in ("mean", "median"):
            estimates[name][rows] = getattr(nodes, name)[placed.places]
        if level == _POSTERIOR_LEVEL:
            ends = np.stack([nodes.low[placed.places], nodes.high[placed.places]])
        else:
            intervals = [posterior.node((placed.depth, place)).interval(level) for place in placed.places.tolist()]
            ends = np.array(intervals, dtype=np.int64).T
        estimates["low"][rows], estimates["high"][rows] = ends
    return estimates


def _with_shares_and_ranks(query: RefineQuery, refined: RefinedTable, posterior: TablePosterior) -> RefinedTable:
    """Return the refined table with the requested shares and ranks of the cells, from exact draws."""
    table, estimates = refined.published, dict(refined.estimates)
    number = min(_MOST, max(_FEWEST, _NUMBERS // len(table.cells.rows)))  # fewer draws of a table of many cells
    tables = posterior.draws(number, random_state=SEED)
    for name, statistic, is_wanted in (("share", shares, query.has_shares), ("rank", ranks, query.has_ranks)):
        if is_wanted:
            for end, column in zip(("", "_low", "_high"), statistic(tables, query.level), strict=True):
                estimates[name + end] = _masked_column(len(table.answers), column.dtype)
                estimates[name + end][table.cells.rows] = column
    return replace(refined, estimates=estimates, draws=number)
