"""The probability that one count is greater than another."""

import math

from noisycount.analysis.arithmetic.cells import sum_below
from noisycount.analysis.arithmetic.operand import Operand, law_of, window
from noisycount.model.laws.count_law import CountDistribution

__all__ = ["law_is_greater", "probability_greater"]

_DEPTH = 60.0  # nats of the narrower law: enough for every probability that is not tiny
_DEEPEST = 750.0  # below e^−745 there is no double
_LEFT_OUT = 34.0  # nats: e^−34 of a sum is 2e-15 of it
_ROUNDS = 3  # the third is as deep as any: what is found only grows, so that no depth is met again


def probability_greater(a: Operand, b: Operand) -> float:
    """P[A > B] of two independent counts, strictly: ties belong to neither side.

    Σ_x P[A = x]·P[B < x] over the counts of the narrower law that matter.

    Args:
        a: A posterior, or anything else with the law of a count.
        b: Another one, about records of its own and with noise of its own.

    Raises:
        ValueError: If one has no law, or the narrower one is wider than 2^27 counts.

    Numerical error: 1e-11 relative, in the far tails too; 0 below 1e-300.

    Example:
        >>> import noisycount as nc
        >>> north = nc.posterior(44, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> south = nc.posterior(38, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> round(nc.probability_greater(north, south), 6)
        0.710651
    """
    return law_is_greater(law_of(a, "a"), law_of(b, "b"))


def law_is_greater(a: CountDistribution, b: CountDistribution) -> float:
    """P[A > B] from the two laws; of mirrored laws where B is the narrower."""
    inner, outer = (a, b) if a.deviation <= b.deviation else (b.mirrored, a.mirrored)
    found, depth = 0.0, _DEPTH
    for _ in range(_ROUNDS):
        first, last = window(inner, depth)
        found = sum_below(inner, outer, first, last)
        log_found = math.log(found) if found > 0 else -_DEEPEST
        if _log_left_out(inner, first, last) <= log_found - _LEFT_OUT:
            break
        deeper = min(_DEEPEST, -log_found) + _DEPTH
        depth = deeper if depth < deeper else _DEEPEST + _DEPTH
    return min(1.0, found)


def _log_left_out(law: CountDistribution, first: int, last: int) -> float:
    """The logarithm of the larger of the probabilities before and behind a run of counts."""
    smallest, largest = law.support
    before = law.log_probability(-math.inf, first - 1) if first > smallest else -math.inf
    behind = law.log_probability(last + 1, math.inf) if last < largest else -math.inf
    return max(before, behind)
