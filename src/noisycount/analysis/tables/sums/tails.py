"""Where a sum of independent counts lies, by Chernoff's bound of both tails."""

from typing import NamedTuple

import numpy as np

from noisycount.model.laws.expansion import Reals

__all__ = ["Moments", "log_bounds", "moments", "steep_bounds", "sum_bounds", "sum_of_logs"]

_NATS = 48.0  # what is left out on each side has at most e^−48 = 1.4e−21 of the mass
# how steeply tails are weighed, over the standard deviation of the sum: about √(2·48) suits a
# normal law, less the tails of a few geometric ones
_STEEPNESS = np.array([0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.7, 8.0, 11.0, 16.0])
_FINE = np.geomspace(1.0, 50.0, 15)  # 30 % apart, so that bounds far out are near the truth
_STEEP = np.geomspace(0.5, 2000.0, 60)  # 15 % apart
_STEEPEST = 600.0  # nats over the window of a summand, so that exponentials do not overflow


class Moments(NamedTuple):
    """Means and variances of the places of weights along the last axis."""

    mean: Reals
    variance: Reals


def moments(weights: Reals) -> Moments:
    """The means and variances of the places 0, 1, and so on, of weights that add up to 1."""
    places = np.arange(weights.shape[-1], dtype=np.float64)
    mean = weights @ places
    spread = (weights @ places**2) - mean**2
    return Moments(mean, np.maximum(spread, 0.0))


def sum_bounds(weights: Reals, known: Moments) -> tuple[Reals, Reals]:
    """The places between which the sum of summands lies, but for e^−48 on each side.

    With M the product of the moment generating functions, P[S >= b] <= M(t)·e^(−t·b) for t > 0.

    Args:
        weights: The laws of the summands on 0, 1, and so on, shape (..., summands, width).
        known: Their moments.

    Returns:
        The lowest and the highest place, shape (...).
    """
    width = weights.shape[-1]
    most = np.full(known.mean.shape[:-1], float(weights.shape[-2] * (width - 1)))
    if width == 1:
        return np.zeros_like(most), most
    tilts, generated = _generated(weights, known, _STEEPNESS)
    reaches = (generated + _NATS) / tilts
    middle = most / 2
    low = middle + reaches[..., tilts < 0].max(axis=-1)
    high = middle + reaches[..., tilts > 0].min(axis=-1)
    return np.clip(np.floor(low), 0, most), np.clip(np.ceil(high), 0, most)


def log_bounds(weights: Reals, known: Moments, places: Reals) -> Reals:
    """Upper bounds of the logarithms of the probabilities of a sum, by Chernoff's bound.

    Args:
        weights: The laws of the summands on 0, 1, and so on, shape (..., summands, width).
        known: Their moments.
        places: Of the sum, shape (..., places).

    Returns:
        Shape (..., places).
    """
    if weights.shape[-1] == 1:
        return np.zeros_like(places)
    middle = weights.shape[-2] * (weights.shape[-1] - 1) / 2
    bounds = np.zeros_like(places)
    tilts, generated = _generated(weights, known, _FINE)
    for number, tilt in enumerate(tilts.tolist()):
        np.minimum(bounds, generated[..., number, None] - tilt * (places - middle), out=bounds)
    return bounds


def steep_bounds(logs: Reals, known: Moments, places: Reals) -> Reals:
    """The same as `log_bounds` far out too, where exponentials would overflow.

    Args:
        logs: The logarithms of weights of the summands, shape (..., summands, width).
        known: The moments of their laws.
        places: Of the sum, shape (..., places).
    """
    own = np.arange(logs.shape[-1], dtype=np.float64)
    whole = sum_of_logs(logs, axis=-1).sum(axis=-1)
    deviation = np.maximum(np.sqrt(known.variance.sum(axis=-1)), 1e-3)
    bounds = np.zeros_like(places)
    for steepness in (*-_STEEP, *_STEEP):
        tilts = steepness / deviation
        leaning = sum_of_logs(logs + tilts[..., None, None] * own, axis=-1).sum(axis=-1)
        np.minimum(bounds, (leaning - whole)[..., None] - tilts[..., None] * places, out=bounds)
    return bounds


def _generated(weights: Reals, known: Moments, steepness: Reals) -> tuple[Reals, Reals]:
    """Tilts, and the logarithms of moment generating functions of the sum about its middle."""
    width = weights.shape[-1]
    typical = max(float(np.median(np.sqrt(known.variance.sum(axis=-1)))), 1e-3)
    steepness = np.unique(np.minimum(steepness / typical, _STEEPEST / width))
    tilts = np.concatenate([-steepness, steepness])
    places = np.arange(width) - (width - 1) / 2
    generated: Reals = np.log(weights @ np.exp(places[:, None] * tilts)).sum(axis=-2)
    return tilts, generated


def sum_of_logs(logs: Reals, axis: int) -> Reals:
    """The logarithm of the sum of exponentials along an axis; −inf where all are."""
    peak = logs.max(axis=axis, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        total: Reals = np.log(np.exp(logs - peak).sum(axis=axis)) + np.squeeze(peak, axis)
    return total
