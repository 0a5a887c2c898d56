"""δ of several answers for somebody who knows all other records, whatever was asked, and why."""

import math
from collections.abc import Sequence

from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["priced_delta", "whole_price"]

_ROUNDING = 1e-15  # relative, of each price, of their sum, and of a few operations


def priced_delta(price: float, epsilon: float) -> float:
    """δ(ε) of whatever has the ε of differential privacy `price`: (e^price − e^ε)/(1 + e^price).

    Rounded up, as discrete Laplace noise has no less in the worst case.

    Args:
        price: The ε that was paid.
        epsilon: The ε asked for, at least 0.

    Source: Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy* (2015):
    it can be made from an answer that is right with odds e^price.

    Example:
        >>> round(priced_delta(1.0, 0.0), 3), priced_delta(1.0, 1.0), priced_delta(1.0, 1e6)
        (0.462, 0.0, 0.0)
    """
    if epsilon >= price:
        return 0.0
    return min(1.0, -math.expm1(epsilon - price) / (1 + math.exp(-price)) * (1 + _ROUNDING))


def whole_price(mechanisms: Sequence[Exact | SymmetricNoise]) -> float | None:
    """The ε of differential privacy of answers together, rounded up; None: one has none.

    Args:
        mechanisms: How each answer is made.
    """
    prices = [one.epsilon for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(prices) < len(mechanisms) or None in prices:
        return None
    whole = math.fsum(float(price) for price in prices if price is not None)
    return whole * (1 + _ROUNDING * len(prices))
