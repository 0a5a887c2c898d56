"""The divergences of the laws of what is answered, for all kinds of records: what δ is made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from noisycount.analysis.privacy.certified import Bounded
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.model.noises.error.law import CertifiedErrorLaw

__all__ = ["Divergences", "OneAnswer", "largest"]

_ROUNDING = 1e-15  # of a rational as a float


class Divergences(Protocol):
    """δ₊ and δ₋ of some answers."""

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋, each the largest over all kinds of records, for each ε.

        Args:
            epsilons: ε >= 0, rising.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OneAnswer:
    """Those of one answer about one count.

    Attributes:
        pairs: The laws of the count for each kind of record.
        errors: The law of the noise; None: there is none.
    """

    pairs: tuple[Pair, ...]
    errors: CertifiedErrorLaw | None

    @property
    def price(self) -> float | None:
        """The ε of differential privacy, rounded up, if each record moves the count by one alone.

        None: the noise has none, or a record may tell about others.
        """
        steepest = None if self.errors is None else self.errors.steepest
        if steepest is None or not all(pair.is_shift for pair in self.pairs):
            return None
        return float(steepest) * (1 + _ROUNDING)

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋, for each ε."""
        mirrored = [pair.mirrored for pair in self.pairs]
        return self._largest(self.pairs, epsilons), self._largest(mirrored, epsilons)

    def _largest(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[Bounded]:
        """The largest δ of any pair in its first direction, for each ε."""
        return largest(hockey_sticks(pair, self.errors, epsilons) for pair in pairs)


def largest(curves: Iterable[Sequence[Bounded]]) -> list[Bounded]:
    """At each ε that of the largest upper end."""
    return [
        max(at_one, key=lambda one: (one.below_1[1], one.upper))
        for at_one in zip(*curves, strict=True)
    ]
