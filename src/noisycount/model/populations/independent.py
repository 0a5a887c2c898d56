"""A record that tells nothing about the others."""

from dataclasses import dataclass, replace

from noisycount.model.populations.informed import Informed
from noisycount.model.populations.population import Neighbours, Population

__all__ = ["IndependentNeighbours"]


@dataclass(frozen=True, slots=True)
class IndependentNeighbours(Neighbours):
    """A record beside others that do not depend on it: it moves their count by one, or not.

    Attributes:
        others: The population of the other records that are not known.
        known: How many records are known.
        positives: How many of them are positive.
    """

    others: Population
    known: int = 0
    positives: int = 0

    @property
    def positive(self) -> Population:
        """The others, and one more positive record."""
        return Informed(self.others, self.known + 1, self.positives + 1)

    @property
    def negative(self) -> Population:
        """The others, and one more negative record."""
        return Informed(self.others, self.known + 1, self.positives)

    def beside(self, known: int, positives: int) -> "IndependentNeighbours":
        """The same record beside more known ones."""
        return replace(self, known=self.known + known, positives=self.positives + positives)
