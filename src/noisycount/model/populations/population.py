"""The interface of every population: its prior, its update by known records, and its neighbours.

`Population` is the base class, `Exchangeable` the base of most populations. Read `binomial` next.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field, replace
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import Factor, ShiftedFactor
from noisycount.model.laws.gamma import Reals
from noisycount.validation import whole_number


@frozen
class Moments:
    """Expected numbers of positive records, negative records and unlike pairs, for a count K among n records.

    They are stored apart because n·E[K] − E[K²] would cancel.

    Numerical error: 1e-14 relative; 1e-12 for tables.
    """

    positives: float  # E[K]
    negatives: float  # E[n − K]
    discordant: float  # E[K(n − K)], the expected number of pairs of a positive and a negative record

    @classmethod
    def of_count(cls, size: int, count: int) -> "Moments":
        """Return the moments of a known count."""
        return cls(float(count), float(size - count), float(count * (size - count)))

    @classmethod
    def of_equals(cls, size: int, rate: float, complement: float, unlike_ratio: float) -> "Moments":
        """Return the moments of exchangeable records that share a random rate r.

        Args:
            size: Number of records.
            rate: Mean rate E[r].
            complement: 1 − rate.
            unlike_ratio: E[r(1 − r)]/(rate·complement): 1 for independent records, less for dependent ones.
        """
        pairs = size * (size - 1) * (rate * complement * unlike_ratio)
        return cls(size * rate, size * complement, pairs)

    @classmethod
    def of_table(cls, chances: Reals) -> "Moments":
        """Return the moments of a table P[K = k], k = 0..n, shape (n + 1,)."""
        counts = np.arange(chances.size, dtype=np.float64)
        weighted = chances * counts
        return cls(float(weighted.sum()), float(chances @ counts[::-1]), float(weighted @ counts[::-1]))

    def plus(self, other: "Moments") -> "Moments":
        """Return the moments of the sum of two independent counts."""
        return Moments(
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.discordant + other.discordant + self.positives * other.negatives + self.negatives * other.positives,
        )


class Population(Shown, ABC):
    """The prior distribution of a count among a public number of records, as an adversary assumes it.

    A subclass defines the prior, the update by known records, and the neighbours. For exchangeable records, derive from
    `Exchangeable` or `ClosedFormPopulation`, which supply all but the distribution of the count.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of all records."""

    @property
    def records(self) -> int:
        """Number of all records, known records included."""
        return self.size

    @property
    def are_independent(self) -> bool:
        """True if no record depends on the others. Then P₊ is P₋ shifted by one."""
        return False

    @abstractmethod
    def law(self, *likelihoods: Factor) -> CountDistribution:
        """Return the distribution of the count, given the answers with these likelihoods; without any, the prior."""

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest count of positive probability."""
        return 0, self.records

    @property
    def has_chances(self) -> bool:
        """True if `log_chances` computes only the counts of the requested range."""
        return self.smooth_prior is not None

    def log_chances(self, first: int, last: int) -> Reals:
        """Return the prior ln P[K = k] for k = first..last, −inf for probability 0."""
        return self.law().log_pmf(np.arange(first, last + 1, dtype=np.float64))

    def deep_prior(self) -> CountDistribution:
        """Return the prior of the count with tails that reach down to the smallest floats."""
        return self.law()

    @property
    def smooth_prior(self) -> Factor | None:
        """The prior as a factor with a smooth logarithm, or None if the prior is a table."""
        return None

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)]."""

    @abstractmethod
    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts, shape (runs,)."""

    @abstractmethod
    def given(self, known: int, positives: int) -> "Population":
        """Return the population as seen by an adversary who holds some of the records.

        Args:
            known: The number of records held.
            positives: The number of them that satisfy the predicate.

        Raises:
            ValueError: If there are fewer records, or these numbers have probability 0.

        Source: Breutigam and Reischuk, section 3.
        """

    @abstractmethod
    def neighbours(self) -> "Iterator[Neighbours]":
        """Yield, for each kind of record, the population with such a record positive and with it negative.

        Raises:
            ValueError: If the property is certain, so that no record has a neighbour.
        """

    def worst_neighbours(self) -> "Iterator[Neighbours]":
        """Yield a subset of the neighbours that contains the easiest pair to distinguish under any mechanism.

        Raises:
            ValueError: If the property is certain, so that no record has a neighbour.
        """
        return self.neighbours()


@frozen
class Neighbours(ABC):
    """A pair of populations: one record is positive in the first, and negative in the second. It unpacks into the two.

    In `ExchangeableNeighbours` the record is exchangeable with all unknown records. In `IndependentNeighbours` it
    carries no information about them. In both, the ratio of the two distributions of the count rises with the count.
    """

    known: int = field(default=0, kw_only=True)  # number of other records that the adversary holds
    positives: int = field(default=0, kw_only=True)  # number of them that are positive

    @property
    @abstractmethod
    def positive(self) -> Population:
        """The population if the record is positive."""

    @property
    @abstractmethod
    def negative(self) -> Population:
        """The population if the record is negative."""

    def with_known_records(self, known: int, positives: int) -> Self:
        """Return the neighbours after the adversary learns more records that are independent of the others."""
        return replace(self, known=self.known + known, positives=self.positives + positives)

    def __iter__(self) -> Iterator[Population]:
        """Yield the two populations, the positive one first."""
        yield self.positive
        yield self.negative


@frozen(repr=False)
class Informed(Population):
    """A population of which the adversary holds some records, as returned by `given`."""

    rest: Population  # the population of the other records
    known: int  # number of records held
    positives: int  # number of them that satisfy the predicate

    @property
    def size(self) -> int:
        """Number of records, known records included."""
        return self.rest.size + self.known

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """Return the distribution of the count: that of the other records, shifted by the known positives."""
        others = (ShiftedFactor(likelihood, self.positives) for likelihood in likelihoods)
        return self.rest.law(*others).moved(self.positives)

    def deep_prior(self) -> CountDistribution:
        """Return the deep prior of the other records, shifted by the known positives."""
        return self.rest.deep_prior().moved(self.positives)

    @property
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)] of the other records together with the known count."""
        return self.rest.moments.plus(Moments.of_count(self.known, self.positives))

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts of the other records plus the known positives, shape (runs,)."""
        return self.rest.draws(runs, generator) + self.positives

    def given(self, known: int, positives: int) -> "Informed":
        """Return the population as seen by an adversary who holds additional records."""
        more = self.rest.given(known, positives)
        if isinstance(more, Informed):
            return Informed(more.rest, self.known + more.known, self.positives + more.positives)
        return Informed(more, self.known, self.positives)

    def neighbours(self) -> Iterator[Neighbours]:
        """Yield the neighbours for each kind of unknown record."""
        for pair in self.rest.neighbours():
            yield pair.with_known_records(self.known, self.positives)

    def worst_neighbours(self) -> Iterator[Neighbours]:
        """Yield the worst neighbours of the unknown records."""
        for pair in self.rest.worst_neighbours():
            yield pair.with_known_records(self.known, self.positives)


def known_records(known: int, positives: int, records: int) -> tuple[int, int]:
    """Return the validated arguments of `given` for a population of `records` records."""
    held = whole_number(known, "known")
    if held > records:
        raise ValueError(f"known must be at most the {records} records there are, got {known!r}")
    if whole_number(positives, "positives") > held:
        raise ValueError(f"positives must be at most known = {held}, got {positives!r}")
    return held, int(positives)


@frozen
class IndependentNeighbours(Neighbours):
    """A record that is independent of all others: it adds one to their count, or nothing."""

    others: Population  # the population of the other records that are not known

    @property
    def positive(self) -> Population:
        """The other records and one more positive record."""
        return Informed(self.others, self.known + 1, self.positives + 1)

    @property
    def negative(self) -> Population:
        """The other records and one more negative record."""
        return Informed(self.others, self.known + 1, self.positives)


@frozen
class ExchangeableNeighbours(Neighbours):
    """A record that is exchangeable with all unknown records."""

    population: "Exchangeable"  # the population of the records that are not known, this one included

    @property
    def positive(self) -> Population:
        """The unknown records with the distribution P₊ ∝ k·P[k]."""
        return Informed(self.population, self.known, self.positives).given(1, 1)

    @property
    def negative(self) -> Population:
        """The unknown records with the distribution P₋ ∝ (n − k)·P[k]."""
        return Informed(self.population, self.known, self.positives).given(1, 0)


class Sample(NamedTuple):
    """The distribution of a random sample of records."""

    population: "Exchangeable"  # distribution of the number S of positive records in the sample
    gain: Fraction  # E[K | S = s + 1] − E[K | S = s], exactly


class Exchangeable(Population):
    """Records of which every order is equally likely.

    If P is the distribution of the count among n records, a positive record leaves P₊ ∝ k·P[k] and a negative record
    leaves P₋ ∝ (n − k)·P[k].
    """

    __slots__ = ()

    @property
    @abstractmethod
    def expected_positives(self) -> Fraction:
        """E[K] as a rational number, so that n − E[K] keeps its digits too."""

    @abstractmethod
    def given(self, known: int, positives: int) -> Informed:
        """Return the population as seen by an adversary who holds some records; the other records stay exchangeable."""

    def sample(self, sample_size: int) -> Sample | None:
        """Return the distribution of a random sample, if E[K | S] is linear in the number S of positives sampled.

        Returns None if it is not linear, or not known to be; callers then sum over the counts.
        """
        return Sample(self, Fraction(1)) if sample_size == self.size else None

    def neighbours(self) -> Iterator[ExchangeableNeighbours]:
        """Yield the only pair: all records are of one kind.

        Raises:
            ValueError: If there is no record, or the property is certain.
        """
        if self.size == 0:
            raise ValueError("population must leave at least one record unknown, got none")
        if not 0 < self.expected_positives < self.size:
            raise ValueError(
                f"population must leave the property uncertain, got {self!r}: no record can differ in a property "
                "that is certain"
            )
        yield ExchangeableNeighbours(self)
