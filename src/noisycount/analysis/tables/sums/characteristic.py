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
_ROUNDING = 1e-6  # that may take a characteristic function beyond 1: of many million factors
_ENDED = 1e-13  # of the largest probability: more near an end means that the law goes on
_END_PART = 64  # of a run, at either end of it
_MISSED = 1e-6  # standard deviations by which rounding moves a mean at most
_REACH = 40.0  # standard deviations within which a law is that falls as a geometric one, to e^−40


def law_by_characteristic(
    characteristic: Characteristic, mean: float, deviation: float, reach: tuple[int, int]
) -> tuple[int, Reals]:
    """The probabilities of S − centre on a run of integers.

    P[S − centre = k] = Σ_j φ(t_j)·e^(−i·t_j·k)/N with t_j = 2π·j/N, exact but for mass that is N or
    more away: that would move the mean, or be seen at the ends of the run, which is then made
    longer, up to all that S can be.

    Args:
        characteristic: That of S − centre: 1 at 0, and of modulus 1 at most.
        mean: The mean of S − centre.
        deviation: About the standard deviation of S.
        reach: Between which integers S − centre surely lies.

    Returns:
        The first integer, and the probabilities from there on.

    Raises:
        ArithmeticError: If the characteristic function is none.

    Numerical error: about 1e-15 of the largest probability, absolute.
    """
    half = int(np.ceil(_REACH * max(deviation, 1.0)))
    while True:
        low, high = max(reach[0], -half), min(reach[1], half)
        law = _inverted(characteristic, low, high)
        missed = abs(float(law @ np.arange(low, high + 1)) - mean)
        ends = law[: law.size // _END_PART + 1], law[-(law.size // _END_PART) - 1 :]
        is_cut = low > reach[0] and ends[0].max() > _ENDED * law.max()
        is_cut |= high < reach[1] and ends[1].max() > _ENDED * law.max()
        if (low, high) == reach or not (is_cut or missed > _MISSED * max(deviation, 1.0)):
            return low, law
        half *= 4  # ends with all that S can be


def _inverted(characteristic: Characteristic, low: int, high: int) -> Reals:
    """The probabilities from low to high of a law that lies between them."""
    length = transform_length(high - low + 1)
    values = np.zeros(length // 2 + 1, dtype=np.complex128)
    for start in range(0, values.size, _AT_ONCE):
        turns = np.arange(start, min(start + _AT_ONCE, values.size), dtype=np.float64)
        part = characteristic(turns * (2 * math.pi / length))
        largest = float(np.abs(part).max())
        if not largest <= 1 + _ROUNDING or (not start and not abs(part[0] - 1) <= _ROUNDING):
            raise ArithmeticError(f"a characteristic function must be 1 at 0, got {part[0]}")
        values[start : start + turns.size] = part
        if largest < _VANISHED:
            break
    law = np.fft.irfft(np.conj(values), length)[np.arange(low, high + 1) % length]
    law = np.where(law > _VANISHED * law.max(), law, 0.0)
    found: Reals = law / law.sum()
    return found
