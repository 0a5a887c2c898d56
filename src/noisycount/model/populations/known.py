"""The worst-case adversary of differential privacy, who knows all records but one.

`Known` offers only neighbours: it has no prior. `population` defines the interface.
"""

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
    """The worst-case adversary of differential privacy, who knows every record except one.

    Args:
        size: The number of records, at least 1.
        count: The number of positive records among the size − 1 known ones; None: the worst case over all counts.

    Raises:
        ValueError: If the size is not a positive whole number or the count not in 0..size − 1.

    Source: Breutigam and Reischuk, section 5.

    Example:
        >>> import noisycount as nc
        >>> [(one.positives, other.positives) for one, other in nc.Known(10, 4).neighbours()]
        [(5, 4)]
    """

    size: int = field()  # without field(), the property of the base class would become the default value
    count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size", smallest=1))
        if self.count is not None:
            largest = self.size - 1
            if whole_number(self.count, "count") > largest:
                raise ValueError(f"count must be at most size − 1 = {largest}, got {self.count!r}")
            object.__setattr__(self, "count", int(self.count))

    def law(self, *likelihoods: Factor) -> NoReturn:  # noqa: ARG002  (refused for every answer)
        """Raise ValueError: the last record has no prior.

        Raises:
            ValueError: Always.
        """
        raise ValueError(_NO_LAW)

    def draws(self, runs: int, generator: np.random.Generator) -> NoReturn:  # noqa: ARG002  (refused)
        """Raise ValueError: the last record has no prior to draw from.

        Raises:
            ValueError: Always.
        """
        raise ValueError(_NO_LAW)

    def given(self, known: int, positives: int) -> NoReturn:
        """Raise ValueError: no further record can become known.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "known must be 0 if the population is Known, which has no further record to learn, "
            f"got {known!r} with {positives!r} positives"
        )

    @property
    def moments(self) -> Moments:
        """Moments of the possible count with the largest number of unlike pairs k·(n − k)."""
        counts = (self.size // 2,) if self.count is None else (self.count, self.count + 1)
        return Moments.of_count(self.size, max(counts, key=lambda k: k * (self.size - k)))

    def neighbours(self) -> Iterator[IndependentNeighbours]:
        """Yield, for each count of the known records, the populations with a positive and with a negative last one."""
        counts = range(self.size) if self.count is None else [self.count]
        return map(self._neighbours_at, counts)

    def worst_neighbours(self) -> Iterator[IndependentNeighbours]:
        """Return the pairs whose known records are all negative or all positive, where a random sample hides least.

        By advanced joint convexity, no count has a δ(ε) under a sample above λ·δ(ln(1 + (e^ε − 1)/λ)) of the noise
        alone, where λ is the sampled share. δ₊ attains this bound if no known record is positive, δ₋ if all are.
        Without a sample, all counts have the same δ(ε).
        """
        counts = {0, self.size - 1} if self.count is None else {self.count}
        return map(self._neighbours_at, sorted(counts))

    def _neighbours_at(self, count: int) -> IndependentNeighbours:
        """Return the last record together with `count` known positives."""
        return IndependentNeighbours(Binomial(0, 0.5), known=self.size - 1, positives=count)
