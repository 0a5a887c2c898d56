"""What margins of a grid are made of: residuals, which vary in every part that they keep."""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, combinations

__all__ = ["Margin", "dimensions", "lattice", "margin_errors", "rows"]

Margin = frozenset[int]
"""The places of the parts that a margin keeps."""


def rows(sizes: Sequence[int], margin: Margin) -> int:
    """How many rows a margin has, of parts of those sizes."""
    return math.prod(sizes[part] for part in margin)


def dimensions(sizes: Sequence[int], margin: Margin) -> int:
    """How many free values the residual of a margin has: it sums to 0 over each of its parts."""
    return math.prod(sizes[part] - 1 for part in margin)


def lattice(margins: Collection[Margin]) -> list[Margin]:
    """The margins and all within them, of fewest parts first.

    Example:
        >>> [sorted(margin) for margin in lattice([frozenset({0, 1})])]
        [[], [0], [1], [0, 1]]
    """
    within = chain.from_iterable(
        combinations(sorted(margin), kept) for margin in margins for kept in range(len(margin) + 1)
    )
    return sorted({frozenset(one) for one in within}, key=lambda one: (len(one), sorted(one)))


def margin_errors(
    sizes: Sequence[int], margins: Collection[Margin], precisions: Mapping[Margin, float]
) -> dict[Margin, float]:
    """The standard error of a row of each margin B, √(Σ_{A ⊆ B} d_A/p_A)/N_B.

    Args:
        sizes: How many keys each part has.
        margins: Those that are wanted.
        precisions: The precision p_A of each residual's answers over the number of cells, in
            1/units².
    """
    return {
        margin: math.sqrt(
            math.fsum(
                dimensions(sizes, one) / told for one, told in precisions.items() if one <= margin
            )
        )
        / rows(sizes, margin)
        for margin in margins
    }
