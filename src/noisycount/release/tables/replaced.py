"""What a table costs where one unit takes the place of another, from its noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noisycount.model.sensitivity import l1_sensitivity
from noisycount.release.budget.loss import Loss
from noisycount.release.budget.neighbours import NeighbourRelation

__all__ = ["NoisyLevels"]


@dataclass(frozen=True, slots=True)
class NoisyLevels:
    """The counts of a table and their noise: enough to price it under either relation.

    Attributes:
        price: What was charged.
        sizes: How many counts each level has; None: only the records know.
        scales: Of the noise of each level: Laplace where the price is in ε, else Gaussian.
        groups: In how many counts of a level one unit can be; None: in all.
    """

    price: Loss
    sizes: Sequence[int | None]
    scales: Sequence[Fraction]
    groups: int | None

    @property
    def replaced(self) -> Loss:
        """What is lost where one unit takes the place of another.

        Each count moves by 1 at most. Under Laplace noise a level whose counts move by Δ together
        loses Δ/scale; under Gaussian noise, as the squares of the moves add up to Δ too, its ρ is
        Δ/(2σ²). Hidden keys fail with the same δ under either relation (`threshold`).
        """
        moves = self._moves(replaced=True)
        pairs = list(zip(moves, self.scales, strict=True))
        if self.price.epsilon is not None:
            lost = sum((move / scale for move, scale in pairs), Fraction(0))
            return Loss.of(max(lost, self.price.epsilon), self.price.delta)
        rho = sum((move / (2 * scale**2) for move, scale in pairs), Fraction(0))
        return Loss.concentrated(max(rho, self.price.rho), self.price.delta)

    @property
    def relation(self) -> NeighbourRelation | None:
        """For which neighbours the price was made; None: it is the same for both."""
        if self._moves(replaced=True) == self._moves(replaced=False):
            return None
        is_covered = self.replaced == self.price
        return NeighbourRelation.REPLACEMENT if is_covered else NeighbourRelation.ADD_REMOVE

    def _moves(self, *, replaced: bool) -> list[int]:
        """By how much one unit moves the counts of each level together."""
        return [self._move(size, replaced=replaced) for size in self.sizes]

    def _move(self, size: int | None, *, replaced: bool) -> int:
        if size is None:
            assert self.groups is not None  # noqa: S101 - hidden keys have a limit
            return (2 if replaced else 1) * self.groups
        return l1_sensitivity(size, size if self.groups is None else self.groups, replaced=replaced)
