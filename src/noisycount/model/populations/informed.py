"""What somebody knows who holds some records of a population."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor, Moved
from noisycount.model.populations.moments import Moments
from noisycount.model.populations.population import Neighbours, Population
from noisycount.model.validation import whole_number

__all__ = ["Informed", "known_records"]


@dataclass(frozen=True, slots=True, repr=False)
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
