"""The least error of margins that linear Gaussian answers have: what shares are measured by."""

import math
from collections.abc import Collection, Sequence

from noisycount.model.tables.residuals import Margin, dimensions, lattice, margin_errors, rows

__all__ = ["residual_errors", "residual_precisions"]


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
