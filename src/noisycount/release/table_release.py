"""Published tables: their noisy counts, their noise, their errors and the estimates that follow.

`TableRelease` is a table by keys or a list of counts, `TableRow` one of its counts.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from noisycount.display.columns import Columns, free_name
from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.display.values import MOST_ROWS, Shown, row_table
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.model.tables.combined import least_squares_estimates, prefix_errors, standard_errors
from noisycount.model.tables.levels import OTHER, Label, Level, TableLabels
from noisycount.release.dataset import RemainingBudget
from noisycount.release.noise_plan import TablePlan
from noisycount.release.results import PublishedAnswer, Release

if TYPE_CHECKING:
    from noisycount.model.noises.combined_gaussian import CombinedGaussian

Counts: TypeAlias = NDArray[np.int64]
Estimates: TypeAlias = NDArray[np.float64]
_NUMBERS = ("level", "answer", "error", "error_of_all")
_LEAST_VARIANCE = 1e-100  # smallest variance: below it, noise is negligible and weights would underflow


@frozen
class TableRow(Shown):
    """A published count of a table.

    Attributes:
        level: The level of the count, such as "town", "total" or "other".
        labels: Its keys; None for missing values, and for a column over which the level sums.
        answer: The noisy count, in units; it may be negative.
        error: The count lies within ±error of the answer with the confidence of the table.
        error_of_all: All counts of the table lie within their `error_of_all` at once with that confidence.
        sum_of: The keys over which it sums, such as "Bern; all of false, true" or "all"; None for a cell.
    """

    level: str
    labels: tuple[Label, ...]
    answer: int
    error: int
    error_of_all: int
    sum_of: str | None = None


@frozen(repr=False)
class TableRelease(Columns, PublishedAnswer):
    """A published table, with its price and its noise.

    Args:
        answers: The noisy counts of each level, the cells first, in units.
        plan: The noise of each level.
        levels: The cells that each count of a level sums over.
        labels: The keys of the cells, for a reader.
        charged: The loss that the ledger charged for this call.
        remaining, dataset, key, unit: As for `Release`.
        where: The canonical text of the condition; None: all records, or a list of questions.
        has_other: True if the last cell counts the units with all other keys.
        is_additive: True if each unit is in one cell only and no cell is hidden, so that margins are sums of cells.
        is_cumulative: True if ranges of cells were counted too, for accurate sums up to each cell.
        confidence: The probability of each stated error.
        unreadable_as_missing, remains, replaces: As for `Release`.
        within: The accuracy goal, as a share of the counts; None: the price was fixed.
        near_of: The counts that must meet the goal: "largest", "total", "90%-of-cells", or "all" for a list.
        is_near: True if they meet the goal; False if the largest price was reached.
        near: With an accuracy goal, for each level, which counts meet it; else empty.
        own_errors: With an accuracy goal, for each level, the error of each of its counts; else empty, and all counts
            of a level have the error of the level.
        parts: If Gaussian noise was topped up, the noisy counts of each independent draw, the newest first, each in
            the shape of `answers`. The answers are then the whole numbers nearest to the `means` of all draws. The
            noise of each level has the scales of the draws. Else empty.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> survey = pl.DataFrame({"town": ["Bern"] * 300 + ["Genf"] * 200})
        >>> towns = {"town": ["Bern", "Genf"]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(survey, unit="row", ledger=f"{folder}/ledger.db") as desk:
        ...         table = desk.release_table("town", towns, epsilon=1, margins="total")
        >>> table.price.text, table.remaining, [(row.level, row.labels) for row in table.rows]
        ('ε = 1', Fraction(1, 1), [('town', ('Bern',)), ('town', ('Genf',)), ('total', (None,))])
        >>> pl.DataFrame(table).columns
        ['town', 'level', 'answer', 'error', 'error_of_all', 'sum_of']
        >>> table.rows[-1].sum_of
        'all of Bern, Genf'
        >>> towns, total = table.combined
        >>> bool(abs(towns.sum() - total.sum()) < 1e-9)
        True
    """

    answers: tuple[Counts, ...]
    plan: TablePlan
    levels: tuple[Level, ...] = field(repr=False)
    labels: TableLabels
    charged: Loss
    remaining: Fraction
    dataset: str
    key: str
    where: str | None = None
    unit: str | None = None
    has_other: bool = False
    is_additive: bool = True
    is_cumulative: bool = False
    confidence: float = 0.95
    unreadable_as_missing: tuple[str, ...] = ()
    remains: RemainingBudget | None = field(default=None, compare=False, repr=False)
    replaces: tuple[str, ...] = ()
    within: Fraction | None = None
    near_of: str | None = None
    is_near: bool = False
    near: tuple[NDArray[np.bool_], ...] = field(default=(), repr=False)
    own_errors: tuple[Counts, ...] = field(default=(), repr=False)
    parts: tuple[tuple[Counts, ...], ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.answers))

    @property
    def _ledger_charge(self) -> Loss:
        return self.charged

    @property
    def charge_text(self) -> str:
        """Charge of this call in words, in the currency of the data set's budget."""
        return (self.charged if self.remains is None else self.remains.dataset_budget.charge(self.charged)).text

    @property
    def price(self) -> Loss:
        """Price of the table, with all answers that it tops up."""
        return self.plan.loss

    @property
    def means(self) -> tuple[Estimates, ...]:
        """Means of all draws of each count, weighted by their precisions: a sufficient statistic of the count.

        For one draw they are the answers. For several draws they are the floats nearest to the exact rational means.
        """
        if not self.parts:
            return tuple(level.astype(np.float64) for level in self.answers)
        noises = [cast("CombinedGaussian", level.mechanism) for level in self.plan.levels]
        return tuple(noise.means(draws) for noise, draws in zip(noises, zip(*self.parts, strict=True), strict=True))

    @property
    def errors(self) -> tuple[int, ...]:
        """Error of each level: one count lies within ±error of its answer with the confidence, in units."""
        return tuple(level.error(self.confidence) for level in self.plan.levels)

    @property
    def errors_of_all(self) -> tuple[int, ...]:
        """Errors of the levels within which all counts of the table lie together with the confidence."""
        return self.plan.errors_of_all(self.confidence, len(self))

    @property
    def row_errors(self) -> tuple[list[int], ...]:
        """Error of each count, level by level, in units: the count lies within ± this error with the confidence."""
        if self.own_errors:
            return tuple(level.tolist() for level in self.own_errors)
        return tuple([error] * len(level) for error, level in zip(self.errors, self.answers, strict=True))

    def error_at(self, level: int, node: int) -> int:
        """Return the error of one count, as in `row_errors`.

        Args:
            level: From 0, the cells first.
            node: Index of the count in the level, from 0.
        """
        return int(self.own_errors[level][node]) if self.own_errors else self.errors[level]

    def place(self, row: int) -> tuple[int, int]:
        """Return the level and the node of a row, both from 0.

        Args:
            row: From 0, the cells first.
        """
        starts = [0, *accumulate(map(len, self.answers))]
        level = bisect_right(starts, row) - 1
        return level, row - starts[level]

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """Published counts, the cells first, in the order of the query."""
        return tuple(map(TableRow, *self._row_members(), self._sum_texts))

    @property
    def level_names(self) -> list[str]:
        """Name of the level of each row, such as "town", "total" or "other"."""
        names = [level.name for level in self.levels for _ in range(level.size)]
        if self.has_other:
            names[self.levels[0].size - 1] = OTHER
        return names

    @property
    def _sum_texts(self) -> list[str | None]:
        """Keys over which each row sums, in words; None for a cell."""
        return [sum_of for level in self.levels for sum_of in self.labels.summed_keys(level)]

    def _row_members(self) -> tuple[list[str], list[tuple[Label, ...]], list[int], list[int], list[int]]:
        """Return the names of levels, the labels, the answers and both errors, row by row."""
        labels = [labels for level in self.levels for labels in self.labels.node_labels(level)]
        answers = [answer for level in self.answers for answer in level.tolist()]
        errors = [error for level in self.row_errors for error in level]
        errors_of_all = [error for error, level in zip(self.errors_of_all, self.answers, strict=True) for _ in level]
        return self.level_names, labels, answers, errors, errors_of_all

    @property
    def columns(self) -> dict[str, list[Label]]:
        """The rows as columns: the labels by their names, then level, answer and errors.

        If there are margins, a last column `sum_of` states over which keys each row sums.
        """
        names, labels, answers, errors, errors_of_all = self._row_members()
        columns: dict[str, list[Label]] = {
            name: [row[place] for row in labels] for place, name in enumerate(self.labels.names)
        }
        others: tuple[Sequence[Label], ...] = (names, answers, errors, errors_of_all)
        for name, values in zip(_NUMBERS, others, strict=True):
            columns[free_name(name, columns)] = [*values]
        if any(sums := self._sum_texts):
            columns[free_name("sum_of", columns)] = [*sums]
        return columns

    @property
    def combined(self) -> tuple[Estimates, ...] | None:
        """Best linear unbiased estimates from all levels together, which add up.

        None if there is only one level; if units can be in several cells or keys are hidden, so that margins are not
        sums of cells; or if the answers stopped by an accuracy goal, as stopping depends on the answers.
        """
        if len(self.levels) == 1 or not self.is_additive or self.within is not None:
            return None
        return least_squares_estimates(self.levels, list(self.means), self._variances)

    @property
    def standard_errors(self) -> tuple[Estimates, ...] | None:
        """Standard deviations of the combined estimates of each level, in units.

        None if there are no estimates. None also if margins overlap and the cells are no complete grid, because keys
        were listed cell by cell or there is an "other" cell: the deviations then have no closed form.
        """
        if len(self.levels) == 1 or not self.is_additive or self.within is not None:
            return None
        try:
            return standard_errors(self.levels, self._variances)
        except ValueError:
            return None

    @property
    def cumulative(self) -> Estimates | None:
        """Estimated cumulative sums: for each cell, the sum up to this cell; None if the table is not cumulative."""
        estimates = self.combined if self.is_cumulative else None
        return None if estimates is None else np.cumsum(estimates[0])

    @property
    def cumulative_errors(self) -> Estimates | None:
        """Standard deviations of the sums, in units."""
        if not (self.is_cumulative and self.is_additive):
            return None
        return prefix_errors(self.levels[0].size, self._variances)

    @property
    def _variances(self) -> tuple[float, ...]:
        return tuple(max(level.mechanism.variance, _LEAST_VARIANCE) for level in self.plan.levels)

    @property
    def odds(self) -> str:
        """Odds to which the answers can move an even guess about one person or row, in words."""
        return self.plan.odds(self._protected_unit)

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        places = range(min(len(self), MOST_ROWS))
        rows = [self._row_texts(place) for place in places]
        header = ["level", *self.labels.names, f"answer ({percent(self.confidence)})"]
        caption, left_out = self.where or "all records", len(self) - len(rows)
        return row_table(caption, header, rows, self._common_notes(), left_out)

    def _row_texts(self, place: int) -> list[str]:
        """Return the texts of one row: its level, its keys, and its answer with the error."""
        level, node = self.place(place)
        answer, error = int(self.answers[level][node]), self.error_at(level, node)
        labels = self.labels.texts(self.levels[level], node)
        return [self.levels[level].name, *labels, f"{signed(answer)} {plus_minus(error)}"]

    def _common_notes(self) -> Iterator[str]:
        """Yield the notes about all rows."""
        if len(self) > 1:
            yield f"all at once within {plus_minus(max(self.errors_of_all))}"
        yield self._payment_words
        yield f"{self.price.text} for the whole table: {self.odds}"

    def _facts(self) -> dict[str, object]:
        return {
            **self._key_facts(),
            "rows": [
                {
                    **dict(zip(self.labels.names, row.labels, strict=True)),
                    "level": row.level,
                    "answer": row.answer,
                    "error": row.error,
                    "error_of_all": row.error_of_all,
                    **({} if row.sum_of is None else {"sum_of": row.sum_of}),
                }
                for row in self.rows
            ],
            "confidence": self.confidence,
            **self.goal_facts,
            "plan": self.plan,
            "odds": self.odds,
            "charged": self.charged.text,
            "unit": self.unit,
            "key": self.key,
            "unreadable_as_missing": self.unreadable_as_missing,
            "replaces": self.replaces,
            **({"parts": [[level.tolist() for level in part] for part in self.parts]} if self.parts else {}),
        }

    @property
    def goal_facts(self) -> dict[str, object]:
        """Accuracy goal of the answers, with the statement if they meet it; empty for an answer at a fixed price."""
        if self.within is None:
            return {}
        near_of = {} if self.near_of is None else {"near_of": self.near_of}
        return {"within": self.within, **near_of, "is_near": self.is_near}

    def _key_facts(self) -> dict[str, object]:
        return {
            "by": list(self.labels.names),
            "counts": len(self),
            "error": self.errors[0],
            "price": self.price.text,
            "remaining": self.remaining,
            "dataset": self.dataset,
            "where": self.where,
        }


Published: TypeAlias = Release | TableRelease
