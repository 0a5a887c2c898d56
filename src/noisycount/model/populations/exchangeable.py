"""Records that can be exchanged: the law of their count says all."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from noisycount.model.populations.informed import Informed
from noisycount.model.populations.population import Neighbours, Population

__all__ = ["Exchangeable", "ExchangeableNeighbours", "Sample"]


@dataclass(frozen=True, slots=True)
class ExchangeableNeighbours(Neighbours):
    """A record that can be exchanged with all others that are not known.

    Attributes:
        population: The population of the records that are not known, this one included.
    """

    population: "Exchangeable"

    @property
    def positive(self) -> Population:
        """With the law ∝ k·P[k] of the unknown records."""
        return Informed(self.population, self.known, self.positives).given(1, 1)

    @property
    def negative(self) -> Population:
        """With the law ∝ (n − k)·P[k] of the unknown records."""
        return Informed(self.population, self.known, self.positives).given(1, 0)


class Sample(NamedTuple):
    """Some records of a population, chosen at random.

    Attributes:
        population: The law of the positives S among them.
        gain: By how much E[K | S = s] grows with s, exactly.
    """

    population: "Exchangeable"
    gain: Fraction


class Exchangeable(Population):
    """Records every order of which is equally likely.

    With the law P of the count among n records, a positive record leaves P₊ ∝ k·P[k] and a negative
    one P₋ ∝ (n − k)·P[k].
    """

    __slots__ = ()

    @property
    @abstractmethod
    def expected_positives(self) -> Fraction:
        """E[K], as exactly as it is known: n − E[K] must keep its digits too."""

    @property
    def are_independent(self) -> bool:
        """Whether a record tells nothing about the others, so that P₊ is P₋ moved by one."""
        return False

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
                f"population must leave the property uncertain, got {self!r}: "
                "a certain property has no neighbours"
            )
        yield ExchangeableNeighbours(self)
