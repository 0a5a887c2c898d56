"""Independent records whose rate depends on a known group."""

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
from noisycount.model.laws.factors import Factor, Moved, Product
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.populations.binomial_sums import WIDE, Kinds, deep_sum_of_binomials
from noisycount.model.populations.population import IndependentNeighbours, Informed, Moments, Population, known_records
from noisycount.model.searches import Bracket, first_whole
from noisycount.validation import LARGEST_WHOLE

_STEEPEST = 740.0  # a tilt beyond which rates are 0 or 1 as floats
_FINEST = 2.0**-26  # to which a tilt is found at most
_DEPTH = 70.0  # nats: what is left out of a law is beyond its doubles, posteriors are tilted
_ROUNDING_OF_SUMS = 2e-12  # of a probability found by frequencies and stitched from tilted laws
_DEEPEST = 700.0  # nats: the depth of the smallest floats


@frozen(init=False, eq=False, repr=False)
class Strata(Population):
    """Independent groups of records, each with its own known rate.

    K = Σ K_j with K_j ~ Bin(sizes[j], rates[j]); all sizes 1 is the Poisson-binomial law.

    Args:
        sizes: The public number of records of each group, whole, shape (groups,).
        rates: The probability that a record of the group satisfies the predicate, in [0, 1], same shape.

    Raises:
        ValueError: If sizes and rates are not such numbers of one shape.

    Source: Breutigam and Reischuk, section 3, for records of unequal rates; tilting of rates after Esscher (1932).
    Numerical error: 1e-10 posterior standard deviations in the mean, 1e-15 in a probability.

    Example:
        >>> import noisycount as nc
        >>> round(nc.Strata([100, 50], [0.3, 0.1]).law().mean, 9)
        35.0
    """

    are_independent: ClassVar[bool] = True

    sizes: NDArray[np.int64]
    rates: Reals

    def __init__(self, sizes: ArrayLike, rates: ArrayLike) -> None:
        whole, shares = _checked(sizes, rates)
        object.__setattr__(self, "sizes", whole)
        object.__setattr__(self, "rates", shares)

    @property
    def size(self) -> int:
        """The number of records of all groups."""
        return int(self.sizes.sum())

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are.

        Rates are tilted, e^θ·p/(1 − p + e^θ·p), so that the mean moves to where the likelihoods and the tilt balance;
        the factor e^(−θ·k) takes the tilt back.
        """
        if not likelihoods:
            return self.table(_DEPTH)
        certain, kinds = _kinds(self)
        others = tuple(Moved(one, certain) for one in likelihoods)
        if kinds is None:
            return weighted_table(0, np.zeros(1), others).moved(certain)
        tilt = _balance(kinds, others)
        first, logs = kinds.law(tilt)
        return weighted_table(first, logs, (*others, Exponential(-tilt))).moved(certain)

    def deep_law(self) -> TableLaw:
        """The law of the count before any answer, as far into its tails as floats reach."""
        return self.table(_DEEPEST)

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records.

        As groups are independent, these are all pairs but those of a record with itself.
        """
        sizes, rates = self.sizes.astype(np.float64), self.rates
        positives, negatives = float(sizes @ rates), float(sizes @ (1 - rates))
        same = float(sizes @ (rates * (1 - rates)))
        return Moments(positives, negatives, positives * negatives - same)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        counts = np.zeros(runs, dtype=np.int64)
        for size, rate in zip(self.sizes.tolist(), self.rates.tolist(), strict=True):
            counts += generator.binomial(size, rate, runs)
        return counts.astype(np.float64)

    def table(self, depth: float) -> TableLaw:
        """The law of the count where it is within e^depth of the largest probability.

        Args:
            depth: In nats, at most 700.
        """
        certain, kinds = _kinds(self)
        if kinds is None:
            return TableLaw(certain, np.zeros(1))
        first, logs = deep_sum_of_binomials(kinds, depth)
        law = TableLaw(first + certain, logs, depth)
        if law.variance <= WIDE**2:
            return law
        off = 2 * math.ulp(law.mean) / math.sqrt(law.variance)  # found around its mean, rounded
        return replace(law, rounding=_ROUNDING_OF_SUMS + off)

    def given(self, known: ArrayLike, positives: ArrayLike) -> Informed:
        """What somebody knows who holds some records of each group.

        Args:
            known: How many records of each group are held, shape (groups,).
            positives: How many of them satisfy the predicate, same shape.

        Raises:
            ValueError: If there are not that many records, or that cannot have happened.
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
                f"certain rate {self.rates[group]}: a certain property has no neighbours"
            )
        rest = Strata(self.sizes - held, self.rates)
        return Informed(rest, int(held.sum()), int(positive.sum()))

    def neighbours(self) -> Iterator[IndependentNeighbours]:
        """A pair for each different rate; certain records have no neighbours and are as if known.

        Raises:
            ValueError: If all records are certain.
        """
        uncertain = (self.sizes > 0) & (self.rates > 0) & (self.rates < 1)
        if not uncertain.any():
            raise ValueError(
                "rates must lie between 0 and 1 in a stratum that has unknown records, got "
                f"{self.rates.tolist()[:5]}: a certain property has no neighbours"
            )
        for group in np.unique(np.where(uncertain, self.rates, np.nan), return_index=True)[1]:
            if uncertain[group]:
                others = self.sizes.copy()
                others[group] -= 1
                yield IndependentNeighbours(Strata(others, self.rates))


@frozen
class Exponential(Factor):
    """The factor e^(steepness·k) of a count k."""

    steepness: float  # the logarithm's change a record

    def expansion(self, _: int) -> Expansion:
        """A straight line."""
        return Expansion(Decimal(self.steepness), np.zeros_like)

    def log_step(self, _: int) -> float:
        """The steepness."""
        return self.steepness


@lru_cache(maxsize=4)
def _kinds(strata: Strata) -> tuple[int, Kinds | None]:
    """The certain positives, and the kinds of the other records; None if there are none."""
    certain = int(strata.sizes[strata.rates == 1].sum())
    is_open = (strata.rates > 0) & (strata.rates < 1) & (strata.sizes > 0)
    if not is_open.any():
        return certain, None
    rates, places = np.unique(strata.rates[is_open], return_inverse=True)
    sizes: Reals = np.bincount(places, weights=strata.sizes[is_open]).astype(np.float64)
    return certain, Kinds(sizes, np.log(rates) - np.log1p(-rates))


def _balance(kinds: Kinds, likelihoods: Sequence[Factor]) -> float:
    """Return the tilt θ at which the likelihoods change by e^−θ a record around the tilted mean.

    There the tilted distribution and the likelihoods, with the tilt taken back, are both largest. No deviation of the
    count exceeds √n/2, and a tilt that is off by x moves the mean by x·σ²: 2^−6/√n moves it by less than σ/64.
    """
    product = Product(tuple(likelihoods))
    smallest, largest = product.support
    grain = max(_FINEST, 2.0 ** -(6 + math.ceil(math.log2(kinds.sizes.sum()) / 2)))

    def too_far(place: float) -> float:
        tilt = place * grain
        count = math.floor(kinds.moments(tilt)[0])
        if smallest <= count < largest:
            return tilt - product.log_step(count)
        return -math.inf if count < smallest else math.inf

    bracket = Bracket(-_STEEPEST / grain, _STEEPEST / grain)
    return first_whole(too_far, bracket).high * grain


def _checked(sizes: ArrayLike, rates: ArrayLike) -> tuple[NDArray[np.int64], Reals]:
    """Sizes and rates as arrays of one shape."""
    try:
        whole, shares = np.asarray(sizes, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sizes and rates must be numbers, one a group: give two lists") from None
    if whole.ndim != 1 or whole.shape != shares.shape or not whole.size:
        raise ValueError(
            f"sizes and rates must be two rows of one length, at least 1, got shapes {whole.shape} and {shares.shape}"
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
