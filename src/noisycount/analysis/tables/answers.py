"""What was answered about a table: every number with its node and its mechanism."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import short
from noisycount.frozen import frozen
from noisycount.model.exact import Below, Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.normal import erfcx
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise, ErrorLaw, SymmetricNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussianErrors, log_sum_from, log_sum_of_all
from noisycount.model.noises.gaussian import GaussianShape
from noisycount.model.noises.laplace import LaplaceShape
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.population import Population
from noisycount.model.searches import first_true
from noisycount.model.subsampling import Subsample
from noisycount.model.tables.tree import Tree
from noisycount.validation import whole_number

# Nats below the peak of a likelihood from which on counts do not matter: e^−42 is below 1e-18.
DEPTH = 42.0
_LARGEST = 2**60  # records: beyond any noise's scale times DEPTH
_FARTHEST = 16  # depths: answers so far below 0 are beyond a table of sums
_EXTRA = 1.7  # nats: the tail at an answer is at least half of the largest
_LARGEST_ANSWER = 2.0**53  # records: beyond, a float is not every whole number
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Numbers and `below`s of the cells, or a mapping of levels and nodes to theirs; nan: none.
TableAnswers: TypeAlias = Any

# One for all answers, one a level from the root, or by the keys of the answers.
TableMechanisms: TypeAlias = (
    Mechanism | Sequence[Mechanism | None] | Mapping[Any, Mechanism | Sequence[Mechanism]] | None
)


@frozen(eq=False)
class LevelAnswers:
    """Answers about different nodes of one level, under one mechanism."""

    level: int  # of the tree, from 0
    nodes: Counts  # which nodes they are about, none twice
    answers: Reals  # in records; of a suppressed one the threshold
    suppressed: NDArray[np.bool_]  # which were less than that threshold, and no more is known
    mechanism: Mechanism  # additive noise, or `Exact`
    _errors: ErrorLaw | None = field(init=False, repr=False)
    _depth: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        errors: ErrorLaw | None = None
        depth = 0
        if isinstance(self.mechanism, SymmetricNoise):
            law = self.mechanism.errors
            tail = _first(lambda far: law.log_exceedance(np.array([far]))[0] <= -DEPTH - _EXTRA)
            depth = max(self.distance(DEPTH), tail)
            farthest = float(np.abs(self.answers).max(initial=0.0))
            errors = law.tabulated(depth * 2.0 + min(farthest, depth * _FARTHEST))
        object.__setattr__(self, "_errors", errors)
        object.__setattr__(self, "_depth", depth)

    @property
    def is_exact(self) -> bool:
        """Whether the answers are the counts themselves."""
        return isinstance(self.mechanism, Exact)

    def log_likelihood(self, which: slice | NDArray[np.integer], counts: Counts) -> Reals:
        """The logarithm of f(y | k), or of P[Y < t | k] of a suppressed answer.

        Shapes: counts (m, w); result (m, w).
        """
        answers, suppressed = self.answers[which][:, None], self.suppressed[which]
        if self._errors is None:
            possible = np.where(suppressed[:, None], counts < answers, counts == answers)
            return np.where(possible, 0.0, -math.inf)
        law = self._errors
        if not suppressed.any():
            return _log_densities(law, answers - counts.astype(np.float64))
        rows = np.broadcast_to(counts, (answers.size, counts.shape[1])).astype(np.float64)
        logs = np.empty(rows.shape)
        told = ~suppressed
        if told.any():
            logs[told] = _log_densities(law, answers[told] - rows[told])
        logs[suppressed] = _log_below(law, rows[suppressed] - answers[suppressed])
        return logs

    @property
    def is_smooth(self) -> bool:
        """Whether likelihoods go on between the counts, without more bends than at answers."""
        law = self._errors
        is_sum = isinstance(law, DiscreteGaussianErrors) and bool(self.suppressed.any())
        return isinstance(law, LaplaceShape | GaussianShape) and not is_sum

    @property
    def spread(self) -> float:
        """A typical size of the noise, in records; 0 if there is none."""
        return self._errors.spread if self._errors is not None else 0.0

    def log_between(self, place: int, counts: Reals) -> Reals:
        """The logarithm of the likelihood of one answer, also between the counts."""
        answer = float(self.answers[place])
        if not isinstance(law := self._errors, LaplaceShape | GaussianShape):
            raise TypeError(f"noise must be smooth between counts, got {self.mechanism!r}")
        if not self.suppressed[place]:
            return _log_densities(law, answer - counts)
        threshold = math.ceil(answer) if law.is_discrete else answer
        logs: Reals = law.log_exceedance(law.first + counts - threshold)
        return logs

    def main_log(self, place: int, count: int) -> Fraction:
        """The part of the logarithm of a likelihood that is a line or a parabola, exactly.

        It is −z/scale or −z²/(2·scale²) of the distance z from the answer, or from the threshold,
        below which it is 0; 0 of a sum of several noises.
        """
        law = self._errors
        if not isinstance(law, LaplaceShape | GaussianShape):
            return Fraction(0)
        beyond = count - Fraction(float(self.answers[place]))
        distance = max(beyond + int(law.first), Fraction(0)) if self.suppressed[place] else beyond
        units = abs(distance) / _exact_scale(self.mechanism, law)
        return -units if isinstance(law, LaplaceShape) else -units * units / 2

    def bends(self, place: int) -> tuple[int, ...]:
        """The counts between and beside which the main part is no line and no parabola."""
        law = self._errors
        if isinstance(law, GaussianShape) and not self.suppressed[place]:
            return ()
        first = law.first if law is not None and self.suppressed[place] else 0.0
        before = math.floor(float(self.answers[place]) - first)
        return before, before + 1

    def log_rest(self, which: NDArray[np.integer], counts: Counts) -> Reals:
        """The logarithm of likelihoods without the main part, however large that is. Shapes: counts (m, w)."""
        law = self._errors
        if law is None or not isinstance(law, LaplaceShape | GaussianShape):
            return self.log_likelihood(which, counts)
        rest = np.full(counts.shape, math.log(law.peak))
        hidden = self.suppressed[which]
        if hidden.any():
            beyond = counts[hidden] - self.answers[which][hidden][:, None] + law.first
            tails = np.maximum(beyond, law.first)
            inside = law.log_exceedance(np.minimum(beyond, law.first))
            rest[hidden] = np.where(beyond > 0, _log_hazard(law, tails), inside)
        return rest

    def distance(self, depth: float) -> int:
        """How far from an answer the likelihood has fallen by so many nats, in records; 0 if exact."""
        if not isinstance(self.mechanism, SymmetricNoise):
            return 0
        law = self.mechanism.errors
        peak = float(law.log_density(np.zeros(1))[0])
        return _first(lambda far: peak - float(law.log_density(np.array([far]))[0]) >= depth)

    def reach(self) -> tuple[Counts, Counts]:
        """The first and the last count within 42 nats of the most likely one, for each answer.

        Where noise is log-concave a few more may be between them; none is left out.
        """
        answers = self.answers
        if self._errors is None:
            last = np.where(self.suppressed, np.ceil(answers) - 1, answers).astype(np.int64)
            return np.where(self.suppressed, 0, last), last
        nearest = np.maximum(answers, 0.0)
        first = np.maximum(np.ceil(nearest - self._depth), 0.0)
        last = np.floor(nearest + self._depth)
        return np.where(self.suppressed, 0.0, first).astype(np.int64), last.astype(np.int64)


def _log_densities(law: ErrorLaw, errors: Reals) -> Reals:
    """The logarithm of the density at errors."""
    at_zero = float(law.log_density(np.zeros(1))[0])
    logs: Reals = law.log_density(errors)
    return logs + (math.log(law.peak) - at_zero)


def _exact_scale(mechanism: Mechanism, law: LaplaceShape | GaussianShape) -> Fraction:
    """The scale of a noise as the rational that it stands for."""
    if isinstance(mechanism, NoiseSum) and len(mechanism.noises) == 1:
        mechanism = mechanism.noises[0]
    return Fraction(mechanism.exact_scale if isinstance(mechanism, AdditiveNoise) else law.scale)


def _log_hazard(law: LaplaceShape | GaussianShape, distances: Reals) -> Reals:
    """The logarithm of P[Z >= z] plus z/scale or z²/(2·scale²), for z from `first` on."""
    if isinstance(law, DiscreteGaussianErrors):
        whole, scale = log_sum_of_all(law.scale), law.scale
        found = [
            log_sum_from(distance, scale) + (distance / scale) * (distance / scale) / 2 - whole
            for distance in distances.ravel().tolist()
        ]
        return np.reshape(found, distances.shape)
    if isinstance(law, LaplaceShape):
        unit = 1 / float(law.scale)
        at_first = -math.log1p(math.exp(-unit)) if law.is_discrete else -math.log(2)
        return np.full(distances.shape, at_first)
    hazard: Reals = np.log(erfcx(distances / (law.scale * math.sqrt(2))) / 2)
    return hazard


def _log_below(law: ErrorLaw, beyond: Reals) -> Reals:
    """The logarithm of P[Y < t | k] = P[Z >= k − t + first], at counts beyond thresholds.

    Integers take one table where that is shorter than they are.
    """
    places = law.first + (np.floor(beyond) if law.is_discrete else beyond)
    low, high = float(places.min()), float(places.max())
    if not law.is_discrete or high - low >= places.size:
        return law.log_exceedance(places)
    table = law.log_exceedance(np.arange(low, high + 1))
    logs: Reals = table[(places - low).astype(np.int64)]
    return logs


def _first(holds: Callable[[float], bool]) -> int:
    """The first whole distance at which something holds that then holds on."""
    far = 1
    while far < _LARGEST and not holds(float(far)):
        far *= 2
    return first_true(lambda distance: holds(float(distance)), far // 2, far)


class _Told(NamedTuple):
    """Answers about different nodes of one level, without those that are nan."""

    level: int
    nodes: Counts
    answers: Reals  # in records; of a suppressed one the threshold
    suppressed: Flags
    number: int = 0  # of an answer among those of its node; 0 for a level
    rank: int = -1  # the same over all that is said of the node, −1 for a level: equal ones differ in node


def answered(
    answers: TableAnswers, mechanism: TableMechanisms, tree: Tree, total: int | Population | None
) -> tuple[LevelAnswers, ...]:
    """The answers about a table, level by level, each under its mechanism. Shapes: answers (cells,)."""
    stated = _stated(mechanism, tree)
    groups: dict[tuple[int, int, str], tuple[Mechanism, list[_Told]]] = {}
    for one in _told(answers, tree):
        if one.nodes.size:
            law = _mechanism_of(one, stated, tree)
            groups.setdefault((one.level, one.rank, repr(law)), (law, []))[1].append(one)
    if not groups:
        raise ValueError("answers must hold at least one number, got nan everywhere")
    found = tuple(_joined(parts, law, tree) for law, parts in groups.values())
    if total is None and all(one.suppressed.all() for one in found):
        raise ValueError("answers must hold at least one number, got suppressed ones everywhere: give the total")
    return found


def checked_total(total: Any) -> int | Population | None:  # noqa: ANN401  (refused if it is none)
    """The total as a whole number, a law, or None."""
    if total is None or isinstance(total, Population):
        return total
    try:
        return whole_number(total, "total")
    except ValueError as error:
        raise ValueError(f"{error}: give a population where it is uncertain") from None


def is_whole(law: Mechanism) -> bool:
    """Whether a mechanism gives whole answers."""
    return isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_discrete)


def _told(answers: TableAnswers, tree: Tree) -> Iterator[_Told]:
    """The answers of each level and of each node."""
    if not isinstance(answers, Mapping):
        answers = {-1: answers}
    met: dict[tuple[int, int], int] = {}
    for key, values in answers.items():
        if isinstance(key, Integral):
            level = tree.level(int(key))
            given, suppressed = _read(values, tree.sizes[level], tree.names[level])
            nodes = np.flatnonzero(~np.isnan(given))
            yield _Told(level, nodes, given[nodes], suppressed[nodes])
            continue
        place = tree.place(key)
        numbers = list(values) if isinstance(values, Sequence | np.ndarray) else [values]
        given, suppressed = _read(numbers, len(numbers), str(key))
        for number in range(given.size):
            met[place] = met.get(place, -1) + 1
            own = slice(number, number + int(not np.isnan(given[number])))
            nodes = np.full(given[own].size, place[1])
            yield _Told(place[0], nodes, given[own], suppressed[own], number, met[place])


def _read(values: Any, size: int, name: str) -> tuple[Reals, Flags]:  # noqa: ANN401  (arrays of every kind)
    """Answers as numbers, nan where there is none, and which of them are thresholds."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError(f"answers must be numbers, got {short(values)} of {name!r}") from None
    if array.shape != (size,):
        raise ValueError(
            f"answers must be {size} of {name!r}, one for each node, got shape {array.shape}: "
            "give nan where there is none"
        )
    suppressed = np.zeros(size, dtype=np.bool_)
    if array.dtype.kind == "O":
        suppressed = np.array([isinstance(one, Below) for one in array.tolist()])
        array = np.array([_number(one) for one in array.tolist()])
    elif array.dtype.kind not in "iuf":
        raise ValueError(f"answers must be numbers, got {array.dtype} of {name!r}")
    return array.astype(np.float64), suppressed


def _number(value: object) -> float:
    """One answer as a number: the threshold of a suppressed one, nan of None."""
    if value is None:
        return np.nan
    if isinstance(value, Below):
        return value.threshold
    try:
        if not isinstance(value, bool | str | bytes):
            return float(value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"answers must be numbers, noisycount.below(t) or nan, got {value!r}")


def _joined(parts: Sequence[_Told], law: Mechanism, tree: Tree) -> LevelAnswers:
    """The answers that one mechanism gave about different nodes of a level."""
    level = parts[0].level
    nodes, answers, suppressed = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("nodes", "answers", "suppressed")
    )
    wrong, wanted = ~(np.abs(answers) <= _LARGEST_ANSWER), "a finite number"
    if is_whole(law):
        wanted = "an integer"
        wrong |= ~suppressed & (answers != np.floor(answers))
    if isinstance(law, Exact):
        wanted = "a whole number from 0"
        wrong |= np.where(suppressed, answers <= 0, answers < 0)
    if wrong.any():
        place = int(np.argmax(wrong))
        told = f"below {answers[place]:g}" if suppressed[place] else repr(float(answers[place]))
        node = ", ".join(tree.label(level, int(nodes[place]))) or "the total"
        raise ValueError(f"answers must each be {wanted} up to 2**53 under {short(law)}, got {told} for {node}")
    if is_whole(law):
        answers = np.ceil(answers)  # of thresholds alone, as all others are whole
    return LevelAnswers(level, nodes, answers, suppressed, law)


def _stated(mechanism: TableMechanisms, tree: Tree) -> Mapping[Any, Any]:
    """The mechanisms of a table by level, and by level and position."""
    if isinstance(mechanism, Mapping):
        return {
            tree.level(int(key)) if isinstance(key, Integral) else tree.place(key): law
            for key, law in mechanism.items()
        }
    if not isinstance(mechanism, Sequence):
        return dict.fromkeys(range(tree.depth), mechanism)
    if len(mechanism) != tree.depth:
        raise ValueError(
            f"mechanism must be one, or {tree.depth}, one for each level from the root, got "
            f"{len(mechanism)}: give None where there is no answer"
        )
    return dict(enumerate(mechanism))


def _mechanism_of(told: _Told, stated: Mapping[Any, Any], tree: Tree) -> Mechanism:
    """The mechanism of some answers, if counts of a table can be told from them."""
    place = (told.level, int(told.nodes[0])) if told.rank >= 0 else told.level
    law = stated.get(place, stated.get(told.level))
    if isinstance(law, Sequence):
        law = law[told.number] if told.number < len(law) else None
    if law is None:
        where = f"{tree.names[told.level]!r} (level {told.level})"
        raise ValueError(
            f"mechanism must be given for each level with answers, got none for {where}: "
            "give one, such as noisycount.DiscreteLaplace(10)"
        )
    if isinstance(law, Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
            f"mechanism must be additive noise or Exact() in a table, got {law!r}: the cells of "
            "one sample are not independent, so refine its counts one at a time with posterior"
        )
    if isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_log_concave):
        return law
    raise ValueError(f"mechanism must be additive noise with a log-concave density, or Exact(), got {short(law)}")
