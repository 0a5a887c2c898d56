"""A law on integers by its characteristic function, which soon vanishes where the law is wide."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.sums.fast import transform_length
from noisycount.model.laws.expansion import Reals

__all__ = ["Characteristic", "law_by_characteristic"]

Complexes = NDArray[np.complex128]
Characteristic = Callable[[Reals], Complexes]
"""E[e^(i·t·(S − centre))] at angles t, shape (angles,)."""

_AT_ONCE = 16  # angles
_VANISHED = 1e-15  # of a characteristic function, beyond which a law has nothing but rounding
_REACH = 40.0  # standard deviations within which a law is that falls as a geometric one, to e^−40


def law_by_characteristic(
    characteristic: Characteristic, deviation: float, reach: tuple[int, int]
) -> tuple[int, Reals]:
    """The probabilities of S − centre on a run of integers.

    P[S − centre = k] = Σ_j φ(t_j)·e^(−i·t_j·k)/N with t_j = 2π·j/N, exact but for mass that is N or
    more away.

    Args:
        characteristic: That of S − centre.
        deviation: About the standard deviation of S.
        reach: Between which integers S − centre surely lies.

    Returns:
        The first integer, and the probabilities from there on.

    Numerical error: about 1e-15 of the largest probability, absolute.
    """
    half = int(np.ceil(_REACH * max(deviation, 1.0)))
    low, high = max(reach[0], -half), min(reach[1], half)
    length = transform_length(high - low + 1)
    values = np.zeros(length // 2 + 1, dtype=np.complex128)
    for start in range(0, values.size, _AT_ONCE):
        turns = np.arange(start, min(start + _AT_ONCE, values.size), dtype=np.float64)
        angles = turns * (2 * math.pi / length)
        values[start : start + angles.size] = characteristic(angles)
        if np.abs(values[start : start + angles.size]).max() < _VANISHED:
            break
    places = np.arange(low, high + 1)
    law = np.fft.irfft(np.conj(values), length)[places % length]
    law = np.where(law > _VANISHED * law.max(), law, 0.0)
    return low, law / law.sum()
