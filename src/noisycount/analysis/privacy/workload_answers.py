"""Divergences of answers to a list of questions, and the choice of the method that computes them.

`workload_answers` chooses the method. `WorkloadAnswers` uses the distribution of up to three answers on a lattice,
`IndependentAnswers` log ratios of three to six independent answers.
"""

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy import workload as workloads
from noisycount.analysis.privacy.bounds import Bounded, BoundedProbability, Divergences, composed_epsilon
from noisycount.analysis.privacy.composition import composed_answers, is_precise
from noisycount.analysis.privacy.lattice import LOST, Kernel, Lattice, count_span, is_continuous, noise_on_grid
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.binomial import Binomial

MOST_ANSWERS = 3  # largest number of answers with a joint distribution on a lattice
_MOST_PLACES = 1e9  # largest number of integer answers: some minutes
_FEW_PLACES = 3e6  # number of integer answers that takes some tenths of a second
_MOST_FREQUENCIES = 3e7  # largest number of frequencies of a transform: 0.5 GB
_PLACES = 1.6e7  # number of lattice points over all offsets, up to which the grid of a record is made finer
_AT_ONCE = 2**15  # lattice points at once: 0.25 MB, which fit into the cache
_MOST_STEPS = 16  # largest number of grid steps for each record on each axis
_OVERFLOW = 700.0  # largest ε whose exponential does not overflow


@frozen(eq=False, slots=False)
class WorkloadAnswers:
    """δ₊ and δ₋ of up to three answers to questions about the same records.

    The answers about the other records do not depend on the record that changes. So only the difference d of its two
    patterns matters: δ = Σ_y (f(y − d) − e^ε·f(y))₊ for the distribution f of the answers about the other records.
    """

    workload: workloads.Workload

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε: in δ₊ the record satisfies the first question that its change affects."""
        moves = self._finest_lattice.moves
        factors = [math.exp(min(epsilon, _OVERFLOW)) for epsilon in epsilons]
        sums = np.zeros((2, 2, len(moves), len(epsilons)))
        for rounded, split in self._finest_lattice.slabs():
            added = _positive_excesses(rounded, moves, factors)
            sums[0] += added
            sums[1] += added if split is rounded else _positive_excesses(split, moves, factors)
        kernels = self._finest_lattice.kernels
        lower, upper = sums.max(axis=2)
        return _delta_bounds(
            lower, upper, factors, self._finest_lattice.error, kernels, min(one.share for one in kernels)
        )

    @cached_property
    def _finest_lattice(self) -> Lattice:
        """Lattice of the answers about all records except one, with a grid that is as fine as `_PLACES` allows."""
        whole = _lattice_of(self.workload, 1).shortest
        continuous = sum(is_continuous(one) for _, one in self.workload.answers)
        if not continuous:
            return whole
        offsets = max(1.0, _PLACES / whole.places)
        return _lattice_of(self.workload, min(_MOST_STEPS, 1 << int(math.log2(offsets) / continuous))).shortest


def _delta_bounds(  # noqa: PLR0913, PLR0917  (both directions and their errors)
    lower: Reals, upper: Reals, factors: list[float], error: float, kernels: Sequence[Kernel], share: float
) -> tuple[list[Bounded], list[Bounded]]:
    """Return δ₊ and δ₋ with their bounds, widened by the errors of the distributions.

    Shapes: lower and upper (2, ε), for δ₊ and δ₋.
    """
    off = (1 + np.array(factors)) * error
    relative = sum(kernel.error for kernel in kernels)
    plus, minus = (
        [BoundedProbability.of_bounds(low, high, share) for low, high in zip(lows, highs, strict=True)]
        for lows, highs in zip((lower - off).tolist(), (upper + off + 2 * relative).tolist(), strict=True)
    )
    return list(plus), list(minus)


def is_within_reach(workload: workloads.Workload) -> bool:
    """Return True if the joint distribution of the answers can be computed on a lattice."""
    if len(workload.answers) > MOST_ANSWERS:
        return False
    lattice = _lattice_of(workload, 1)
    return lattice.places <= _MOST_PLACES and lattice.frequencies <= _MOST_FREQUENCIES


def is_fast_on_lattice(workload: workloads.Workload) -> bool:
    """Return True if all answers are integers and their joint distribution takes less than a second."""
    if len(workload.answers) > MOST_ANSWERS or any(is_continuous(one) for _, one in workload.answers):
        return False
    return _lattice_of(workload, 1).places <= _FEW_PLACES


def _lattice_of(workload: workloads.Workload, steps: int) -> Lattice:
    """Return the lattice of the answers about all records except one, with so many grid steps for each record."""
    axes = workload.answers
    rates: dict[workloads.Pattern, float] = {
        tuple(pattern[place] for place, _ in axes): rate for pattern, rate in workload.rates.items()
    }
    kernels = [noise_on_grid(one, steps if is_continuous(one) else 1) for _, one in axes]
    return Lattice(workload.size - 1, rates, kernels)


def _positive_excesses(law: Reals, moves: Sequence[Sequence[int]], factors: Sequence[float]) -> Reals:
    """Return Σ_y (f(y − d) − e^ε·f(y))₊ of a distribution f for ±d of each move d and each ε, shape (2, moves, ε)."""
    sums = np.zeros((2, len(moves), len(factors)))
    for place, move in enumerate(moves):
        moved, stayed = _overlap_with_shift(law, move), _overlap_with_shift(law, [-step for step in move])
        for column, factor in enumerate(factors):
            sums[0, place, column] = _positive_excess(moved, stayed, factor)
            sums[1, place, column] = _positive_excess(stayed, moved, factor)
    return sums


def _overlap_with_shift(law: Reals, move: Sequence[int]) -> Reals:
    """Return the part of a slab that overlaps the slab shifted by a move, without the slab's last row.

    The last row is also the first row of the next slab.
    """
    parts = [slice(max(0, -step), size - max(0, step)) for step, size in zip(move, law.shape, strict=True)]
    return law[(slice(-1) if move[0] == 0 else parts[0], *parts[1:])]


def _positive_excess(law: Reals, other: Reals, factor: float) -> float:
    """Return Σ (f − factor·g)₊ of two arrays f and g, over a few rows at once."""
    rows = max(1, _AT_ONCE * len(law) // max(1, law.size))
    total = 0.0
    for start in range(0, len(law), rows):
        gains = law[start : start + rows] - factor * other[start : start + rows]
        total += float(np.maximum(gains, 0.0, out=gains).sum())
    return total


_FEWEST = 3  # smallest number of questions: two have a lattice
_MOST = 6  # largest number of questions, with 64 moves that take seconds
_STEPS = 32  # grid steps for each record, for continuous noise
_POINTS = 2**15  # grid points of the log ratio of one answer, on each side of 0
_APART = 1e-10  # largest difference of the rates of all patterns from products, times the number of records
_FAINT = 1e-15  # probability up to which a log ratio may lie beyond the grid
_WIDEST = 60.0  # largest absolute log ratio of the grid
_ROUNDING = 1e-12  # relative error of the probabilities of one distribution
_UNIT = 2.0**-53
_PER_LEVEL = 32.0  # rounding errors of transforms for each doubling of their length
Complexes = NDArray[np.complex128]
_Moved = tuple[Reals, Reals]  # the distribution of an answer, moved by one record, and not moved


def is_independent(workload: workloads.Workload) -> bool:
    """Return True if the list has three to six independent questions, each answered once."""
    number = len(workload.mechanisms)
    if not _FEWEST <= number <= _MOST or len(workload.answers) != number:
        return False
    return len(workload.rates) == 2**number and workload.size * _distance_from_independence(workload) <= _APART


def _distance_from_independence(workload: workloads.Workload) -> float:
    """Return the sum of the absolute differences of the rates of patterns from products of rates of questions."""
    ones = [workload.question_rate(place) for place in range(len(workload.mechanisms))]
    products = (
        math.prod(p if bit else 1 - p for p, bit in zip(ones, pattern, strict=True)) for pattern in workload.rates
    )
    return math.fsum(abs(rate - one) for rate, one in zip(workload.rates.values(), products, strict=True))


@frozen(eq=False, slots=False)
class IndependentAnswers:
    """δ₊ and δ₋ of answers to independent questions.

    The answers about the other records have a product f of distributions f_i. Let a move d change the answers by d_i,
    and let r_i = f_i(y_i − d_i)/f_i(y_i). Then δ = E(Π r_i − e^ε)₊ under f. δ is largest if the record moves in all
    coordinates, as a coordinate without a move reveals nothing.

    Each ratio is split between its two neighbours on a grid of logarithms without a change of its mean. As x₊ is
    convex, this raises δ: the upper bound uses it with the split noise. The lower bound uses the rounded noise and the
    mean ratio at each grid point, which lowers δ.
    """

    workload: workloads.Workload

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε: in δ₊ the record moves to where it satisfies the first question."""
        factors: Reals = np.exp(np.minimum(epsilons, _OVERFLOW))
        lower, upper = np.zeros((2, 2, len(epsilons)))
        for moves in product((0, 1), repeat=len(self._log_ratios)):
            moved = list(zip(self._log_ratios, moves, strict=True))
            for kind, found in enumerate((lower, upper)):
                excesses = self._positive_excesses([one.laws[kind][way] for one, way in moved], factors)
                none = math.prod(1 - one.beyond[kind][way] for one, way in moved)
                found[moves[0]] = np.maximum(found[moves[0]], excesses + (1 - none))
        roundings = _PER_LEVEL * math.log2(self._transform_length) * math.sqrt(self._transform_length)
        error = _UNIT * roundings * len(self._log_ratios)
        error += (self.workload.size - 1) * _distance_from_independence(self.workload)
        error += sum(6 * LOST + _ROUNDING for _ in self._log_ratios)
        return _delta_bounds(lower, upper, factors.tolist(), error, [one.kernel for one in self._log_ratios], 0.5)

    def _positive_excesses(self, laws: list[Complexes], factors: Reals) -> Reals:
        """Return Σ (P − e^ε·R)₊ for the products P and R of some distributions, for each ε."""
        masses, moments = np.fft.irfft(reduce(np.multiply, laws), self._transform_length)
        return np.array([np.maximum(moments - factor * masses, 0.0).sum() for factor in factors])

    @property
    def _transform_length(self) -> int:
        """Length of a transform that holds the sum of all log ratios."""
        return 1 << (2 * _POINTS * len(self.workload.mechanisms)).bit_length()

    @cached_property
    def _log_ratios(self) -> list["_LogRatios"]:
        """Log ratios of each answer, on one grid that is wide enough for all answers."""
        laws = [self._noise_and_laws(place) for place in range(len(self.workload.mechanisms))]
        most = max(_largest_log_ratio(*law) for _, pair in laws for law in pair)
        return [_LogRatios.from_pair(one, pair, most / _POINTS, self._transform_length) for one, pair in laws]

    def _noise_and_laws(self, place: int) -> tuple[Kernel, tuple[_Moved, _Moved]]:
        """Return the noise of an answer, and the distribution of the answer about the other records.

        The distribution is moved by one record and not moved, first with rounded noise and then with split noise.
        """
        mechanism, rate = self.workload.mechanisms[place][0], self.workload.question_rate(place)
        others = self.workload.size - 1
        noise = noise_on_grid(mechanism, _STEPS if is_continuous(mechanism) else 1)
        low, high = count_span(others, rate)
        reached = np.arange(low, high + 1.0)
        counts = Binomial(others, rate).law().pmf(reached) if others else np.ones(1)
        parts = [[np.convolve(counts, law) for law in both] for both in noise.offsets()]
        rounded, split = (
            (
                np.concatenate([[0.0, *part[kind]] for part in parts]),
                np.concatenate([[*part[kind], 0.0] for part in parts]),
            )
            for kind in (0, 1)
        )
        return noise, (rounded, split)


@frozen(eq=False)
class _LogRatios:
    """Distribution of the log ratio ln(P/R) of one answer, P for the moved and R for the unmoved distribution.

    Attributes:
        kernel: The noise of the answer.
        laws: Transforms of R and P at each log ratio: first index rounded or split noise, second index a record that
            moves up or down.
        beyond: With rounded noise, the probability under P of infinite log ratios; with split noise, that of log ratios
            beyond the grid. Indices as for `laws`.
    """

    kernel: Kernel
    laws: Sequence[Sequence[Complexes]]
    beyond: Sequence[Sequence[float]]

    @classmethod
    def from_pair(cls, noise: Kernel, pair: tuple[_Moved, _Moved], step: float, length: int) -> "_LogRatios":
        """Return the log ratios of an answer from its moved and unmoved distributions.

        Args:
            noise: The noise of the answer.
            pair: The two distributions with rounded noise, and with split noise.
            step: Step of the grid of log ratios.
            length: Length of the transforms.
        """
        (rounded, split) = pair
        lower = [_distribute_log_ratios(one, other, step, is_split=False) for one, other in (rounded, rounded[::-1])]
        upper = [_distribute_log_ratios(one, other, step, is_split=True) for one, other in (split, split[::-1])]
        laws = [[np.fft.rfft(table, length) for table, _ in both] for both in (lower, upper)]
        return cls(noise, laws, [[beyond for _, beyond in both] for both in (lower, upper)])


def _largest_log_ratio(law: Reals, other: Reals) -> float:
    """Return the largest absolute log ratio of two distributions where neither is faint, at most `_WIDEST`."""
    is_both = (law > 0) & (other > 0) & (np.maximum(law, other) > _FAINT)
    logs = np.abs(np.log(law[is_both]) - np.log(other[is_both]))
    return min(_WIDEST, float(logs.max(initial=0.1)) * (1 + 1e-9))


def _distribute_log_ratios(law: Reals, other: Reals, step: float, *, is_split: bool) -> tuple[Reals, float]:
    """Return R and P at log ratios on a grid, shape (2, points), and the probability under P beyond the grid.

    With split noise (`is_split`), P at each grid point is R times the ratio of that point. The probability beyond the
    grid is that of all log ratios outside of it. With rounded noise, P is the probability of the ratios that were moved
    to the point. The probability beyond the grid is that of answers that R excludes; other log ratios outside are left
    out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ranks = (np.log(law) - np.log(other)) / step + _POINTS
    is_beyond = (law > 0) & ~(ranks < 2 * _POINTS)
    beyond = float(law[is_beyond if is_split else other == 0].sum())
    is_inside = ~is_beyond & (ranks >= 0)
    places = np.floor(ranks[is_inside]).astype(np.intp)
    masses, moments = other[is_inside], law[is_inside]
    shares = np.clip(np.expm1((ranks[is_inside] - places) * step) / math.expm1(step), 0.0, 1.0)
    size = 2 * _POINTS + 1
    table = [
        np.bincount(places, mass * (1 - shares), size) + np.bincount(places + 1, mass * shares, size)
        for mass in (masses, moments)
    ]
    if is_split:
        table[1] = table[0] * np.exp(step * (np.arange(size) - _POINTS))
        beyond += float(law[~is_beyond & ~is_inside].sum())
    return np.stack(table), beyond


_MOST_PATTERNS = 100  # largest number of patterns for bounds: they make 4,950 pairs
_FEWER = 2  # number of questions whose joint distribution gives the lower bounds of a long list


def workload_answers(workload: workloads.Workload) -> Divergences:
    """Return the divergences of answers to a list of questions. A list with one question is answers about one count.

    For many answers about one count with noises of different kinds, the upper bounds are those of the exact count. If
    all other records are known, they are those of the sum of all ε.

    Raises:
        ValueError: If no method applies to the list.
    """
    first, is_one = workload.mechanisms[0], len(workload.mechanisms) == 1
    if is_one and (is_precise(first) or not is_within_reach(workload)):
        if workload.size == 1 and composed_epsilon(first) is None and not is_precise(first):
            raise ValueError(
                f"mechanism must be at most {MOST_ANSWERS} noises if all other records are known, the noises are "
                "of different kinds, and one of them has no ε, got "
                f"{len(workload.answers)}: add up their prices"
            )
        population = Binomial(workload.size, workload.question_rate(0))
        return composed_answers(tuple(neighbour_pairs(Exact(), population)), first)
    if workloads.is_table(workload) and (workloads.is_noiseless(workload) or not is_within_reach(workload)):
        return workloads.table_answers(workload)
    if is_independent(workload) and not is_fast_on_lattice(workload):
        return IndependentAnswers(workload)
    if is_within_reach(workload):
        return WorkloadAnswers(workload)
    moves = workloads.moves_of_two(workload) if len(workload.rates) <= _MOST_PATTERNS else ()
    if not 0 < len(moves) <= workloads.MOST_MOVES:
        raise ValueError(
            f"questions are too many, got {len(workload.mechanisms)}: an exact curve takes at most {MOST_ANSWERS}, and "
            f"bounds take fewer atoms (combinations of answers about one record) than {len(workload.rates)}. Ask fewer "
            "questions, or add up their ε for the worst case"
        )
    fewer = _FEWER if is_within_reach(workload.select(range(_FEWER))) else 1  # questions with an exact curve
    return workloads.BoundedWorkload(workload_answers(workload.select(range(fewer))), moves)
