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
        if has_answer.any():
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
_NO_ESTIMATES: dict[str, Column] = {
    "mean": np.zeros(0),
    **dict.fromkeys(_WHOLE, np.zeros(0, dtype=np.int64)),
    "surprise": np.zeros(0),
}
_BLOCK, _MOST_BLOCKS = 1000, 25


def refined_column(query: RefineQuery, laws: RowLaws, noise: AdditiveNoise, done: Done) -> RefinedColumn:
    """Write the file with the columns `mean`, `median`, `low`, `high` and `surprise` added. Return a summary.

    Rows with the same answer and population share their estimates, which are computed and held in memory once.

    The query names the file, its column of answers and the file to write. `done` receives the finished share of the
    work.
    """
    path, column, out = query.answers_file, query.column, query.out
    if path is None or column is None or out is None:
        raise ValueError(f"query must name a file of answers, its column and a file to write, got {query!r}")
    start = time.monotonic()
    with PublicTable.open(path) as table:
        check_out(out, path, is_replacing=query.is_replacing)
        table.check_new_columns(out, list(_NO_ESTIMATES))
        estimates, places = _shared_estimates(query, laws, table, noise, done)
        table.save_shared(out, estimates, places)
    is_surprising = np.append(estimates["surprise"] < SURPRISING, False)  # the last for rows without an answer
    return RefinedColumn(
        rows=places.size,
        missing=int(np.count_nonzero(places < 0)),
        contradictions=int(np.count_nonzero(is_surprising[places])),
        level=query.level,
        seconds=time.monotonic() - start,
        out=out,
        assumed=laws.words,
    )


def _shared_estimates(
    query: RefineQuery, laws: RowLaws, table: PublicTable, noise: AdditiveNoise, done: Done
) -> tuple[dict[str, Column], NDArray[np.int32]]:
    """Return the columns to add, with the estimates of each different answer once, and each row's index in them.

    The index of a row without an answer is -1. Raise SourceError if the noise cannot produce an answer.
    """
    answers = table.numbers(str(query.column))
    has_answer = ~np.isnan(answers)
    places = np.full(answers.size, -1, dtype=np.int32)
    finished = number_of_estimates = 0
    parts: list[dict[str, Column]] = [_NO_ESTIMATES]
    for population, rows in _row_groups(query, laws, table, has_answer):
        given = answers[rows]
        different = np.unique(given)
        impossible = _impossible_answer(different, population, noise)
        if impossible is not None:
            row = int(np.argmax(rows & (answers == impossible)))
            meant = "a finite number, whole where the noise is discrete"
            raise table.refusal(str(query.column), row, meant, f"correct it{hint_at_continuous_noise(noise)}")
        report_share = _report_share(done, finished, given.size, has_answer.sum())
        parts.append(_estimate_columns(different, population, noise, query.level, report_share))
        places[rows] = number_of_estimates + np.searchsorted(different, given)
        number_of_estimates += different.size
        finished += given.size
    return {name: np.concatenate([part[name] for part in parts]) for name in _NO_ESTIMATES}, places


def _report_share(done: Done, finished: int, answers: int, all_answers: int) -> Done:
    """Return a progress function for `answers` answers that reports their share of all answers to `done`.

    `finished` is the number of finished answers, `all_answers` the number of all answers.
    """
    return lambda share: done((finished + share * answers) / all_answers)


def _estimate_columns(
    answers: Reals, population: Population, noise: AdditiveNoise, level: float, done: Done
) -> dict[str, Column]:
    """Return the columns to add for rising answers about counts of one population, each of shape (answers,)."""
    quantiles = _interval_quantiles(answers, population, noise, level, done)
    return {
        "mean": refine_array(answers, population, noise),
        **{name: values.astype(np.int64) for name, values in zip(_WHOLE, quantiles, strict=True)},
        "surprise": surprises(answers, population, noise),
    }


def _impossible_answer(answers: Reals, population: Population, noise: AdditiveNoise) -> float | None:
    """Return one of some rising answers that the noise cannot produce, or None.

    Only the smallest and the largest answer and the first fraction are checked.
    """
    fractions = answers[answers != np.floor(answers)]
    for answer in [*answers[:1].tolist(), *answers[-1:].tolist(), *fractions[:1].tolist()]:
        try:
            noise.likelihood(answer, population.records)
        except ValueError:
            return float(answer)
    return None


def _interval_quantiles(
    answers: Reals, population: Population, noise: AdditiveNoise, level: float, done: Done
) -> Reals:
    """Return the median and the ends of the interval of the posterior of each rising answer, shape (3, answers)."""
    tail = (1 - level) / 2
    blocks = np.array_split(answers, min(_MOST_BLOCKS, 1 + answers.size // _BLOCK))
    parts: list[Reals] = []
    for quantile in (0.5, tail, 1 - tail):
        for block in blocks:
            parts.append(posterior_values(block, population, noise, _quantile_function(quantile)))
            done(len(parts) / (3 * len(blocks)))
    return np.concatenate(parts).reshape(3, answers.size)


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
