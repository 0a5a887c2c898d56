"""The binomial's own log-probabilities around a count, without loss of digits at any size."""

from decimal import Decimal

import numpy as np

from noisycount.model.expansion import DIGITS, Expansion, Reals

__all__ = ["binomial_expansion", "log_gamma_bend"]

_SHIFT = 16
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SMALL = 0.1
_SERIES = tuple((-1.0) ** k / (k * (k - 1)) for k in range(18, 1, -1))


def _stirling_error(points: Reals) -> Reals:
    """Stirling's error ln Γ(x) − [(x − 1/2)·ln x − x + ln(2π)/2] for x >= 1.

    Absolute error 1e-15. Below 16 the argument is raised by
    δ(x) − δ(x + 1) = (x + 1/2)·ln(1 + 1/x) − 1.
    """
    small = points < _SHIFT
    lifted = np.where(small, points + _SHIFT, points)
    inverse = 1 / lifted
    square = inverse * inverse
    error = np.zeros_like(points)
    for coefficient in reversed(_STIRLING):
        error = error * square + coefficient
    error *= inverse
    if small.any():
        below = points[small]
        error[small] += sum(
            (below + step + 0.5) * np.log1p(1 / (below + step)) - 1 for step in range(_SHIFT)
        )
    return error


def _deviance(ratios: Reals) -> Reals:
    """(1 + u)·ln(1 + u) − u for u > −1, to full relative precision also near u = 0."""
    small = np.abs(ratios) < _SMALL
    near = np.where(small, ratios, 0.0)
    far = np.where(small, 1.0, ratios)
    series = np.zeros_like(ratios)
    for coefficient in _SERIES:
        series = series * near + coefficient
    deviance: Reals = np.where(small, series * near * near, (1 + far) * np.log1p(far) - far)
    return deviance


def log_gamma_bend(point: float, offsets: Reals) -> Reals:
    """The change ln Γ(x + d) − ln Γ(x) − d·ln x, without cancellation near d = 0.

    Equal to x·((1 + u)·ln(1 + u) − u) − ln(1 + u)/2 + δ(x + d) − δ(x) with u = d/x and Stirling's
    error δ.

    Args:
        point: The point x, at least 1.
        offsets: The offsets d with x + d >= 1, any shape.
    """
    ratios = offsets / point
    errors = _stirling_error(np.append(point + offsets, point))
    change: Reals = point * _deviance(ratios) - np.log1p(ratios) / 2
    change += (errors[:-1] - errors[-1]).reshape(offsets.shape)
    return change


def binomial_expansion(size: int, rate: float, centre: int) -> Expansion:
    """How ln P[K = centre + d] changes with d for K ~ Bin(size, rate), 0 < rate < 1.

    From C(n, c+d)/C(n, c) = Γ(c+1)·Γ(n−c+1) / (Γ(c+d+1)·Γ(n−c−d+1)).
    """
    above, below = centre + 1, size - centre + 1
    exact_rate = Decimal(rate)
    odds = DIGITS.divide(exact_rate, DIGITS.subtract(Decimal(1), exact_rate))
    slope = DIGITS.ln(DIGITS.multiply(odds, DIGITS.divide(Decimal(below), Decimal(above))))

    def bend(offsets: Reals) -> Reals:
        return -log_gamma_bend(above, offsets) - log_gamma_bend(below, -offsets)

    return Expansion(slope, bend)
