"""The posterior mean under Laplace noise for many answers over a wide range of counts."""

from dataclasses import dataclass

import numpy as np

from noisycount.model.expansion import Reals
from noisycount.model.noise import LaplaceKernel
from noisycount.model.population import Population
from noisycount.model.populations import BetaBinomial, Binomial
from noisycount.model.smooth_law import smooth_law

__all__ = ["WideCells", "wide_cells"]

_POINTS = 24
_CELLS_A_DEVIATION = 2
_FARTHEST = 40
_MARGIN = 2
_NODES = np.polynomial.chebyshev.chebpts1(_POINTS)


@dataclass(frozen=True, slots=True)
class WideCells:
    """The mean of the counts up to m, of those above m, and their odds, as polynomials in m.

    They are the quantities of `LaplaceCells`. They change over standard deviations of the count,
    so that on each half of one a polynomial through 24 integers tells them at every integer.

    Attributes:
        population: What is known about the count before an answer.
        mechanism: The noise.
        origin: The lower end of cell 0, an integer.
        width: The number of integers in a cell.
        covered: The smallest and the largest answer whose means the cells tell.
    """

    population: Binomial | BetaBinomial
    mechanism: LaplaceKernel
    origin: int
    width: int
    covered: tuple[float, float]

    def means(self, answers: Reals) -> Reals:
        """The posterior mean for each answer, shape (answers,); nan for those not covered."""
        means = np.full_like(answers, np.nan)
        first, last = self.covered
        floors = np.floor(answers)
        cells = np.where(
            (answers >= first) & (answers <= last), (floors - self.origin) // self.width, np.nan
        )
        for cell in np.unique(cells[~np.isnan(cells)]).tolist():
            here = cells == cell
            means[here] = self._means_in(int(cell), answers[here], floors[here])
        return means

    def _means_in(self, cell: int, answers: Reals, floors: Reals) -> Reals:
        """The means for answers of one cell."""
        middle, half = self.origin + (cell + 0.5) * self.width, self.width / 2
        integers = np.unique(np.round(middle + half * _NODES)).astype(int)
        known = np.array([self._known_at(int(integer)) for integer in integers])
        places = (integers - middle) / half
        fitted = np.polynomial.chebyshev.chebfit(places, known, places.size - 1)
        asked = (floors - middle) / half
        distance, rise, logit = np.polynomial.chebyshev.chebval(asked, fitted)
        nearness = -2 * (answers - floors) / float(self.mechanism.exact_scale)
        with np.errstate(over="ignore"):
            means: Reals = floors - distance + rise / (1 + np.exp(logit + nearness))
        return means

    def _known_at(self, integer: int) -> tuple[float, float, float]:
        """How far the counts up to m lie below m on average, the rise to those above, the logit."""
        size = self.population.records
        law = smooth_law([self.population, self.mechanism.likelihood(integer, size)])
        log_below, below = law.part(0, integer)
        log_above, above = law.part(integer + 1, size)
        return integer - below, above - below, log_below - log_above


def wide_cells(population: Population, mechanism: LaplaceKernel) -> WideCells | None:
    """The cells within 40 standard deviations of the expected count, and 2 cells from the ends.

    They are that smooth for the log-concave laws of records that can be exchanged; None for others.

    Args:
        population: What is known about the count before an answer.
        mechanism: The noise.
    """
    if not isinstance(population, Binomial | BetaBinomial) or not population.is_log_concave:
        return None
    law = population.law()
    deviation = law.variance**0.5
    width = max(1, int(deviation / _CELLS_A_DEVIATION))
    reach = int(_FARTHEST * deviation)
    margin = _MARGIN * width
    first = max(margin, law.mode - reach)
    last = min(population.records - margin, law.mode + reach)
    return WideCells(population, mechanism, first, width, (first, last))
