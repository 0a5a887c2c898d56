"""What margins of a grid are made of: residuals, which vary in every part that they keep.

The least error of margins that linear Gaussian answers have: what shares are measured by.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, combinations

__all__ = ["Margin", "lattice", "margin_errors", "residual_errors", "residual_precisions", "rows"]

Margin = frozenset[int]  # the places of the parts that a margin keeps


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


def residual_errors(
    sizes: Sequence[int], margins: Collection[Margin], rho: float
) -> dict[Margin, float]:
    """The root mean squared error of each margin's rows where that of all rows is least.

    A margin B of N_B rows is the sum of the residuals A within it, of d_A dimensions. Gaussian
    answers with precisions N·p_A, N cells, cost ρ = Σ p_A·d_A/2 and give all rows of B together the
    variance Σ_{A ⊆ B} d_A/(N_B·p_A). Over all rows of all margins the sum is least for p_A ∝ √g_A,
    g_A = Σ_{B ⊇ A} 1/N_B.

    Args:
        sizes: How many keys each part has.
        margins: Those that are wanted.
        rho: What one unit that comes or goes is charged, in zero-concentrated privacy.

    Source:
        Y. Xiao, G. He, D. Zhang, D. Kifer, An Optimal and Scalable Matrix Mechanism for Noisy
        Marginals under Convex Loss Functions (arXiv:2305.08175).

    Example:
        >>> errors = residual_errors((4,), [frozenset({0}), frozenset()], rho=0.5)
        >>> [round(error, 3) for error in errors.values()]
        [1.062, 1.53]
    """
    roots = _roots(sizes, margins)
    price = math.fsum(dimensions(sizes, one) * root for one, root in roots.items()) / (2 * rho)
    return margin_errors(sizes, margins, {one: root / price for one, root in roots.items()})


def residual_precisions(sizes: Sequence[int], margins: Collection[Margin]) -> dict[Margin, float]:
    """The precisions of whole margins that are as good, up to a factor; negative: there are none.

    A margin whose rows have the precision c adds c/N_A to p of every residual within it. The
    margins cost Σ c/2, the same as their residuals; so c_A/N_A = Σ_{B ⊇ A} (−1)^|B − A|·√g_B.

    Args:
        sizes: How many keys each part has.
        margins: Those that are wanted.

    Returns:
        Those of the margins that are wanted, and of all within them.
    """
    roots = _roots(sizes, margins)
    return {
        one: rows(sizes, one)
        * math.fsum((-1) ** len(more - one) * root for more, root in roots.items() if more >= one)
        for one in roots
    }


def _roots(sizes: Sequence[int], margins: Collection[Margin]) -> dict[Margin, float]:
    """√g of each residual."""
    return {
        one: math.sqrt(math.fsum(1 / rows(sizes, each) for each in margins if each >= one))
        for one in lattice(margins)
    }
