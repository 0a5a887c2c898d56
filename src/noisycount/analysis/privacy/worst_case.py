"""δ of several answers for somebody who knows all other records, whatever was asked, and why."""

import math
from collections.abc import Sequence

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["priced_delta", "worst_delta"]


def priced_delta(price: float, epsilon: float) -> float:
    """δ(ε) of whatever has the ε of differential privacy `price`: (e^price − e^ε)/(1 + e^price).

    Args:
        price: The ε that was paid.
        epsilon: The ε asked for, at least 0.

    Source: Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy* (2015):
    it can be made from an answer that is right with odds e^price.

    Example:
        >>> round(priced_delta(1.0, 0.0), 3), priced_delta(1.0, 1.0)
        (0.462, 0.0)
    """
    return max(0.0, -math.expm1(epsilon - price)) / (1 + math.exp(-price))


def worst_delta(
    curve: PrivacyCurve, mechanisms: Sequence[Exact | SymmetricNoise], epsilon: float
) -> float:
    """δ(ε) of answers: that of their curve, or of their prices together where that is smaller.

    Args:
        curve: The worst case of all of them.
        mechanisms: How each answer is made.
        epsilon: ε, at least 0.
    """
    upper = curve.bracket(epsilon)[1]
    prices = [one.epsilon for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(prices) < len(mechanisms) or None in prices:
        return upper
    whole = math.fsum(float(price) for price in prices if price is not None)
    return min(upper, priced_delta(whole * (1 + 1e-15 * len(prices)), epsilon))
