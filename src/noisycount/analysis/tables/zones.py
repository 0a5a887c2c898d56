"""How the counts of a node are shared among transforms, each exact about its own target."""

import numpy as np

from noisycount.model.laws.expansion import Reals

__all__ = ["SIDES", "zone_targets"]

SIDES = 8.0
"""Standard deviations of the law of a count that zones reach on both sides."""

_LEAST = 0.25  # records


def zone_targets(middle: Reals, spread: Reals, zones: int) -> Reals:
    """The counts about which transforms are exact, rising, shape (nodes, zones).

    Args:
        middle: The means of the laws of the counts, shape (nodes,).
        spread: Their standard deviations, shape (nodes,).
        zones: How many, an odd number.
    """
    steps = np.linspace(-SIDES, SIDES, zones) if zones > 1 else np.zeros(1)
    targets = middle[:, None] + spread[:, None] * steps
    # those that would be negative share what is left, so that they rise
    least = _LEAST * np.minimum(middle, 1.0)[:, None] * np.arange(1, zones + 1) / zones
    return np.maximum(targets, least)
