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
from noisycount.analysis.tables.table_posterior import TablePosterior, table_posterior_of
from noisycount.display.output import Done
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.model.exact import below
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.tables.splits import Splits
from noisycount.tasks.refine.published import Nested, PlacedLevel, PublishedTable, RefineQuery, nested

Counts = NDArray[np.int64]
# Columns by name, each of shape (rows,), masked if the value is unknown: `mean`, the expected count, in records;
# `median`, the smallest count k with P[K <= k] >= 1/2; `low` and `high`, the ends of the interval; and, if requested,
# for cells `share` in the total and `rank`, 1 for the largest, each with its own `_low` and `_high`.
Estimates = dict[str, np.ma.MaskedArray[Any, Any]]


def _unknown(rows: int, kind: Any) -> np.ma.MaskedArray[Any, Any]:  # noqa: ANN401 - of a number
    """Return a masked column: no value is known yet."""
    return np.ma.array(np.zeros(rows, kind), mask=True)


def _empty(rows: int) -> Estimates:
    return {
        "mean": _unknown(rows, np.float64),
        **{name: _unknown(rows, np.int64) for name in ("median", "low", "high")},
    }


SEED = 1  # fixed, so that the same table has the same estimates again
_MOST, _FEWEST = 10_000, 100
_NUMBERS = 10_000_000  # approximate number of counts in all draws together, between the limits of the number of draws
_BLOCK = 1_000_000  # number of counts that are processed together


def _number_of_draws(cells: int) -> int:
    """Return the number of tables to draw, from 100 to 10,000: fewer if a table has many cells."""
    return min(_MOST, max(_FEWEST, _NUMBERS // cells))


def shares(tables: Counts, level: float) -> Reals:
    """Return the mean share of each cell in the total and the ends of its interval, shape (3, cells).

    `tables` are draws of the counts, shape (draws, cells). The shares of a table without records are 0.

    Example:
        >>> shares(np.array([[1, 3], [2, 2]]), 0.9)[0].tolist()
        [0.375, 0.625]
    """
    totals = np.maximum(tables.sum(axis=1), 1)
    told = np.empty((3, tables.shape[1]))
    step = max(1, _BLOCK // len(tables))
    for start in range(0, tables.shape[1], step):
        part = slice(start, start + step)
        own = tables[:, part] / totals[:, None]
        told[:, part] = own.mean(axis=0), *np.quantile(own, _tails(level), axis=0)
    return told


def ranks(tables: Counts, level: float) -> Counts:
    """Return the median rank of each cell and the ends of its interval, shape (3, cells).

    `tables` are draws of the counts, shape (draws, cells). Rank 1 is the largest count; equal counts have the same
    rank.

    Example:
        >>> ranks(np.array([[1, 3, 3], [2, 5, 1]]), 0.9)[1].tolist()
        [2, 1, 1]
    """
    placed = np.empty(tables.shape, dtype=np.int32)
    for row, table in enumerate(tables):
        order = np.sort(table)
        placed[row] = table.size - np.searchsorted(order, table, side="right") + 1
    low, high = _tails(level)
    told = np.quantile(placed, [0.5, low, high], axis=0, method="inverted_cdf", overwrite_input=True)
    return np.asarray(told, dtype=np.int64)


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


_SELECTED = "each count as likely before its answer, as only large answers were published"
_REACH = 20  # standard deviations of the noise; less than 1e-12 of its mass lies beyond


def selected_estimates(table: PublishedTable, level: float) -> Estimates:
    """Return the estimate of each row from its own answer alone.

    All counts from 0 on are equally likely before the answer. `level` is the probability of each interval.
    """
    estimates = _empty(len(table.answers))
    for part in table.levels:
        rows = part.rows[~np.isnan(table.answers[part.rows])]
        for name, values in _told(table.answers[rows], part.mechanism, level).items():
            estimates[name][rows] = values
    return estimates


def _told(answers: Reals, mechanism: Mechanism, level: float) -> dict[str, Reals | NDArray[np.int64]]:
    """Return the mean, the median and the interval of the posterior distribution of each count K, shape (answers,).

    The answer is y = K + Z with noise Z. As counts are not negative, Z is at most y. With the cumulative distribution
    W(e) = P[Z <= e] of the noise, P[K >= k | y] = W(y − k)/W(y), and E[K | y] = y − E[Z | Z <= y].

    Raise SourceError if an answer is a fraction, or too far below 0 for the noise.
    """
    assert isinstance(mechanism, SymmetricNoise)  # noqa: S101 - published counts have added noise
    reach = math.ceil(_REACH * math.sqrt(mechanism.variance)) + 1
    errors = np.arange(-reach, reach + 1)
    chances = np.exp(mechanism.logpmf(0, -errors))
    mass, moment = np.cumsum(chances), np.cumsum(chances * errors)
    if (answers != np.floor(answers)).any() or (answers <= -reach).any():
        raise SourceError("answers from a threshold on must be whole numbers above it: mend them")
    last = np.minimum(answers, reach).astype(np.int64) + reach
    quantiles = zip(("median", "low", "high"), (0.5, *_tails(level)), strict=True)
    whole = answers.astype(np.int64)
    return {
        "mean": answers - moment[last] / mass[last],
        **{
            name: whole - errors[np.searchsorted(mass, (1 - share) * mass[last], side="right")]
            for name, share in quantiles
        },
    }


_TOLD = 0.95  # level of the intervals that a posterior has for all nodes


@frozen
class RefinedTable:
    """A published table with the estimates of its rows."""

    published: PublishedTable
    estimates: Estimates  # estimates of the rows
    level: float  # probability of each interval
    nested: Nested | None = None  # tree of the levels; None: each row was refined by itself
    # posterior distribution of the whole table; None: each row was refined by itself
    told: TablePosterior | None = None
    draws: int = 0  # number of tables that were drawn for shares and ranks; 0: neither was requested

    def intervals(self) -> Iterator[tuple[int, int, int]]:
        """Yield each row of the tree, with the shortest interval that has the probability `level`.

        If the rows were refined by themselves, yield their equal-tailed intervals.
        """
        if self.told is None or self.nested is None:
            known = np.flatnonzero(~np.ma.getmaskarray(self.estimates["low"]))
            ends = (self.estimates[name][known].tolist() for name in ("low", "high"))
            yield from zip(known.tolist(), *ends, strict=True)
            return
        for level in self.nested.levels:
            for row, place in zip(level.published.rows.tolist(), level.places.tolist(), strict=True):
                yield row, *shortest_interval(self.told.node((level.depth, place)).law, self.level)

    @property
    def prior_words(self) -> str:
        """The prior, given or learned from the answers, as text."""
        return _SELECTED if self.told is None else self.told.prior.words


def refined_table(
    asked: RefineQuery, table: PublishedTable, done: Done, total: int | Population | None = None
) -> RefinedTable:
    """Return a table with the requested estimates.

    Args:
        asked: The request.
        table: The table.
        done: Receives the finished share of the work.
        total: The number of all records, or its distribution, in place of the total of the request.

    Raises:
        NoisyCountError: If only answers from a threshold on were published, and an option of the request needs all.
        SourceError: If two rows of a level have the same keys, or if a sum has no cell.
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
        total=asked.total if total is None else total,
        prior=prior,
    )
    done(0.7)
    estimates = _estimates(table, tree, told, asked.level)
    done(0.8)
    refined = RefinedTable(table, estimates, asked.level, tree, told)
    return _drawn(asked, refined, told) if asked.has_shares or asked.has_ranks else refined


def _check_selected(asked: RefineQuery) -> None:
    """Raise NoisyCountError if the request has an option that needs the answers of all cells."""
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
    """Return the answers of a level in the order of its nodes; a suppressed answer is given by its threshold."""
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


def _estimates(table: PublishedTable, tree: Nested, told: TablePosterior, level: float) -> Estimates:
    """Return the mean, the median and the interval of each row whose level is in the tree."""
    estimates = _empty(len(table.answers))
    for placed in tree.levels:
        nodes, rows = told.level(placed.depth), placed.published.rows
        for name in ("mean", "median"):
            estimates[name][rows] = getattr(nodes, name)[placed.places]
        if level == _TOLD:
            ends = np.stack([nodes.low[placed.places], nodes.high[placed.places]])
        else:
            found = [told.node((placed.depth, place)).interval(level) for place in placed.places.tolist()]
            ends = np.array(found, dtype=np.int64).T
        estimates["low"][rows], estimates["high"][rows] = ends
    return estimates


def _drawn(asked: RefineQuery, refined: RefinedTable, told: TablePosterior) -> RefinedTable:
    """Return the refined table with the requested shares and ranks of the cells, from exact draws."""
    table, estimates = refined.published, dict(refined.estimates)
    number = _number_of_draws(len(table.cells.rows))
    tables = told.draws(number, random_state=SEED)
    for name, of, is_asked in (("share", shares, asked.has_shares), ("rank", ranks, asked.has_ranks)):
        if is_asked:
            for end, values in zip(("", "_low", "_high"), of(tables, asked.level), strict=True):
                estimates[name + end] = _unknown(len(table.answers), values.dtype)
                estimates[name + end][table.cells.rows] = values
    return replace(refined, estimates=estimates, draws=number)
