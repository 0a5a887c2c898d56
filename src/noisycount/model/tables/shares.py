"""How the price of a table is shared among its levels."""

import math
from collections.abc import Sequence
from fractions import Fraction

from noisycount.model.noises.discrete import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.tables.levels import Level

__all__ = ["shares"]

_CELLS = 2  # shares of the cells for one of each level of ranges
_STEPS = 1000  # in one, or more where there are many levels: shares are read by people
_STEPS_A_LEVEL = 50


def shares(
    levels: Sequence[Level], sensitivities: Sequence[int], noise: type[DiscreteNoise]
) -> tuple[Fraction, ...]:
    """The shares of the price that levels get: of margins, those of the least error of their rows.

    With a share s of the price, N rows that one unit moves by Δ together have a variance that is
    Δ/s of the smallest possible under Gaussian noise, (Δ/s)² under Laplace noise. The sum over all
    rows of all levels is smallest for s ∝ (N·Δ)^(1/2) and s ∝ (N·Δ²)^(1/3). `docs/table-errors.md`
    compares it with the least possible error of all rows that are combined.

    Of ranges prefix sums are wanted: the cells get twice as much as each level of ranges, s ∝ Δ
    beyond. Under Gaussian noise that is at most 0.3 % above the best that any shares give.

    Args:
        levels: The cells first, then all margins, or all ranges.
        sensitivities: By how much one unit moves all counts of a level together.
        noise: The kind of noise.

    Returns:
        Multiples of 1/1000, or finer where there are more than 20 levels, none 0; their sum is 1.

    Example:
        >>> from noisycount import DiscreteLaplace
        >>> from noisycount.model.tables.ranges import range_levels
        >>> levels = range_levels(4)
        >>> [str(share) for share in shares(levels, (2, 1), DiscreteLaplace)]
        ['4/5', '1/5']
    """
    if any(level.codes is None for level in levels[1:]):
        twice = [_CELLS] + [1] * (len(levels) - 1)
        weights = [float(most * moves) for most, moves in zip(twice, sensitivities, strict=True)]
    else:
        weights = [
            math.sqrt(level.size * moves)
            if issubclass(noise, DiscreteGaussian)
            else math.cbrt(level.size * moves**2)
            for level, moves in zip(levels, sensitivities, strict=True)
        ]
    return _readable(weights)


def _readable(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Shares near positive weights, by largest remainders: multiples of a power of 1/10, none 0."""
    steps = _STEPS
    while steps < _STEPS_A_LEVEL * len(weights):
        steps *= 10
    exact = [weight / math.fsum(weights) * steps for weight in weights]
    counts = [max(1, math.floor(one)) for one in exact]
    by_remainder = sorted(range(len(exact)), key=lambda place: counts[place] - exact[place])
    for place in by_remainder[: max(0, steps - sum(counts))]:
        counts[place] += 1
    counts[counts.index(max(counts))] -= sum(counts) - steps
    return tuple(Fraction(count, steps) for count in counts)
