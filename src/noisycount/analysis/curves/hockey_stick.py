"""How far one law of an answer can exceed e^ε times another: δ in one direction."""

import numpy as np

from noisycount.analysis.curves.certified import NOTHING, Certified
from noisycount.analysis.curves.noisy import NoisyPair
from noisycount.analysis.curves.pair import Pair
from noisycount.model.error_laws import ErrorLaw

__all__ = ["hockey_sticks"]

_WIDEST_MESH = 2.0**13


def hockey_sticks(pair: Pair, errors: ErrorLaw | None, epsilons: list[float]) -> list[Certified]:
    """sup_S P₊[Y in S] − e^ε·P₋[Y in S] for each ε, Y the count plus noise.

    Args:
        pair: The laws of the count.
        errors: The law of the noise; None: there is none.
        epsilons: ε >= 0 in rising order.
    """
    if errors is not None:
        return NoisyPair(pair, errors).hockey_sticks(epsilons)
    return _without_noise(pair, epsilons)


def _without_noise(pair: Pair, epsilons: list[float]) -> list[Certified]:
    """Σ Q·w over the counts from the crossing on: no term is negative."""
    advantages = [pair.advantage(epsilon) for epsilon in epsilons]
    crossings = [one.crossing for one in advantages if one.crossing <= pair.base.support[1]]
    values, start = [], 0
    while start < len(crossings):
        stop = start + 1
        while stop < len(crossings) and crossings[stop] - crossings[start] <= _WIDEST_MESH:
            stop += 1
        last = crossings[stop - 1]
        points = pair.base.points((crossings[start], last), last)
        for advantage in advantages[start:stop]:
            first = int(np.searchsorted(points.offsets, advantage.crossing))
            value = float(points.weights[first:] @ advantage.at(points.offsets[first:]))
            values.append(Certified.probability(value, pair.rounding * value))
        start = stop
    return values + [NOTHING] * (len(epsilons) - len(values))
