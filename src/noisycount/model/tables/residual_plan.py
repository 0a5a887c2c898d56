"""The least error of margins that linear Gaussian answers have: what shares are measured by."""

import math
from collections.abc import Collection, Sequence
from itertools import chain, combinations

__all__ = ["Margin", "residual_errors", "residual_precisions"]

Margin = frozenset[int]
"""The places of the parts that a margin keeps."""


def residual_errors(
    sizes: Sequence[int], margins: Collection[Margin], rho: float
) -> dict[Margin, float]:
    """The root mean squared error of each margin's rows where that of all rows is least.

    A margin B of N_B rows is the sum of its residuals: for each A within B the part that varies in
    every part of A and is 0 summed over any, of d_A = Π (n_i − 1) dimensions. Gaussian answers
    with precisions t_A/N of residuals cost ρ = Σ t_A·d_A/(2·N), N cells, and the variance of all
    rows of B is Σ_{A ⊆ B} N/N_B·d_A/t_A. Over all rows its sum is least for t_A ∝ √g_A,
    g_A = Σ_{B ⊇ A} 1/N_B.

    Args:
        sizes: How many keys each part has, n_i.
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
    lattice = _lattice(margins)
    roots = _roots(sizes, margins, lattice)
    free = {one: math.prod(sizes[part] - 1 for part in one) for one in lattice}
    price = math.fsum(free[one] * root for one, root in roots.items()) / (2 * rho)
    return {
        margin: price**0.5
        * math.fsum(free[one] / root for one, root in roots.items() if one <= margin) ** 0.5
        / _rows(sizes, margin)
        for margin in margins
    }


def residual_precisions(sizes: Sequence[int], margins: Collection[Margin]) -> dict[Margin, float]:
    """The precisions of whole margins that are as good, up to a factor; negative: there are none.

    A margin whose rows have the precision c tells every residual within it c/N_A·N. The margins
    cost Σ c, the same as their residuals; so c_A/N_A = Σ_{B ⊇ A} (−1)^|B − A|·√g_B.

    Args:
        sizes: How many keys each part has.
        margins: Those that are wanted.

    Returns:
        Those of the margins that are wanted, and of all within them.
    """
    lattice = _lattice(margins)
    roots = _roots(sizes, margins, lattice)
    return {
        one: _rows(sizes, one)
        * math.fsum((-1) ** len(more - one) * roots[more] for more in lattice if more >= one)
        for one in lattice
    }


def _rows(sizes: Sequence[int], margin: Margin) -> int:
    return math.prod(sizes[part] for part in margin)


def _lattice(margins: Collection[Margin]) -> list[Margin]:
    """The margins and all within them."""
    within = chain.from_iterable(
        combinations(sorted(margin), kept) for margin in margins for kept in range(len(margin) + 1)
    )
    return sorted({frozenset(one) for one in within}, key=lambda one: (len(one), sorted(one)))


def _roots(
    sizes: Sequence[int], margins: Collection[Margin], lattice: Sequence[Margin]
) -> dict[Margin, float]:
    """√g of each residual."""
    return {
        one: math.sqrt(math.fsum(1 / _rows(sizes, each) for each in margins if each >= one))
        for one in lattice
    }
