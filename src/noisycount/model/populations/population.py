"""What every population offers, and what somebody knows who holds some of its records."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factor import Factor, Moved
from noisycount.model.validation import whole_number

__all__ = ["Informed", "Population", "known_records"]


class Population(ABC):
    """The law of a count among a public number of records, to somebody outside."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of all records."""

    @property
    def records(self) -> int:
        """The same as the size."""
        return self.size

    @abstractmethod
    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""

    @abstractmethod
    def given(self, known: int, positives: int) -> "Informed":
        """What somebody knows who also holds some of the records.

        Args:
            known: How many records are held.
            positives: How many of them satisfy the predicate.

        Raises:
            ValueError: If there are not that many records, or that cannot have happened.

        Source: Breutigam and Reischuk, section 3.
        """

    def neighbours(self) -> "Iterator[tuple[Population, Population]]":
        """For each kind of record: the population if one such record is positive, and if negative.

        For records that can be exchanged this is one pair with laws ∝ k·P[k] and ∝ (n − k)·P[k].

        Raises:
            ValueError: If the property is certain, so that a record has no neighbour.
        """
        yield self.given(1, 1), self.given(1, 0)


@dataclass(frozen=True, slots=True)
class Informed(Population):
    """A population some of whose records are known: `given` makes it.

    Attributes:
        rest: The population of the other records.
        known: How many records are known.
        positives: How many of them satisfy the predicate.
    """

    rest: Population
    known: int
    positives: int

    @property
    def size(self) -> int:
        """The number of records, known ones included."""
        return self.rest.size + self.known

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count: of the other records, moved by the known positives."""
        others = (Moved(likelihood, self.positives) for likelihood in likelihoods)
        return self.rest.law(*others).moved(self.positives)

    def given(self, known: int, positives: int) -> "Informed":
        """What somebody knows who holds more of the records."""
        return self._with(self.rest.given(known, positives))

    def neighbours(self) -> Iterator[tuple[Population, Population]]:
        """The pairs of the records that are not known."""
        for positive, negative in self.rest.neighbours():
            yield self._with(positive), self._with(negative)

    def _with(self, more: Population) -> "Informed":
        """This knowledge and that about the rest."""
        if isinstance(more, Informed):
            known, positives = self.known + more.known, self.positives + more.positives
            return Informed(more.rest, known, positives)
        return Informed(more, self.known, self.positives)


def known_records(known: int, positives: int, records: int) -> tuple[int, int]:
    """The checked arguments of `given` for a population of that many records."""
    held = whole_number(known, "known")
    if held > records:
        raise ValueError(f"known must be at most the {records} records there are, got {known!r}")
    if whole_number(positives, "positives") > held:
        raise ValueError(f"positives must be at most known = {held}, got {positives!r}")
    return held, int(positives)
