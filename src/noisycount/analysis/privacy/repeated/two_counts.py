"""What answers with two-sided geometric noise hide of a count, from each two of its values."""

import math

import numpy as np

from noisycount.analysis.privacy.repeated.weighed import Weighed
from noisycount.model.laws.expansion import Reals

__all__ = ["hidden_by_twos"]

_LARGEST = 600.0  # an exponent whose exponential does not overflow, nor its products
_UNIT = 2.0**-53
_PER_LEVEL = 16.0  # roundings of a transform for each doubling of its length


def hidden_by_twos(
    weighed: Weighed, answers: int, slope: float, steps: int, *, is_centred: bool
) -> tuple[float, float]:
    """Bounds of Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)): the largest part, and all.

    As min(a + a*, b) is at least min(a, b) and at most min(a, b) + min(a*, b), it is at least
    min(v_k·L, −v_l·L*) for each two counts, and at most the sum over these. That of two counts is
    a mean over the sum of q independent parts of ln(L(k)/L(l)).

    Args:
        weighed: v around the threshold t.
        answers: The number q of answers.
        slope: Of the noise, for a step of the grid.
        steps: How many steps a record has.
        is_centred: Whether answers lie on the places of the grid, or else between them.
    """
    hidden = np.zeros((weighed.above.size, weighed.below.size))
    error = 0.0
    for distance in range(1, sum(hidden.shape)):
        ranks = np.arange(max(0, distance - weighed.below.size), min(distance, weighed.above.size))
        above, below = weighed.above[ranks], weighed.below[distance - 1 - ranks]
        part = _of_one(distance * steps, slope, is_centred=is_centred)
        law = _power(part, answers)
        most = slope * distance * steps * answers
        logs = np.minimum(_LARGEST, np.linspace(-most, most, law.size))
        least = np.minimum(np.multiply.outer(above, np.exp(logs)), below[:, None])
        hidden[ranks, distance - 1 - ranks] = least @ law
        roundings = answers * _PER_LEVEL * math.log2(2 * law.size) * math.sqrt(2 * law.size)
        error += _UNIT * roundings * float(below.sum())
    return max(0.0, float(hidden.max()) - error), float(hidden.sum()) + error


def _of_one(places: int, slope: float, *, is_centred: bool) -> Reals:
    """The law of ln(L(k)/L(l)) of one answer from −slope·places to slope·places, given l.

    It rises by two slopes where an answer lies on the next place between the counts, and by one
    from cell to cell next to a count.
    """
    ratio = math.exp(-slope)
    if is_centred:
        law = math.tanh(slope / 2) * ratio ** np.arange(places + 1.0)
        law[[0, -1]] = 1 / (1 + ratio), ratio**places / (1 + ratio)
        return law
    law = np.zeros(2 * places + 1)
    law[1::2] = (1 - ratio) / 2 * ratio ** np.arange(places)
    law[[0, -1]] = 0.5, ratio**places / 2
    return law


def _power(part: Reals, answers: int) -> Reals:
    """The law of the sum of independent numbers with one law."""
    size = answers * (part.size - 1) + 1
    length = 1 << (size - 1).bit_length()
    law: Reals = np.fft.irfft(np.fft.rfft(part, length) ** answers, length)[:size]
    return np.maximum(law, 0.0)
