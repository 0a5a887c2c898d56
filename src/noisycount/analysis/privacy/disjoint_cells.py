"""Bounds of δ for a table of disjoint cells that share all records, where one record moves from one cell to another.

`TableAnswers` is the result; `worst_moves` lists the moves that it has to consider.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from noisycount.analysis.privacy.bounds import Bounded, BoundedProbability, CertifiedNumber
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals, log_gamma_bends
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.populations.binomial import Binomial


@frozen
class Cell:
    """A cell of a partition of the records."""

    rate: float  # probability that a record falls into the cell, above 0
    mechanism: Exact | SymmetricNoise | None  # mechanism of the answer about its count; None: there is no answer


@frozen
class CellMove:
    """A pair of neighbouring data sets that differ in the cell of one record."""

    size: int
    first: Cell  # cell that holds the record in P₊
    second: Cell  # cell that holds the record in P₋

    @property
    def rate(self) -> float:
        """Probability that another record is in one of the two cells."""
        return min(1.0, self.first.rate + self.second.rate)

    @property
    def mirrored(self) -> "CellMove":
        """The move with P₊ and P₋ exchanged."""
        return CellMove(self.size, self.second, self.first)


_DEPTH_OF_COUNTS = 42.0  # nats: a count beyond this depth has a probability below 1e-18


@frozen
class JointCounts:
    """Joint distributions of the counts of two cells, for the record in the first or in the second cell."""

    firsts: tuple[int, int]  # smallest and largest count of the first cell
    seconds: tuple[int, int]  # smallest and largest count of the second cell
    with_first: Reals  # probabilities if the record is in the first cell, shape (firsts, seconds)
    with_second: Reals  # probabilities if the record is in the second cell, same shape

    @classmethod
    def from_move(cls, move: CellMove) -> "JointCounts":
        """Return the distributions for a move between two cells that do not hold all records."""
        others = move.size - 1
        laws = (Binomial(others, cell.rate).deep_prior() for cell in (move.first, move.second))
        firsts, seconds = (law.counts_within(_DEPTH_OF_COUNTS) for law in laws)
        table = _trinomial_table(move, firsts, seconds)
        with_first = np.pad(table, ((1, 0), (0, 1)))
        with_second = np.pad(table, ((0, 1), (1, 0)))
        return cls((firsts[0], firsts[1] + 1), (seconds[0], seconds[1] + 1), with_first, with_second)


def _trinomial_table(move: CellMove, firsts: tuple[int, int], seconds: tuple[int, int]) -> Reals:
    """Return the joint distribution of both counts among the other records, shape (firsts, seconds).

    The trinomial probabilities are computed relative to one in the middle, from logarithms of factorials, and divided
    by their sum. The counts that are left out have a probability of about 1e-16.
    """
    others, rest = move.size - 1, 1 - move.rate
    middle = [math.floor(others * move.first.rate), math.floor(others * move.second.rate)]
    middle.append(others - sum(middle))
    rates = (move.first.rate, move.second.rate, rest)
    first = np.arange(firsts[0], firsts[1] + 1, dtype=np.float64)
    second = np.arange(seconds[0], seconds[1] + 1, dtype=np.float64)
    sums = np.arange(firsts[0] + seconds[0], firsts[1] + seconds[1] + 1, dtype=np.float64)
    logs = [
        _log_poisson_weights(counts, centre, rate)
        for counts, centre, rate in zip((first, second, others - sums), middle, rates, strict=True)
    ]
    places = np.arange(len(first))[:, None] + np.arange(len(second))[None, :]
    table: Reals = logs[0][:, None] + logs[1][None, :] + logs[2][places]
    table = np.exp(table - table.max())
    table /= table.sum()
    return table


def _log_poisson_weights(counts: Reals, centre: int, rate: float) -> Reals:
    """Return ln(rate^k/k!) for each count k, less its value at the centre; −inf for negative counts."""
    possible = counts >= 0
    steps = np.where(possible, counts - centre, 0.0)
    start = centre + 1.0
    bends = log_gamma_bends([start], steps[None])
    return np.where(possible, steps * math.log(rate / start) - bends, -np.inf)


_DEEPEST = 700.0  # nats below its mode at which the distribution ends: e^−700 is close to the smallest double
_LIKELY = 40.0  # nats below its mode at which the tails begin: they weigh e^−40
_OF_TAILS = 8  # runs in each tail
_ROUNDING = 1e-12  # relative error of a weight: that of a distribution is 3e-13


def runs_of_totals(size: int, rate: float, number: int) -> Iterator[tuple[int, int, float]]:
    """Yield runs of the distribution of 1 + Bin(size − 1, rate): first total, last total and probability of each run.

    About `number` runs cover the likely totals, and a few more runs cover each tail.
    """
    others = Binomial(size - 1, rate)
    low, high = others.support
    if low == high:
        yield low + 1, low + 1, 1.0
        return
    law = others.deep_prior()
    (first, last), (start, end) = (others.deep_prior().counts_within(depth) for depth in (_DEEPEST, _LIKELY))
    edges = np.unique(
        np.concatenate(
            [
                _division_points(first, start, _OF_TAILS),
                _division_points(start, end + 1, number),
                _division_points(end + 1, last + 1, _OF_TAILS),
            ]
        )
    )
    weights = law.pmf(np.arange(first, last + 1))
    sums = np.add.reduceat(weights, edges[:-1] - first)
    for begin, after, weight in zip(edges[:-1], edges[1:], sums, strict=True):
        yield int(begin) + 1, int(after), float(weight)


def _division_points(low: int, high: int, number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return integers that divide a range into at most `number` parts of about equal length."""
    return np.linspace(low, high, min(number, max(high - low, 1)) + 1).round().astype(np.int64)


_DEPTH_ANSWERS = 34.0  # nats: an answer beyond this depth has a probability below 1e-14
_BINS = 6.0  # bins in a standard deviation of continuous noise: binning hides about a hundredth
_WIDEST_ANSWERS = 1024  # largest number of answers or counts: a product of tables takes 50 ms
_ROUNDING_ANSWERS = 1e-11  # relative error of a sum of products: 1,024 roundings and those of the noise


@frozen
class AnswerTable:
    """Probabilities of binned answers for each count.

    Attributes:
        edges: Edges of the bins of continuous answers, from the start of the first bin to the end of the last one;
            None: a bin is one answer.
    """

    rows: Reals  # P[answer in bin i | count j], shape (bins, counts)
    missed: float  # largest probability that an answer is in no bin
    edges: Reals | None = None


def answer_table(mechanism: Exact | SymmetricNoise | None, low: int, high: int) -> AnswerTable | None:
    """Return the probabilities of answers for the counts low..high, or None if the table would be too large.

    A mechanism of None, no answer, has a single bin. Bins of continuous noise can only hide information.
    """
    counts = np.arange(low, high + 1, dtype=np.float64)
    if len(counts) > _WIDEST_ANSWERS:
        return None
    if mechanism is None:
        return AnswerTable(np.ones((1, len(counts))), 0.0)
    if isinstance(mechanism, Exact):
        return AnswerTable(np.eye(len(counts)), 0.0)
    errors = mechanism.errors
    reach = math.ceil(errors.distance_at_depth(_DEPTH_ANSWERS)) + 1.0
    span = high - low + 2 * reach
    finest = 1.0 if errors.is_discrete else math.sqrt(mechanism.variance) / _BINS
    width = max(finest, span / _WIDEST_ANSWERS)
    if errors.is_discrete and width > 1:
        return None
    starts = np.arange(low - reach, high + reach + width, width)
    distances = starts[:, None] - counts[None, :]
    rows = errors.between(distances, np.full_like(distances, width))
    edges = None if errors.is_discrete else np.append(starts, starts[-1] + width)
    return AnswerTable(rows, math.exp(errors.log_tail_at(reach)), edges)


DEPTH = 34.0  # nats: a count beyond this depth has a probability below 1e-14
_LOST = 1e-12  # probability of all counts that a table omits


def two_answers_bounds(
    answers: tuple[AnswerTable, AnswerTable], positive: Reals, negative: Reals, epsilon: float
) -> tuple[float, float]:
    """Return a lower and an upper bound of δ₊ of two binned answers.

    Args:
        answers: Tables of both answers.
        positive: P₊ of the counts: one-dimensional if both answers are about one count, otherwise of shape (first
            counts, second counts).
        negative: P₋, same shape.
        epsilon: ε.
    """
    first, second = answers
    gain = math.exp(epsilon)
    weights = positive - gain * negative
    rows = first.rows * weights if weights.ndim == 1 else first.rows @ weights
    value = float(np.maximum(rows @ second.rows.T, 0.0).sum())
    rounding = _ROUNDING_ANSWERS * float(np.abs(weights).sum())
    most = value + first.missed + second.missed + _LOST + rounding
    return max(0.0, value - gain * _LOST - rounding), min(1.0, most)


Answer = Exact | SymmetricNoise  # mechanism of the answer about a count
_REMEMBERED = 1 << 12  # cached curves, of a few numbers each


@frozen
class OneCount:
    """A count of one cell, for a record that is in this cell or in another. The rate of the cell may be tiny."""

    population: Binomial  # records among which the cell is counted
    is_turned: bool  # True if P₊ has the record in the other cell

    @classmethod
    def from_move(cls, move: CellMove, total: int) -> "OneCount":
        """Return the count of the rarer cell of a move if the two cells together hold `total` records."""
        first, second = move.first.rate, move.second.rate
        return cls(Binomial(total, min(first, second) / (first + second)), second < first)


def delta_upper_one_count(count: OneCount, answers: Sequence[Answer], epsilons: list[float]) -> list[float]:
    """Return an upper bound of δ₊ of one count that has one or two answers, for each ε in ascending order.

    Two answers reveal at most what the count itself reveals. An answer with Laplace noise can be computed from one with
    discrete Laplace noise of the same scale (see the page “Several answers”, Lemma 5.2). So the bound of the discrete
    noise holds for both.
    """
    if len(answers) == 1:
        return [one.upper for one in _hockey_sticks(count, answers[0], tuple(epsilons))]
    most = _hockey_sticks(count, Exact(), tuple(epsilons))
    finer = [DiscreteLaplace(one.exact_scale) if isinstance(one, Laplace) else one for one in answers]
    if not all(isinstance(one, SymmetricNoise) and one.is_discrete for one in finer):
        return [one.upper for one in most]
    found = [_two_binned_answers(count, finer, epsilon)[1] for epsilon in epsilons]
    return [min(one.upper, high) for one, high in zip(most, found, strict=True)]


def delta_lower_one_count(count: OneCount, answers: Sequence[Answer], epsilons: list[float]) -> list[float]:
    """Return a lower bound of δ₊ of one count that has one or two answers, for each ε in ascending order.

    The first answer alone, and answers in bins, reveal at most what both answers reveal.
    """
    least = [one.lower for one in _hockey_sticks(count, answers[0], tuple(epsilons))]
    if len(answers) == 1:
        return least
    found = [_two_binned_answers(count, answers, epsilon)[0] for epsilon in epsilons]
    return [max(both) for both in zip(least, found, strict=True)]


@lru_cache(maxsize=_REMEMBERED)
def _hockey_sticks(count: OneCount, answer: Answer, epsilons: tuple[float, ...]) -> list[CertifiedNumber]:
    """Return δ₊ of one answer. The cache serves both ends of a bracket, and tables with equal cells."""
    (pair,) = neighbour_pairs(answer, count.population)
    errors = None if isinstance(answer, Exact) else answer.errors
    return hockey_sticks(pair.mirrored if count.is_turned else pair, errors, list(epsilons))


def _two_binned_answers(count: OneCount, answers: Sequence[Answer], epsilon: float) -> tuple[float, float]:
    """Return a lower and an upper bound of δ₊ of two binned answers, or (0, 1) if there are too many answers."""
    others = Binomial(count.population.size - 1, count.population.rate)
    low, high = others.deep_prior().counts_within(DEPTH)
    first, second = (answer_table(one, low, high + 1) for one in answers)
    if first is None or second is None:
        return 0.0, 1.0
    law = others.deep_prior()
    counts = np.arange(low, high + 2)
    positive, negative = law.pmf(counts - 1), law.pmf(counts)
    if count.is_turned:
        positive, negative = negative, positive
    return two_answers_bounds((first, second), positive, negative, epsilon)


RUNS = 256  # runs of totals: a curve of one answer takes 2 ms
_RUNS_OF_TWO = 128  # runs of totals for two answers: a table of two answers takes 15 ms


_FAINT = 1e-12  # share of a sum below which a term may be bounded by the δ of the previous run


def delta_upper_given_total(move: CellMove, epsilons: list[float], most_runs: int = RUNS) -> list[float]:
    """Return an upper bound of δ₊ of a move for an adversary who knows the total T of both cells, for each ε.

    δ₊ is Σ_t P[T = t]·δ_t(ε). T is 1 + Bin(n − 1, rate), and δ_t is the δ₊ of one count among t records that both
    mechanisms answer. As δ_t falls with t, the first total of a run bounds δ_t on the whole run.

    Args:
        move: The move.
        epsilons: ε in ascending order.
        most_runs: Largest number of runs of totals; fewer runs are faster and give a larger bound.
    """
    answers = one_count_answers(move)
    sums, of_count = np.zeros(len(epsilons)), np.ones(len(epsilons))
    runs = min(most_runs, RUNS if len(answers) == 1 else _RUNS_OF_TWO)
    for low, _, weight in runs_of_totals(move.size, move.rate, runs):
        share = min(1.0, weight * (1 + _ROUNDING))
        if (share * of_count > _FAINT * sums).any():
            of_count = np.array(delta_upper_one_count(OneCount.from_move(move, low), answers, epsilons))
        sums += share * of_count
    return [min(one, 1.0) for one in sums.tolist()]


def delta_lower_given_total(move: CellMove, epsilons: list[float]) -> list[float]:
    """Return a lower bound of δ₊ of a move without noise, for an adversary who knows the total of both cells."""
    answers = one_count_answers(move)
    found = np.zeros(len(epsilons))
    for _, high, weight in runs_of_totals(move.size, move.rate, RUNS):
        of_count = delta_lower_one_count(OneCount.from_move(move, high), answers, epsilons)
        found += weight * (1 - _ROUNDING) * np.array(of_count)
    return list(found.tolist())


def one_count_answers(move: CellMove) -> Sequence[Answer]:
    """Return answers about one count.

    If the total of both cells is known, they reveal as much as the answers about both.
    """
    asked = [cell.mechanism for cell in (move.first, move.second) if cell.mechanism is not None]
    if not asked or any(isinstance(one, Exact) for one in asked):
        return [Exact()]
    scales = [one.scale for one in asked if isinstance(one, Gaussian)]
    if len(scales) == 2:  # noqa: PLR2004  (the weighted mean of both is sufficient)
        return [Gaussian(1 / math.hypot(*(1 / scale for scale in scales)))]
    return asked


_WIDEST_CELL = 2048  # largest number of counts of a cell: a table of 4 million probabilities takes half a second
_DEVIATIONS = 20.0  # standard deviations of a count that its table covers
_LARGEST_EXPONENT = 700.0  # largest ε whose exponential does not overflow


def delta_lower_binned(move: CellMove, epsilons: list[float]) -> list[float]:
    """Return a lower bound of δ₊ of a move, for each ε in ascending order, from answers in bins.

    If the answers about both cells are too many for a table, the bound is the larger δ₊ of the answers about one of the
    cells. Less information gives a lower bound.
    """
    if move.rate >= 1:
        count = OneCount.from_move(move, move.size)
        return delta_lower_one_count(count, one_count_answers(move), epsilons)
    return _lower_bounds_of_both_cells(move, epsilons) or _lower_bounds_of_one_cell(move, epsilons)


@lru_cache(maxsize=16)  # the lower and the upper bound use it
def noiseless_delta_bounds(move: CellMove, epsilons: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return bounds of δ₊ if both cells of a move are counted without noise, for each ε.

    δ₊ is summed over all pairs of a count of the first cell and a count of the second cell. If there are too many
    pairs, or no record can be in another cell, the bounds are (0, 1).
    """
    if move.rate >= 1 or not _has_narrow_counts(move):
        return [(0.0, 1.0)] * len(epsilons)
    others, bounds = JointCounts.from_move(move), []
    for epsilon in epsilons:
        gain = math.exp(min(epsilon, _LARGEST_EXPONENT))  # δ falls with ε: its upper bound holds for any larger ε
        weights = others.with_first - gain * others.with_second
        value, lost = float(np.maximum(weights, 0.0).sum()), _LOST * (1 + gain)
        lower = value - lost if epsilon <= _LARGEST_EXPONENT else 0.0
        bounds.append((max(0.0, lower), min(1.0, value + lost)))
    return bounds


def _has_narrow_counts(move: CellMove) -> bool:
    """Return True if the counts of both cells vary so little that δ can be summed over all pairs of counts."""
    rate = max(move.first.rate, move.second.rate)
    return _DEVIATIONS * math.sqrt(move.size * rate) <= _WIDEST_CELL


def _lower_bounds_of_both_cells(move: CellMove, epsilons: list[float]) -> list[float]:
    """Return the lower bounds from the answers about both cells, or an empty list if there are too many counts."""
    if not _has_narrow_counts(move):
        return []
    others = JointCounts.from_move(move)
    first = answer_table(move.first.mechanism, *others.firsts)
    second = answer_table(move.second.mechanism, *others.seconds)
    if first is None or second is None:
        return []
    laws = others.with_first, others.with_second
    return [two_answers_bounds((first, second), *laws, epsilon)[0] for epsilon in epsilons]


def _lower_bounds_of_one_cell(move: CellMove, epsilons: list[float]) -> list[float]:
    """Return the lower bounds from the answer about one cell alone: the larger one of both cells, for each ε."""
    found = [
        _hockey_sticks(OneCount(Binomial(move.size, cell.rate), is_second), cell.mechanism, tuple(epsilons))
        for cell, is_second in ((move.first, False), (move.second, True))
        if cell.mechanism is not None
    ]
    return [max(one.lower for one in at_one) for at_one in zip(*found, strict=True)]


@frozen(eq=False)
class TableAnswers:
    """Divergences of answers about disjoint cells that hold all records.

    Without noise, the bracket of δ has the width of rounding. With noise, the upper end is the δ of an adversary who
    also knows the total of the two cells of a move. The lower end is the δ of an adversary who sees only the answers
    about these cells.
    """

    size: int
    cells: tuple[Cell, ...]  # cells whose rates add up to 1; at most one has no answer

    def upper_bounds(self, epsilons: list[float], most_runs: int = RUNS) -> list[float]:
        """Return the upper ends of `directions` in half the time, or larger bounds from fewer runs of totals."""
        bounds = [_upper_bounds_of_move(move, epsilons, most_runs) for move in worst_moves(self.size, self.cells)]
        return [max(at_one) for at_one in zip(*bounds, strict=True)]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε. They are equal, as a record may move in both directions."""
        found = [_bounds_of_move(move, epsilons) for move in worst_moves(self.size, self.cells)]
        largest: list[Bounded] = [
            BoundedProbability.of_bounds(max(low for low, _ in at_one), max(high for _, high in at_one))
            for at_one in zip(*found, strict=True)
        ]
        return largest, largest


def worst_moves(size: int, cells: Sequence[Cell]) -> Iterator[CellMove]:
    """Yield the moves that can have the largest δ₊: moves between the two rarest cells of each mechanism."""
    kinds = defaultdict(list)
    for cell in cells:
        kinds[cell.mechanism].append(cell)
    rarest = [cell for kind in kinds.values() for cell in sorted(kind, key=lambda cell: cell.rate)[:2]]
    for first, second in combinations(rarest, 2):
        move = CellMove(size, first, second)
        yield move
        if first != second:
            yield move.mirrored


def _bounds_of_move(move: CellMove, epsilons: list[float]) -> list[tuple[float, float]]:
    """Return bounds of δ₊ of one move, for each ε."""
    uppers = _upper_bounds_of_move(move, epsilons)
    if not _is_noiseless(move):
        return list(zip(delta_lower_binned(move, epsilons), uppers, strict=True))
    lowers, counted = delta_lower_given_total(move, epsilons), noiseless_delta_bounds(move, tuple(epsilons))
    return [
        (max(lower, counted_lower), upper)
        for lower, upper, (counted_lower, _) in zip(lowers, uppers, counted, strict=True)
    ]


def _upper_bounds_of_move(move: CellMove, epsilons: list[float], most_runs: int = RUNS) -> list[float]:
    """Return an upper bound of δ₊ of one move, for each ε."""
    uppers = delta_upper_given_total(move, epsilons, most_runs)
    if not _is_noiseless(move):
        return uppers
    return [
        min(upper, most) for upper, (_, most) in zip(uppers, noiseless_delta_bounds(move, tuple(epsilons)), strict=True)
    ]


def _is_noiseless(move: CellMove) -> bool:
    """Return True if both counts are answered without noise."""
    return isinstance(move.first.mechanism, Exact) and isinstance(move.second.mechanism, Exact)
