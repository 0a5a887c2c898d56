"""A table of noisy answers, each about a count of its own, refined in a file."""

import time
from collections.abc import Callable

import numpy as np

from noisycount.analysis.posterior.posterior import Posterior
from noisycount.analysis.posterior.refine import posterior_values, refine
from noisycount.app.refine.answer_table import AnswerTable, RefinedTable
from noisycount.app.terminal.files import check_regular
from noisycount.app.terminal.progress import Done
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.populations.population import Population
from noisycount.release.sources.duckdb.public_table import Column, PublicTable

__all__ = ["refined_table"]

_WHOLE = ("median", "low", "high")
_BLOCK, _MOST_BLOCKS = 1000, 25


def refined_table(
    asked: AnswerTable, population: Population, noise: AdditiveNoise, level: float, done: Done
) -> RefinedTable:
    """A table of answers, written with `mean`, `median`, `low` and `high` added.

    Args:
        asked: Where the answers are.
        population: What is known about each count before its answer.
        noise: The noise of each answer.
        level: That of the interval from low to high.
        done: Told from time to time which share of the work is done.

    Raises:
        NoisyCountError: A file cannot be read or written, or the noise cannot give an answer.
    """
    start = time.monotonic()
    with PublicTable.open(asked.path) as table:
        check_regular(asked.out)
        table.check_addition(asked.out, ["mean", *_WHOLE])
        answers = table.numbers(asked.column)
        missing = np.isnan(answers)
        impossible = _impossible(answers, population, noise)
        if impossible is not None:
            meant = "a finite number, whole where the noise is discrete"
            raise table.refusal(asked.column, impossible, meant)
        whole = np.zeros((len(_WHOLE), answers.size), dtype=np.int64)
        whole[:, ~missing] = _quantiles(answers[~missing], population, noise, level, done)
        means = refine(answers, population, noise)
        added: dict[str, Column] = {"mean": means, **dict(zip(_WHOLE, whole, strict=True))}
        table.save(asked.out, added, missing)
    seconds = time.monotonic() - start
    return RefinedTable(answers.size, int(missing.sum()), level, seconds, asked.out)


def _impossible(answers: Reals, population: Population, noise: AdditiveNoise) -> int | None:
    """The row of an answer that the noise cannot give: the extremes and a broken number tell."""
    given = np.flatnonzero(~np.isnan(answers))
    if not given.size:
        return None
    values = answers[given]
    broken = np.flatnonzero(values != np.floor(values))
    for place in (values.argmin(), values.argmax(), *broken[:1]):
        try:
            noise.likelihood(float(values[place]), population.records)
        except ValueError:
            return int(given[place])
    return None


def _quantiles(
    answers: Reals, population: Population, noise: AdditiveNoise, level: float, done: Done
) -> Reals:
    """The median, the low and the high end of each answer's posterior, shape (3, answers)."""
    tail = (1 - level) / 2
    different, places = np.unique(answers, return_inverse=True)
    blocks = np.array_split(different, min(_MOST_BLOCKS, 1 + different.size // _BLOCK))
    parts: list[Reals] = []
    for quantile in (0.5, tail, 1 - tail):
        for block in blocks:
            parts.append(posterior_values(block, population, noise, _quantile(quantile)))
            done(len(parts) / (3 * len(blocks)))
    return np.concatenate(parts).reshape(3, different.size)[:, places]


def _quantile(level: float) -> Callable[[Posterior], int]:
    """The quantile of a posterior at one level."""
    return lambda told: told.law.quantile(level)
