"""Answers from a random sample of the records, with or without noise.

`Subsample` is public; `mechanism` has the interface.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebval, chebvander
from numpy.typing import ArrayLike, NDArray

from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws import factors
from noisycount.model.laws.gamma import Expansion, Reals, log_gamma_bends, log_hypergeometric
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.sampling.scalar import RandomIntegers
from noisycount.validation import real_number, whole_number

_LARGEST_TABLE = 1 << 13  # records: the terms of a larger sample are fewer as a smooth law
_ENTRIES = 1 << 19  # terms held at once: 4 MB
_NODES = 24  # of a Chebyshev series in a cell of counts
_TO_SERIES = np.linalg.inv(chebvander(chebpts1(_NODES), _NODES - 1))  # from values at the nodes to coefficients
_SERIES_ERROR = 1e-13  # largest size of the last terms of a series, relative to the largest value
_FEW_COUNTS = 24  # number of counts of a cell up to which each is summed by itself
_SMALLEST_LOG = -1e300  # stands for −inf in a difference of logarithms
_CELL_DEVIATIONS = 2.0  # standard deviations of the sample in a cell


@frozen
class Subsample(Mechanism):
    """The number of positive records in a sample of m records without replacement, plus noise.

    P[S = s | K = k] = C(k, s)·C(n − k, m − s) / C(n, m), and Y = S + Z.

    Args:
        sample_size: The number m of records drawn, at least 1 and at most the size.
        noise: Noise that is added to the number in the sample; None (or `Exact()`): nothing is.

    Raises:
        ValueError: If the sample size is not a positive whole number, or the noise is none that is added, such as
            another sample.

    Source: Breutigam and Reischuk, section 4.1.

    Example:
        >>> import noisycount as nc
        >>> likelihood = nc.Subsample(10).likelihood(3, 100)
        >>> round(nc.Binomial(100, 0.3).law(likelihood).mean, 9)
        30.0
    """

    sample_size: int
    noise: Mechanism | None = None

    def __post_init__(self) -> None:
        size = whole_number(self.sample_size, "sample_size", smallest=1)
        object.__setattr__(self, "sample_size", size)
        if isinstance(self.noise, Exact):
            object.__setattr__(self, "noise", None)
        elif not isinstance(self.noise, SymmetricNoise | None):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in model)
                f"noise must be noise that is added to a count, such as Laplace(scale), or None, got {self.noise!r}"
            )

    def likelihood(self, answer: float, size: int) -> factors.Factor:
        """Return P[Y = answer | K = k] as a function of the count k among `size` records."""
        if self.sample_size > size:
            raise ValueError(f"sample_size must be at most the {size} records there are, got {self.sample_size}")
        if self.noise is not None:
            return NoisySampleLikelihood(self.noise.likelihood(answer, self.sample_size), self.sample_size, size)
        in_sample = real_number(answer, "answer")
        if not in_sample.is_integer() or not 0 <= in_sample <= self.sample_size:
            raise ValueError(
                f"answer must be a whole number from 0 to the sample size {self.sample_size}, got {answer!r}"
            )
        return sample_likelihood(int(in_sample), self.sample_size, size)

    def tail(self, answer: float, size: int, *, upper: bool) -> factors.ValuedFactor:
        """Return P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
        drawn = (self.noise or Exact()).tail(answer, self.sample_size, upper=upper)
        support: tuple[float, float] = (0, size)
        if self.noise is None:
            support = (answer, size) if upper else (0, size - self.sample_size + answer)
        relative = NoisySampleLikelihood(drawn, self.sample_size, size)
        at_centre = drawn.log_value(relative.centre)
        return factors.LogFactor(
            lambda counts: relative.log_values(counts) + at_centre, support=support, is_log_concave=False
        )

    def logpmf(self, answer: float, counts: ArrayLike, size: int | None = None) -> Reals:
        """Return ln P[Y = answer | K = k] for each count k.

        Args:
            answer: The number of positive records in the sample, with its noise.
            counts: Counts k, an array of any shape.
            size: The number of records of the database; needed here, because the sample is drawn from them.

        Raises:
            ValueError: If the size is left out or smaller than the sample, or the answer is not a possible number.
        """
        if size is None:
            raise ValueError(
                "size must be given, as the sample is drawn from that many records, got None: "
                "logpmf(answer, counts, size)"
            )
        likelihood, asked = self.likelihood(answer, size), np.asarray(counts, dtype=np.float64)
        if self.noise is None:  # Σ_k C(k, s)·C(n − k, m − s) = C(n + 1, m + 1)
            shares = math.log1p(size) - math.log1p(self.sample_size)
            return (smooth_law([likelihood]).log_pmf(asked) + shares)[()]
        possible = (asked >= 0) & (asked <= size) & (asked == np.floor(asked))
        logs = np.full(asked.shape, -np.inf)
        noisy = cast("NoisySampleLikelihood", likelihood)
        logs[possible] = noisy.log_values(asked[possible])
        return (logs + self.noise.logpmf(answer, noisy.centre))[()]

    def release(self, count: int, size: int | None = None) -> int | float:
        """Return one answer: an exact random sample is drawn, then the noise.

        Args:
            count: The true count.
            size: The number of records of the database; needed here, because the sample is drawn from them.

        Raises:
            ValueError: If the size is left out, or smaller than the count or the sample.
        """
        if size is None or whole_number(size, "size") < max(self.sample_size, count):
            raise ValueError(
                f"size must be given and at least the count and the sample size, got {size!r}: release(count, size)"
            )
        positives = whole_number(count, "count")
        integers, drawn = RandomIntegers(), 0
        for left in range(size, size - self.sample_size, -1):
            drawn += integers.below(left) < positives - drawn
        return drawn if self.noise is None else self.noise.release(drawn)


def sample_likelihood(positives: int, sample_size: int, size: int) -> factors.ShiftedFactor:
    """Return the factor C(k, s)·C(n − k, m − s) of a count k: a beta-binomial distribution of k − s."""
    negatives = sample_size - positives
    others = factors.BetaBinomialFactor(size - sample_size, positives + 1, negatives + 1)
    return factors.ShiftedFactor(others, -positives)


@frozen(slots=False)
class NoisySampleLikelihood(factors.ValuedFactor):
    """The factor E[f(Y − S) | K = k] of a count k, S the positives in the sample."""

    is_log_concave: ClassVar[bool] = False

    noisy: factors.Factor  # the likelihood f of the answer as a factor of S
    sample_size: int  # the number m of records in the sample
    size: int  # the number n of records

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest count: 0 and the number of records."""
        return 0, self.size

    @property
    def kinks(self) -> tuple[float, ...]:
        """Kinks of the noise if the whole database is sampled; otherwise none."""
        return self.noisy.kinks if self.sample_size == self.size else ()

    @cached_property
    def centre(self) -> int:
        """Number of positives in the sample that makes the answer likeliest; rounding is least there."""
        low, high = self.noisy.support
        first, last = math.ceil(max(low, 0)), math.floor(min(high, self.sample_size))
        if first > last:
            return self.sample_size // 2
        return factors.mode_and_turns(factors.Product((self.noisy,)), (first, last))[0]

    def log_values(self, counts: Reals) -> Reals:
        """Return ln Σ_s P[S = s | K = k]·f(s) for each count k, f(s) the density of the noise for s positives.

        The values are relative to f at `centre`. In a cell of counts in which many values are needed, they come from a
        Chebyshev series. A cell is two standard deviations of the sample wide. The logarithm has no singularity within
        that distance, except at the ends of the range of counts, so 24 values determine it. If they do not, the cell is
        halved.
        """
        flat = counts.ravel()
        logs = np.full(flat.shape, np.nan)
        self._fill_from_series(logs, flat, np.arange(flat.size), self._cell_width)
        is_single = np.isnan(logs)
        logs[is_single] = self._log_values_by_sums(flat[is_single])
        return logs.reshape(counts.shape)

    def _fill_from_series(self, logs: Reals, counts: Reals, indices: NDArray[np.intp], width: float) -> None:
        """Write the logarithms at some indices of the counts, from series on cells of one width.

        Cells in which few logarithms are needed are left out.
        """
        places = np.floor(counts[indices] / width)
        order = np.argsort(places, kind="stable")
        numbers, starts = np.unique(places[order], return_index=True)
        for place, group in zip(numbers.tolist(), np.split(indices[order], starts[1:]), strict=False):
            cell = width, place
            self._requests[cell] = self._requests.get(cell, 0) + group.size
            if self._requests[cell] <= _FEW_COUNTS:
                continue
            series = self._chebyshev_series(cell)
            if series is not None:
                logs[group] = chebval(2 * (counts[group] / width - place) - 1, series)
            elif width > 2 * _NODES:
                self._fill_from_series(logs, counts, group, width / 2)

    def _log_values_by_sums(self, counts: Reals) -> Reals:
        """Return the logarithms at real counts, each from a sum over the numbers in the sample."""
        if self.sample_size > _LARGEST_TABLE:
            return np.array([self._log_value(count) for count in counts.tolist()])
        rows = max(1, _ENTRIES // (self.sample_size + 1))
        parts = [self._logs_by_terms(counts[start : start + rows]) for start in range(0, counts.size, rows)]
        return np.concatenate([np.empty(0), *parts])

    def _logs_by_terms(self, counts: Reals) -> Reals:
        """Return the result of `log_values` by summing its terms one by one.

        For a sample of m of n records, P[S = s + 1]/P[S = s] is (k − s)·(m − s)/((s + 1)·(n − k − m + s + 1)). The
        logarithms of the terms are sums of such steps, outward from the mean of each k, so that likely terms keep their
        digits.
        """
        size, drawn = self.size, np.arange(self.sample_size + 1, dtype=np.float64)
        low, high = self.noisy.support
        gains = self.noisy.expansion(self.centre)(drawn - self.centre)
        gains[(drawn < low) | (drawn > high)] = -math.inf
        column, taken = counts[:, None], drawn[:-1]
        rising = np.maximum(column - taken, 0.0) * (self.sample_size - taken)
        falling = np.maximum(size - column - self.sample_size + taken + 1, 0.0) * (taken + 1)
        with np.errstate(divide="ignore"):
            steps = np.log(rising / falling)
        is_ahead = taken >= np.floor(self.sample_size / size * column)
        terms = np.zeros((counts.size, drawn.size))
        np.cumsum(np.where(is_ahead, steps, 0.0), axis=1, out=terms[:, 1:])
        terms[:, :-1] -= np.cumsum(np.where(is_ahead, 0.0, steps)[:, ::-1], axis=1)[:, ::-1]
        return _log_sums(terms + gains) - _log_sums(terms)

    def _chebyshev_series(self, cell: tuple[float, float]) -> Reals | None:
        """Return the Chebyshev series of the logarithm in a cell, or None if the series is not accurate enough."""
        if cell not in self._cells:
            width, place = cell
            first, last = place * width, (place + 1) * width
            series = None
            if first >= 0 and last <= self.size:
                values = self._log_values_by_sums(first + width * (1 + chebpts1(_NODES)) / 2)
                if np.isfinite(values).all():
                    series = _TO_SERIES @ values
                    allowed = _SERIES_ERROR * max(1.0, float(np.abs(values).max()))
                    series = series if float(np.abs(series[-3:]).max()) <= allowed else None
            self._cells[cell] = series
        return self._cells[cell]

    @cached_property
    def _cells(self) -> dict[tuple[float, float], Reals | None]:
        """Series of each cell that was computed, by its width and its number."""
        return {}

    @cached_property
    def _requests(self) -> dict[tuple[float, float], int]:
        """Number of counts requested so far in each cell."""
        return {}

    @cached_property
    def _cell_width(self) -> float:
        """Width of a cell, in records: two standard deviations of the sample at the likeliest count, scaled up."""
        share = self.sample_size / self.size
        positives = min(max(self.centre, 1), self.sample_size - 1) / self.sample_size
        deviation = math.sqrt(self.sample_size * positives * (1 - positives) * (1 - share))
        return max(2.0, _CELL_DEVIATIONS * deviation / share)

    def _log_value(self, count: float) -> float:
        """Return the logarithm for a large sample, with the sum computed as a smooth distribution.

        The sum is taken around its largest term, at s*: it is P[S = s* | K = k] times the sum of all terms relative to
        that term. A count none of whose samples has f > 0 has the logarithm −inf.
        """
        drawn = DrawnPositives(count, self.sample_size, self.size)
        low, high = factors.Product((drawn, self.noisy)).support
        if low > high:
            return -math.inf
        weighted = smooth_law([drawn, self.noisy])
        mode = float(weighted.mode)
        chance = log_hypergeometric(np.array(mode), np.array(count), self.size, self.sample_size)
        return (
            weighted.log_mass
            + float(chance)
            + float(self.noisy.expansion(self.centre)(np.array([mode - self.centre]))[0])
        )


def _log_sums(logs: Reals) -> Reals:
    """Return ln Σ e^logs of each row."""
    largest = np.maximum(logs.max(axis=1), _SMALLEST_LOG)
    with np.errstate(divide="ignore"):
        return largest + np.log(np.exp(logs - largest[:, None]).sum(axis=1))


@frozen
class DrawnPositives(factors.Factor):
    """The hypergeometric distribution of the positives S in a sample, as a factor of S."""

    count: float  # the number k of positive records; real between integers for smooth sums
    sample_size: int  # the number m of records in the sample
    size: int  # the number n of records

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible number of positives in the sample."""
        unsampled = self.size - self.sample_size
        return max(0, self.count - unsampled), min(self.count, self.sample_size)

    def expansion(self, centre: int) -> Expansion:
        """Return the expansion of 1/(Γ(s+1)·Γ(k−s+1)·Γ(m−s+1)·Γ(n−k−m+s+1)), m the sample size."""
        falling, rising = self._gamma_arguments(centre)
        slope = Decimal(math.fsum(map(math.log, rising)) - math.fsum(map(math.log, falling)))

        def bend(offsets: Reals) -> Reals:
            steps = np.stack([offsets, offsets, -offsets, -offsets])
            return -log_gamma_bends([*falling, *rising], steps)

        return Expansion(slope, bend)

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm from a number of positives to the next."""
        falling, rising = self._gamma_arguments(count)
        gains = math.log(rising[0] - 1) + math.log(rising[1] - 1)
        return gains - math.log(falling[0]) - math.log(falling[1])

    def exact_log_ratio_to_next(self, count: int) -> factors.LogRatio:
        """Return the change of the logarithm from a number of positives to the next, of an exact fraction."""
        falling, rising = self._gamma_arguments(count)
        gains = (Fraction(rising[0]) - 1) * (Fraction(rising[1]) - 1)
        return factors.LogRatio(gains / (Fraction(falling[0]) * Fraction(falling[1])))

    def _gamma_arguments(self, drawn: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the arguments of the gamma functions that grow with the positives drawn, and those that shrink."""
        unsampled = self.size - self.sample_size
        growing = drawn + 1.0, unsampled - self.count + drawn + 1.0
        return growing, (self.count - drawn + 1.0, self.sample_size - drawn + 1.0)
