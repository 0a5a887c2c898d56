"""The least noise for a guarantee, the gain of a sample, and how far beliefs move."""

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
_SMALLEST, _LARGEST = 2.0**-50, 2.0**50  # records: all noises have scales so small and so large
_FACTOR = 4.0  # the first step of the search; each is the square of the one before
_MIXED = 14e12  # times q over the goal: a dip of less than 1e-12 of it does not count
_STEPS = 8  # for each distance of two jumps, which is 1/ε of a squared scale or more
_MOST_STEPS = 400
_SECTIONS = 40  # each to 0.62 of the length before
_GOLDEN = (math.sqrt(5) - 1) / 2
_LEAST = 1e-305  # below every upper end but 0: a goal of 0 has a logarithm too


@overload
def smallest_scale(noise: NoiseClass, epsilon: float, delta: float, population: Population | None = None) -> float: ...


@overload
def smallest_scale(
    noise: NoiseClass, epsilon: Sequence[float] | Reals, delta: float, population: Population | None = None
) -> Reals: ...


def smallest_scale(
    noise: NoiseClass, epsilon: ArrayLike, delta: float, population: Population | None = None
) -> float | Reals:
    """The least noise that keeps δ(ε) <= delta.

    The smallest s with `privacy_curve(noise(s), population).delta(epsilon)` at most delta, raised by at most one part
    in 10^9 so that the upper end of its bracket keeps it too. For Gaussian noise and no population that is the analytic
    Gaussian mechanism.

    Laplace, discrete Laplace and Gaussian noise of a scale is that of any smaller scale and an independent rest, so
    that δ falls in the scale: all larger scales keep it too. Discrete Gaussian noise is not: its δ rises and falls with
    the scale, as the answer from which on a record shows jumps from integer to integer. Then the result is the first
    scale that is enough; larger ones need not be, and each is to be looked at by itself.

    Args:
        noise: The class: `Laplace`, `DiscreteLaplace`, `Gaussian` or `DiscreteGaussian`.
        epsilon: ε, at least 0, a number or an array of any shape.
        delta: δ, from 0 to 1. Gaussian noise never reaches 0, and no noise does at ε = 0.
        population: What an outsider knows; None: the worst case, all records but one.

    Returns:
        The scale in records, an array for an array; 0 if what the outsider does not know is enough.

    Raises:
        ValueError: If an argument is out of range, or no scale up to 2^50 records is enough.

    Source: Breutigam and Reischuk, section 6; Balle and Wang (2018) for the worst case.
    Numerical error: 1e-9 relative, on the safe side. Discrete Gaussian noise: the result keeps delta. In the worst case
    it is the first, given that the smallest δ between two jumps falls. With a population, dips of δ below the last
    scale that is not enough are looked for at eight steps a jump, at most 400 in all, which a dip may slip through for
    an ε of tens.

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
    """The smallest scale for one ε."""
    goal = max(delta, _LEAST)
    if privacy_curve(Exact(), population).bracket(epsilon)[1] <= delta:
        return 0.0

    def shortfall(scale: float) -> float:
        upper = privacy_curve(noise(scale), population).bracket(epsilon)[1]
        return math.log(goal / upper) if upper else math.inf  # of the right sign to the last digit

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
        return _first_in_worst_case(shortfall, found.high, float(epsilon))
    return _first(shortfall, found, float(epsilon), goal)


def _first_in_worst_case(shortfall: Function, enough: float, epsilon: float) -> float:
    """The first scale of discrete Gaussian noise that is enough, and not above one that is.

    p(z)/p(z + 1) = e^ε at z = ε·scale² − 1/2. As the scale grows δ has its dips where that is an integer, and between
    two of them it rises at most once, and then falls.
    """

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


def _first(shortfall: Function, found: Bracket, epsilon: float, goal: float) -> float:
    """The same for an outsider: of the dips below a scale that is not enough, the first that is.

    With σ² + τ² = ρ² and q = e^(−2π²σ²τ²/ρ²), δ at the scale ρ is at most 14·q above that at σ: noises of σ and τ
    together have the law of ρ up to factors of (1 ± 2.1·q)/(1 ∓ 2.1·q). So no dip that counts is where q is small: what
    is left are scales next to 0, and next to ρ.
    """
    highest = found.low**2
    mixed = math.log(_MIXED / goal) / (2 * math.pi**2)  # the least σ²τ²/ρ² at which q is small
    apart = 1 - 4 * mixed / highest
    near = 2 * mixed / (1 + math.sqrt(apart)) if apart > 0 else highest
    for start in (0.0, max(near, highest - near)) if apart > 0 else (0.0,):
        width = min(near, highest - start)
        steps = min(_MOST_STEPS, math.ceil(_STEPS * epsilon * width) + 2)
        scales = np.sqrt(start + width * np.arange(1, steps + 1) / steps).tolist()
        enough = _first_of(shortfall, [max(math.sqrt(start), _SMALLEST), *scales])
        if enough is not None:
            return enough
    return found.high


def _first_of(shortfall: Function, scales: list[float]) -> float | None:
    """The first scale that is enough between some that follow each other; None: there is none."""
    values = [shortfall(scale) for scale in scales]
    for place in range(1, len(scales)):
        if values[place] >= 0:
            low, high = scales[place - 1], scales[place]
            return root(shortfall, Bracket(low, high, values[place - 1], values[place])).high
        if place + 1 < len(scales) and values[place - 1] < values[place] > values[place + 1]:
            top = _top(shortfall, scales[place - 1], scales[place + 1])
            if shortfall(top) >= 0:
                return root(shortfall, Bracket(scales[place - 1], top)).high
    return None


def _top(function: Function, low: float, high: float) -> float:
    """About where a function with one top between two places is largest, by golden sections."""
    for _ in range(_SECTIONS):
        width = high - low
        one, other = high - _GOLDEN * width, low + _GOLDEN * width
        if function(one) < function(other):
            low = one
        else:
            high = other
    return (low + high) / 2


def belief_bounds(epsilon: float | Fraction, prior: float = 0.5) -> tuple[float, float]:
    """The least and the greatest belief in a fact about one person after an ε-private answer.

    Bayes' rule with a likelihood ratio between e^−ε and e^ε: the belief π becomes at most π/(π + (1 − π)·e^−ε) and at
    least π/(π + (1 − π)·e^ε). So it is for whoever knows all other records; where records depend on each other, who
    knows fewer may learn more.

    Args:
        epsilon: The privacy loss ε of the answer, positive.
        prior: The belief π before it, in (0, 1).

    Raises:
        ValueError: If ε is not positive and finite, or the prior is not in (0, 1).

    Source: the definition of ε-differential privacy; Naldi and D'Acquisto (2015), eq. (2).
    Numerical error: that of a closed form in doubles, some units in the last place.

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


_LARGEST_EPSILON = 700.0  # as of a privacy curve
_ROUNDING = 4e-15  # 18 roundings of 2^−52: more than the few operations that follow have


@overload
def amplified_delta(size: int, sample_size: int, rate: float, epsilon: float) -> float: ...


@overload
def amplified_delta(size: int, sample_size: int, rate: float, epsilon: Sequence[float] | Reals) -> Reals: ...


def amplified_delta(size: int, sample_size: int, rate: float, epsilon: ArrayLike) -> float | Reals:
    """A bound on δ(ε) of the count in a sample, from the count of a database of its size.

    With λ = m/n, e^ε″ = 1 + (e^ε − 1)/λ and β = e^(ε − ε″) it is the larger of λ·(1 − (1 − β)·π)·δ₊(ε″) and
    λ·(1 − (1 − β)·(1 − π))·δ₋(ε″), where δ₊ and δ₋ are the directions of `Exact` on m records of rate π. It is never
    below δ(ε) of `Subsample(m)` on n such records, and but for rounding never above λ·max(δ₊(ε″), δ₋(ε″)), the bound
    that was conjectured.

    Args:
        size: The number n of records, at least 1.
        sample_size: The number m of records drawn, from 1 to the size.
        rate: The probability π that a record satisfies the predicate, in (0, 1).
        epsilon: The ε of the sample, from 0 to 700, a number or an array of any shape.

    Returns:
        The bound, shape as epsilon; a float for a single ε.

    Raises:
        ValueError: If there are not that many records, the rate is certain (such a record has no neighbour), or an ε is
            not in that range.

    Source: the conjecture of Breutigam and Reischuk, section 7, proved by advanced joint convexity, Balle, Barthe and
    Gaboardi (2018), Theorem 2; the page “Amplification by subsampling” has the proof.
    Numerical error: rounded up, from the upper end of the bracket of the privacy curve, by 1e-9 relative at most where
    it is above 1e-50.

    Example:
        >>> import noisycount as nc
        >>> round(nc.amplified_delta(1000, 100, 0.5, 0.01), 6)
        0.004134
    """
    plus, minus = amplified_directions(size, sample_size, rate, epsilon)
    larger: Reals = np.maximum(plus, minus)
    return larger if larger.ndim else float(larger)


def amplified_directions(size: int, sample_size: int, rate: float, epsilon: ArrayLike) -> tuple[Reals, Reals]:
    """The two bounds of `amplified_delta`: that on δ₊ and that on δ₋, shape as epsilon."""
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
    """The most that δ of a count can be in the first direction of a pair, shape as epsilons."""
    rising, places = np.unique(epsilons, return_inverse=True)
    uppers = np.array([one.upper for one in hockey_sticks(pair, None, rising.tolist())])
    return uppers[places].reshape(epsilons.shape)
