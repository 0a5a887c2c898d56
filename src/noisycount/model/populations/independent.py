"""A record that tells nothing about the others."""

from dataclasses import dataclass

from noisycount.model.populations.informed import Informed
from noisycount.model.populations.population import Neighbours, Population

__all__ = ["IndependentNeighbours"]


@dataclass(frozen=True, slots=True)
class IndependentNeighbours(Neighbours):
    """A record beside others that do not depend on it: it moves their count by one, or not.

    Attributes:
        others: The population of the other records that are not known.
    """

    others: Population

    @property
    def positive(self) -> Population:
        """The others, and one more positive record."""
        return Informed(self.others, self.known + 1, self.positives + 1)

    @property
    def negative(self) -> Population:
        """The others, and one more negative record."""
        return Informed(self.others, self.known + 1, self.positives)
