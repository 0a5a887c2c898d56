"""The law of the difference of two counts."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.arithmetic.convolved import convolved
from noisycount.analysis.arithmetic.interpolated import Interpolated
from noisycount.analysis.arithmetic.operand import Operand, law_of, window
from noisycount.analysis.posterior.estimates import LEVEL, Estimates
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.laws.table_law import TableLaw
from noisycount.model.laws.tails import LogFactor
from noisycount.shown.value import Shown

__all__ = ["Difference", "difference"]

_DEPTH = 50.0  # nats below the top of each law to which the products reach
_FEW_PRODUCTS = 1 << 26  # they take some milliseconds
_MOST_PRODUCTS = 1 << 30  # they take about a second
_MOST_COUNTS = 1 << 24  # of one law: 128 MB
_POINTS_A_DEVIATION = 8  # sums of a smooth law with this stride err by less than e^−1000
_SMOOTH = 1e-11  # what sums over two strides that lie between each other may differ by


@dataclass(frozen=True, slots=True, repr=False)
class Difference(Shown, Estimates):
    """The law of A − B of two independent counts, which may be negative.

    It has the estimates of a posterior and answers to the names of the laws in scipy.stats.

    Attributes:
        law: The distribution of the difference.
    """

    law: CountDistribution

    def _facts(self) -> dict[str, object]:
        """The estimates."""
        return {
            "mean": self.mean,
            "median": self.median,
            "mode": self.mode,
            "std": self.std,
            "interval": self.interval(),
            "level": LEVEL,
        }


def difference(a: Operand, b: Operand) -> Difference:
    """The law of A − B of two independent counts: P[D = d] = Σ_k P[A = d + k]·P[B = k].

    Args:
        a: A posterior, or anything else with the law of a count.
        b: Another one, about records of its own and with noise of its own.

    Raises:
        ValueError: If one has no law, or both are wide and one bends, such as those of Laplace
            noise of a scale of thousands: `probability_greater` compares those too.

    Numerical error: 1e-10 standard deviations in the mean, 1e-9 relative in the variance. Laws that
    are not smooth are summed product by product, at most 2^30 of them of laws of at most 2^24
    counts. What is e^−50 of the largest probability or less is left out.

    Example:
        >>> import noisycount as nc
        >>> north = nc.posterior(44, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> south = nc.posterior(38, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> nc.difference(north, south).interval(0.95)
        (-7, 12)
    """
    one, other = law_of(a, "a"), law_of(b, "b")
    ends, others = window(one, _DEPTH), window(other, _DEPTH)
    if ends[0] == ends[1]:  # a count that is certain
        return Difference(other.mirrored.moved(ends[0]))
    if others[0] == others[1]:
        return Difference(one.moved(-others[0]))
    counts = ends[1] - ends[0] + 1, others[1] - others[0] + 1
    products = counts[0] * counts[1]
    law = None if products <= _FEW_PRODUCTS else _smooth(one, other, ends, others)
    if law is None and products <= _MOST_PRODUCTS and max(counts) <= _MOST_COUNTS:
        first, chances = _products(one, other, ends, others, 1)
        with np.errstate(divide="ignore"):
            law = TableLaw(first, np.log(chances), _DEPTH)
    if law is None:
        raise ValueError(
            "a and b must be smooth where they are wide, got standard deviations of "
            f"{one.deviation:.6g} and {other.deviation:.6g} records: probability_greater(a, b) "
            "compares them"
        )
    return Difference(law)


def _products(
    one: CountDistribution,
    other: CountDistribution,
    ends: tuple[int, int],
    others: tuple[int, int],
    stride: int,
) -> tuple[int, Reals]:
    """The first difference of a lattice, and the probabilities of its differences."""
    chances = one.pmf(np.arange(ends[0], ends[1] + 1, stride, dtype=np.float64))
    counts = np.arange(others[0], others[1] + 1, stride, dtype=np.float64)
    found = convolved(chances, other.pmf(counts)[::-1]) * stride
    return ends[0] - int(counts[-1]), found


def _smooth(
    one: CountDistribution,
    other: CountDistribution,
    ends: tuple[int, int],
    others: tuple[int, int],
) -> CountDistribution | None:
    """The law of a smooth difference from those on a lattice; None: they bend, or are too many."""
    narrower = min(one.deviation, other.deviation)
    stride = max(1, 2 ** math.floor(math.log2(max(narrower / _POINTS_A_DEVIATION, 1))))
    terms = (ends[1] - ends[0]) / stride * ((others[1] - others[0]) / stride)
    if terms > _FEW_PRODUCTS or not (
        _is_smooth(one, ends, stride) and _is_smooth(other, others, stride)
    ):
        return None
    first, chances = _products(one, other, ends, others, stride)
    kept = np.flatnonzero(chances >= chances.max() * math.exp(-_DEPTH))
    logs = np.log(chances[kept[0] : kept[-1] + 1])
    curve = Interpolated(float(first + stride * int(kept[0])), float(stride), logs)
    return smooth_law([LogFactor(curve, support=curve.ends, is_log_concave=False)])


def _is_smooth(law: CountDistribution, ends: tuple[int, int], stride: int) -> bool:
    """Whether two lattices of a stride, between each other, both sum up to 1."""
    return all(
        abs(stride * float(law.pmf(np.arange(start, ends[1] + 1.0, stride)).sum()) - 1) <= _SMOOTH
        for start in (ends[0], ends[0] + stride // 2)
    )
