"""Prior of the count of a cell, as a mixture whose weights can be learned, and distribution of a sum of such cells.

`CellLaw` is the mixture, `CellSums` the sum; `splits` has the alternative prior of a tree.
"""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.searches import roots

# Shape parameter of the negative binomial components: their standard deviations are at least 0.58 means. For a whole
# shape, Γ(k + shape)/k! is a polynomial, which is precise at every count.
SHAPE = 3
_TABLE = 1 << 12  # counts below this number are tabulated one by one
_STEP = 1e-3  # step of ln k between the knots beyond; cubic interpolation has an error of 1e-12
_FARTHEST = 1500.0  # knots end at this many times the largest mean, where the probability is e^−4500
_AT_ONCE = 1 << 14  # counts processed at once, as rows of a matrix over all components


def interpolate_cubic(values: Reals, nodes: NDArray[np.int64], shares: Reals) -> Reals:
    """Return values between nodes, at `shares` of a step beyond each node, by cubics through the four nearest nodes."""
    below_node, at_node, next_value, second_next = (values[nodes + step] for step in (-1, 0, 1, 2))
    outer, inner = (shares + 1) * (shares - 2), shares * (shares - 1)
    totals: Reals = outer * ((shares - 1) * at_node - shares * next_value) / 2
    totals += inner * ((shares + 1) * second_next - (shares - 2) * below_node) / 6
    return totals


@frozen(eq=False, repr=False, slots=False)
class CellLaw(Shown):
    """The prior of a cell: empty with some probability, else one of several negative binomial distributions.

    P[K = k] = w_0·[k = 0] + Σ_j w_j·(k + 1)(k + 2)/2·(3/(3 + m_j))³·(m_j/(3 + m_j))^k.
    """

    zero: float  # probability w_0 of the component that is always empty
    means: Reals  # means m_j of the components, in records, ascending, shape (components,)
    weights: Reals  # their probabilities w_j, same shape; w_0 + Σ w_j = 1

    @property
    def mean(self) -> float:
        """Expected count, in records."""
        return float(self.weights @ self.means)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """Return ln P[K = k] for each count k, in the shape of `counts`; −inf for negative or fractional numbers.

        Numerical error: 1e-12, absolute.
        """
        values = np.asarray(counts, dtype=np.float64)
        logs = np.full(values.shape, -np.inf)
        is_whole = (values >= 0) & (values == np.floor(values))
        is_near = is_whole & (values < _TABLE)
        logs[is_near] = self._logs_of_small_counts[values[is_near].astype(np.int64)]
        is_far = is_whole & ~is_near
        logs[is_far] = self._log_far(values[is_far])
        return logs

    def log_pmf_of_close_counts(self, counts: NDArray[np.int64]) -> Reals:
        """Return ln P[K = k] of whole counts, from one table if the counts are close together."""
        first, last = int(counts.min()), int(counts.max())
        if last - first >= counts.size:
            return self.log_pmf(counts)
        return self.log_pmf(np.arange(first, last + 1))[counts - first]

    def log_pmf_at_reals(self, counts: Reals) -> Reals:
        """Return ln P[K = k] at real numbers k; between the counts, by the formula for cells that are not empty."""
        logs = self._log_sums(counts)
        with np.errstate(divide="ignore"):
            logs[counts == 0] = np.logaddexp(logs[counts == 0], np.log(self.zero))
        return logs

    def negligible_from(self, depth: float) -> int:
        """Return a count above which the probability is less than e^−depth of the largest component."""
        largest = float(self.means[self.weights > 0].max(initial=0.0))
        return math.ceil((depth + 4 * SHAPE) * (largest / SHAPE + 1))

    @cached_property
    def _logs_of_small_counts(self) -> Reals:
        """Logarithms of the probabilities of the counts below 4096."""
        logs = self._log_sums(np.arange(_TABLE, dtype=np.float64))
        with np.errstate(divide="ignore"):
            logs[0] = np.logaddexp(logs[0], np.log(self.zero))
        return logs

    @cached_property
    def _logs_of_large_counts(self) -> Reals:
        """Logarithms of the probabilities beyond, at equal steps of ln k."""
        reach = math.log(max(_FARTHEST * float(self.means[-1]) / _TABLE, 2.0))
        steps = np.arange(-1.0, math.ceil(reach / _STEP) + 3)
        return self._log_sums(_TABLE * np.exp(_STEP * steps))

    def _log_far(self, counts: Reals) -> Reals:
        """Return the logarithms at counts beyond the table; for many counts, by cubic interpolation."""
        if counts.size < _AT_ONCE:
            return self._log_sums(counts)
        steps = np.log(counts / _TABLE) / _STEP
        is_beyond = steps > self._logs_of_large_counts.size - 4
        first = np.where(is_beyond, 0, steps).astype(np.int64)
        share = np.where(is_beyond, 0.0, steps - first)
        logs = interpolate_cubic(self._logs_of_large_counts, first + 1, share)
        logs[is_beyond] = self._log_sums(counts[is_beyond])
        return logs

    def _log_sums(self, counts: Reals) -> Reals:
        """Return the logarithms of the mixture without the component that is always empty."""
        is_used = self.weights > 0
        if not is_used.any():
            return np.full(counts.shape, -np.inf)
        means, weights = self.means[is_used], self.weights[is_used]
        starts = np.log(weights) - SHAPE * np.log1p(means / SHAPE)
        slopes = np.log1p(SHAPE / means)
        logs = np.empty(counts.shape)
        for first in range(0, counts.size, _AT_ONCE):
            chunk = slice(first, first + _AT_ONCE)
            terms = starts - counts[chunk, None] * slopes
            peaks = terms.max(axis=1)
            terms -= peaks[:, None]
            logs[chunk] = peaks + np.log(np.exp(terms).sum(axis=1))
        log_ways: Reals = np.log1p(counts) + np.log1p(counts / 2)
        return logs + log_ways


Complexes = NDArray[np.complex128]
_PATH_STEP = 0.04  # step along a hyperbola; the error of the sum is e^−38 or less
_SHARE = 0.5  # largest step, relative to the width of the saddle
_BEND = 0.25  # curvature of the hyperbola towards the poles
_NARROW = 30.0  # records: up to this standard deviation of a sum, circles need few steps
_REACH, _FARTHEST_TAIL = 40.0, 400.0  # standard deviations, and records, that determine the number of steps of a circle
_NEAR = 0.2  # distance from 1 within which the plain complex logarithm is imprecise
_STEPS_AT_ONCE, _MOST_STEPS = 32, 3200
_VANISHED = 1e-17  # relative size of a term that ends a sum
_FARTHEST_LOGIT = 40.0  # bound of the logit of a saddle's position
_NODES = 24  # nodes of a polynomial through logarithms
_PANEL = 1.2  # ratio of the largest to the smallest count of a polynomial


@frozen(eq=False)
class CellSums:
    """The sum of independent counts with one prior."""

    law: CellLaw  # prior of each count
    cells: int  # number of counts

    def log_pmf(self, first: int, width: int) -> Reals:
        """Return ln P[S = k] for k = first..first + width − 1, where first >= 0.

        P[S = k] is the integral of G(z)^m/z^(k+1) around 0, divided by 2π·i, for the generating function G of a cell.
        The only singularities of G are poles on the real line above 1. So the circle can be opened to a hyperbola
        around them through the saddle point. The integrand decays at least exponentially along it, and sums of equal
        steps are accurate.

        Source: Flajolet and Sedgewick, Analytic Combinatorics (2009), VIII; Weideman and Trefethen (2007), hyperbolas.

        Numerical error: 1e-13 plus 1e-16 a cell, absolute.
        """
        last = first + width - 1
        logs = np.empty(width)
        low = first
        while low <= last:
            high = min(last, max(low + 2 * _NODES, math.floor(low * _PANEL)))
            logs[low - first : high + 1 - first] = self._interpolated_logs(low, high)
            low = high + 1
        return logs

    def _interpolated_logs(self, low: int, high: int) -> Reals:
        """Return the logarithms for low..high, by a polynomial through a few of them."""
        counts = np.arange(low, high + 1.0)
        if counts.size <= 2 * _NODES + 1:
            return self._log_pmf(counts)
        angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
        nodes = np.unique(np.round((low + high) / 2 - (high - low) / 2 * np.cos(angles)))
        return _interpolated_values(nodes, self._log_pmf(nodes), counts)

    def _log_pmf(self, counts: Reals) -> Reals:
        """Return the logarithms at ascending counts, by integration."""
        logs = np.full(counts.size, -np.inf)
        logs[counts == 0] = self.cells * self.law.log_pmf(0)
        is_positive = counts > 0
        if is_positive.any() and (self.law.weights > 0).any():
            logs[is_positive] = _IntegrationPaths.through_saddles(self, counts[is_positive]).log_integrals()
        return logs


@frozen(eq=False)
class _IntegrationPaths:
    """Integration paths in the complex plane for P[S = k], each through the saddle point of its count k.

    Positions are stored as distances from the nearest pole, which is at 1 + shape/(largest mean).
    """

    sums: CellSums
    counts: Reals  # shape (counts,)
    gaps: Reals  # distances of the saddle points from the pole, same shape

    @classmethod
    def through_saddles(cls, sums: CellSums, counts: Reals) -> "_IntegrationPaths":
        """Return the paths of some positive counts."""
        pole = 1 + _gap_to_pole(sums.law)

        def excess(logits: Reals) -> Reals:
            return sums.cells * _tilted_moments(sums.law, pole / (1 + np.exp(logits)))[0] - counts

        ends = np.full(counts.size, _FARTHEST_LOGIT)
        return cls(sums, counts, pole / (1 + np.exp(roots(excess, -ends, ends))))

    def log_integrals(self) -> Reals:
        """Return the logarithms of the integrals along the paths, divided by 2π·i."""
        deviations = np.sqrt(self.sums.cells * _tilted_moments(self.sums.law, self.gaps)[1])
        is_narrow = deviations <= _NARROW
        totals = np.empty(self.counts.size)
        for is_of_method, integral in (
            (is_narrow, _IntegrationPaths._log_circle_integrals),
            (~is_narrow, _IntegrationPaths._log_hyperbola_integrals),
        ):
            if is_of_method.any():
                paths = _IntegrationPaths(self.sums, self.counts[is_of_method], self.gaps[is_of_method])
                totals[is_of_method] = integral(paths, deviations[is_of_method])
        return totals

    def _log_circle_integrals(self, deviations: Reals) -> Reals:
        """Return the logarithms of integrals on circles, for narrow sums; exact up to aliasing."""
        saddles = self._saddle_points
        reach = float((deviations + np.minimum(saddles / self.gaps, _FARTHEST_TAIL)).max())
        half = math.ceil(_REACH * reach / 2)
        peaks = self._log_integrand(self.gaps[:, None])[:, 0].real
        totals = np.full(self.counts.size, 0.5)
        for start in range(1, half + 1, _STEPS_AT_ONCE):
            step_numbers = np.arange(start, min(start + _STEPS_AT_ONCE, half + 1))
            gaps = self.gaps[:, None] - saddles[:, None] * np.expm1(1j * math.pi / half * step_numbers)
            terms = np.exp(self._log_integrand(gaps) - peaks[:, None])
            totals += (terms.real * np.where(step_numbers == half, 0.5, 1.0)).sum(axis=1)
            if np.abs(terms).max() <= _VANISHED:
                break
        return np.asarray(peaks + np.log(totals / half))

    def _log_hyperbola_integrals(self, deviations: Reals) -> Reals:
        """Return the logarithms of integrals along hyperbolas."""
        saddles, beyond = self._saddle_points, _gap_to_pole(self.sums.law)
        sizes = np.minimum(self.gaps, saddles)
        steps = np.minimum(_PATH_STEP, _SHARE * saddles / (sizes * deviations))
        peaks = self._log_integrand(self.gaps[:, None])[:, 0].real
        totals = sizes / saddles / 2
        for start in range(1, _MOST_STEPS, _STEPS_AT_ONCE):
            places = steps[:, None] * np.arange(start, start + _STEPS_AT_ONCE)
            aside = _BEND * (np.cosh(places) - 1) + 1j * np.sinh(places)
            slopes = _BEND * np.sinh(places) + 1j * np.cosh(places)
            gaps = self.gaps[:, None] - sizes[:, None] * aside
            terms = np.exp(self._log_integrand(gaps) - peaks[:, None]) * slopes / (1 + (beyond - gaps))
            totals += sizes * terms.imag.sum(axis=1)
            if (np.abs(sizes * terms[:, -1]) <= _VANISHED * totals).all():
                break
        return np.asarray(peaks + np.log(totals * steps / math.pi))

    @property
    def _saddle_points(self) -> Reals:
        """Positions of the saddle points on the real line."""
        return 1 + (_gap_to_pole(self.sums.law) - self.gaps)

    def _log_integrand(self, gaps: Complexes | Reals) -> Complexes:
        """Return the logarithms of the integrand G(z)^m/z^k of `CellSums.log_pmf`, shape (counts, places)."""
        law = self.sums.law
        generating = _weighted_components(law, gaps).sum(axis=-1)
        powers = self.counts[:, None] * _log1p_complex(_gap_to_pole(law) - gaps)
        return self.sums.cells * np.log(law.zero + generating) - powers


def _log1p_complex(places: Complexes | Reals) -> Complexes:
    """Return ln(1 + places) with full precision for small values, which complex `log1p` loses."""
    real, imaginary = places.real, places.imag
    bounded = np.maximum(2 * real + real**2 + imaginary**2, -0.5)
    sizes = np.where(np.abs(places) < _NEAR, np.log1p(bounded) / 2, np.log(np.abs(1 + places)))
    return np.asarray(sizes + 1j * np.arctan2(imaginary, 1 + real))


def _gap_to_pole(law: CellLaw) -> float:
    """Return the distance from 1 to the nearest pole."""
    return SHAPE / float(law.means[law.weights > 0].max())


def _generating_function_bases(law: CellLaw, gaps: Complexes | Reals) -> Complexes | Reals:
    """Return the bases of the power −shape in the generating functions of the components, on a last axis."""
    means = law.means[law.weights > 0]
    return 1 - means / means.max() + gaps[..., None] * (means / SHAPE)


def _weighted_components(law: CellLaw, gaps: Complexes | Reals) -> Complexes | Reals:
    """Return the generating functions of the components times their weights."""
    return law.weights[law.weights > 0] / _generating_function_bases(law, gaps) ** SHAPE


def _tilted_moments(law: CellLaw, gaps: Reals) -> tuple[Reals, Reals]:
    """Return the mean and the variance of a cell whose distribution is tilted to a position."""
    parts = _weighted_components(law, gaps)
    shares = parts / (law.zero + parts.sum(axis=-1, keepdims=True))
    places = 1 + (_gap_to_pole(law) - gaps[:, None])
    means = law.means[law.weights > 0] * places / _generating_function_bases(law, gaps)
    average = (shares * means).sum(axis=-1)
    squares = (shares * (means + means**2 * (1 + 1 / SHAPE))).sum(axis=-1)
    return average, squares - average**2


def _interpolated_values(nodes: Reals, values: Reals, points: Reals) -> Reals:
    """Return the polynomial through values at nodes, evaluated at other points in barycentric form."""
    half = (nodes[-1] - nodes[0]) / 4
    differences = (nodes[:, None] - nodes) / half
    np.fill_diagonal(differences, 1.0)
    weights = 1 / differences.prod(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = weights / (points[:, None] - nodes)
        totals = shares @ values / shares.sum(axis=1)
    totals[np.searchsorted(points, nodes)] = values
    return np.asarray(totals)
