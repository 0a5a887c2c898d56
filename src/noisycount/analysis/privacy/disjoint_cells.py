"""δ of a table of disjoint cells, which share all records: one moves from one cell to another."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from noisycount.analysis.privacy.bounds import Between, Bounded, Certified
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
    """One of the disjoint cells among which the records are divided."""

    rate: float  # the probability that a record falls into it, above 0
    mechanism: Exact | SymmetricNoise | None  # how its count is answered; None: nobody asks for it


@frozen
class CellMove:
    """A record that is in one cell or in another."""

    size: int
    first: Cell  # the cell whose count it raises in P₊
    second: Cell  # the cell whose count it raises in P₋

    @property
    def rate(self) -> float:
        """The probability that another record is in one of the two cells."""
        return min(1.0, self.first.rate + self.second.rate)

    @property
    def mirrored(self) -> "CellMove":
        """The same from the other side."""
        return CellMove(self.size, self.second, self.first)


_DEPTH_OF_COUNTS = 42.0  # nepers: a count farther off has a probability below 1e-18


@frozen
class Others:
    """The counts of two cells among all records, one of which is in the first or in the second."""

    firsts: tuple[int, int]  # the smallest and the largest count of the first cell
    seconds: tuple[int, int]  # the same of the second cell
    with_first: Reals  # the probabilities if the record is in the first, shape (firsts, seconds)
    with_second: Reals  # the same if it is in the second

    @classmethod
    def of(cls, move: CellMove) -> "Others":
        """The counts for a move between two cells that do not hold all records."""
        others = move.size - 1
        laws = (Binomial(others, cell.rate).deep_law() for cell in (move.first, move.second))
        firsts, seconds = (law.counts_within(_DEPTH_OF_COUNTS) for law in laws)
        table = _trinomial(move, firsts, seconds)
        with_first = np.pad(table, ((1, 0), (0, 1)))
        with_second = np.pad(table, ((0, 1), (1, 0)))
        return cls((firsts[0], firsts[1] + 1), (seconds[0], seconds[1] + 1), with_first, with_second)


def _trinomial(move: CellMove, firsts: tuple[int, int], seconds: tuple[int, int]) -> Reals:
    """The law of both counts among the other records, shape (firsts, seconds).

    A trinomial probability next to one in the middle, from a!·b!·c! by Stirling's errors; the sum of all is 1 but for
    1e-16.
    """
    others, rest = move.size - 1, 1 - move.rate
    middle = [math.floor(others * move.first.rate), math.floor(others * move.second.rate)]
    middle.append(others - sum(middle))
    rates = (move.first.rate, move.second.rate, rest)
    first = np.arange(firsts[0], firsts[1] + 1, dtype=np.float64)
    second = np.arange(seconds[0], seconds[1] + 1, dtype=np.float64)
    sums = np.arange(firsts[0] + seconds[0], firsts[1] + seconds[1] + 1, dtype=np.float64)
    logs = [
        _log_part(counts, centre, rate)
        for counts, centre, rate in zip((first, second, others - sums), middle, rates, strict=True)
    ]
    places = np.arange(len(first))[:, None] + np.arange(len(second))[None, :]
    table: Reals = logs[0][:, None] + logs[1][None, :] + logs[2][places]
    table = np.exp(table - table.max())
    table /= table.sum()
    return table


def _log_part(counts: Reals, centre: int, rate: float) -> Reals:
    """The logarithm of rate^k/k! for each count k, but for that at the centre; −inf below 0."""
    possible = counts >= 0
    steps = np.where(possible, counts - centre, 0.0)
    start = centre + 1.0
    bends = log_gamma_bends([start], steps[None])
    return np.where(possible, steps * math.log(rate / start) - bends, -np.inf)


_DEEPEST = 700.0  # nepers below its mode at which the law ends: e^−700 is next to the least double
_LIKELY = 40.0  # nepers below its mode: what is left out weighs e^−40
_OF_TAILS = 8  # runs of each tail beyond that
_ROUNDING = 1e-12  # of a weight: that of a law is 3e-13


def runs_of_totals(size: int, rate: float, number: int) -> Iterator[tuple[int, int, float]]:
    """The law of 1 + Bin(size − 1, rate), in about so many runs: first, last, probability."""
    others = Binomial(size - 1, rate)
    low, high = others.support
    if low == high:
        yield low + 1, low + 1, 1.0
        return
    law = others.deep_law()
    (first, last), (start, end) = (others.deep_law().counts_within(depth) for depth in (_DEEPEST, _LIKELY))
    edges = np.unique(
        np.concatenate(
            [_edges(first, start, _OF_TAILS), _edges(start, end + 1, number), _edges(end + 1, last + 1, _OF_TAILS)]
        )
    )
    weights = law.pmf(np.arange(first, last + 1))
    sums = np.add.reduceat(weights, edges[:-1] - first)
    for begin, after, weight in zip(edges[:-1], edges[1:], sums, strict=True):
        yield int(begin) + 1, int(after), float(weight)


def _edges(low: int, high: int, number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whole numbers that divide a range."""
    return np.linspace(low, high, min(number, max(high - low, 1)) + 1).round().astype(np.int64)


_DEPTH_ANSWERS = 34.0  # nepers: an answer farther off has a probability below 1e-14
_BINS = 6.0  # a standard deviation of continuous noise: what binning hides is a hundredth
_WIDEST_ANSWERS = 1024  # answers or counts: a product of tables takes 50 ms
_ROUNDING_ANSWERS = 1e-11  # of a sum of products: 1,024 roundings and those of the noise


@frozen
class AnswerTable:
    """The probabilities of binned answers for each count.

    Attributes:
        edges: Where bins of continuous answers begin, and where the last one ends; None: a bin is one answer.
    """

    rows: Reals  # P[answer in bin i | count j], shape (bins, counts)
    missed: float  # the largest probability that an answer is in no bin
    edges: Reals | None = None


def answer_table(mechanism: Exact | SymmetricNoise | None, low: int, high: int) -> AnswerTable | None:
    """The probabilities of answers for the counts low..high; None: they would be too many.

    An answer to nothing has one bin. Bins of continuous noise hide something, never add.
    """
    counts = np.arange(low, high + 1, dtype=np.float64)
    if len(counts) > _WIDEST_ANSWERS:
        return None
    if mechanism is None:
        return AnswerTable(np.ones((1, len(counts))), 0.0)
    if isinstance(mechanism, Exact):
        return AnswerTable(np.eye(len(counts)), 0.0)
    errors = mechanism.errors
    reach = math.ceil(errors.reach(_DEPTH_ANSWERS)) + 1.0
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


DEPTH = 34.0  # nepers: a count farther off has a probability below 1e-14
_LOST = 1e-12  # of the probability of all counts that are not in a table


def two_answers_bounds(
    answers: tuple[AnswerTable, AnswerTable], positive: Reals, negative: Reals, epsilon: float
) -> tuple[float, float]:
    """Below and above δ₊ of two answers in bins, to one count or to two, given the laws P₊ and P₋ of these."""
    first, second = answers
    gain = math.exp(epsilon)
    weights = positive - gain * negative
    rows = first.rows * weights if weights.ndim == 1 else first.rows @ weights
    value = float(np.maximum(rows @ second.rows.T, 0.0).sum())
    rounding = _ROUNDING_ANSWERS * float(np.abs(weights).sum())
    most = value + first.missed + second.missed + _LOST + rounding
    return max(0.0, value - gain * _LOST - rounding), min(1.0, most)


Answer = Exact | SymmetricNoise  # how a count is answered
_REMEMBERED = 1 << 12  # curves, of a few numbers each


@frozen
class OneCount:
    """How many of some records are in the rarer of two cells, one in a million billions perhaps."""

    population: Binomial  # the records of the two cells
    is_turned: bool  # whether P₊ has the record in the other cell

    @classmethod
    def of(cls, move: CellMove, total: int) -> "OneCount":
        """The count where so many records are in the two cells of a move."""
        first, second = move.first.rate, move.second.rate
        return cls(Binomial(total, min(first, second) / (first + second)), second < first)


def delta_upper_one_count(count: OneCount, answers: Sequence[Answer], epsilons: list[float]) -> list[float]:
    """An upper bound of δ₊ of one count that has one or two answers, for each ε in rising order.

    The count itself tells more than two answers. From an answer with discrete Laplace noise one with Laplace noise of
    the same scale can be made (see the page “Several answers, one outsider”), so that it tells more, too.
    """
    if len(answers) == 1:
        return [one.upper for one in _sticks(count, answers[0], tuple(epsilons))]
    most = _sticks(count, Exact(), tuple(epsilons))
    finer = [DiscreteLaplace(one.exact_scale) if isinstance(one, Laplace) else one for one in answers]
    if not all(isinstance(one, SymmetricNoise) and one.is_discrete for one in finer):
        return [one.upper for one in most]
    found = [_of_two(count, finer, epsilon)[1] for epsilon in epsilons]
    return [min(one.upper, high) for one, high in zip(most, found, strict=True)]


def delta_lower_one_count(count: OneCount, answers: Sequence[Answer], epsilons: list[float]) -> list[float]:
    """A lower bound of the same: each answer alone tells less, and so do answers in bins."""
    least = [one.lower for one in _sticks(count, answers[0], tuple(epsilons))]
    if len(answers) == 1:
        return least
    found = [_of_two(count, answers, epsilon)[0] for epsilon in epsilons]
    return [max(both) for both in zip(least, found, strict=True)]


@lru_cache(maxsize=_REMEMBERED)
def _sticks(count: OneCount, answer: Answer, epsilons: tuple[float, ...]) -> list[Certified]:
    """δ₊ of one answer: both ends of a bracket ask for it, and so do tables of equal cells."""
    (pair,) = neighbour_pairs(answer, count.population)
    errors = None if isinstance(answer, Exact) else answer.errors
    return hockey_sticks(pair.mirrored if count.is_turned else pair, errors, list(epsilons))


def _of_two(count: OneCount, answers: Sequence[Answer], epsilon: float) -> tuple[float, float]:
    """Below and above δ₊ of two answers in bins; (0, 1) where these would be too many."""
    others = Binomial(count.population.size - 1, count.population.rate)
    low, high = others.deep_law().counts_within(DEPTH)
    first, second = (answer_table(one, low, high + 1) for one in answers)
    if first is None or second is None:
        return 0.0, 1.0
    law = others.deep_law()
    counts = np.arange(low, high + 2)
    positive, negative = law.pmf(counts - 1), law.pmf(counts)
    if count.is_turned:
        positive, negative = negative, positive
    return two_answers_bounds((first, second), positive, negative, epsilon)


RUNS = 256  # of totals: a curve of one answer takes 2 ms
_RUNS_OF_TWO = 128  # of totals: a table of two answers takes 15 ms


_FAINT = 1e-12  # of a sum, a term that may be bounded by its predecessor


def delta_upper_given_total(move: CellMove, epsilons: list[float], most_runs: int = RUNS) -> list[float]:
    """Return an upper bound of δ₊ of a move whose total T the adversary knows, for each ε in rising order.

    δ₊ is Σ_t P[T = t]·δ_t(ε), where δ_t is that of one count of t records that is answered by both mechanisms; T is
    1 + Bin(n − 1, rate). δ_t falls with t, so that the ends of a run of totals bound it on the run.
    """
    answers = one_count_answers(move)
    sums, of_count = np.zeros(len(epsilons)), np.ones(len(epsilons))
    runs = min(most_runs, RUNS if len(answers) == 1 else _RUNS_OF_TWO)
    for low, _, weight in runs_of_totals(move.size, move.rate, runs):
        share = min(1.0, weight * (1 + _ROUNDING))
        if (share * of_count > _FAINT * sums).any():
            of_count = np.array(delta_upper_one_count(OneCount.of(move, low), answers, epsilons))
        sums += share * of_count
    return [min(one, 1.0) for one in sums.tolist()]


def delta_lower_given_total(move: CellMove, epsilons: list[float]) -> list[float]:
    """Return a lower bound of δ₊ of a move without noise whose total the adversary knows, for each ε."""
    answers = one_count_answers(move)
    found = np.zeros(len(epsilons))
    for _, high, weight in runs_of_totals(move.size, move.rate, RUNS):
        of_count = delta_lower_one_count(OneCount.of(move, high), answers, epsilons)
        found += weight * (1 - _ROUNDING) * np.array(of_count)
    return list(found.tolist())


def one_count_answers(move: CellMove) -> Sequence[Answer]:
    """How one count would be answered that tells as much as the answers about both cells."""
    asked = [cell.mechanism for cell in (move.first, move.second) if cell.mechanism is not None]
    if not asked or any(isinstance(one, Exact) for one in asked):
        return [Exact()]
    scales = [one.scale for one in asked if isinstance(one, Gaussian)]
    if len(scales) == 2:  # noqa: PLR2004  (the weighted mean of both tells all)
        return [Gaussian(1 / math.hypot(*(1 / scale for scale in scales)))]
    return asked


_WIDEST_CELL = 2048  # counts of a cell: a table of 4 million probabilities takes half a second
_DEVIATIONS = 20.0  # of a count that its table holds


def delta_lower_binned(move: CellMove, epsilons: list[float]) -> list[float]:
    """A lower bound of δ₊ of a move, for each ε in rising order: whoever sees more learns more.

    The answers about both cells are put into bins; where these would be too many, it is the larger δ of the answer
    about one of them, to which the other cell is as any.
    """
    if move.rate >= 1:
        count = OneCount.of(move, move.size)
        return delta_lower_one_count(count, one_count_answers(move), epsilons)
    return _of_both(move, epsilons) or _of_one_cell(move, epsilons)


@lru_cache(maxsize=16)  # a lower and an upper bound use it
def noiseless_delta_bounds(move: CellMove, epsilons: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return bounds of δ₊ of a move without noise, summed over both counts; (0, 1) if there are too many."""
    if move.rate >= 1 or not _is_short(move):
        return [(0.0, 1.0)] * len(epsilons)
    others, found = Others.of(move), []
    for epsilon in epsilons:
        gain = math.exp(epsilon)
        weights = others.with_first - gain * others.with_second
        value, lost = float(np.maximum(weights, 0.0).sum()), _LOST * (1 + gain)
        found.append((max(0.0, value - lost), min(1.0, value + lost)))
    return found


def _is_short(move: CellMove) -> bool:
    """Whether a table of both counts is small."""
    rate = max(move.first.rate, move.second.rate)
    return _DEVIATIONS * math.sqrt(move.size * rate) <= _WIDEST_CELL


def _of_both(move: CellMove, epsilons: list[float]) -> list[float]:
    """The bound from both answers; none where there are too many counts."""
    if not _is_short(move):
        return []
    others = Others.of(move)
    first = answer_table(move.first.mechanism, *others.firsts)
    second = answer_table(move.second.mechanism, *others.seconds)
    if first is None or second is None:
        return []
    laws = others.with_first, others.with_second
    return [two_answers_bounds((first, second), *laws, epsilon)[0] for epsilon in epsilons]


def _of_one_cell(move: CellMove, epsilons: list[float]) -> list[float]:
    """The bound from the answer about one cell alone, in which the record is or is not in P₊."""
    found = [
        _sticks(OneCount(Binomial(move.size, cell.rate), is_second), cell.mechanism, tuple(epsilons))
        for cell, is_second in ((move.first, False), (move.second, True))
        if cell.mechanism is not None
    ]
    return [max(one.lower for one in at_one) for at_one in zip(*found, strict=True)]


@frozen(eq=False)
class TableAnswers:
    """The divergences of answers about disjoint cells that hold all records.

    Without noise the bracket is that of rounding; with noise its upper end is of an outsider who is told how many
    records the two cells hold together, its lower end of one who sees only the answers about the two.
    """

    size: int
    cells: tuple[Cell, ...]  # the cells, whose rates add up to 1; at most one is not asked for

    def upper_bounds(self, epsilons: list[float], most_runs: int = RUNS) -> list[float]:
        """Return the upper ends of `directions` in half of its time, or larger bounds from fewer runs of totals."""
        bounds = [_upper_bounds(move, epsilons, most_runs) for move in worst_moves(self.size, self.cells)]
        return [max(at_one) for at_one in zip(*bounds, strict=True)]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε: the same, as a record may move either way."""
        found = [_bounds(move, epsilons) for move in worst_moves(self.size, self.cells)]
        largest: list[Bounded] = [
            Between.of_bounds(max(low for low, _ in at_one), max(high for _, high in at_one))
            for at_one in zip(*found, strict=True)
        ]
        return largest, largest


def worst_moves(size: int, cells: Sequence[Cell]) -> Iterator[CellMove]:
    """Moves among which is the one that shows most: between the rarest cells of each mechanism."""
    kinds = defaultdict(list)
    for cell in cells:
        kinds[cell.mechanism].append(cell)
    rarest = [cell for kind in kinds.values() for cell in sorted(kind, key=lambda cell: cell.rate)[:2]]
    for first, second in combinations(rarest, 2):
        move = CellMove(size, first, second)
        yield move
        if first != second:
            yield move.mirrored


def _bounds(move: CellMove, epsilons: list[float]) -> list[tuple[float, float]]:
    """Return bounds of δ₊ of one move, for each ε."""
    uppers = _upper_bounds(move, epsilons)
    if not _is_noiseless(move):
        return list(zip(delta_lower_binned(move, epsilons), uppers, strict=True))
    lowers, counted = delta_lower_given_total(move, epsilons), noiseless_delta_bounds(move, tuple(epsilons))
    return [
        (max(lower, counted_lower), upper)
        for lower, upper, (counted_lower, _) in zip(lowers, uppers, counted, strict=True)
    ]


def _upper_bounds(move: CellMove, epsilons: list[float], most_runs: int = RUNS) -> list[float]:
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
