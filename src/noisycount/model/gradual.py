"""Top-ups: a sequence of ever more accurate answers to one question, which together cost as much as the last.

With scales b₁ > b₂, aᵢ = e^(−1/bᵢ) and discrete Laplace errors: if D₂ ~ DLap(a₂) is the fine error, and Z is 0 with
probability p₀ and otherwise DLap(a₁), then D₂ + Z ~ DLap(a₁). So a coarse answer is a fine answer plus noise, and a
fine answer can be drawn from its distribution given the coarse one. The page “Accuracy first” has the proofs.
"""

import os
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisycount.model.sampling.scalar import LARGEST_TERM, Entropy, RandomIntegers, exponential_steps
from noisycount.model.sampling.vectors import exponential_steps_array

_FEW = 16  # up to this number of draws, drawing one by one is faster


def finer_error(coarse_error: int, coarse: Fraction, fine: Fraction, integers: RandomIntegers) -> int:
    """Return one exact draw of the fine error, given the error of the released coarse answer.

    With a₁ = e^(−1/coarse) and a₂ = e^(−1/fine), let s = a₂/a₁ and r = a₁·a₂. G_q is a geometric number, P[G_q >= g] =
    q^g. The draw is G_s − G_r, towards the sign of the coarse error. If it exceeds |coarse error| + G_{a₁²}, the draw
    is the coarse error itself.

    Args:
        coarse_error: Error of the released answer: answer − count, in records.
        coarse: Scale of its noise, in records.
        fine: Scale of the answer to draw, smaller than `coarse`.
        integers: Source of random integers.

    Raises:
        ValueError: If the scale of the fine answer is not the smaller one.

    Example:
        >>> finer_error(12, Fraction(10), Fraction(1, 100), RandomIntegers())  # noise that narrow is 0
        0
    """
    ahead, back, slack = _scales_of_geometric_numbers(coarse, fine)
    size = abs(coarse_error)
    error = exponential_steps(ahead, integers) - exponential_steps(back, integers)
    if error > size + exponential_steps(slack, integers):
        error = size
    return -error if coarse_error < 0 else error


def finer_errors(
    coarse_errors: NDArray[np.int64], coarse: Fraction, fine: Fraction, entropy: Entropy = os.urandom
) -> NDArray[np.int64]:
    """Return exact draws of many fine errors, independent of each other, in the shape and order of `coarse_errors`."""
    scales = _scales_of_geometric_numbers(coarse, fine)
    errors = np.asarray(coarse_errors, np.int64)
    if errors.size <= _FEW or max(max(scale.numerator, scale.denominator) for scale in scales) > LARGEST_TERM:
        integers = RandomIntegers(entropy)
        one_by_one = [finer_error(error, coarse, fine, integers) for error in errors.ravel().tolist()]
        return np.array(one_by_one, np.int64).reshape(errors.shape)
    ahead, back, slack = (
        exponential_steps_array(scale, errors.size, entropy).reshape(errors.shape) for scale in scales
    )
    sizes, placed = np.abs(errors), ahead - back
    placed = np.where(placed - sizes > slack, sizes, placed)
    return np.where(errors < 0, -placed, placed)


@lru_cache(maxsize=512)  # a chain of top-ups has about 70 pairs, and rational arithmetic is slow
def _scales_of_geometric_numbers(coarse: Fraction, fine: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return the scales of the three geometric numbers that `finer_error` draws."""
    if not 0 < fine < coarse:
        raise ValueError(f"the scale of the fine answer must be positive and less than {coarse}, got {fine}")
    return 1 / (1 / fine - 1 / coarse), 1 / (1 / fine + 1 / coarse), coarse / 2
