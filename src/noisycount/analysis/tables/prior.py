"""What was known of a table before its answers, or was learned from them."""

from dataclasses import dataclass

from noisycount.analysis.tables.prior_splits import PriorLevel
from noisycount.shown.value import Shown

__all__ = ["TablePrior"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TablePrior(Shown):
    """How counts divide among the children of the nodes of each level, before any answer.

    Attributes:
        levels: For each level above the cells.
        names: What the levels below those are called.
    """

    levels: tuple[PriorLevel, ...]
    names: tuple[str, ...]

    @property
    def is_learned(self) -> bool:
        """Whether it comes from the answers."""
        return any(level.is_learned for level in self.levels)

    def scaled(self, factor: float) -> "TablePrior":
        """The same with so many times the concentration everywhere."""
        return TablePrior(tuple(level.scaled(factor) for level in self.levels), self.names)

    @property
    def words(self) -> str:
        """One line on it."""
        pairs = zip(self.names, self.levels, strict=True)
        told = ", ".join(f"{name} {level.words}" for name, level in pairs)
        return f"{'learned from the answers' if self.is_learned else 'stated'}: {told}"

    def _facts(self) -> dict[str, object]:
        """The parameters of each level by its name."""
        pairs = zip(self.names, self.levels, strict=True)
        return {"learned": self.is_learned, **{name: level.parameters for name, level in pairs}}
