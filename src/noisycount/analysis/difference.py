"""Distribution of the difference of two independent counts, and the probability that the first is greater.

`ratio` has the distribution of their ratio.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from noisycount.analysis.posterior.posterior import Estimates
from noisycount.display.values import Shown, shortened_repr
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, TableLaw
from noisycount.model.laws.factors import LogFactor
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import smooth_law


def law_of(operand: Estimates, name: str) -> CountDistribution:
    """Return the distribution of a result's count.

    Raise ValueError, with the argument's name, if the result has none.
    """
    law = getattr(operand, "law", None)
    if isinstance(law, CountDistribution):
        return law
    raise ValueError(
        f"{name} must be a posterior or another result with the distribution of a count, got {shortened_repr(operand)}"
    )


_BLOCK = 512  # values: each block of the second sequence becomes a matrix of 4 MB
_SHORT = 1 << 27  # number of products up to which plain convolution is faster than products of blocks


def convolve_sequences(first: Reals, second: Reals) -> Reals:
    """Return the convolution Σ_i first[i]·second[n − i] for n = 0, 1, ….

    All terms are added as they are, so that nothing cancels (a Fourier transform would lose small values).
    Long sequences are cut into blocks, and each pair of blocks is a product of matrices.
    Shapes: first (m,), second (n,); result (m + n − 1,).
    """
    if first.size * second.size <= _SHORT:
        return np.convolve(first, second)
    rows = -(-first.size // _BLOCK)
    blocks = np.pad(first, (0, rows * _BLOCK - first.size)).reshape(rows, _BLOCK)
    columns = -(-second.size // _BLOCK)
    padded = np.pad(second, (_BLOCK - 1, (columns + 2) * _BLOCK - second.size))
    total = np.zeros((rows + columns, _BLOCK))
    for column in range(columns + 1):
        start = column * _BLOCK
        runs = sliding_window_view(padded[start : start + 2 * _BLOCK - 1], _BLOCK)
        shifted = np.ascontiguousarray(runs[::-1])  # [i, j] is second[start + j − i]
        total[column : column + rows] += blocks @ shifted
    return total.ravel()[: first.size + second.size - 1]


_POINTS = 12  # their polynomial follows a smooth log density over 1/8 standard deviation to 1e-14


@frozen(eq=False)
class LocalInterpolation:
    """Local interpolation of equally spaced values: at each position the polynomial through the nearest twelve."""

    first: float  # position of the first value
    stride: float  # distance between positions
    values: Reals  # at least twelve

    @property
    def ends(self) -> tuple[float, float]:
        """First and last position."""
        return self.first, self.first + self.stride * (self.values.size - 1)

    def __call__(self, positions: Reals) -> Reals:
        """Return the interpolated values, in the shape of the positions."""
        steps = (np.asarray(positions, dtype=np.float64) - self.first) / self.stride
        last = max(self.values.size - _POINTS, 0)
        starts = np.clip(np.floor(steps) - _POINTS // 2 + 1, 0, last).astype(np.int64)
        within = steps - starts
        total = np.zeros(within.shape)
        for node in range(_POINTS):
            others = [other for other in range(_POINTS) if other != node]
            weight = np.prod([within - other for other in others], axis=0)
            scale = math.prod(node - other for other in others)
            total += weight / scale * self.values[starts + node]
        return total


WIDEST = 1 << 27  # largest number of counts of the narrower distribution: standard deviations of some millions
_DIRECT = 1 << 15  # number of counts up to which each is summed by itself
_NODES = 16  # per cell of 1/16 standard deviation, over which log probabilities change by at most 2.5
_CELLS_A_DEVIATION = 16
_SHORTEST, _LONGEST = 128, 1 << 14  # counts per cell: nodes of a shorter one coincide, a longer one costs memory
_SMOOTH = 1e-11  # error of a cell's polynomial between its nodes, relative to the cell's largest probability
_NEGLIGIBLE = 1e-290  # smaller probabilities have lost digits, and change no sum
_MOST_KINKED = 64  # largest number of cells that are summed count by count


@frozen(eq=False)
class Rule:
    """Quadrature rule: the sum over a cell, consecutive counts, from the values at some of its counts, the nodes."""

    offsets: Reals  # nodes, relative to the first count of the cell, shape (nodes,)
    whole: Reals  # weights of the nodes in the sum over the cell, shape (nodes,)
    before: Reals  # weights in the sum over the counts before each node, shape (nodes, nodes)
    between: Reals  # weights in the interpolated values at `checks`, shape (checks, nodes)
    checks: Reals  # counts between nodes where the interpolation is checked


@lru_cache(maxsize=8)  # lengths, which are powers of 2
def _rule_of_cell(length: int) -> Rule:
    """Return the rule for a cell of `length` counts: polynomials through 16 Chebyshev nodes, rounded to counts."""
    middle = (length - 1) / 2
    offsets = np.round(middle * (1 + chebyshev.chebpts2(_NODES)))
    counts = np.arange(length, dtype=np.float64)
    powers = chebyshev.chebvander(counts / middle - 1, _NODES - 1)
    fit = np.linalg.inv(powers[offsets.astype(np.int64)])
    sums = np.concatenate([np.zeros((1, _NODES)), np.cumsum(powers, axis=0)])
    checks = np.array([length // 7, length // 2 + 1, length - length // 9], dtype=np.float64)
    return Rule(
        offsets, sums[-1] @ fit, sums[offsets.astype(np.int64)] @ fit, powers[checks.astype(np.int64)] @ fit, checks
    )


def sum_below(inner: CountDistribution, outer: CountDistribution, first: int, last: int) -> float:
    """Return Σ_x P[X = x]·P[Y < x] for x = first..last, X ~ inner, Y ~ outer. No term is negative: nothing cancels."""
    before = outer.probability(-np.inf, first - 1)
    if last - first < _DIRECT:
        return _sum_term_by_term(inner, outer, (first, last), before)
    if last - first > WIDEST:
        raise ValueError(
            f"a and b must have at most 2**27 counts that are not negligible, got {last - first}: "
            "compare their means and standard deviations"
        )
    share = inner.deviation / _CELLS_A_DEVIATION
    length = int(np.clip(2 ** np.floor(np.log2(max(share, 1))), _SHORTEST, _LONGEST))
    return _sum_by_cells(inner, outer, np.arange(first, last + 1, length, dtype=np.float64), before)


def _sum_by_cells(inner: CountDistribution, outer: CountDistribution, starts: Reals, before: float) -> float:
    """Return the sum of `sum_below`, computed cell by cell. `before` is P[Y < x] for the first count x."""
    length = int(starts[1] - starts[0])
    rule = _rule_of_cell(length)
    (x, y), kinked = _node_probabilities(inner, outer, starts, rule)
    masses = y @ rule.whole
    direct = {cell: (int(starts[cell]), int(starts[cell]) + length - 1) for cell in np.flatnonzero(kinked).tolist()}
    for cell, ends in direct.items():
        masses[cell] = outer.probability(*ends)
    below = before + np.concatenate([[0.0], np.cumsum(masses)[:-1]])
    terms = (x * (below[:, None] + y @ rule.before.T)) @ rule.whole
    for cell, ends in direct.items():
        terms[cell] = _sum_term_by_term(inner, outer, ends, float(below[cell]))
    return float(terms.sum())


def _node_probabilities(
    inner: CountDistribution, outer: CountDistribution, starts: Reals, rule: Rule
) -> tuple[tuple[Reals, Reals], NDArray[np.bool_]]:
    """Return the probabilities of X and of Y at the nodes of each cell, and a mask of cells where one is rough."""
    values, kinked = [], np.zeros(starts.size, dtype=np.bool_)
    for law in (inner, outer):
        at_nodes = law.pmf(starts[:, None] + rule.offsets)
        checked = law.pmf(starts[:, None] + rule.checks)
        largest = at_nodes.max(axis=1, keepdims=True)
        errors = np.abs(at_nodes @ rule.between.T - checked).max(axis=1, keepdims=True)
        kinked |= ((errors > _SMOOTH * largest) & (largest > _NEGLIGIBLE))[:, 0]
        values.append(at_nodes)
    if kinked.sum() > _MOST_KINKED:
        raise ValueError(
            f"a and b must be smooth where they are wider than {_DIRECT} counts, got distributions that "
            f"bend in {int(kinked.sum())} places"
        )
    return (values[0], values[1]), kinked


def _sum_term_by_term(
    inner: CountDistribution, outer: CountDistribution, ends: tuple[int, int], before: float
) -> float:
    """Return the sum of `sum_below` term by term."""
    counts = np.arange(ends[0], ends[1] + 1, dtype=np.float64)
    below = before + np.concatenate([[0.0], np.cumsum(outer.pmf(counts[:-1]))])
    return float(inner.pmf(counts) @ below)


_DEPTH = 50.0  # nats: probabilities below e^−50 of the largest one are left out
_FEW_PRODUCTS = 1 << 26  # some milliseconds
_MOST_PRODUCTS = 1 << 30  # about a second
_MOST_COUNTS = 1 << 24  # of one distribution: 128 MB
_POINTS_A_DEVIATION = 8  # with this stride, sums of a smooth distribution err by less than e^−1000


@frozen(repr=False)
class Difference(Shown, Estimates):
    """The distribution of A − B of two independent counts, which may be negative.

    It has the estimates of a posterior, and the methods of a distribution in scipy.stats.
    """

    law: CountDistribution  # the distribution of the difference

    def _facts(self) -> dict[str, object]:
        return self._estimates()


def difference(a: Estimates, b: Estimates) -> Difference:
    """Return the distribution of A − B of two independent counts: P[D = d] = Σ_k P[A = d + k]·P[B = k].

    Args:
        a: A posterior, or another result with the distribution of a count.
        b: A second one, about other records and with independent noise.

    Raises:
        ValueError: If a or b has no distribution, or both are wide and one is not smooth, as under Laplace noise of a
            scale of thousands. `probability_greater` compares those too.

    Numerical error: 1e-10 standard deviations in the mean, 1e-9 relative in the variance. If a distribution is not
    smooth, every product P[A = d + k]·P[B = k] is added: at most 2^30 products, of at most 2^24 counts each.
    Probabilities below e^−50 of the largest one are left out.

    Example:
        >>> import noisycount as nc
        >>> north = nc.posterior(44, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> south = nc.posterior(38, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> nc.difference(north, south).interval(0.95)
        (-7, 12)
    """
    one, other = law_of(a, "a"), law_of(b, "b")
    ends, others = one.counts_within(_DEPTH), other.counts_within(_DEPTH)
    if ends[0] == ends[1]:  # A is certain
        return Difference(other.mirrored.moved(ends[0]))
    if others[0] == others[1]:
        return Difference(one.moved(-others[0]))
    counts = ends[1] - ends[0] + 1, others[1] - others[0] + 1
    products = counts[0] * counts[1]
    law = None if products <= _FEW_PRODUCTS else _smooth_difference(one, other, ends, others)
    if law is None and products <= _MOST_PRODUCTS and max(counts) <= _MOST_COUNTS:
        first, chances = _difference_on_lattice(one, other, ends, others, 1)
        with np.errstate(divide="ignore"):
            law = TableLaw(first, np.log(chances), _DEPTH)
    if law is None:
        raise ValueError(
            "a and b must be smooth where they are wide, got standard deviations of "
            f"{one.deviation:.6g} and {other.deviation:.6g} records: probability_greater(a, b) "
            "compares them"
        )
    return Difference(law)


def _difference_on_lattice(
    one: CountDistribution, other: CountDistribution, ends: tuple[int, int], others: tuple[int, int], stride: int
) -> tuple[int, Reals]:
    """Return the smallest difference on a lattice of the given stride, and the probability of each difference on it."""
    chances = one.pmf(np.arange(ends[0], ends[1] + 1, stride, dtype=np.float64))
    counts = np.arange(others[0], others[1] + 1, stride, dtype=np.float64)
    return ends[0] - int(counts[-1]), convolve_sequences(chances, other.pmf(counts)[::-1]) * stride


def _smooth_difference(
    one: CountDistribution, other: CountDistribution, ends: tuple[int, int], others: tuple[int, int]
) -> CountDistribution | None:
    """Return A − B, interpolated on a lattice. Return None if A or B is not smooth, or the lattice is too large."""
    narrower = min(one.deviation, other.deviation)
    stride = max(1, 2 ** math.floor(math.log2(max(narrower / _POINTS_A_DEVIATION, 1))))
    terms = (ends[1] - ends[0]) / stride * ((others[1] - others[0]) / stride)
    if terms > _FEW_PRODUCTS or not (_is_smooth(one, ends, stride) and _is_smooth(other, others, stride)):
        return None
    first, chances = _difference_on_lattice(one, other, ends, others, stride)
    kept = np.flatnonzero(chances >= chances.max() * math.exp(-_DEPTH))
    logs = np.log(chances[kept[0] : kept[-1] + 1])
    curve = LocalInterpolation(float(first + stride * int(kept[0])), float(stride), logs)
    return smooth_law([LogFactor(curve, support=curve.ends, is_log_concave=False)])


def _is_smooth(law: CountDistribution, ends: tuple[int, int], stride: int) -> bool:
    """Return True if the probabilities on two interleaved lattices of the given stride both sum to 1."""
    return all(
        abs(stride * float(law.pmf(np.arange(start, ends[1] + 1.0, stride)).sum()) - 1) <= _SMOOTH
        for start in (ends[0], ends[0] + stride // 2)
    )


_DEPTH_GREATER = 60.0  # nats of the narrower distribution: enough if the result is not tiny
_DEEPEST = 750.0  # nats: e^−745 is the smallest double
_LEFT_OUT = 34.0  # nats: e^−34 of a sum is 2e-15 of it
_ROUNDS = 3  # the third sums as deep as any further one would


def probability_greater(a: Estimates, b: Estimates) -> float:
    """Return P[A > B] of two independent counts. Ties do not count.

    P[A > B] = Σ_x P[A = x]·P[B < x], summed over the counts of the narrower distribution.

    Args:
        a: A posterior, or another result with the distribution of a count.
        b: A second one, about other records and with independent noise.

    Raises:
        ValueError: If a or b has no distribution, or the narrower one has more than 2^27 counts.

    Numerical error: 1e-11 relative, in the far tails too; 0 below 1e-300.

    Example:
        >>> import noisycount as nc
        >>> north = nc.posterior(44, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> south = nc.posterior(38, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> round(nc.probability_greater(north, south), 6)
        0.710651
    """
    return probability_of_greater(law_of(a, "a"), law_of(b, "b"))


def probability_of_greater(a: CountDistribution, b: CountDistribution) -> float:
    """Return P[A > B] from the two distributions. If B is the narrower one, both are mirrored first."""
    inner, outer = (a, b) if a.deviation <= b.deviation else (b.mirrored, a.mirrored)
    total, depth = 0.0, _DEPTH_GREATER
    for _ in range(_ROUNDS):
        first, last = inner.counts_within(depth)
        total = sum_below(inner, outer, first, last)
        log_total = math.log(total) if total > 0 else -_DEEPEST
        if _log_left_out(inner, first, last) <= log_total - _LEFT_OUT:
            break
        deeper = min(_DEEPEST, -log_total) + _DEPTH_GREATER
        depth = deeper if depth < deeper else _DEEPEST + _DEPTH_GREATER
    return min(1.0, total)


def _log_left_out(law: CountDistribution, first: int, last: int) -> float:
    """Return the log of the larger of P[K < first] and P[K > last]."""
    smallest, largest = law.support
    before = law.log_probability(-math.inf, first - 1) if first > smallest else -math.inf
    behind = law.log_probability(last + 1, math.inf) if last < largest else -math.inf
    return max(before, behind)
