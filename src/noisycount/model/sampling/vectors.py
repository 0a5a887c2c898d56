"""Exact draws of arrays, from the same distributions as `scalar`.

`discrete_laplace_array` and `discrete_gaussian_array` use `inversion` for many draws, else the steps of `scalar`.
"""

import os
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from noisycount.model.sampling.inversion import gaussian_by_inversion, laplace_by_inversion
from noisycount.model.sampling.scalar import Entropy

_CHUNK = 1 << 15  # largest number of draws at once: arrays of 256 kB
_WORD = 1 << 32  # number of values of a random word
_MANY = 1 << 13  # from this number of draws on, inversion by tables is faster
_MANY_A_SCALE = 64  # Gaussian draws for each record of the scale from which inversion is faster
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Lanes = NDArray[np.int64]
Draws = NDArray[np.int64]
Trial = Callable[[int, Lanes], Flags]
Law = Callable[[Fraction, int, Entropy], Draws]


def _uniform_below(bound: int, size: int, entropy: Entropy) -> Words:
    """Return `size` uniform integers in 0..bound − 1."""
    if bound == 1:
        return np.zeros(size, dtype=np.uint64)
    draw = _below_by_product if bound <= 1 << 24 else _below_by_mask
    values, fair = draw(bound, size, entropy)
    while not fair.all():
        again = np.flatnonzero(~fair)
        values[again], fair[again] = draw(bound, again.size, entropy)
    return values


def _below_by_product(bound: int, size: int, entropy: Entropy) -> tuple[Words, Flags]:
    """Return the high words of word·bound, and a mask of the unbiased ones (Lemire 2019, Algorithm 5)."""
    words = np.frombuffer(entropy(4 * size), dtype=np.uint32).astype(np.uint64)
    words *= np.uint64(bound)
    fair = words.astype(np.uint32) >= np.uint32(_WORD % bound)
    words >>= np.uint64(32)
    return words, fair


def _below_by_mask(bound: int, size: int, entropy: Entropy) -> tuple[Words, Flags]:
    """Return words of the smallest sufficient width, and a mask of those below the bound."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    words = np.frombuffer(entropy(8 * size), dtype=np.uint64) & mask
    return words, words < np.uint64(bound)


def _odd_first_failures(succeeds: Trial, size: int) -> Flags:
    """Return True where the first trial that fails has an odd number: e^−γ if trial k succeeds with γ/k."""
    odd = np.zeros(size, dtype=np.bool_)
    running = np.arange(size)
    trial = 1
    while running.size:
        goes_on = succeeds(trial, running)
        if trial % 2:
            odd[running[~goes_on]] = True
        running = running[goes_on]
        trial += 1
    return odd


def _bernoulli_exp(numerators: Words, denominator: int, entropy: Entropy) -> Flags:
    """Return True with probability exactly e^(−numerator/denominator), for each ratio in [0, 1]."""

    def succeeds(trial: int, lanes: Lanes) -> Flags:
        return _uniform_below(denominator * trial, lanes.size, entropy) < numerators[lanes]

    return _odd_first_failures(succeeds, numerators.size)


def _bernoulli_exp_half_square(numerators: Words, denominator: int, entropy: Entropy) -> Flags:
    """Return True with probability exactly e^(−(numerator/denominator)²/2), for each ratio in [0, 1].

    With γ = numerator/denominator, trial k succeeds with probability γ²/(2k): if two independent draws succeed, with
    probabilities γ and γ/(2k). So no square is computed, which could overflow.
    """

    def succeeds(trial: int, lanes: Lanes) -> Flags:
        first = _uniform_below(denominator, lanes.size, entropy) < numerators[lanes]
        second = _uniform_below(2 * denominator * trial, lanes.size, entropy) < numerators[lanes]
        return first & second

    return _odd_first_failures(succeeds, numerators.size)


def _bernoulli_exp_power(numerators: Words, denominator: int, powers: Words, entropy: Entropy) -> Flags:
    """Return True with probability exactly e^(−power·numerator/denominator), for each ratio in [0, 1]."""
    accepted = np.ones(numerators.size, dtype=np.bool_)
    running = np.flatnonzero(powers)
    done = 0
    while running.size:
        passed = _bernoulli_exp(numerators[running], denominator, entropy)
        accepted[running[~passed]] = False
        done += 1
        running = running[passed & (powers[running] > np.uint64(done))]
    return accepted


def _exponential_offsets(units: int, size: int, entropy: Entropy) -> Words:
    """Return `size` integers u in 0..units − 1 with P[u] ∝ e^(−u/units)."""
    parts: list[Words] = []
    missing = size
    while missing:
        proposed = _uniform_below(units, missing + missing // 2 + 8, entropy)
        accepted = proposed[_bernoulli_exp(proposed, units, entropy)][:missing]
        parts.append(accepted)
        missing -= accepted.size
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def _geometric_numbers(size: int, entropy: Entropy) -> Words:
    """Return `size` geometric numbers with P[V >= v] = e^−v."""
    wholes = np.zeros(size, dtype=np.uint64)
    running = np.arange(size)
    while running.size:
        running = running[_bernoulli_exp(np.ones(running.size, np.uint64), 1, entropy)]
        wholes[running] += np.uint64(1)
    return wholes


def exponential_steps_array(scale: Fraction, size: int, entropy: Entropy) -> Draws:
    """Return `size` geometric numbers with P[G >= g] = e^(−g/scale), as `scalar.exponential_steps`."""
    units = np.uint64(scale.numerator)
    steps = _exponential_offsets(scale.numerator, size, entropy) + units * _geometric_numbers(size, entropy)
    return (steps // np.uint64(scale.denominator)).astype(np.int64)


def _laplace_by_steps(scale: Fraction, size: int, entropy: Entropy) -> Draws:
    """Return at most `size` draws: the result of each try except a negative zero."""
    magnitudes = exponential_steps_array(scale, size, entropy)
    random_bits = np.frombuffer(entropy((size + 7) // 8), dtype=np.uint8)
    negative = np.unpackbits(random_bits, count=size).astype(np.bool_)
    np.negative(magnitudes, out=magnitudes, where=negative)
    return magnitudes[~negative | (magnitudes != 0)]


def _gaussian_by_steps(scale: Fraction, size: int, entropy: Entropy, laplace: Law = _laplace_by_steps) -> Draws:
    """Return at most `size` draws: Laplace draws z, each accepted with probability e^(−(|z|/scale − 1)²/2).

    With ||z|/scale − 1| = w + r, w whole and 0 <= r < 1, that is e^(−w²/2)·e^(−w·r)·e^(−r²/2).
    """
    draws = laplace(scale, size, entropy)
    excess = np.abs(np.abs(draws) * scale.denominator - scale.numerator).astype(np.uint64)
    whole, rest = np.divmod(excess, np.uint64(scale.numerator))
    kept = _bernoulli_exp_half_square(rest, scale.numerator, entropy)
    kept &= _bernoulli_exp_power(rest, scale.numerator, whole, entropy)
    kept &= _bernoulli_exp_power(np.ones_like(whole), 2, whole * whole, entropy)
    return draws[kept]


def _draw_in_chunks(law: Law, scale: Fraction, size: int, entropy: Entropy) -> Draws:
    """Return `size` draws of a sampler that returns at most as many as requested, chunk by chunk."""
    draws = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        missing = size - filled
        part = law(scale, min(_CHUNK, missing + missing // 2 + 8), entropy)[:missing]
        draws[filled : filled + part.size] = part
        filled += part.size
    return draws


def discrete_laplace_array(scale: Fraction, size: int, entropy: Entropy = os.urandom) -> Draws:
    """Return `size` independent exact draws of P[Z = z] ∝ e^(−|z|/scale).

    Source: Canonne, Kamath, Steinke (2020), Algorithm 2; many draws by inversion.
    """
    return _draw_in_chunks(_fastest_laplace(size), scale, size, entropy)


def discrete_gaussian_array(scale: Fraction, size: int, entropy: Entropy = os.urandom) -> Draws:
    """Return `size` independent exact draws of P[Z = z] ∝ e^(−z²/(2·scale²)).

    Source: Canonne, Kamath, Steinke (2020), Algorithm 3, as in `scalar.discrete_gaussian`; many draws by inversion.
    """
    if size >= _MANY and size >= _MANY_A_SCALE * scale:
        return _draw_in_chunks(gaussian_by_inversion, scale, size, entropy)
    return _draw_in_chunks(partial(_gaussian_by_steps, laplace=_fastest_laplace(size)), scale, size, entropy)


def _fastest_laplace(size: int) -> Law:
    """Return the fastest Laplace sampler for a number of draws."""
    return laplace_by_inversion if size >= _MANY else _laplace_by_steps
