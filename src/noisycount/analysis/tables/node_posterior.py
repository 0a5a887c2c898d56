"""The law of the count of a node, or of a sum of cells, given all answers."""

from dataclasses import dataclass

from noisycount.analysis.posterior.estimates import LEVEL, Estimates
from noisycount.model.laws.table_law import TableLaw
from noisycount.shown.value import Shown

__all__ = ["NodePosterior"]


@dataclass(frozen=True, slots=True, repr=False)
class NodePosterior(Shown, Estimates):
    """The law of a count of a table given all answers, and the estimates that follow from it.

    It also answers to `pmf`, `logpmf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as laws in scipy.stats
    do.

    Attributes:
        law: The distribution of the count.
        name: What is counted.
    """

    law: TableLaw
    name: str

    def _facts(self) -> dict[str, object]:
        """The estimates."""
        return {
            "name": self.name,
            "mean": self.mean,
            "median": self.median,
            "mode": self.mode,
            "std": self.std,
            "interval": self.interval(),
            "level": LEVEL,
        }
