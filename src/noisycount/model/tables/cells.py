"""The law of the count of a cell, as a mixture that answers can teach, and of the sum of independent cells."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.searches import first_true_beyond, roots

# Of the negative binomial laws, whose standard deviations are 0.58 means or more. A whole shape
# makes Γ(k + shape)/k! a polynomial, which has all digits at every count.
SHAPE = 3
_TABLE = 1 << 12  # counts, each summed by itself
_STEP = 1e-3  # of ln k between the knots beyond: cubic pieces are within 1e-12 of the logarithm
_FARTHEST = 1500.0  # largest means up to which there are knots: e^−4500 of the law is beyond
_AT_ONCE = 1 << 14  # counts: as many rows of a matrix of all components


def cubic(values: Reals, nodes: NDArray[np.int64], shares: Reals) -> Reals:
    """Values so far behind nodes, on cubics through the nearest four of them."""
    before, own, after, last = (values[nodes + step] for step in (-1, 0, 1, 2))
    outer, inner = (shares + 1) * (shares - 2), shares * (shares - 1)
    found: Reals = outer * ((shares - 1) * own - shares * after) / 2
    found += inner * ((shares + 1) * last - (shares - 2) * before) / 6
    return found


@frozen(eq=False, repr=False, slots=False)
class CellLaw(Shown):
    """A count is 0 with some probability, else of one of several negative binomial laws.

    P[K = k] = w_0·[k = 0] + Σ_j w_j·(k + 1)(k + 2)/2·(3/(3 + m_j))³·(m_j/(3 + m_j))^k.
    """

    zero: float  # the probability w_0 of a cell that is surely empty
    means: Reals  # the means m_j of the laws, in records, rising
    weights: Reals  # their probabilities w_j; all add up to 1 with w_0

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return float(self.weights @ self.means)

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        squares = self.means + self.means**2 * (1 + 1 / SHAPE)
        return float(self.weights @ squares) - self.mean**2

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for what is no count.

        Numerical error: 1e-12, absolute.
        """
        asked = np.asarray(counts, dtype=np.float64)
        logs = np.full(asked.shape, -np.inf)
        whole = (asked >= 0) & (asked == np.floor(asked))
        near = whole & (asked < _TABLE)
        logs[near] = self._near[asked[near].astype(np.int64)]
        far = whole & ~near
        logs[far] = self._log_far(asked[far])
        return logs

    def log_pmf_near(self, counts: NDArray[np.int64]) -> Reals:
        """The same of whole counts, by one table where they are close to each other."""
        first, last = int(counts.min()), int(counts.max())
        if last - first >= counts.size:
            return self.log_pmf(counts)
        return self.log_pmf(np.arange(first, last + 1))[counts - first]

    def log_between(self, counts: Reals) -> Reals:
        """The logarithm of P[K = k], which between the counts is that of cells that are not empty."""
        logs = self._log_sums(counts)
        with np.errstate(divide="ignore"):
            logs[counts == 0] = np.logaddexp(logs[counts == 0], np.log(self.zero))
        return logs

    def cdf(self, count: float) -> float:
        """P[K <= count]."""
        if count < 0:
            return 0.0
        return 1 - self.sf(count)

    def sf(self, count: float) -> float:
        """P[K > count] for a count from 0: at most two of count + 3 trials succeed."""
        trials = math.floor(count) + SHAPE
        odds = SHAPE / self.means
        none = np.exp(-trials * np.log1p(odds))
        tails = none * (1 + trials * odds * (1 + (trials - 1) / 2 * odds))
        return float(self.weights @ tails)

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        return first_true_beyond(lambda count: self.cdf(count) >= level, 0, 1)

    def end(self, depth: float) -> int:
        """A count beyond which the law weighs less than e^−depth of its largest component."""
        largest = float(self.means[self.weights > 0].max(initial=0.0))
        return math.ceil((depth + 4 * SHAPE) * (largest / SHAPE + 1))

    @cached_property
    def _near(self) -> Reals:
        """The logarithms at the first counts."""
        logs = self._log_sums(np.arange(_TABLE, dtype=np.float64))
        with np.errstate(divide="ignore"):
            logs[0] = np.logaddexp(logs[0], np.log(self.zero))
        return logs

    @cached_property
    def _far(self) -> Reals:
        """The logarithms beyond them at steps of ln k."""
        reach = math.log(max(_FARTHEST * float(self.means[-1]) / _TABLE, 2.0))
        steps = np.arange(-1.0, math.ceil(reach / _STEP) + 3)
        return self._log_sums(_TABLE * np.exp(_STEP * steps))

    def _log_far(self, counts: Reals) -> Reals:
        """The logarithms at counts beyond the table: of many by cubics through four knots."""
        if counts.size < _AT_ONCE:
            return self._log_sums(counts)
        places = np.log(counts / _TABLE) / _STEP
        beyond = places > self._far.size - 4
        first = np.where(beyond, 0, places).astype(np.int64)
        share = np.where(beyond, 0.0, places - first)
        logs = cubic(self._far, first + 1, share)
        logs[beyond] = self._log_sums(counts[beyond])
        return logs

    def _log_sums(self, counts: Reals) -> Reals:
        """The logarithms of the sums of all components but that of empty cells."""
        used = self.weights > 0
        if not used.any():
            return np.full(counts.shape, -np.inf)
        means, weights = self.means[used], self.weights[used]
        starts = np.log(weights) - SHAPE * np.log1p(means / SHAPE)
        slopes = np.log1p(SHAPE / means)
        logs = np.empty(counts.shape)
        for first in range(0, counts.size, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            terms = starts - counts[some, None] * slopes
            peaks = terms.max(axis=1)
            terms -= peaks[:, None]
            logs[some] = peaks + np.log(np.exp(terms).sum(axis=1))
        ways: Reals = np.log1p(counts) + np.log1p(counts / 2)
        return logs + ways


Complexes = NDArray[np.complex128]
_PATH_STEP = 0.04  # along a hyperbola: what sums of steps are off is e^-38 or less
_SHARE = 0.5  # of the width of a saddle
_BEND = 0.25  # of a hyperbola towards the poles
_NARROW = 30.0  # standard deviation of a sum up to which circles take few steps
_REACH, _FARTHEST_TAIL = 40.0, 400.0  # standard deviations, and records, for the circles' length
_NEAR = 0.2  # of 1: where the logarithm has few digits without care
_STEPS_AT_ONCE, _MOST_STEPS = 32, 3200  # steps
_VANISHED = 1e-17
_FARTHEST_LOGIT = 40.0  # of the logit of a saddle's place
_NODES = 24  # of a polynomial through logarithms
_PANEL = 1.2  # the largest count of a polynomial over its smallest


@frozen(eq=False)
class CellSums:
    """The sum of independent counts of one law."""

    law: CellLaw  # of each count
    cells: int  # how many

    def log_pmf(self, first: int, width: int) -> Reals:
        """The logarithms of the probabilities of a run of counts from 0 on.

        P[S = k] is the integral of G(z)^m/z^(k+1) around 0 over 2π·i, G the generating function of a cell. G is
        analytic but for poles on the reals beyond 1, so that the circle may be opened to a hyperbola around them,
        through the saddle; along it the integrand falls at least exponentially, and sums of equal steps are exact.

        Source: Flajolet and Sedgewick, Analytic Combinatorics (2009), VIII; Weideman and Trefethen (2007), hyperbolas.
        Numerical error: 1e-13, and 1e-16 a cell, absolute.
        """
        last = first + width - 1
        logs = np.empty(width)
        low = first
        while low <= last:
            high = min(last, max(low + 2 * _NODES, math.floor(low * _PANEL)))
            logs[low - first : high + 1 - first] = self._panel(low, high)
            low = high + 1
        return logs

    def _panel(self, low: int, high: int) -> Reals:
        """The logarithms from one count to another, between few nodes by a polynomial."""
        counts = np.arange(low, high + 1.0)
        if counts.size <= 2 * _NODES + 1:
            return self._log_pmf(counts)
        angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
        nodes = np.unique(np.round((low + high) / 2 - (high - low) / 2 * np.cos(angles)))
        return _interpolated(nodes, self._log_pmf(nodes), counts)

    def _log_pmf(self, counts: Reals) -> Reals:
        """The logarithms at some counts, rising."""
        logs = np.full(counts.size, -np.inf)
        logs[counts == 0] = self.cells * self.law.log_pmf(0)
        some = counts > 0
        if some.any() and (self.law.weights > 0).any():
            logs[some] = _Paths.of(self, counts[some]).log_integrals()
        return logs


@frozen(eq=False)
class _Paths:
    """Hyperbolas through the saddles of some counts.

    Places are told by their distance from the nearest pole, 1 + shape/(largest mean).
    """

    sums: CellSums  # of which cells
    counts: Reals  # shape (counts,)
    gaps: Reals  # the distances of the saddles

    @classmethod
    def of(cls, sums: CellSums, counts: Reals) -> "_Paths":
        """Those of some counts, all positive."""
        pole = 1 + _beyond(sums.law)

        def excess(logits: Reals) -> Reals:
            return sums.cells * _moments(sums.law, pole / (1 + np.exp(logits)))[0] - counts

        ends = np.full(counts.size, _FARTHEST_LOGIT)
        return cls(sums, counts, pole / (1 + np.exp(roots(excess, -ends, ends))))

    def log_integrals(self) -> Reals:
        """The logarithms of the integrals over 2π·i."""
        deviations = np.sqrt(self.sums.cells * _moments(self.sums.law, self.gaps)[1])
        is_narrow = deviations <= _NARROW
        found = np.empty(self.counts.size)
        for some, integral in ((is_narrow, _Paths._circles), (~is_narrow, _Paths._hyperbolas)):
            if some.any():
                part = _Paths(self.sums, self.counts[some], self.gaps[some])
                found[some] = integral(part, deviations[some])
        return found

    def _circles(self, deviations: Reals) -> Reals:
        """The logarithms around circles, for narrow sums: exact but for mass a turn further."""
        saddles = self._saddles
        reach = float((deviations + np.minimum(saddles / self.gaps, _FARTHEST_TAIL)).max())
        half = math.ceil(_REACH * reach / 2)
        peaks = self._logs(self.gaps[:, None])[:, 0].real
        found = np.full(self.counts.size, 0.5)
        for start in range(1, half + 1, _STEPS_AT_ONCE):
            turns = np.arange(start, min(start + _STEPS_AT_ONCE, half + 1))
            gaps = self.gaps[:, None] - saddles[:, None] * np.expm1(1j * math.pi / half * turns)
            terms = np.exp(self._logs(gaps) - peaks[:, None])
            found += (terms.real * np.where(turns == half, 0.5, 1.0)).sum(axis=1)
            if np.abs(terms).max() <= _VANISHED:
                break
        return np.asarray(peaks + np.log(found / half))

    def _hyperbolas(self, deviations: Reals) -> Reals:
        """The logarithms along hyperbolas."""
        saddles, beyond = self._saddles, _beyond(self.sums.law)
        sizes = np.minimum(self.gaps, saddles)
        steps = np.minimum(_PATH_STEP, _SHARE * saddles / (sizes * deviations))
        peaks = self._logs(self.gaps[:, None])[:, 0].real
        found = sizes / saddles / 2
        for start in range(1, _MOST_STEPS, _STEPS_AT_ONCE):
            places = steps[:, None] * np.arange(start, start + _STEPS_AT_ONCE)
            aside = _BEND * (np.cosh(places) - 1) + 1j * np.sinh(places)
            slopes = _BEND * np.sinh(places) + 1j * np.cosh(places)
            gaps = self.gaps[:, None] - sizes[:, None] * aside
            terms = np.exp(self._logs(gaps) - peaks[:, None]) * slopes / (1 + (beyond - gaps))
            found += sizes * terms.imag.sum(axis=1)
            if (np.abs(sizes * terms[:, -1]) <= _VANISHED * found).all():
                break
        return np.asarray(peaks + np.log(found * steps / math.pi))

    @property
    def _saddles(self) -> Reals:
        """Where the integrands are smallest on the reals."""
        return 1 + (_beyond(self.sums.law) - self.gaps)

    def _logs(self, gaps: Complexes | Reals) -> Complexes:
        """The logarithms of G(z)^m/z^k, shape (counts, places)."""
        law = self.sums.law
        generating = _components(law, gaps).sum(axis=-1)
        powers = self.counts[:, None] * _log_beyond(_beyond(law) - gaps)
        return self.sums.cells * np.log(law.zero + generating) - powers


def _log_beyond(places: Complexes | Reals) -> Complexes:
    """The logarithms of 1 + places, with all digits of small ones, which complex `log1p` loses."""
    real, imaginary = places.real, places.imag
    near = np.maximum(2 * real + real**2 + imaginary**2, -0.5)
    sizes = np.where(np.abs(places) < _NEAR, np.log1p(near) / 2, np.log(np.abs(1 + places)))
    return np.asarray(sizes + 1j * np.arctan2(imaginary, 1 + real))


def _beyond(law: CellLaw) -> float:
    """How far beyond 1 the nearest pole is."""
    return SHAPE / float(law.means[law.weights > 0].max())


def _bases(law: CellLaw, gaps: Complexes | Reals) -> Complexes | Reals:
    """What has power −shape in the generating functions of components, on a last axis."""
    means = law.means[law.weights > 0]
    return 1 - means / means.max() + gaps[..., None] * (means / SHAPE)


def _components(law: CellLaw, gaps: Complexes | Reals) -> Complexes | Reals:
    """The generating functions of the components times their weights."""
    return law.weights[law.weights > 0] / _bases(law, gaps) ** SHAPE


def _moments(law: CellLaw, gaps: Reals) -> tuple[Reals, Reals]:
    """The mean and the variance of a cell whose law is tilted to a place."""
    parts = _components(law, gaps)
    shares = parts / (law.zero + parts.sum(axis=-1, keepdims=True))
    places = 1 + (_beyond(law) - gaps[:, None])
    means = law.means[law.weights > 0] * places / _bases(law, gaps)
    average = (shares * means).sum(axis=-1)
    squares = (shares * (means + means**2 * (1 + 1 / SHAPE))).sum(axis=-1)
    return average, squares - average**2


def _interpolated(nodes: Reals, values: Reals, asked: Reals) -> Reals:
    """The polynomial through some values at others, in the barycentric form."""
    half = (nodes[-1] - nodes[0]) / 4
    apart = (nodes[:, None] - nodes) / half
    np.fill_diagonal(apart, 1.0)
    weights = 1 / apart.prod(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = weights / (asked[:, None] - nodes)
        found = shares @ values / shares.sum(axis=1)
    found[np.searchsorted(asked, nodes)] = values
    return np.asarray(found)
