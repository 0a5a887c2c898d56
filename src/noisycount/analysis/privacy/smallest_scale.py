"""How little noise keeps a privacy guarantee?"""

import math
from collections.abc import Callable, Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.catalogue import NoiseClass, noise_class
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.populations.population import Population
from noisycount.model.search import Bracket, bracketed_by_factors, first_whole, root
from noisycount.model.validation import real_number

__all__ = ["smallest_scale"]

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
def smallest_scale(
    noise: NoiseClass, epsilon: float, delta: float, population: Population | None = None
) -> float: ...


@overload
def smallest_scale(
    noise: NoiseClass,
    epsilon: Sequence[float] | Reals,
    delta: float,
    population: Population | None = None,
) -> Reals: ...


def smallest_scale(
    noise: NoiseClass, epsilon: ArrayLike, delta: float, population: Population | None = None
) -> float | Reals:
    """The least noise that keeps δ(ε) <= delta.

    The smallest s with `privacy_curve(noise(s), population).delta(epsilon)` at most delta, raised
    by at most one part in 10^9 so that the upper end of its bracket keeps it too. For Gaussian
    noise and no population that is the analytic Gaussian mechanism.

    Laplace, discrete Laplace and Gaussian noise of a scale is that of any smaller scale and an
    independent rest, so that δ falls in the scale: all larger scales keep it too. Discrete Gaussian
    noise is not: its δ rises and falls with the scale, as the answer from which on a record shows
    jumps from integer to integer. Then the result is the first scale that is enough; larger ones
    need not be, and each is to be looked at by itself.

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
    Numerical error: 1e-9 relative, on the safe side. Discrete Gaussian noise: the result keeps
    delta. In the worst case it is the first, given that the smallest δ between two jumps falls.
    With a population, dips of δ below the last scale that is not enough are looked for at eight
    steps a jump, at most 400 in all, which a dip may slip through for an ε of tens.

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


def _scale_at(
    noise: NoiseClass, epsilon: float, delta: float, population: Population | None
) -> float:
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

    p(z)/p(z + 1) = e^ε at z = ε·scale² − 1/2. As the scale grows δ has its dips where that is an
    integer, and between two of them it rises at most once, and then falls.
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

    With σ² + τ² = ρ² and q = e^(−2π²σ²τ²/ρ²), δ at the scale ρ is at most 14·q above that at σ:
    noises of σ and τ together have the law of ρ up to factors of (1 ± 2.1·q)/(1 ∓ 2.1·q). So no dip
    that counts is where q is small: what is left are scales next to 0, and next to ρ.
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
