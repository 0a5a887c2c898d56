"""Independent records in groups, each group with its own known rate.

`Strata` is public; `binomial_sums` computes the distribution of its count.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, TableLaw, weighted_table
from noisycount.model.laws.factors import Factor, Product, ShiftedFactor
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.populations.binomial_sums import WIDE, RateGroups, deep_sum_of_binomials
from noisycount.model.populations.population import IndependentNeighbours, Informed, Moments, Population, known_records
from noisycount.model.searches import Bracket, first_whole
from noisycount.validation import LARGEST_WHOLE

_STEEPEST = 740.0  # beyond this tilt, rates are 0 or 1 as floats
_FINEST = 2.0**-26  # smallest grid on which a tilt is searched
_DEPTH = 70.0  # nats: probabilities below e^−70 of the largest do not change a sum of doubles
_ROUNDING_OF_SUMS = 2e-12  # relative error of a probability from frequencies and joined tilted distributions
_DEEPEST = 700.0  # nats: depth of the smallest floats


@frozen(init=False, eq=False, repr=False)
class Strata(Population):
    """Independent groups of records, each group with its own known rate.

    K = Σ K_j with K_j ~ Bin(sizes[j], rates[j]). If all sizes are 1, K has the Poisson-binomial distribution.

    Args:
        sizes: The public number of records of each group, whole, 0 to 2^53 in total, shape (groups,).
        rates: The probability that a record of the group satisfies the predicate, in [0, 1], same shape.

    Raises:
        ValueError: If sizes or rates are out of range, or their shapes differ.

    Source: Breutigam and Reischuk, section 3, for records of unequal rates; exponential tilting after Esscher (1932).

    Numerical error: 1e-10 posterior standard deviations in the mean, 1e-15 of the largest in a probability.

    Example:
        >>> import noisycount as nc
        >>> round(nc.Strata([100, 50], [0.3, 0.1]).law().mean, 9)
        35.0
    """

    are_independent: ClassVar[bool] = True

    sizes: NDArray[np.int64]
    rates: Reals

    def __init__(self, sizes: ArrayLike, rates: ArrayLike) -> None:
        whole, shares = _check_groups(sizes, rates)
        object.__setattr__(self, "sizes", whole)
        object.__setattr__(self, "rates", shares)

    @property
    def size(self) -> int:
        """Number of records of all groups."""
        return int(self.sizes.sum())

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """Return the distribution of the count, given the answers with these likelihoods.

        Rates are tilted to e^θ·p/(1 − p + e^θ·p), with θ chosen so that the tilted mean is where the posterior is
        large. The factor e^(−θ·k) then removes the tilt again.
        """
        if not likelihoods:
            return self.table(_DEPTH)
        certain, kinds = _split_certain(self)
        others = tuple(ShiftedFactor(one, certain) for one in likelihoods)
        if kinds is None:
            return weighted_table(0, np.zeros(1), others).moved(certain)
        tilt = _balancing_tilt(kinds, others)
        first, logs = kinds.law(tilt)
        return weighted_table(first, logs, (*others, Exponential(-tilt))).moved(certain)

    def deep_prior(self) -> TableLaw:
        """Return the prior of the count with tails that reach down to the smallest floats."""
        return self.table(_DEEPEST)

    @property
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)].

        Groups are independent, so E[K(n − K)] is E[K]·E[n − K] less the pairs of a record with itself.
        """
        sizes, rates = self.sizes.astype(np.float64), self.rates
        positives, negatives = float(sizes @ rates), float(sizes @ (1 - rates))
        same = float(sizes @ (rates * (1 - rates)))
        return Moments(positives, negatives, positives * negatives - same)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts, shape (runs,)."""
        counts = np.zeros(runs, dtype=np.int64)
        for size, rate in zip(self.sizes.tolist(), self.rates.tolist(), strict=True):
            counts += generator.binomial(size, rate, runs)
        return counts.astype(np.float64)

    def table(self, depth: float) -> TableLaw:
        """Return the prior of the count, for all counts whose probability is within e^depth of the largest.

        Args:
            depth: In nats, at most 700.
        """
        certain, kinds = _split_certain(self)
        if kinds is None:
            return TableLaw(certain, np.zeros(1))
        first, logs = deep_sum_of_binomials(kinds, depth)
        law = TableLaw(first + certain, logs, depth)
        if law.variance <= WIDE**2:
            return law
        shift = 2 * math.ulp(law.mean) / math.sqrt(law.variance)  # the table is centred on the rounded mean
        return replace(law, rounding=_ROUNDING_OF_SUMS + shift)

    def given(self, known: ArrayLike, positives: ArrayLike) -> Informed:
        """Return the population as seen by an adversary who holds some records of each group.

        Args:
            known: The number of records of each group that are held, shape (groups,).
            positives: The number of them that satisfy the predicate, same shape.

        Raises:
            ValueError: If there are fewer records, or these numbers have probability 0.
        """
        held, positive = np.atleast_1d(known), np.atleast_1d(positives)
        if not held.shape == positive.shape == self.sizes.shape:
            raise ValueError(
                f"known and positives must be one number a group ({self.sizes.size}), got shapes "
                f"{held.shape} and {positive.shape}"
            )
        for one, other, size in zip(held.tolist(), positive.tolist(), self.sizes.tolist(), strict=True):
            known_records(one, other, size)
        impossible = ((self.rates == 0) & (positive > 0)) | ((self.rates == 1) & (positive < held))
        if impossible.any():
            group = int(np.argmax(impossible))
            raise ValueError(
                f"positives cannot be {positive[group]} of {held[group]} in group {group} at the "
                f"certain rate {self.rates[group]}: no record can differ in a property that is certain"
            )
        rest = Strata(self.sizes - held, self.rates)
        return Informed(rest, int(held.sum()), int(positive.sum()))

    def neighbours(self) -> Iterator[IndependentNeighbours]:
        """Yield one pair for each different rate between 0 and 1; records of rate 0 or 1 have no neighbours.

        Raises:
            ValueError: If all records are certain.
        """
        uncertain = (self.sizes > 0) & (self.rates > 0) & (self.rates < 1)
        if not uncertain.any():
            raise ValueError(
                "rates must lie between 0 and 1 in a stratum that has unknown records, got "
                f"{self.rates.tolist()[:5]}: no record can differ in a property that is certain"
            )
        for group in np.unique(np.where(uncertain, self.rates, np.nan), return_index=True)[1]:
            if uncertain[group]:
                others = self.sizes.copy()
                others[group] -= 1
                yield IndependentNeighbours(Strata(others, self.rates))


@frozen
class Exponential(Factor):
    """The factor e^(steepness·k) of a count k."""

    steepness: float  # change of the logarithm for each record

    def expansion(self, _: int) -> Expansion:
        """Return a straight line of slope `steepness`."""
        return Expansion(Decimal(self.steepness), np.zeros_like)

    def log_ratio_to_next(self, _: int) -> float:
        """Return the steepness."""
        return self.steepness


@lru_cache(maxsize=4)
def _split_certain(strata: Strata) -> tuple[int, RateGroups | None]:
    """Return the number of records with rate 1, and the records with rates between 0 and 1 (None if there is none)."""
    certain = int(strata.sizes[strata.rates == 1].sum())
    is_open = (strata.rates > 0) & (strata.rates < 1) & (strata.sizes > 0)
    if not is_open.any():
        return certain, None
    rates, places = np.unique(strata.rates[is_open], return_inverse=True)
    sizes: Reals = np.bincount(places, weights=strata.sizes[is_open]).astype(np.float64)
    return certain, RateGroups(sizes, np.log(rates) - np.log1p(-rates))


def _balancing_tilt(kinds: RateGroups, likelihoods: Sequence[Factor]) -> float:
    """Return the tilt θ at which the likelihoods change by e^−θ a record around the tilted mean.

    At that count, both the tilted distribution and the likelihoods without the tilt are largest. The standard deviation
    of the count is at most √n/2, and an error x of the tilt moves the mean by x·σ². So a grid of 2^−6/√n moves the mean
    by less than σ/64.
    """
    product = Product(tuple(likelihoods))
    smallest, largest = product.support
    grain = max(_FINEST, 2.0 ** -(6 + math.ceil(math.log2(kinds.sizes.sum()) / 2)))

    def excess_slope(grid_index: float) -> float:
        tilt = grid_index * grain
        count = math.floor(kinds.moments(tilt)[0])
        if smallest <= count < largest:
            return tilt - product.log_ratio_to_next(count)
        return -math.inf if count < smallest else math.inf

    bracket = Bracket(-_STEEPEST / grain, _STEEPEST / grain)
    return first_whole(excess_slope, bracket).high * grain


def _check_groups(sizes: ArrayLike, rates: ArrayLike) -> tuple[NDArray[np.int64], Reals]:
    """Return sizes and rates as arrays of one shape; raise ValueError for numbers out of range."""
    try:
        whole, shares = np.asarray(sizes, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sizes and rates must be two lists with one number per group") from None
    if whole.ndim != 1 or whole.shape != shares.shape or not whole.size:
        raise ValueError(
            f"sizes and rates must be two lists with one number per group, got shapes {whole.shape} and {shares.shape}"
        )
    for name, values, fine, meant in (
        ("sizes", whole, (whole >= 0) & (whole == np.floor(whole)), "whole numbers from 0"),
        ("rates", shares, (shares >= 0) & (shares <= 1), "probabilities between 0 and 1"),
    ):
        if not fine.all():
            raise ValueError(f"{name} must be {meant}, got {float(values[np.argmin(fine)])!r}")
    if whole.sum() > LARGEST_WHOLE or int(whole.astype(np.int64).sum()) > LARGEST_WHOLE:
        raise ValueError(f"sizes must add up to at most 2**53, got {float(whole.sum())!r}")
    return whole.astype(np.int64), shares
