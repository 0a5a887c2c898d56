"""What every population offers, and what tells it from its neighbours."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor
from noisycount.model.populations.moments import Moments
from noisycount.shown.value import Shown

__all__ = ["Neighbours", "Population"]


class Population(Shown, ABC):
    """The law of a count among a public number of records, to somebody outside.

    A population states all about itself, in one file. Records that can be exchanged need little
    more than their law of the count: `Exchangeable` and `Formulated` derive the rest.
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


@dataclass(frozen=True, slots=True)
class Neighbours(ABC):
    """One record to somebody who knows a population: the population if it is positive or negative.

    It unpacks into the two. There are two kinds: `ExchangeableNeighbours`, where the record can be
    exchanged with all that are not known, and `IndependentNeighbours`, where it tells nothing about
    the others. In both the ratio of the laws of the count rises with the count.

    Attributes:
        known: How many other records are known.
        positives: How many of them are positive.
    """

    known: int = field(default=0, kw_only=True)
    positives: int = field(default=0, kw_only=True)

    @property
    @abstractmethod
    def positive(self) -> Population:
        """The population if the record is positive."""

    @property
    @abstractmethod
    def negative(self) -> Population:
        """The population if the record is negative."""

    def beside(self, known: int, positives: int) -> Self:
        """The neighbours to somebody who holds more records, which tell nothing about the others.

        Args:
            known: How many.
            positives: How many of them are positive.
        """
        return replace(self, known=self.known + known, positives=self.positives + positives)

    def __iter__(self) -> Iterator[Population]:
        """The two populations, the positive one first."""
        yield self.positive
        yield self.negative
