"""The posterior mean under Laplace noise for many answers over a wide range of counts."""

from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population

__all__ = ["WideCells", "wide_cells"]

_POINTS = 24  # a polynomial through so many holds a cell to the digits of a double
_FARTHEST = 40  # standard deviations: the law has fallen by e^800 there
_MARGIN = 1024  # records from an end, nearer to which the quantities are not smooth
_PIECE = 1 << 18  # answers whose scratch takes some megabytes
_NODES = np.polynomial.chebyshev.chebpts1(_POINTS)


@dataclass(frozen=True, slots=True)
class WideCells:
    """The mean of the counts up to m, of those above m, and their odds, as polynomials in m.

    They are the quantities of `LaplaceCells`. They change over standard deviations of the count
    and over distances to the ends, so that in a cell of half of either a polynomial through 24
    integers tells them at every integer.

    Attributes:
        prior: The law of the count before an answer.
        size: The number of records.
        mechanism: The noise.
        edges: The integers at which cells begin, and the one at which the last cell ends.
    """

    prior: Factor
    size: int
    mechanism: SymmetricNoise
    edges: Reals

    @property
    def covered(self) -> tuple[float, float]:
        """The answers whose means the cells tell lie between these."""
        return float(self.edges[0]), float(self.edges[-1] - 1)

    def means(self, answers: Reals) -> Reals:
        """The posterior mean for each answer, shape (answers,); nan for those not covered."""
        means = np.full_like(answers, np.nan)
        fits: dict[int, Reals] = {}
        for start in range(0, answers.size, _PIECE):
            part = slice(start, start + _PIECE)
            self._fill(answers[part], means[part], fits)
        return means

    def _fill(self, answers: Reals, means: Reals, fits: dict[int, Reals]) -> None:
        """Write the means of one piece; the fits of cells are kept for the next."""
        first, last = self.covered
        floors = np.floor(answers)
        covered = (answers >= first) & (answers <= last)
        cells = np.where(covered, np.searchsorted(self.edges, floors, side="right") - 1, -1)
        for cell in np.unique(cells[covered]).tolist():
            if cell not in fits:
                fits[cell] = self._fitted(cell)
            here = cells == cell
            floor = floors[here]
            middle, half = self._middle_and_half(cell)
            distance, rise, logit = np.polynomial.chebyshev.chebval(
                (floor - middle) / half, fits[cell]
            )
            nearness = -2 * (answers[here] - floor) / self.mechanism.errors.spread
            with np.errstate(over="ignore"):
                means[here] = floor - distance + rise / (1 + np.exp(logit + nearness))

    def _middle_and_half(self, cell: int) -> tuple[float, float]:
        """The middle of a cell, and half of its length."""
        start, stop = self.edges[cell : cell + 2]
        return float(start + stop) / 2, float(stop - start) / 2

    def _fitted(self, cell: int) -> Reals:
        """The coefficients of the three polynomials of a cell, shape (points, 3)."""
        middle, half = self._middle_and_half(cell)
        integers = np.unique(np.round(middle + half * _NODES)).astype(int)
        known = np.array([self._known_at(int(integer)) for integer in integers])
        places = (integers - middle) / half
        fit: Reals = np.polynomial.chebyshev.chebfit(places, known, places.size - 1)
        return fit

    def _known_at(self, integer: int) -> tuple[float, float, float]:
        """How far the counts up to m lie below m on average, the rise to those above, the logit."""
        law = smooth_law([self.prior, self.mechanism.likelihood(integer, self.size)])
        log_below, below = law.part(0, integer)
        log_above, above = law.part(integer + 1, self.size)
        return integer - below, above - below, log_below - log_above


def wide_cells(population: Population, mechanism: SymmetricNoise) -> WideCells | None:
    """The cells within 40 standard deviations of the expected count, and 1,024 from the ends.

    There the quantities are smooth for log-concave laws with a smooth logarithm; None for others.

    Args:
        population: What is known about the count before an answer.
        mechanism: The noise.
    """
    prior = population.smooth_prior
    if prior is None or not prior.is_log_concave:
        return None
    law, size = population.law(), population.records
    deviation = law.variance**0.5
    reach = int(_FARTHEST * deviation)
    edge = max(_MARGIN, law.mode - reach)
    last = min(size - _MARGIN, law.mode + reach)
    edges = [edge]
    while edge < last:
        edge += int(min(deviation, edge, size - edge) / 2) + 1
        edges.append(min(edge, last))
    return (
        WideCells(prior, size, mechanism, np.array(edges, dtype=np.float64)) if edges[1:] else None
    )
