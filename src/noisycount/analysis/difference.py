"""The law of the difference of two counts, and the probability that one is the greater."""

import math
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from noisycount.analysis.posterior.posterior import Estimates
from noisycount.display.values import Shown, short
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, TableLaw
from noisycount.model.laws.factors import LogFactor
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import smooth_law


def law_of(operand: Estimates, name: str) -> CountDistribution:
    """The law of an operand."""
    law = getattr(operand, "law", None)
    if isinstance(law, CountDistribution):
        return law
    raise ValueError(f"{name} must be a posterior or another result with the law of a count, got {short(operand)}")


_BLOCK = 512  # numbers: a matrix of 4 MB for each block of the second row
_SHORT = 1 << 27  # products that take less than many products of small matrices


def convolved(first: Reals, second: Reals) -> Reals:
    """Σ_i first[i]·second[n − i] for n = 0 and so on: nothing cancels, as by a Fourier transform.

    Long rows are cut into blocks, and each pair of blocks is a product of matrices.
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


_POINTS = 12  # whose polynomial tells a smooth logarithm over an eighth of a deviation to 1e-14


@frozen(eq=False)
class Interpolated:
    """The polynomial through the twelve points around each place."""

    first: float  # the place of the first value
    stride: float  # from one place to the next
    values: Reals  # at least twelve

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last place."""
        return self.first, self.first + self.stride * (self.values.size - 1)

    def __call__(self, places: Reals) -> Reals:
        """The values at places, shape as given."""
        steps = (np.asarray(places, dtype=np.float64) - self.first) / self.stride
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


WIDEST = 1 << 27  # counts of the narrower law that matter: standard deviations of some millions
_DIRECT = 1 << 15  # counts that are summed one by one
_NODES = 16  # of a cell of a sixteenth of a deviation, over which logarithms change by 2.5 at most
_CELLS_A_DEVIATION = 16
_SHORTEST, _LONGEST = 128, 1 << 14  # counts of a cell: of fewer nodes coincide; more cost memory
_SMOOTH = 1e-11  # of the largest of a cell: how well a polynomial tells the counts between nodes
_LEAST = 1e-290  # smaller probabilities have lost their digits, and matter to no sum
_MOST_KINKED = 64  # cells that are summed count by count


@frozen(eq=False)
class Rule:
    """How sums over a cell of consecutive counts follow from the values at some of them."""

    offsets: Reals  # those counts, from the first one of the cell, shape (nodes,)
    whole: Reals  # what each value adds to the sum over the cell, same shape
    before: Reals  # what it adds to the sum over the counts before each node, shape (nodes, nodes)
    between: Reals  # what it adds to the values at `checks`, shape (checks, nodes)
    checks: Reals  # counts between the nodes


@lru_cache(maxsize=8)  # lengths, which are powers of 2
def _rule(length: int) -> Rule:
    """The rule of polynomials through 16 Chebyshev nodes, rounded to counts."""
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
    """Σ_x P[X = x]·P[Y < x] for x = first..last: positive terms alone, so that digits are kept."""
    before = outer.probability(-np.inf, first - 1)
    if last - first < _DIRECT:
        return _direct(inner, outer, (first, last), before)
    if last - first > WIDEST:
        raise ValueError(
            f"a and b must have at most 2**27 counts that matter, got {last - first}: "
            "compare their means and standard deviations"
        )
    share = inner.deviation / _CELLS_A_DEVIATION
    length = int(np.clip(2 ** np.floor(np.log2(max(share, 1))), _SHORTEST, _LONGEST))
    return _by_cells(inner, outer, np.arange(first, last + 1, length, dtype=np.float64), before)


def _by_cells(inner: CountDistribution, outer: CountDistribution, starts: Reals, before: float) -> float:
    """The sum over cells from these starts on."""
    length = int(starts[1] - starts[0])
    rule = _rule(length)
    (x, y), kinked = _values(inner, outer, starts, rule)
    masses = y @ rule.whole
    direct = {cell: (int(starts[cell]), int(starts[cell]) + length - 1) for cell in np.flatnonzero(kinked).tolist()}
    for cell, ends in direct.items():
        masses[cell] = outer.probability(*ends)
    below = before + np.concatenate([[0.0], np.cumsum(masses)[:-1]])
    terms = (x * (below[:, None] + y @ rule.before.T)) @ rule.whole
    for cell, ends in direct.items():
        terms[cell] = _direct(inner, outer, ends, float(below[cell]))
    return float(terms.sum())


def _values(
    inner: CountDistribution, outer: CountDistribution, starts: Reals, rule: Rule
) -> tuple[tuple[Reals, Reals], NDArray[np.bool_]]:
    """The probabilities at the nodes of each cell, and the cells in which a law is not smooth."""
    values, kinked = [], np.zeros(starts.size, dtype=np.bool_)
    for law in (inner, outer):
        at_nodes = law.pmf(starts[:, None] + rule.offsets)
        checked = law.pmf(starts[:, None] + rule.checks)
        largest = at_nodes.max(axis=1, keepdims=True)
        missed = np.abs(at_nodes @ rule.between.T - checked).max(axis=1, keepdims=True)
        kinked |= ((missed > _SMOOTH * largest) & (largest > _LEAST))[:, 0]
        values.append(at_nodes)
    if kinked.sum() > _MOST_KINKED:
        raise ValueError(
            f"a and b must be smooth where they are wider than {_DIRECT} counts, got laws that "
            f"bend in {int(kinked.sum())} places"
        )
    return (values[0], values[1]), kinked


def _direct(inner: CountDistribution, outer: CountDistribution, ends: tuple[int, int], before: float) -> float:
    """The sum term by term."""
    counts = np.arange(ends[0], ends[1] + 1, dtype=np.float64)
    below = before + np.concatenate([[0.0], np.cumsum(outer.pmf(counts[:-1]))])
    return float(inner.pmf(counts) @ below)


_DEPTH = 50.0  # nats below the top of each law to which the products reach
_FEW_PRODUCTS = 1 << 26  # they take some milliseconds
_MOST_PRODUCTS = 1 << 30  # they take about a second
_MOST_COUNTS = 1 << 24  # of one law: 128 MB
_POINTS_A_DEVIATION = 8  # sums of a smooth law with this stride err by less than e^−1000


@frozen(repr=False)
class Difference(Shown, Estimates):
    """The law of A − B of two independent counts, which may be negative.

    It has the estimates of a posterior and answers to the names of the laws in scipy.stats.
    """

    law: CountDistribution  # the distribution of the difference

    def _facts(self) -> dict[str, object]:
        return self._estimates()


def difference(a: Estimates, b: Estimates) -> Difference:
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
    ends, others = one.counts_within(_DEPTH), other.counts_within(_DEPTH)
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
    one: CountDistribution, other: CountDistribution, ends: tuple[int, int], others: tuple[int, int], stride: int
) -> tuple[int, Reals]:
    """The first difference of a lattice, and the probabilities of its differences."""
    chances = one.pmf(np.arange(ends[0], ends[1] + 1, stride, dtype=np.float64))
    counts = np.arange(others[0], others[1] + 1, stride, dtype=np.float64)
    found = convolved(chances, other.pmf(counts)[::-1]) * stride
    return ends[0] - int(counts[-1]), found


def _smooth(
    one: CountDistribution, other: CountDistribution, ends: tuple[int, int], others: tuple[int, int]
) -> CountDistribution | None:
    """The law of a smooth difference from those on a lattice; None: they bend, or are too many."""
    narrower = min(one.deviation, other.deviation)
    stride = max(1, 2 ** math.floor(math.log2(max(narrower / _POINTS_A_DEVIATION, 1))))
    terms = (ends[1] - ends[0]) / stride * ((others[1] - others[0]) / stride)
    if terms > _FEW_PRODUCTS or not (_is_smooth(one, ends, stride) and _is_smooth(other, others, stride)):
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


_DEPTH_GREATER = 60.0  # nats of the narrower law: enough for every probability that is not tiny
_DEEPEST = 750.0  # below e^−745 there is no double
_LEFT_OUT = 34.0  # nats: e^−34 of a sum is 2e-15 of it
_ROUNDS = 3  # the third is as deep as any: what is found only grows, so that no depth is met again


def probability_greater(a: Estimates, b: Estimates) -> float:
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
    found, depth = 0.0, _DEPTH_GREATER
    for _ in range(_ROUNDS):
        first, last = inner.counts_within(depth)
        found = sum_below(inner, outer, first, last)
        log_found = math.log(found) if found > 0 else -_DEEPEST
        if _log_left_out(inner, first, last) <= log_found - _LEFT_OUT:
            break
        deeper = min(_DEEPEST, -log_found) + _DEPTH_GREATER
        depth = deeper if depth < deeper else _DEEPEST + _DEPTH_GREATER
    return min(1.0, found)


def _log_left_out(law: CountDistribution, first: int, last: int) -> float:
    """The logarithm of the larger of the probabilities before and behind a run of counts."""
    smallest, largest = law.support
    before = law.log_probability(-math.inf, first - 1) if first > smallest else -math.inf
    behind = law.log_probability(last + 1, math.inf) if last < largest else -math.inf
    return max(before, behind)
