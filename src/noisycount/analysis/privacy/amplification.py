"""How much privacy does a sample gain over the count of a database of its own size?"""

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.binomial import Binomial
from noisycount.model.validation import fraction_of_one, whole_number

__all__ = ["amplified_delta", "amplified_directions"]

_LARGEST_EPSILON = 700.0  # as of a privacy curve
_ROUNDING = 4e-15  # 18 roundings of 2^−52: more than the few operations that follow have


@overload
def amplified_delta(size: int, sample_size: int, rate: float, epsilon: float) -> float: ...
@overload
def amplified_delta(
    size: int, sample_size: int, rate: float, epsilon: Sequence[float] | Reals
) -> Reals: ...


def amplified_delta(size: int, sample_size: int, rate: float, epsilon: ArrayLike) -> float | Reals:
    """A bound on δ(ε) of the count in a sample, from the count of a database of its size.

    With λ = m/n, e^ε″ = 1 + (e^ε − 1)/λ and β = e^(ε − ε″) it is the larger of
    λ·(1 − (1 − β)·π)·δ₊(ε″) and λ·(1 − (1 − β)·(1 − π))·δ₋(ε″), where δ₊ and δ₋ are the directions
    of `Exact` on m records of rate π. It is never below δ(ε) of `Subsample(m)` on n such records,
    and but for rounding never above λ·max(δ₊(ε″), δ₋(ε″)), the bound that was conjectured.

    Args:
        size: The number n of records, at least 1.
        sample_size: The number m of records drawn, from 1 to the size.
        rate: The probability π that a record satisfies the predicate, in (0, 1).
        epsilon: The ε of the sample, from 0 to 700, a number or an array of any shape.

    Returns:
        The bound, shape as epsilon; a float for a single ε.

    Raises:
        ValueError: If there are not that many records, the rate is certain (such a record has no
            neighbour), or an ε is not in that range.

    Source: the conjecture of Breutigam and Reischuk, section 7, proved by advanced joint convexity,
    Balle, Barthe and Gaboardi (2018), Theorem 2; docs/amplification.md has the proof.
    Numerical error: rounded up, from the upper end of the bracket of the privacy curve, by 1e-9
    relative at most where it is above 1e-50.

    Example:
        >>> import noisycount as nc
        >>> round(nc.amplified_delta(1000, 100, 0.5, 0.01), 6)
        0.004134
    """
    plus, minus = amplified_directions(size, sample_size, rate, epsilon)
    larger: Reals = np.maximum(plus, minus)
    return larger if larger.ndim else float(larger)


def amplified_directions(
    size: int, sample_size: int, rate: float, epsilon: ArrayLike
) -> tuple[Reals, Reals]:
    """The two bounds of `amplified_delta`: that on δ₊ and that on δ₋, shape as epsilon."""
    records = whole_number(size, "size", smallest=1)
    drawn = whole_number(sample_size, "sample_size", smallest=1)
    if drawn > records:
        raise ValueError(
            f"sample_size must be at most the {records} records there are, got {sample_size!r}"
        )
    share = fraction_of_one(rate, "rate")
    asked = np.asarray(epsilon, dtype=np.float64)
    if not ((asked >= 0) & (asked <= _LARGEST_EPSILON)).all():
        raise ValueError(f"epsilon must be from 0 to {_LARGEST_EPSILON:g}, got {epsilon!r}")
    gap = (records - drawn) / drawn * -np.expm1(-asked)  # e^(ε″ − ε) − 1 = 1/β − 1
    larger: Reals = np.minimum(asked + np.log1p(gap), _LARGEST_EPSILON)  # a smaller one is safe
    larger *= 1 - _ROUNDING
    pair = record_pairs(Exact(), Binomial(drawn, share))[0]
    plus, minus = _upper_ends(pair, larger), _upper_ends(pair.mirrored, larger)
    per_drawn = drawn / records / (1 + gap)
    per_drawn *= 1 + _ROUNDING
    return per_drawn * (1 + gap * (1 - share)) * plus, per_drawn * (1 + gap * share) * minus


def _upper_ends(pair: Pair, epsilons: Reals) -> Reals:
    """The most that δ of a count can be in the first direction of a pair, shape as epsilons."""
    rising, places = np.unique(epsilons, return_inverse=True)
    uppers = np.array([one.upper for one in hockey_sticks(pair, None, rising.tolist())])
    return uppers[places].reshape(epsilons.shape)
