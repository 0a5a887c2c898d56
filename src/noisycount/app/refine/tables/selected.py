"""Counts that were published because their answers were large: each refined by itself.

Whether an answer was published depends on the answer alone, so the law of a count given its answer
is what it would be if all had been published, for any prior. A prior that is learned from such
answers would be wrong, as it never sees the small counts: here each count is as likely before.
"""

import math

import numpy as np
from numpy.typing import NDArray

from noisycount.app.refine.tables.estimates import Estimates
from noisycount.app.refine.tables.published import PublishedTable
from noisycount.errors import SourceError
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["SELECTED", "selected_estimates"]

SELECTED = "each count as likely before its answer, as only large answers were published"
_REACH = 20  # standard deviations of the noise: less than 1e-12 of its mass lies beyond


def selected_estimates(table: PublishedTable, level: float) -> Estimates:
    """The count of each row given its own answer, all counts from 0 on being as likely before.

    Args:
        table: Whose answers are whole numbers.
        level: The probability of each interval.

    Raises:
        SourceError: An answer is no whole number, or far below 0.
    """
    estimates = Estimates.empty(len(table.answers))
    for part in table.levels:
        rows = part.rows[~np.isnan(table.answers[part.rows])]
        estimates.tell(rows, _told(table.answers[rows], part.mechanism, level))
    return estimates


def _told(
    answers: Reals, mechanism: Mechanism, level: float
) -> dict[str, Reals | NDArray[np.int64]]:
    """The mean and the quantiles of each law.

    The noise Z is at most y, as counts are not negative: with W(e) = P[Z <= e] its cumulated law,
    P[K >= k | y] = W(y − k)/W(y), and E[K | y] = y − E[Z | Z <= y].
    """
    assert isinstance(mechanism, SymmetricNoise)  # noqa: S101 - published counts have added noise
    reach = math.ceil(_REACH * math.sqrt(mechanism.variance)) + 1
    errors = np.arange(-reach, reach + 1)
    chances = np.exp(mechanism.logpmf(0, -errors))
    mass, moment = np.cumsum(chances), np.cumsum(chances * errors)
    if (answers != np.floor(answers)).any() or (answers <= -reach).any():
        raise SourceError("answers from a threshold on must be whole numbers above it: mend them")
    last = np.minimum(answers, reach).astype(np.int64) + reach
    quantiles = {"median": 0.5, "low": (1 - level) / 2, "high": (1 + level) / 2}
    whole = answers.astype(np.int64)
    return {
        "mean": answers - moment[last] / mass[last],
        **{
            name: whole - errors[np.searchsorted(mass, (1 - share) * mass[last], side="right")]
            for name, share in quantiles.items()
        },
    }
