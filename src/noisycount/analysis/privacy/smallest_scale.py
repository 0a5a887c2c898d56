"""Smallest noise scale for an (ε, δ) guarantee, bounds of beliefs after an answer, and amplification by subsampling.

Each function takes a guarantee or a mechanism of one count and returns one number, or one for each ε.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.analysis.privacy.pairs import Pair
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.catalogue import NoiseClass, noise_class
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.population import Population
from noisycount.model.searches import Bracket, bracketed_by_factors, first_whole, root
from noisycount.validation import open_probability, positive_number, real_number, whole_number

Function = Callable[[float], float]
_SMALLEST, _LARGEST = 2.0**-50, 2.0**50  # records: smallest and largest scale that every noise class allows
_FACTOR = 4.0  # first factor of the search; each later factor is the square of the one before
_MIXED = 14e12  # if q is at most goal/_MIXED, then 14·q is at most 1e-12 of the goal; `_first_private_scale` defines q
_STEPS = 8  # scales that are tried for each 1/ε of the squared scale: jumps of δ are at least that far apart
_MOST_STEPS = 400  # largest number of scales that are tried in one range
_SECTIONS = 40  # golden sections: each reduces the length to 0.62 of the one before
_GOLDEN = (math.sqrt(5) - 1) / 2
_LEAST = 1e-305  # takes the place of a goal of 0, which has no logarithm; below every upper end except 0


@overload
def smallest_scale(noise: NoiseClass, epsilon: float, delta: float, population: Population | None = None) -> float: ...


@overload
def smallest_scale(
    noise: NoiseClass, epsilon: Sequence[float] | Reals, delta: float, population: Population | None = None
) -> Reals: ...


def smallest_scale(
    noise: NoiseClass, epsilon: ArrayLike, delta: float, population: Population | None = None
) -> float | Reals:
    """Return the smallest noise scale with δ(ε) <= delta.

    It is the smallest s with `privacy_curve(noise(s), population).delta(epsilon)` at most delta, raised by at most one
    part in 10^9, so that the upper end of the bracket of δ is at most delta too. For Gaussian noise and no population
    it is the scale of the analytic Gaussian mechanism.

    A scale keeps delta if δ(ε) <= delta. For Laplace, discrete Laplace and Gaussian noise, every larger scale keeps
    delta too: such noise is the sum of noise of any smaller scale and independent noise, so that δ falls as the scale
    grows. This does not hold for discrete Gaussian noise. The answer from which on a record is detected jumps from
    integer to integer as the scale grows, and δ rises and falls with it. Then the result is the first scale that keeps
    delta; check each larger scale by itself.

    Args:
        noise: The class: `Laplace`, `DiscreteLaplace`, `Gaussian` or `DiscreteGaussian`.
        epsilon: ε, at least 0, a number or an array of any shape.
        delta: δ, from 0 to 1. Gaussian noise never reaches 0, and no noise reaches 0 at ε = 0.
        population: The adversary's background knowledge. Default: the worst case, all records except one are known.

    Returns:
        The scale in records, an array for an array; 0 if the exact count keeps delta, as the adversary knows too
        little.

    Raises:
        ValueError: If an argument is out of range, or no scale up to 2^50 records is enough.

    Source: Breutigam and Reischuk, section 6; Balle and Wang (2018) for the worst case. Numerical error: 1e-9 relative,
    always upwards. For discrete Gaussian noise the result keeps delta. In the worst case it is the first such scale,
    provided that the smallest δ between two jumps falls from jump to jump. With a population, δ may dip below delta at
    scales under the last one that does not keep it. Such dips are searched at eight scales for each jump, at most 400
    in all; if ε is in the tens, the search may miss a dip.

    Example:
        >>> import noisycount as nc
        >>> round(nc.smallest_scale(nc.Gaussian, 0.5, 1e-6), 4)
        8.0576
        >>> round(nc.smallest_scale(nc.Gaussian, 0.5, 1e-6, nc.Binomial(500, 0.1)), 4)
        5.5451
    """
    noise_class(noise)
    if not 0 <= real_number(delta, "delta") <= 1:
        raise ValueError(f"delta must be from 0 to 1, got {delta!r}")
    given = np.asarray(epsilon, dtype=object)
    if given.ndim:
        scales = [_scale_at(noise, each, delta, population) for each in given.reshape(-1)]
        return np.array(scales, dtype=np.float64).reshape(given.shape)
    return _scale_at(noise, given.item(), delta, population)


def _scale_at(noise: NoiseClass, epsilon: float, delta: float, population: Population | None) -> float:
    """Return the smallest scale for one ε."""
    goal = max(delta, _LEAST)
    if privacy_curve(Exact(), population).bracket(epsilon)[1] <= delta:
        return 0.0

    def shortfall(scale: float) -> float:
        upper = privacy_curve(noise(scale), population).bracket(epsilon)[1]
        return math.log(goal / upper) if upper else math.inf  # the sign is right to the last digit

    if shortfall(_LARGEST) < 0:
        raise ValueError(
            f"delta must be one that {noise.__name__} noise of a scale up to 2**50 records can "
            f"reach at epsilon = {epsilon!r}, got {delta!r}"
        )
    bracket = bracketed_by_factors(shortfall, 1.0, _FACTOR, (_SMALLEST, _LARGEST))
    found = root(shortfall, bracket)
    if not issubclass(noise, DiscreteGaussian) or epsilon == 0 or found.is_open:
        return found.high
    if population is None:
        return _first_scale_in_worst_case(shortfall, found.high, float(epsilon))
    return _first_private_scale(shortfall, found, float(epsilon), goal)


def _first_scale_in_worst_case(shortfall: Function, enough: float, epsilon: float) -> float:
    """Return the first scale of discrete Gaussian noise with δ(ε) <= delta in the worst case, at most `enough`."""

    def dip(place: float) -> float:
        return math.sqrt((place + 0.5) / epsilon)

    last = max(0.0, math.ceil(epsilon * enough**2 - 0.5))
    first = first_whole(lambda place: shortfall(dip(place)), Bracket(-1.0, last)).high
    high = dip(first)
    if high >= enough or shortfall(high) < 0:
        high = enough
    low = dip(first - 1) if first > 0 else _SMALLEST
    if low >= high or shortfall(low) >= 0:
        return high
    return min(root(shortfall, Bracket(low, high)).high, enough)


def _first_private_scale(shortfall: Function, found: Bracket, epsilon: float, goal: float) -> float:
    """Return the first scale of discrete Gaussian noise with δ(ε) <= delta for a population.

    With σ² + τ² = ρ² and q = e^(−2π²σ²τ²/ρ²), δ at the scale ρ is at most 14·q above δ at the scale σ: the sum of
    noises of scales σ and τ has the distribution of noise of scale ρ, up to factors of (1 ± 2.1·q)/(1 ∓ 2.1·q). Let ρ
    be a scale that does not keep delta. Then no scale σ with a small q keeps it by more than 1e-12 of delta. Only
    scales near 0 and scales near ρ remain; these are searched for dips of δ.

    Args:
        shortfall: ln(goal/δ) at a scale.
        found: The bracket of a scale: `low` does not keep delta, `high` does.
        epsilon: ε.
        goal: delta, or a tiny number if delta is 0.
    """
    highest = found.low**2
    mixed = math.log(_MIXED / goal) / (2 * math.pi**2)  # smallest σ²τ²/ρ² at which q is small
    apart = 1 - 4 * mixed / highest
    near = 2 * mixed / (1 + math.sqrt(apart)) if apart > 0 else highest
    for start in (0.0, max(near, highest - near)) if apart > 0 else (0.0,):
        width = min(near, highest - start)
        steps = min(_MOST_STEPS, math.ceil(_STEPS * epsilon * width) + 2)
        scales = np.sqrt(start + width * np.arange(1, steps + 1) / steps).tolist()
        enough = _first_sufficient_scale(shortfall, [max(math.sqrt(start), _SMALLEST), *scales])
        if enough is not None:
            return enough
    return found.high


def _first_sufficient_scale(shortfall: Function, scales: list[float]) -> float | None:
    """Return the first of some rising scales with δ(ε) <= delta, or None if none is found."""
    values = [shortfall(scale) for scale in scales]
    for place in range(1, len(scales)):
        if values[place] >= 0:
            low, high = scales[place - 1], scales[place]
            return root(shortfall, Bracket(low, high, values[place - 1], values[place])).high
        if place + 1 < len(scales) and values[place - 1] < values[place] > values[place + 1]:
            top = _argument_of_maximum(shortfall, scales[place - 1], scales[place + 1])
            if shortfall(top) >= 0:
                return root(shortfall, Bracket(scales[place - 1], top)).high
    return None


def _argument_of_maximum(function: Function, low: float, high: float) -> float:
    """Return approximately the place of the only maximum of a function between two points, by golden sections."""
    for _ in range(_SECTIONS):
        width = high - low
        one, other = high - _GOLDEN * width, low + _GOLDEN * width
        if function(one) < function(other):
            low = one
        else:
            high = other
    return (low + high) / 2


def belief_bounds(epsilon: float | Fraction, prior: float = 0.5) -> tuple[float, float]:
    """Return the smallest and the largest belief in a fact about one person after an ε-private answer.

    By Bayes' rule with a likelihood ratio between e^−ε and e^ε, the belief π becomes at most π/(π + (1 − π)·e^−ε) and
    at least π/(π + (1 − π)·e^ε). This holds for an adversary who knows all other records. If records depend on each
    other, an adversary who knows fewer records may learn more.

    Args:
        epsilon: The privacy loss ε of the answer, positive.
        prior: The belief π before the answer, in (0, 1).

    Raises:
        ValueError: If ε is not positive and finite, or the prior is not in (0, 1).

    Source: the definition of ε-differential privacy; Naldi and D'Acquisto (2015), eq. (2).
    Numerical error: that of a closed formula in doubles, a few units in the last place.

    Example:
        >>> import noisycount as nc
        >>> low, high = nc.belief_bounds(0.15)
        >>> round(low, 4), round(high, 4)
        (0.4626, 0.5374)
    """
    before = open_probability(prior, "prior")
    shrink = math.exp(-positive_number(epsilon, "epsilon"))
    low = before * shrink / (before * shrink + (1 - before))
    return low, before / (before + (1 - before) * shrink)


_LARGEST_EPSILON = 700.0  # largest ε of a privacy curve
_ROUNDING = 4e-15  # 18 roundings of 2^−52: more than the few operations that follow can cause


@overload
def amplified_delta(size: int, sample_size: int, rate: float, epsilon: float) -> float: ...


@overload
def amplified_delta(size: int, sample_size: int, rate: float, epsilon: Sequence[float] | Reals) -> Reals: ...


def amplified_delta(size: int, sample_size: int, rate: float, epsilon: ArrayLike) -> float | Reals:
    """Return an upper bound of δ(ε) of the exact count in a random sample.

    The bound follows from δ of the exact count in a database that has as many records as the sample.

    With λ = m/n, e^ε″ = 1 + (e^ε − 1)/λ and β = e^(ε − ε″) it is the larger of λ·(1 − (1 − β)·π)·δ₊(ε″) and
    λ·(1 − (1 − β)·(1 − π))·δ₋(ε″). Here δ₊ and δ₋ are the two directions of the privacy profile of `Exact` on m records
    of rate π. The bound is never below δ(ε) of `Subsample(m)` on n such records. Except for rounding, it is never above
    λ·max(δ₊(ε″), δ₋(ε″)), the bound that was conjectured.

    Args:
        size: The number n of records, at least 1.
        sample_size: The number m of records drawn, from 1 to the size.
        rate: The probability π that a record satisfies the predicate, in (0, 1).
        epsilon: The ε of the sample, from 0 to 700, a number or an array of any shape.

    Returns:
        The bound, in the shape of epsilon; a float for a single ε.

    Raises:
        ValueError: If a size is out of range, the rate is 0 or 1 (such a record has no neighbour), or an ε is out
            of range.

    Source: the conjecture of Breutigam and Reischuk, section 7, proved by advanced joint convexity, Balle, Barthe and
    Gaboardi (2018), Theorem 2; Theorem 4.3 of the page “Privacy curves and subsampling”
    has the proof.
    Numerical error: rounded up, from the upper end of the bracket of the privacy curve: by at most 1e-9 relative if the
    bound is above 1e-50.

    Example:
        >>> import noisycount as nc
        >>> round(nc.amplified_delta(1000, 100, 0.5, 0.01), 6)
        0.004134
    """
    plus, minus = amplified_directions(size, sample_size, rate, epsilon)
    larger: Reals = np.maximum(plus, minus)
    return larger if larger.ndim else float(larger)


def amplified_directions(size: int, sample_size: int, rate: float, epsilon: ArrayLike) -> tuple[Reals, Reals]:
    """Return the two bounds of `amplified_delta`, for δ₊ and for δ₋, each in the shape of epsilon."""
    records = whole_number(size, "size", smallest=1)
    drawn = whole_number(sample_size, "sample_size", smallest=1)
    if drawn > records:
        raise ValueError(f"sample_size must be at most the {records} records there are, got {sample_size!r}")
    share = open_probability(rate, "rate")
    asked = np.asarray(epsilon, dtype=np.float64)
    if not ((asked >= 0) & (asked <= _LARGEST_EPSILON)).all():
        raise ValueError(f"epsilon must be from 0 to {_LARGEST_EPSILON:g}, got {epsilon!r}")
    gap = (records - drawn) / drawn * -np.expm1(-asked)  # e^(ε″ − ε) − 1 = 1/β − 1
    larger: Reals = np.minimum(asked + np.log1p(gap), _LARGEST_EPSILON)  # a smaller one is safe
    larger *= 1 - _ROUNDING
    pair = neighbour_pairs(Exact(), Binomial(drawn, share))[0]
    plus, minus = _upper_ends(pair, larger), _upper_ends(pair.mirrored, larger)
    per_drawn = drawn / records / (1 + gap)
    per_drawn *= 1 + _ROUNDING
    return per_drawn * (1 + gap * (1 - share)) * plus, per_drawn * (1 + gap * share) * minus


def _upper_ends(pair: Pair, epsilons: Reals) -> Reals:
    """Return upper ends of δ in the first direction of a pair of neighbouring distributions, shape as epsilons."""
    rising, places = np.unique(epsilons, return_inverse=True)
    uppers = np.array([one.upper for one in hockey_sticks(pair, None, rising.tolist())])
    return uppers[places].reshape(epsilons.shape)
