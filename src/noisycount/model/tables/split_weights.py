"""The weights by which a count divides: Γ(k + a)/(k!·Γ(a)), and q^k/k! where rates are known."""

import math

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.log_gamma import stirling_error

__all__ = ["log_factorial", "log_rising", "log_rising_steps"]

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def log_rising(counts: NDArray[np.int64], concentration: Reals) -> Reals:
    """The logarithm of Γ(k + a)/(k!·Γ(a)): the weight of a count k among its siblings.

    Args:
        counts: Counts k >= 0, any shape.
        concentration: Concentrations a > 0, of a shape that fits.

    Numerical error: a few units in the last place of the largest of k, a·ln(k) and ln(Γ(a)); no
    cancellation for a small beside k, or k small beside a.
    """
    k, a = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), concentration)
    present = np.where(k > 0, k, 1.0)
    small, large = np.minimum(present, a), np.maximum(present, a)
    # ln Γ(large + small) − ln Γ(large), with large >= 1 wherever the count is not 0
    ratio = small / large
    grown = (large + small - 0.5) * np.log1p(ratio) + small * (np.log(large) - 1)
    grown += stirling_error(large + small) - stirling_error(large)
    # of the smaller one Γ(k + 1)/k = Γ(k), or Γ(a), remains below
    is_count_large = present >= a
    logs = grown - np.where(is_count_large, _log_gamma(a) + np.log(present), log_factorial(present))
    rising: Reals = np.where(k > 0, logs, 0.0)
    return rising


def log_rising_steps(counts: NDArray[np.int64] | Reals, concentration: Reals) -> Reals:
    """The change of `log_rising` from each count k to k + 1: ln((k + a)/(k + 1)).

    Args:
        counts: Counts k >= 0, any shape.
        concentration: Concentrations a > 0, of a shape that fits.
    """
    k, a = np.broadcast_arrays(np.asarray(counts, dtype=np.float64), concentration)
    later = np.log1p(np.where(k > 0, a - 1, 0.0) / (k + 1))
    steps: Reals = np.where(k > 0, later, np.log(a))
    return steps


def log_factorial(counts: Reals) -> Reals:
    """The logarithm of k! for counts k >= 0."""
    k = np.asarray(counts, dtype=np.float64)
    return (k + 0.5) * np.log1p(k) - (k + 1) + _HALF_LOG_TAU + stirling_error(k + 1)


def _log_gamma(points: Reals) -> Reals:
    """The logarithm of Γ(a) for a > 0."""
    a = np.asarray(points, dtype=np.float64)
    lifted = np.where(a < 1, a + 1, a)
    logs = (lifted - 0.5) * np.log(lifted) - lifted + _HALF_LOG_TAU + stirling_error(lifted)
    return np.where(a < 1, logs - np.log(a), logs)
