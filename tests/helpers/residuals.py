"""The least possible errors of tables with margins, from the residuals of their margins."""

import math
from collections.abc import Collection, Sequence

from noisycount.model.tables.combined import Margin, margin_errors, margins_within, row_count


def residual_errors(sizes: Sequence[int], margins: Collection[Margin], rho: float) -> dict[Margin, float]:
    """Return the root mean squared error of each margin's rows under the noise that minimises that of all rows.

    A margin B of N_B rows is the sum of the residuals A within it, of d_A dimensions. Gaussian answers with precisions
    N·p_A, N cells, cost ρ = Σ p_A·d_A/2 and give all rows of B together the variance Σ_{A ⊆ B} d_A/(N_B·p_A). Over all
    rows of all margins the sum is least for p_A ∝ √g_A, g_A = Σ_{B ⊇ A} 1/N_B.

    Source: Y. Xiao, G. He, D. Zhang, D. Kifer, An Optimal and Scalable Matrix Mechanism for Noisy
    Marginals under Convex Loss Functions (arXiv:2305.08175).

    Example:
        >>> errors = residual_errors((4,), [frozenset({0}), frozenset()], rho=0.5)
        >>> [round(error, 3) for error in errors.values()]
        [1.062, 1.53]
    """
    roots = _roots(sizes, margins)
    dimensions = {residual: math.prod(sizes[part] - 1 for part in residual) for residual in roots}
    price = math.fsum(dimensions[residual] * root for residual, root in roots.items()) / (2 * rho)
    return margin_errors(sizes, margins, {residual: root / price for residual, root in roots.items()})


def residual_precisions(sizes: Sequence[int], margins: Collection[Margin]) -> dict[Margin, float]:
    """Return the precisions of whole margins that are as good, up to a factor; a negative one means that none exist.

    A margin whose rows have the precision c adds c/N_A to p of every residual within it. The
    margins cost Σ c/2, the same as their residuals; so c_A/N_A = Σ_{B ⊇ A} (−1)^|B − A|·√g_B.
    """
    roots = _roots(sizes, margins)
    return {
        margin: row_count(sizes, margin)
        * math.fsum((-1) ** len(larger - margin) * root for larger, root in roots.items() if larger >= margin)
        for margin in roots
    }


def _roots(sizes: Sequence[int], margins: Collection[Margin]) -> dict[Margin, float]:
    """Return √g of each residual."""
    return {
        margin_within: math.sqrt(
            math.fsum(1 / row_count(sizes, margin) for margin in margins if margin >= margin_within)
        )
        for margin_within in margins_within(margins)
    }
