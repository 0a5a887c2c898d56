"""Sums that tell how exact they are."""

import math

import numpy as np

from noisycount.analysis.privacy.certified import Certified
from noisycount.model.laws.expansion import Reals

__all__ = ["difference", "log_sum"]


def difference(gains: float, losses: float, rounding: float, uncertainty: float = 0.0) -> Certified:
    """Gains less losses, each a sum of terms that are not negative.

    Args:
        gains: The first sum.
        losses: The second sum.
        rounding: The relative error of a term.
        uncertainty: How far all terms together may be off beyond that.
    """
    return Certified(gains - losses, rounding * (gains + abs(losses)) + uncertainty)


def log_sum(logs: Reals) -> float:
    """The logarithm of Σ e^logs."""
    largest = float(logs.max())
    if math.isinf(largest):
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))
