"""Refinement of a column of noisy answers in a file, each about a count of its own.

Every row gets the mean, the median and the interval of its posterior distribution, and the surprise of its answer.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.posterior.posterior import Posterior
from noisycount.analysis.posterior.predictive import SURPRISING
from noisycount.analysis.posterior.refine import posterior_values, refine_array, surprises
from noisycount.display.output import Done, shortest_path_text
from noisycount.engines.duckdb.public import Column, PublicTable
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.populations.population import Population
from noisycount.readers.assumption import RATES, Assumed, Rate, check_rows
from noisycount.tasks.refine.estimate import hint_at_continuous_noise
from noisycount.tasks.refine.published import RefineQuery
from noisycount.tasks.refine.table import check_out
from noisycount.validation import LARGEST_WHOLE


@frozen
class RowLaws:
    """The prior assumption about the counts of the rows."""

    words: str  # the assumption that an answer may contradict, as text
    population: Population | None = None  # population of every row; None if sizes or rates are columns


@frozen
class RefinedColumn:
    """A summary of a refined file."""

    rows: int  # number of rows
    missing: int  # number of rows without an answer
    contradictions: int  # number of answers that contradict the assumption about their counts
    level: float  # probability of the interval from low to high
    seconds: float  # duration of the refinement
    out: Path  # written file
    assumed: str  # the assumption that answers may contradict, as text


_NO_COLUMN = -1.0  # stands for the rate of a row if there is no column of rates


def _row_groups(
    query: RefineQuery, laws: RowLaws, table: PublicTable, has_answer: NDArray[np.bool_]
) -> Iterator[tuple[Population, NDArray[np.bool_]]]:
    """Yield each distinct population of the rows, with a mask of the rows that have it, shape (rows,).

    `has_answer` masks the rows with an answer; rows without one are in no group. Raise SourceError if a row with an
    answer has no number of records, or no rate, in their columns.
    """
    if laws.population is not None:
        yield laws.population, has_answer
        return
    sizes = np.full(has_answer.shape, float(query.size or 0))
    if query.size_column is not None:
        sizes = table.numbers(query.size_column)
        fine = (sizes >= 1) & (sizes == np.floor(sizes)) & (sizes <= LARGEST_WHOLE)
        check_rows(table, query.size_column, fine | ~has_answer, "a whole number of records from 1 to 2**53")
    rates = np.full(has_answer.shape, _NO_COLUMN)
    if query.rate_column is not None:
        rates = table.numbers(query.rate_column, has_shares=True)
        check_rows(table, query.rate_column, (rates >= 0) & (rates <= 1) | ~has_answer, RATES)
    for size, rate in np.unique(np.stack([sizes[has_answer], rates[has_answer]]), axis=1).T.tolist():
        common_rate = query.rate if rate == _NO_COLUMN else Rate(rate)
        assumed = Assumed.from_size(int(size))
        if common_rate is not None:
            assumed = Assumed.from_rate(int(size), common_rate)
        yield assumed.population, has_answer & (sizes == size) & (rates == rate)


_WHOLE = ("median", "low", "high")
_BLOCK, _MOST_BLOCKS = 1000, 25


def refined_column(query: RefineQuery, laws: RowLaws, noise: AdditiveNoise, done: Done) -> RefinedColumn:
    """Write the file with the columns `mean`, `median`, `low`, `high` and `surprise` added. Return a summary.

    The query names the file, its column of answers and the file to write. `done` receives the finished share of the
    work.
    """
    path, column, out = query.answers_file, query.column, query.out
    if path is None or column is None or out is None:
        raise ValueError(f"query must name a file of answers, its column and a file to write, got {query!r}")
    start = time.monotonic()
    with PublicTable.open(path) as table:
        check_out(out, path, is_replacing=query.is_replacing)
        table.check_new_columns(out, ["mean", *_WHOLE, "surprise"])
        answers = table.numbers(column)
        has_answer = ~np.isnan(answers)
        added: dict[str, Column] = {
            "mean": np.zeros(answers.size),
            **{name: np.zeros(answers.size, dtype=np.int64) for name in _WHOLE},
            "surprise": np.zeros(answers.size),
        }
        finished = 0
        for population, rows in _row_groups(query, laws, table, has_answer):
            impossible = _impossible_answer_index(np.where(rows, answers, np.nan), population, noise)
            if impossible is not None:
                meant = "a finite number, whole where the noise is discrete"
                raise table.refusal(column, impossible, meant, f"correct it{hint_at_continuous_noise(noise)}")
            number = int(rows.sum())
            report_share = _report_share(done, finished, number, has_answer.sum())
            for name, values in _estimate_columns(answers[rows], population, noise, query.level, report_share).items():
                added[name][rows] = values
            finished += number
        table.save(out, added, ~has_answer)
    contradictions = int((added["surprise"][has_answer] < SURPRISING).sum())
    return RefinedColumn(
        rows=answers.size,
        missing=answers.size - finished,
        contradictions=contradictions,
        level=query.level,
        seconds=time.monotonic() - start,
        out=out,
        assumed=laws.words,
    )


def _report_share(done: Done, finished: int, answers: int, all_answers: int) -> Done:
    """Return a progress function for `answers` answers that reports their share of all answers to `done`.

    `finished` is the number of finished answers, `all_answers` the number of all answers.
    """
    return lambda share: done((finished + share * answers) / all_answers)


def _estimate_columns(
    answers: Reals, population: Population, noise: AdditiveNoise, level: float, done: Done
) -> dict[str, Column]:
    """Return the columns to add for answers about counts of one population, each of shape (answers,)."""
    if not answers.size:
        return {}
    quantiles = _interval_quantiles(answers, population, noise, level, done)
    return {
        "mean": refine_array(answers, population, noise),
        **dict(zip(_WHOLE, quantiles, strict=True)),
        "surprise": surprises(answers, population, noise),
    }


def _impossible_answer_index(answers: Reals, population: Population, noise: AdditiveNoise) -> int | None:
    """Return the index of an answer that the noise cannot produce, or None.

    Only the smallest and the largest answer and the first fraction are checked.
    """
    answered_rows = np.flatnonzero(~np.isnan(answers))
    if not answered_rows.size:
        return None
    values = answers[answered_rows]
    fractions = np.flatnonzero(values != np.floor(values))
    for index in (values.argmin(), values.argmax(), *fractions[:1]):
        try:
            noise.likelihood(float(values[index]), population.records)
        except ValueError:
            return int(answered_rows[index])
    return None


def _interval_quantiles(
    answers: Reals, population: Population, noise: AdditiveNoise, level: float, done: Done
) -> Reals:
    """Return the median and the lower and upper end of the interval of each posterior, shape (3, answers)."""
    tail = (1 - level) / 2
    different, position_of_answer = np.unique(answers, return_inverse=True)
    blocks = np.array_split(different, min(_MOST_BLOCKS, 1 + different.size // _BLOCK))
    parts: list[Reals] = []
    for quantile in (0.5, tail, 1 - tail):
        for block in blocks:
            parts.append(posterior_values(block, population, noise, _quantile_function(quantile)))
            done(len(parts) / (3 * len(blocks)))
    return np.concatenate(parts).reshape(3, different.size)[:, position_of_answer]


def _quantile_function(probability: float) -> Callable[[Posterior], int]:
    """Return a function that computes the quantile of a posterior at a level."""
    return lambda posterior: posterior.law.quantile(probability)


def column_text(column: RefinedColumn) -> str:
    """Return a summary of a refined file as text, with the number of answers that contradict the assumption."""
    empty = f" ({column.missing:,} without an answer)" if column.missing else ""
    done = f"{column.rows:,} rows{empty} in {column.seconds:.1f} s: {shortest_path_text(column.out)}"
    if not column.contradictions:
        return done
    answered = column.rows - column.missing
    verb = "contradicts" if column.contradictions == 1 else "contradict"
    return (
        f"{done}\n{column.contradictions:,} of {answered:,} answers {verb} {column.assumed}: their "
        f"surprise is below {SURPRISING:g}"
    )


def column_json(column: RefinedColumn) -> dict[str, Any]:
    """Return a summary of a refined file as JSON."""
    names = ("rows", "missing", "contradictions", "level", "seconds")
    return {**{name: getattr(column, name) for name in names}, "out": str(column.out)}
