"""Hidden keys: the noisy count from which on a key is shown, and what that leaves to chance."""

import math
from fractions import Fraction

from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.searches import first_true_beyond
from noisycount.validation import open_probability, whole_number

_TAIL_ERROR = 1e-10  # relative, well above that of the tails of noise: δ is rounded up by it
_SMALLEST_DELTA = Fraction(1, 10**300)  # below, tails lose their digits


def threshold(noise: AdditiveNoise, delta: Fraction | float, groups: int) -> int:
    """The smallest threshold T at which keys of one unit appear with a chance of at most δ.

    Only keys that the records have get noise, and only noisy counts of at least T are shown. A key that one unit alone
    has is shown with probability p = P[Z >= T − 1], and at least one of the g keys that it can have with δ(T) = 1 − (1
    − p)^g. Where none of them is shown, an answer comes from counts of which the unit moves only those of keys that
    others have, too. From that the page “Hidden keys” proves, for units that come, go, or are replaced, and without
    another condition,

        P[M(D) in S] <= e^ε·P[M(D') in S] + δ(T).

    Numerical error: T is never too small; it is one too large where δ(T) is below δ by less than one part in 1e10.
    """
    if not _SMALLEST_DELTA <= delta < 1:
        raise ValueError(f"delta must be at least 1e-300 and below 1, got {delta}")
    _check(noise, groups)

    def keeps(place: int) -> bool:
        """Whether T = place is enough."""
        return delta_of_threshold(noise, place, groups) <= delta

    return first_true_beyond(keeps, 1, 2)


def delta_of_threshold(noise: AdditiveNoise, threshold: int, groups: int = 1) -> float:
    """The chance δ(T) = 1 − P[Z < T − 1]^g that keys of one unit alone are shown, rounded up.

    Numerical error: never below δ(T), and above by at most one part in 1e10 down to 1e-300.
    """
    _check(noise, groups)
    hidden = groups * noise.log_exceedance(2 - threshold)  # P[Z < T − 1] = P[Z > 1 − T]
    return min(1.0, -math.expm1(hidden) * (1 + _TAIL_ERROR))


def surely_shown(noise: AdditiveNoise, threshold: int, confidence: float) -> int:
    """The smallest count of at least 1 whose key appears with that probability, P[c + Z >= T]."""
    _check(noise, 1)
    log_confidence = math.log(open_probability(confidence, "confidence"))

    def appears(count: int) -> bool:
        return noise.log_exceedance(threshold - count) >= log_confidence

    return first_true_beyond(appears, 1, max(1, threshold))


def _check(noise: AdditiveNoise, groups: int) -> None:
    if not noise.is_discrete:
        raise ValueError(f"noise must be on the integers, got {noise!r}")
    whole_number(groups, "groups", smallest=1)
