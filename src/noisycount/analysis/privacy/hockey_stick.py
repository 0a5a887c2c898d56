"""How far one law of an answer can exceed e^ε times another: δ in one direction."""

import numpy as np

from noisycount.analysis.privacy.certified import NOTHING, Certified
from noisycount.analysis.privacy.noisy import WIDEST_MESH, Asked, NoisyPair
from noisycount.analysis.privacy.pairs.pair import Excess, Pair
from noisycount.analysis.privacy.terms import LARGEST_EPSILON, complement
from noisycount.model.noises.error.law import CertifiedErrorLaw

__all__ = ["hockey_sticks"]

_NEGLIGIBLE = -720.0  # the logarithm of a probability below the 1e-301 that brackets allow for
_LIKELY = 0.5  # from which on δ has more digits as 1 less its complement
_FAR = 25.0  # standard deviations within which nothing is negligible


def hockey_sticks(
    pair: Pair, errors: CertifiedErrorLaw | None, epsilons: list[float]
) -> list[Certified]:
    """sup_S P₊[Y in S] − e^ε·P₋[Y in S] for each ε, Y the count plus noise.

    It is at most P₊[K >= threshold], with any noise, as w is negative below the threshold.

    Args:
        pair: The laws of the count.
        errors: The law of the noise; None: there is none.
        epsilons: ε >= 0 in rising order.
    """
    if pair.base.deviation == 0:  # the count is certain, and tells nothing
        return [NOTHING] * len(epsilons)
    end = pair.base.support[1]
    asked = [(epsilon, pair.excess(epsilon)) for epsilon in epsilons]
    possible = [one for one in asked if one[1].threshold <= end]
    known = list(possible)
    far = _FAR * pair.base.deviation
    while known and (last := known[-1][1].threshold) > far:
        if pair.log_tail_bound(last) > _NEGLIGIBLE:
            break
        known.pop()
    found = _without_noise(pair, known) if errors is None else _noisy(pair, errors, known)
    underflows = [Certified.probability(0.0, 0.0)] * (len(possible) - len(known))
    return found + underflows + _nothing(pair, [one for _, one in asked[len(possible) :]])


def _nothing(pair: Pair, excesses: list[Excess]) -> list[Certified]:
    """δ where no count has a ratio of e^ε: 0, but for what the ratios are off."""
    if not excesses:
        return []
    end = pair.base.support[1]
    points = pair.base.points((end, end), end)
    gains = [one.largest_gain(points.offsets, points.weights) for one in excesses]
    return [Certified.probability(0.0, gain) if gain else NOTHING for gain in gains]


def _noisy(pair: Pair, errors: CertifiedErrorLaw, asked: list[Asked]) -> list[Certified]:
    """δ with noise, which is 0 from the bound of the noise on if the laws are moved by a record."""
    bound = errors.steepest if pair.is_shift else None
    below = [one for one in asked if bound is None or one[0] < bound]
    found = NoisyPair(pair, errors).hockey_sticks(below) if below else []
    return found + [NOTHING] * (len(asked) - len(below))


def _without_noise(pair: Pair, asked: list[Asked]) -> list[Certified]:
    """Σ Q·w over the counts from the threshold on: no term is negative."""
    values: list[Certified] = []
    while len(values) < len(asked):
        first = asked[len(values)][1].threshold
        near = [one for _, one in asked[len(values) :] if one.threshold - first <= WIDEST_MESH]
        points = pair.base.points((first, near[-1].threshold), near[-1].threshold)
        for excess in near:
            start = int(np.searchsorted(points.offsets, excess.threshold))
            offsets, weights = points.offsets[start:], points.weights[start:]
            value = float(weights @ excess.at(offsets))
            error = pair.rounding * value + excess.uncertainty(offsets, weights)
            found = Certified(value, error)
            epsilon = asked[len(values)][0]
            if value > _LIKELY and epsilon <= LARGEST_EPSILON:
                chances = (points.offsets >= excess.threshold).astype(np.float64)
                rest = complement(pair, points, epsilon, 1 - chances, chances)
                if rest.error < found.error:
                    values.append(Certified.all_but(rest))
                    continue
            values.append(Certified.probability(found.value, found.error))
    return values
