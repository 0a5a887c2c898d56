"""What every population offers: the law of its count, what somebody knows of it, and its neighbours."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import field, replace
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import Factor, Moved
from noisycount.model.laws.gamma import Reals
from noisycount.validation import whole_number


@frozen
class Moments:
    """Means of a count K among n records, without the cancellation of n·E[K] − E[K²].

    Numerical error: 1e-14 relative; 1e-12 for tables.
    """

    positives: float  # E[K]
    negatives: float  # E[n − K]
    discordant: float  # E[K(n − K)], the pairs of a positive and a negative record

    @classmethod
    def of_count(cls, size: int, count: int) -> "Moments":
        """The moments of a known count."""
        return cls(float(count), float(size - count), float(count * (size - count)))

    @classmethod
    def of_equals(cls, size: int, rate: float, complement: float, alike: float) -> "Moments":
        """The moments of records of one mean rate; E[r(1 − r)] = alike·rate·complement."""
        pairs = size * (size - 1) * (rate * complement * alike)
        return cls(size * rate, size * complement, pairs)

    @classmethod
    def of_table(cls, chances: Reals) -> "Moments":
        """The moments of the probabilities of the counts 0..n, shape (n + 1,)."""
        counts = np.arange(chances.size, dtype=np.float64)
        weighted = chances * counts
        return cls(float(weighted.sum()), float(chances @ counts[::-1]), float(weighted @ counts[::-1]))

    def beside(self, other: "Moments") -> "Moments":
        """The moments of the sum of two independent counts."""
        return Moments(
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.discordant + other.discordant + self.positives * other.negatives + self.negatives * other.positives,
        )


class Population(Shown, ABC):
    """The law of a count among a public number of records, to somebody outside.

    A population states all about itself, in one file. Records that can be exchanged need little more than their law of
    the count: `Exchangeable` and `ClosedFormPopulation` derive the rest.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of all records."""

    @property
    def records(self) -> int:
        """The number of all records, known ones included."""
        return self.size

    @property
    def are_independent(self) -> bool:
        """True if no record depends on the others: then P₊ is P₋ moved by one."""
        return False

    @abstractmethod
    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest count that can occur."""
        return 0, self.records

    @property
    def has_chances(self) -> bool:
        """Whether `log_chances` costs no more than the counts that are asked for."""
        return self.smooth_prior is not None

    def log_chances(self, first: int, last: int) -> Reals:
        """The logarithms of P[K = k] for k = first..last before any answer, −inf for 0."""
        return self.law().log_pmf(np.arange(first, last + 1, dtype=np.float64))

    def deep_law(self) -> CountDistribution:
        """The law of the count before any answer, as far into its tails as floats reach."""
        return self.law()

    @property
    def smooth_prior(self) -> Factor | None:
        """The law of the count as a function with a smooth logarithm; None where it is a table."""
        return None

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""

    @abstractmethod
    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""

    @abstractmethod
    def given(self, known: int, positives: int) -> "Population":
        """What somebody knows who also holds some of the records.

        Args:
            known: How many records are held.
            positives: How many of them satisfy the predicate.

        Raises:
            ValueError: If there are not that many records, or that cannot have happened.

        Source: Breutigam and Reischuk, section 3.
        """

    @abstractmethod
    def neighbours(self) -> "Iterator[Neighbours]":
        """For each kind of record: the population if one such record is positive, and if negative.

        Raises:
            ValueError: If the property is certain, so that no record has a neighbour.
        """

    def worst_neighbours(self) -> "Iterator[Neighbours]":
        """Some of the neighbours, among them the easiest to tell apart, by whichever mechanism.

        Raises:
            ValueError: As `neighbours`.
        """
        return self.neighbours()


@frozen
class Neighbours(ABC):
    """One record to somebody who knows a population: the population if it is positive or negative.

    It unpacks into the two. There are two kinds: `ExchangeableNeighbours`, where the record can be exchanged with all
    that are not known, and `IndependentNeighbours`, where it tells nothing about the others. In both the ratio of the
    laws of the count rises with the count.
    """

    known: int = field(default=0, kw_only=True)  # how many other records are known
    positives: int = field(default=0, kw_only=True)  # how many of them are positive

    @property
    @abstractmethod
    def positive(self) -> Population:
        """The population if the record is positive."""

    @property
    @abstractmethod
    def negative(self) -> Population:
        """The population if the record is negative."""

    def beside(self, known: int, positives: int) -> Self:
        """The neighbours to somebody who holds more records that tell nothing about the others."""
        return replace(self, known=self.known + known, positives=self.positives + positives)

    def __iter__(self) -> Iterator[Population]:
        """The two populations, the positive one first."""
        yield self.positive
        yield self.negative


@frozen(repr=False)
class Informed(Population):
    """A population some of whose records are known: `given` makes it."""

    rest: Population  # the population of the other records
    known: int  # how many records are known
    positives: int  # how many of them satisfy the predicate

    @property
    def size(self) -> int:
        """The number of records, known ones included."""
        return self.rest.size + self.known

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count: of the other records, moved by the known positives."""
        others = (Moved(likelihood, self.positives) for likelihood in likelihoods)
        return self.rest.law(*others).moved(self.positives)

    def deep_law(self) -> CountDistribution:
        """The deep law of the other records, moved by the known positives."""
        return self.rest.deep_law().moved(self.positives)

    @property
    def moments(self) -> Moments:
        """Those of the other records beside a known count."""
        return self.rest.moments.beside(Moments.of_count(self.known, self.positives))

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts of the other records, moved by the known positives, shape (runs,)."""
        return self.rest.draws(runs, generator) + self.positives

    def given(self, known: int, positives: int) -> "Informed":
        """What somebody knows who holds more of the records."""
        more = self.rest.given(known, positives)
        if isinstance(more, Informed):
            return Informed(more.rest, self.known + more.known, self.positives + more.positives)
        return Informed(more, self.known, self.positives)

    def neighbours(self) -> Iterator[Neighbours]:
        """The pairs of the records that are not known."""
        for pair in self.rest.neighbours():
            yield pair.beside(self.known, self.positives)

    def worst_neighbours(self) -> Iterator[Neighbours]:
        """Those of the records that are not known."""
        for pair in self.rest.worst_neighbours():
            yield pair.beside(self.known, self.positives)


def known_records(known: int, positives: int, records: int) -> tuple[int, int]:
    """The checked arguments of `given` for a population of that many records."""
    held = whole_number(known, "known")
    if held > records:
        raise ValueError(f"known must be at most the {records} records there are, got {known!r}")
    if whole_number(positives, "positives") > held:
        raise ValueError(f"positives must be at most known = {held}, got {positives!r}")
    return held, int(positives)


@frozen
class IndependentNeighbours(Neighbours):
    """A record beside others that do not depend on it: it moves their count by one, or not."""

    others: Population  # the population of the other records that are not known

    @property
    def positive(self) -> Population:
        """The others, and one more positive record."""
        return Informed(self.others, self.known + 1, self.positives + 1)

    @property
    def negative(self) -> Population:
        """The others, and one more negative record."""
        return Informed(self.others, self.known + 1, self.positives)


@frozen
class ExchangeableNeighbours(Neighbours):
    """A record that can be exchanged with all others that are not known."""

    population: "Exchangeable"  # the population of the records that are not known, this one included

    @property
    def positive(self) -> Population:
        """With the law ∝ k·P[k] of the unknown records."""
        return Informed(self.population, self.known, self.positives).given(1, 1)

    @property
    def negative(self) -> Population:
        """With the law ∝ (n − k)·P[k] of the unknown records."""
        return Informed(self.population, self.known, self.positives).given(1, 0)


class Sample(NamedTuple):
    """Some records of a population, chosen at random."""

    population: "Exchangeable"  # the law of the positives S among them
    gain: Fraction  # by how much E[K | S = s] grows with s, exactly


class Exchangeable(Population):
    """Records every order of which is equally likely.

    With the law P of the count among n records, a positive record leaves P₊ ∝ k·P[k] and a negative one P₋ ∝
    (n − k)·P[k].
    """

    __slots__ = ()

    @property
    @abstractmethod
    def expected_positives(self) -> Fraction:
        """E[K], as exactly as it is known: n − E[K] must keep its digits too."""

    @abstractmethod
    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records: the others can still be exchanged."""

    def sample(self, sample_size: int) -> Sample | None:
        """The positives S among that many of the records, where E[K | S] is linear in S.

        None: where it is not, or is not known; then S is summed over the counts.
        """
        return Sample(self, Fraction(1)) if sample_size == self.size else None

    def neighbours(self) -> Iterator[ExchangeableNeighbours]:
        """One pair: all records are of one kind.

        Raises:
            ValueError: If there is no record, or the property is certain.
        """
        if self.size == 0:
            raise ValueError("population must leave at least one record unknown, got none")
        if not 0 < self.expected_positives < self.size:
            raise ValueError(
                f"population must leave the property uncertain, got {self!r}: a certain property has no neighbours"
            )
        yield ExchangeableNeighbours(self)
