"""The standard normal distribution: tails, their logarithms and quantiles, to double precision.

Gaussian noise in `noises.gaussian` uses these functions.
"""

import math

import numpy as np

from noisycount.model.laws.gamma import Reals

_STEP = 0.5  # step of the trapezoidal rule, whose error is about e^(−(π/step)²) = 7e-18
_NODES = (np.arange(13) + 0.5) * _STEP  # at the last node, e^(−node²) is 1e-17
_WEIGHTS = 2 * _STEP / math.pi * np.exp(-_NODES * _NODES)
_POLE = math.pi / _STEP  # from this argument on, the residue of the pole is negligible
_LARGEST = 1e100  # its square is still a float
_UNDERFLOW = 40.0  # standard deviations: from there on, e^(−z²/2) underflows to 0
_SIXTEENTHS = 16  # multiples of 1/16 have exact squares and leave an exponent below 1.25
_STEPS = 60  # more steps than Newton's method takes from either start


def erfcx(values: Reals) -> Reals:
    """Return e^(x²)·erfc(x) for x >= −1, to a few units in the last place.

    Source: Hunter and Regan (1972), A note on the evaluation of the complementary error function: the trapezoidal rule
    at midpoints plus the residue of a pole. For x >= 0 no term is negative.
    """
    x = np.minimum(values, _LARGEST)
    near = np.minimum(x, _POLE)
    residue = 2 * np.exp(near * near) / (1 + np.exp(2 * _POLE * near))
    return _midpoint_sum(x) + np.where(x < _POLE, residue, 0.0)


def _midpoint_sum(x: Reals) -> Reals:
    """Return the sum of the trapezoidal rule at midpoints for e^(x²)·erfc(x)."""
    column = (-1, *[1] * x.ndim)  # the nodes are the first axis, so that each step takes long rows
    terms = np.square(_NODES).reshape(column) + x * x
    np.divide(_WEIGHTS.reshape(column), terms, out=terms)
    return x * terms.sum(axis=0)


def normal_tail(values: Reals) -> Reals:
    """Return P[Z >= z] of the standard normal distribution, to a few units in the last place.

    It is e^(−z²/2)·erfcx(z/√2)/2.
    """
    far = np.minimum(np.abs(values), _UNDERFLOW)
    x = far / math.sqrt(2)
    # e^(−z²/2)/2 times the residue of the pole in `erfcx`, where e^(x²) cancels e^(−z²/2)
    residue = np.where(x < _POLE, 1 / (1 + np.exp(2 * _POLE * x)), 0.0)
    tails = _bell_curve(far) * _midpoint_sum(x) / 2 + residue
    return np.where(np.signbit(values), 1 - tails, tails)


def log_two_sided(values: Reals) -> Reals:
    """Return ln P[|Z| >= z] of the standard normal distribution, for z >= 0."""
    with np.errstate(over="ignore"):
        logs: Reals = np.log(erfcx(values / math.sqrt(2))) - values * values / 2
    return logs


def two_sided_quantile(log_beta: float) -> float:
    """Return the z with ln P[|Z| >= z] = log_beta, for log_beta <= 0.

    Newton's method never overshoots, as the tail is convex and its logarithm is concave.
    """
    if log_beta < -math.log(2):
        return _quantile_from_above(log_beta)
    share = -math.expm1(log_beta)
    unit = share * math.sqrt(math.pi) / 2
    for _ in range(_STEPS):
        further = unit - (math.erf(unit) - share) * math.sqrt(math.pi) / 2 * math.exp(unit * unit)
        if further <= unit:
            break
        unit = further
    return unit * math.sqrt(2)


def _quantile_from_above(log_beta: float) -> float:
    """Return the quantile for tails below 1/2, by Newton's method downwards from √(−2·log_beta)."""
    place = math.sqrt(-2 * log_beta)
    for _ in range(_STEPS):
        ratio = float(erfcx(np.asarray(place / math.sqrt(2))))
        excess = math.log(ratio) - place * place / 2 - log_beta
        nearer = place + excess * math.sqrt(math.pi / 2) * ratio
        if nearer >= place:
            break
        place = nearer
    return place


def _bell_curve(values: Reals) -> Reals:
    """Return e^(−z²/2) for 0 <= z <= 40, as a product in which the larger exponent is exact."""
    steps = np.rint(values * _SIXTEENTHS) / _SIXTEENTHS
    remainder: Reals = np.exp(-(values - steps) * (values + steps) / 2)
    return np.exp(-steps * steps / 2) * remainder
