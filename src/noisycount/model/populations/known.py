"""The adversary of differential privacy."""

from collections.abc import Iterator
from dataclasses import field
from typing import NoReturn

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.population import IndependentNeighbours, Moments, Population
from noisycount.validation import whole_number

_NO_LAW = (
    "population must give the count a law, but Known assumes nothing about the last "
    "record: use Binomial(size, rate).given(known, positives)"
)


@frozen
class Known(Population):
    """The adversary of differential privacy, who knows all records but one.

    Args:
        size: The number of records, at least 1.
        count: How many of the size − 1 known records are positive; None: the worst of all counts.

    Raises:
        ValueError: If the size is not a positive whole number or the count not in 0..size − 1.

    Source: Breutigam and Reischuk, section 5.

    Example:
        >>> import noisycount as nc
        >>> [(one.positives, other.positives) for one, other in nc.Known(10, 4).neighbours()]
        [(5, 4)]
    """

    size: int = field()  # without, the property of the base would be its default
    count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size", smallest=1))
        if self.count is not None:
            largest = self.size - 1
            if whole_number(self.count, "count") > largest:
                raise ValueError(f"count must be at most size − 1 = {largest}, got {self.count!r}")
            object.__setattr__(self, "count", int(self.count))

    def law(self, *likelihoods: Factor) -> NoReturn:  # noqa: ARG002  (refused for every answer)
        """Refused: nothing is assumed about the last record.

        Raises:
            ValueError: Always.
        """
        raise ValueError(_NO_LAW)

    def draws(self, runs: int, generator: np.random.Generator) -> NoReturn:  # noqa: ARG002  (refused)
        """Refused: nothing is assumed about the last record.

        Raises:
            ValueError: Always.
        """
        raise ValueError(_NO_LAW)

    def given(self, known: int, positives: int) -> NoReturn:
        """Refused: all that can be known is known.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            f"known must be 0 for Known, who knows all other records, got {known!r} with {positives!r} positives"
        )

    @property
    def moments(self) -> Moments:
        """Those of the count that leaves most pairs of unlike records."""
        counts = (self.size // 2,) if self.count is None else (self.count, self.count + 1)
        return Moments.of_count(self.size, max(counts, key=lambda k: k * (self.size - k)))

    def neighbours(self) -> Iterator[IndependentNeighbours]:
        """The last record positive, and negative, on top of what is known."""
        counts = range(self.size) if self.count is None else [self.count]
        return map(self._beside, counts)

    def worst_neighbours(self) -> Iterator[IndependentNeighbours]:
        """Of any count those beside none and beside all others: there a sample hides least.

        By advanced joint convexity no count has a δ(ε) of a sample above λ·δ(ln(1 + (e^ε − 1)/λ)) of the noise alone, λ
        the share that is drawn; δ₊ reaches it where no other record is positive and δ₋ where all are. Without a sample
        all counts are as bad.
        """
        counts = {0, self.size - 1} if self.count is None else {self.count}
        return map(self._beside, sorted(counts))

    def _beside(self, count: int) -> IndependentNeighbours:
        """The last record beside so many known positives."""
        return IndependentNeighbours(Binomial(0, 0.5), known=self.size - 1, positives=count)
