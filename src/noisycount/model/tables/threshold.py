"""Partition selection for hidden keys: the noisy count from which a key is shown, and its failure probability δ.

`threshold` is the smallest safe threshold; Theorem 6.3 of the page “Accounting and partition selection” has
the proof.
"""

import math
from fractions import Fraction

from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.searches import first_true_beyond
from noisycount.validation import open_probability, whole_number

_TAIL_ERROR = 1e-10  # relative upward rounding of δ, well above the error of the tails of noise
_SMALLEST_DELTA = Fraction(1, 10**300)  # tails below this probability lose their precision


def threshold(noise: AdditiveNoise, delta: Fraction | float, groups: int) -> int:
    """Return the smallest threshold T that shows keys of a single unit with probability at most δ.

    Only keys that occur in the records receive noise, and only noisy counts of at least T are shown. A key held by a
    single unit is shown with probability p = P[Z >= T − 1]. At least one of the unit's g keys is shown with probability
    δ(T) = 1 − (1 − p)^g. If none of them is shown, the unit changes only counts of keys that other units have too.
    Theorem 6.3 of the page “Accounting and partition selection” concludes for the tables M(D) and M(D') that are shown
    about two data sets, which differ by a unit that is added, removed or replaced:

        P[M(D) in S] <= e^ε·P[M(D') in S] + δ(T).

    Args:
        noise: Noise on the integers.
        delta: The largest allowed δ, in [1e-300, 1).
        groups: The contribution bound g: the number of keys that one unit can have, at least 1.

    Raises:
        ValueError: If delta is out of range, the noise is continuous, or groups is not a positive whole number.

    Numerical error: T is never too small. It is one too large if δ(T) is below δ by less than one part in 1e10.
    """
    if not _SMALLEST_DELTA <= delta < 1:
        raise ValueError(f"delta must be at least 1e-300 and below 1, got {delta}")
    _check_arguments(noise, groups)

    def keeps(place: int) -> bool:
        """Return True if the threshold `place` fails with a probability of at most delta."""
        return delta_of_threshold(noise, place, groups) <= delta

    return first_true_beyond(keeps, 1, 2)


def delta_of_threshold(noise: AdditiveNoise, threshold: int, groups: int = 1) -> float:
    """Return δ(T) = 1 − P[Z < T − 1]^g, the probability that a key of a single unit is shown, rounded up.

    Numerical error: never below δ(T), and above it by at most one part in 1e10 down to 1e-300.
    """
    _check_arguments(noise, groups)
    log_hidden = groups * noise.log_exceedance(2 - threshold)  # P[Z < T − 1] = P[Z > 1 − T]
    return min(1.0, -math.expm1(log_hidden) * (1 + _TAIL_ERROR))


def smallest_surely_shown(noise: AdditiveNoise, threshold: int, confidence: float) -> int:
    """Return the smallest count c >= 1 whose key is shown with probability P[c + Z >= T] >= confidence."""
    _check_arguments(noise, 1)
    log_confidence = math.log(open_probability(confidence, "confidence"))

    def appears(count: int) -> bool:
        return noise.log_exceedance(threshold - count) >= log_confidence

    return first_true_beyond(appears, 1, max(1, threshold))


def _check_arguments(noise: AdditiveNoise, groups: int) -> None:
    """Raise ValueError if the noise is continuous or `groups` is not a positive whole number."""
    if not noise.is_discrete:
        raise ValueError(f"noise must be on the integers, got {noise!r}")
    whole_number(groups, "groups", smallest=1)
