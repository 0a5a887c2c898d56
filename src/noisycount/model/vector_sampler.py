"""The laws of `sampler`, drawn in bulk: the same steps on arrays, integers only."""

import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from noisycount.model.sampler import Entropy

__all__ = ["LARGEST_TERM", "discrete_laplace_array"]

LARGEST_TERM = 2**53
"""The largest numerator and denominator of a scale.

Their products with trial numbers stay under 2^63: a trial of 2^10 has a chance below 10^−440."""

_CHUNK = 1 << 15
_WORD = 1 << 32

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]


def _below(bound: int, size: int, entropy: Entropy) -> Words:
    """`size` uniform integers in 0..bound − 1."""
    if bound == 1:
        return np.zeros(size, dtype=np.uint64)
    draw = _below_by_product if bound <= 1 << 24 else _below_by_mask
    values, fair = draw(bound, size, entropy)
    while not fair.all():
        again = np.flatnonzero(~fair)
        values[again], fair[again] = draw(bound, again.size, entropy)
    return values


def _below_by_product(bound: int, size: int, entropy: Entropy) -> tuple[Words, Flags]:
    """The high words of word·bound, and which of them are fair (Lemire 2019, Algorithm 5)."""
    words = np.frombuffer(entropy(4 * size), dtype=np.uint32).astype(np.uint64)
    words *= np.uint64(bound)
    fair = words.astype(np.uint32) >= np.uint32(_WORD % bound)
    words >>= np.uint64(32)
    return words, fair


def _below_by_mask(bound: int, size: int, entropy: Entropy) -> tuple[Words, Flags]:
    """Words of the least sufficient width, and which of them lie below the bound."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    words = np.frombuffer(entropy(8 * size), dtype=np.uint64) & mask
    return words, words < np.uint64(bound)


def _bernoulli_exp(numerators: Words, denominator: int, entropy: Entropy) -> Flags:
    """True with probability exactly e^(−numerator/denominator), a ratio in [0, 1] each."""
    accepted = np.zeros(numerators.size, dtype=np.bool_)
    running = np.arange(numerators.size)
    trial = 1
    while running.size:
        goes_on = _below(denominator * trial, running.size, entropy) < numerators[running]
        if trial % 2:
            accepted[running[~goes_on]] = True
        running = running[goes_on]
        trial += 1
    return accepted


def _offsets(units: int, size: int, entropy: Entropy) -> Words:
    """`size` integers u in 0..units − 1 with P[u] ∝ e^(−u/units)."""
    parts: list[Words] = []
    missing = size
    while missing:
        proposed = _below(units, missing + missing // 2 + 8, entropy)
        accepted = proposed[_bernoulli_exp(proposed, units, entropy)][:missing]
        parts.append(accepted)
        missing -= accepted.size
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def _wholes(size: int, entropy: Entropy) -> Words:
    """`size` geometric numbers: P[V >= v] = e^−v."""
    wholes = np.zeros(size, dtype=np.uint64)
    running = np.arange(size)
    while running.size:
        running = running[_bernoulli_exp(np.ones(running.size, np.uint64), 1, entropy)]
        wholes[running] += np.uint64(1)
    return wholes


def _signed(scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """At most `size` draws: the tries that were not a negative zero."""
    units = np.uint64(scale.numerator)
    steps = _offsets(scale.numerator, size, entropy) + units * _wholes(size, entropy)
    magnitudes = (steps // np.uint64(scale.denominator)).astype(np.int64)
    random_bits = np.frombuffer(entropy((size + 7) // 8), dtype=np.uint8)
    negative = np.unpackbits(random_bits, count=size).astype(np.bool_)
    np.negative(magnitudes, out=magnitudes, where=negative)
    draws: NDArray[np.int64] = magnitudes[~negative | (magnitudes != 0)]
    return draws


def discrete_laplace_array(
    scale: Fraction, size: int, entropy: Entropy = os.urandom
) -> NDArray[np.int64]:
    """`size` independent draws of P[Z = z] ∝ e^(−|z|/scale), exactly.

    Args:
        scale: In records; numerator and denominator at most `LARGEST_TERM`.
        size: How many draws, at least 0.
        entropy: Gives that many random bytes; the operating system's unless a test replaces it.

    Source: Canonne, Kamath, Steinke (2020), Algorithm 2.
    """
    draws = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        part = _signed(scale, min(_CHUNK, size - filled + 8), entropy)[: size - filled]
        draws[filled : filled + part.size] = part
        filled += part.size
    return draws
