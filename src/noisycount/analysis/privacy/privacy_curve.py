"""Privacy profile δ(ε) of one answer or several: the public function `privacy_curve` and its result `PrivacyCurve`.

The adversary knows a population of records; without a population it knows all records but one (differential privacy).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.privacy import bounds
from noisycount.analysis.privacy.composition import OneAnswer, composed_answers, is_precise
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.analysis.privacy.workload import reduced_workload, resolve_questions
from noisycount.analysis.privacy.workload_answers import workload_answers
from noisycount.display.values import Charted
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.known import Known
from noisycount.model.populations.population import Population
from noisycount.model.searches import PRECISE, bracket_root, root

Answering = Exact | SymmetricNoise  # mechanisms that a list may hold


def _check_arguments(
    mechanism: Mechanism | Sequence[Mechanism],
    population: Population | Atoms | None,
    questions: Iterable[Iterable[int]] | None,
) -> tuple[tuple[Answering, ...], tuple[Question, ...] | None]:
    """Return the mechanism of each of several answers, and its question; None: all answers are about the same count.

    Raises:
        ValueError: If the mechanisms, the population and the questions do not fit together.
    """
    if not isinstance(population, Atoms):
        if questions is not None:
            raise ValueError(
                "population must be Atoms for a list of questions, whose counts depend on each "
                f"other by the rates of the atoms, got {population!r}: give Atoms(size, rates)"
            )
        return _combinable_mechanisms(mechanism if isinstance(mechanism, Sequence) else [mechanism]), None
    if isinstance(mechanism, Sequence):
        asked = resolve_questions(population, questions, len(mechanism))
        return _combinable_mechanisms(mechanism), asked
    asked = resolve_questions(population, questions, None)
    return _combinable_mechanisms([mechanism] * len(asked)), asked


def _several_answers(
    mechanisms: tuple[Answering, ...], population: Population | Atoms | None, questions: tuple[Question, ...] | None
) -> bounds.MonotoneBounds:
    """Return the divergences of several answers together."""
    whole = bounds.composed_epsilon(mechanisms)
    if isinstance(population, Atoms):
        workload = reduced_workload(population, questions or (), mechanisms)
        return bounds.MonotoneBounds(workload_answers(workload), whole)
    pairs = tuple(neighbour_pairs(Exact(), population))
    price = whole if all(pair.is_shift for pair in pairs) else None
    one = None if is_precise(mechanisms) else _as_one_question(population)
    if one is None:
        found = composed_answers(pairs, mechanisms)
        return found.monotone if isinstance(found, OneAnswer) else bounds.MonotoneBounds(found, price)
    same = [Question([0])] * len(mechanisms)
    return bounds.MonotoneBounds(workload_answers(reduced_workload(one, same, mechanisms)), price)


def _as_one_question(population: Population | None) -> Atoms | None:
    """Return atoms for one question about independent records of one rate, or None for any other population.

    For an adversary who knows all other records, the database has one record.
    """
    match population:
        case Binomial():
            return Atoms.disjoint(population.size, [population.rate])
        case None | Known():
            return Atoms.disjoint(1, [0.5])
    return None


def _combinable_mechanisms(mechanisms: Sequence[Mechanism]) -> tuple[Answering, ...]:
    """Return the mechanisms of a list. Raise ValueError if one cannot be one of several."""
    if not mechanisms:
        raise ValueError("mechanism must be at least one mechanism, got an empty list")
    return tuple(_require_combinable(one) for one in mechanisms)


def _require_combinable(mechanism: Mechanism) -> Answering:
    """Return the mechanism, or raise ValueError if it cannot be one of several."""
    if isinstance(mechanism, SymmetricNoise):
        require_log_concave(mechanism, "a privacy curve")
        return mechanism
    if isinstance(mechanism, Exact):
        return mechanism
    raise ValueError(
        f"mechanism must be one of noisycount's mechanisms, or a list of noises and Exact, got {mechanism!r}: "
        "for samples use samples_curve or parts_curve"
    )


_LEAST_EPSILON = 2.0**-30  # first step of a search for ε; the steps double
_LARGEST_EPSILON = 700.0  # largest ε: its exponential does not overflow
_EPSILONS = (0.0, _LARGEST_EPSILON)  # range of a search for ε
_PRICE_STEP = 2.0**-36  # first step below the ε of differential privacy, as a share of it
_LOW_STEP = 2.0**-20  # first step from the upper end of an ε to the lower one, as a share of the upper end
_OF_GAP = 1e-2  # tolerance as a share of the distance of both ends, if that distance is larger than such a step
_MOST_KEPT = 100  # number of ε whose δ is cached: those of a search
_UNDERFLOW = 1e-305  # lower bound of a δ, so that a goal of 0 has a logarithm too
_LIKELY = 0.5  # above this, 1 minus a float is exact
_SHOWN = (0.0, 0.01, 0.1, 0.5, 1.0)  # ε of the displayed table

_NOT_COMPOSED = (
    "guarantees against an outsider who does not know the other records must not be composed over "
    "answers about one database, which share what hides a record; give privacy_curve the list of "
    "mechanisms, or add up the ε of the worst case"
)


def privacy_curve(
    mechanism: Mechanism | Sequence[Mechanism],
    population: Population | Atoms | None = None,
    questions: Iterable[Iterable[int]] | None = None,
) -> "PrivacyCurve":
    """Return the privacy profile δ(ε) of answers: the influence of one record on their distribution.

    The adversary knows a population. Let P₊ and P₋ be the distributions of the answer if one record is positive and if
    it is negative. Then δ(ε) = max(δ₊(ε), δ₋(ε)) with δ₊(ε) = sup_S P₊[Y ∈ S] − e^ε·P₋[Y ∈ S], and δ₋ with P₊ and P₋
    exchanged. It is the largest over all kinds of records.

    A list of mechanisms has the profile of all answers together about one database. Each mechanism answers the same
    count or, with `Atoms`, its own question. With `Atoms`, a record is in one atom or in another, and δ₊ has the record
    in the first of the questions that distinguish the two atoms.

    If the population leaves several records unknown, guarantees must not be composed over answers about one database,
    as these answers share its randomness.

    Args:
        mechanism: `Exact`, additive noise, a `NoiseSum` or a `Subsample`; scales are in records. Or a list of these
            without a `Subsample`, one for each answer. With `Atoms`, a single mechanism answers every question.
        population: Background knowledge of the adversary. None: all records but one, the adversary of differential
            privacy; `Subsample` then needs `Known(size)`. `Atoms` for a list of questions.
        questions: Question of each mechanism, a set of indices of atoms. None: the questions of the `Atoms`, or the
            same count for all.

    Raises:
        ValueError: If the property is certain (its records have no neighbour), if the sample is larger than the
            database, if a population is missing, if the number of questions is not that of the mechanisms, if a
            question contains an index of no atom, or if questions are given for a population that is not `Atoms`.

    Source: Breutigam and Reischuk, Definition 4 (statistical privacy), Definition 5 (its curve) and sections 4.1 to
    4.3, exactly in place of Lemma 6; Theorems 4.1 and 4.2 with their misprints corrected.

    Numerical error: δ has a relative error of 1e-9 where δ >= 1e-50. `bracket` always contains the exact δ. Its width
    comes from the relative error of a probability (2e-13 to 2e-12, measured, with a margin) in δ or in 1 − δ, so that
    next to 1 the bracket is a few units in the last place wide. It also includes 4e-12 of each tail of a sum of noises
    and 1e-10·δ under such a sum (measured, with a margin of 2), and the gain that an inexact threshold can miss.

    The bracket is wider than 1e-8·δ in these cases: records depend on each other, and their largest likelihood ratio is
    within 1e-4 of e^ε; ε is above 95 % of the largest privacy loss of a sum of Laplace noises; e^ε is a likelihood
    ratio at which narrow discrete noise jumps; hardly a thousandth of the terms of `Strata` remains, or of a sample
    just below its largest loss; `Strata` have more than about 1e8 records; δ is below 1e-200. From ε = 600 on the lower
    end is 0, and the upper end is that at 600, or 0 from the ε of Laplace noise on. The smaller one of the two
    `directions` may be off by the width of the bracket of the larger one.

    For several answers, besides rounding of the number of records, the bracket is at most 1e-10 wide without noise, for
    discrete Gaussian noises about one count, and for noises on the integers in at most three answers to a list of
    questions. It is 1e-6·δ wide for three to six independent questions with such noises and many answers. It is 5e-4·δ
    wide for Laplace noises of one scale about one count, discrete or not, and for noises with a density about one count
    (1e-3·δ from 257 Laplace answers on); for these noises the lower end rounds the answers to a grid, and the upper end
    grants the adversary finer answers. For a list of two or three questions with such noises it is wider: at most
    2.5e-2·δ + 5e-8 up to ε = 2, measured for two questions with scales from 0.3 to 5 about up to 1,000 records. Other
    noises about one count, and longer lists, have valid bounds that may be wide; δ is then the upper bound. Rounding of
    several answers is multiplied by e^ε: from ε = 4 on, a bracket may be 1e-10 wide or wider. No end of a bracket
    rises with ε, or exceeds the δ that the ε of differential privacy of all answers allows.

    Example:
        >>> import noisycount as nc
        >>> curve = nc.privacy_curve(nc.Gaussian(3), nc.Binomial(1000, 0.1))
        >>> round(curve.delta(0.01), 7), round(nc.privacy_curve(nc.Gaussian(3)).delta(0.01), 3)
        (0.0355726, 0.128)
        >>> round(nc.privacy_curve([nc.Gaussian(3)] * 16, nc.Binomial(1000, 0.1)).delta(0.01), 7)
        0.0374123
    """
    if isinstance(population, Atoms) or questions is not None or isinstance(mechanism, Sequence):
        mechanisms, asked = _check_arguments(mechanism, population, questions)
        found = _several_answers(mechanisms, population, asked)
        return PrivacyCurve(mechanisms, population, asked, found)
    return PrivacyCurve(mechanism, population, None, OneAnswer.from_mechanism(mechanism, population).monotone)


@frozen(eq=False, repr=False)
class PrivacyCurve(Charted):
    """A privacy profile, δ as a function of ε, made by `privacy_curve`.

    Attributes:
        mechanism: Mechanism of the answer, or of each answer of a list.
        population: Background knowledge of the adversary.
        questions: Question of each mechanism of a list; None: all answer the same count.
    """

    mechanism: Mechanism | tuple[Mechanism, ...]
    population: Population | Atoms | None
    questions: tuple[Question, ...] | None
    _divergences: bounds.MonotoneBounds = field(repr=False)
    _last: dict[tuple[float, ...], tuple[list[bounds.Bounded], list[bounds.Bounded]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __add__(self, other: object) -> NoReturn:
        """Raise ValueError, as curves must not be composed.

        Raises:
            ValueError: Always, with the reason.
        """
        raise ValueError(f"privacy curves cannot be added: {_NOT_COMPOSED}")

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def delta(self, epsilon: ArrayLike) -> float | Reals:
        """Return δ(ε), as an array if `epsilon` is an array.

        Args:
            epsilon: ε, at least 0 and finite, a number or an array of any shape.

        Raises:
            ValueError: If an ε is negative, infinite or no number.

        Example:
            >>> import noisycount as nc
            >>> nc.privacy_curve(nc.Laplace(3)).delta([0.1, 0.5]).round(6).tolist()
            [0.110118, 0.0]
        """
        plus, minus = self._cached_directions(bounds.checked_epsilons(epsilon))
        return bounds.reshape_like([max(a.value, b.value) for a, b in zip(plus, minus, strict=True)], epsilon)

    @overload
    def directions(self, epsilon: float) -> tuple[float, float]: ...
    @overload
    def directions(self, epsilon: Sequence[float] | Reals) -> tuple[Reals, Reals]: ...
    def directions(self, epsilon: ArrayLike) -> tuple[float | Reals, float | Reals]:
        """Return δ₊(ε) and δ₋(ε), the divergences for a positive and for a negative record.

        For a list of questions, δ₊ has the record in the first of the questions that its move between two atoms
        changes, and δ₋ has it outside of that question. For a table of many cells, bounded by its rarest cells, both
        are the larger one of the two.

        Args:
            epsilon: As for `delta`.

        Raises:
            ValueError: As for `delta`.

        Example:
            >>> import noisycount as nc
            >>> plus, minus = nc.privacy_curve(nc.Exact(), nc.Binomial(1000, 0.1)).directions(0.01)
            >>> round(plus, 7), round(minus, 7)
            (0.0373013, 0.0375267)
        """
        plus, minus = self._cached_directions(bounds.checked_epsilons(epsilon))
        values = [(a.value, b.value) for a, b in zip(plus, minus, strict=True)]
        return _reshaped_pairs(values, epsilon)

    @overload
    def bracket(self, epsilon: float) -> tuple[float, float]: ...
    @overload
    def bracket(self, epsilon: Sequence[float] | Reals) -> tuple[Reals, Reals]: ...
    def bracket(self, epsilon: ArrayLike) -> tuple[float | Reals, float | Reals]:
        """Return bounds of δ(ε), which include rounding and all omitted terms.

        Args:
            epsilon: As for `delta`.

        Raises:
            ValueError: As for `delta`.

        Example:
            >>> import noisycount as nc
            >>> lower, upper = nc.privacy_curve(nc.Exact(), nc.Binomial(1000, 0.1)).bracket(0.01)
            >>> 0 < upper - lower < 1e-9 * upper
            True
        """
        return _reshaped_pairs(self._delta_bounds(bounds.checked_epsilons(epsilon)), epsilon)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: Sequence[float] | Reals) -> Reals: ...
    def epsilon(self, delta: ArrayLike) -> float | Reals:
        """Return the smallest ε with δ(ε) <= delta, never too small.

        The result is the smallest ε at which the upper end of the bracket of δ is at most delta. It is at most 1e-9 too
        large, absolute or relative, if δ falls by more than the width of its bracket over that distance. Where the
        curve is flat, as between the jumps of narrow discrete noise, the error may be as large as `epsilon_bracket`
        shows. For a delta above 1/2 the distances to 1 are compared, which keeps the digits that δ loses: 1 − δ has a
        relative error of 2e-15 for all records but one, and for a few records of a `Binomial`.

        Args:
            delta: δ from 0 to 1, a number or an array of any shape.

        Returns:
            ε, or infinity if no ε up to 700 is certain to be enough.

        Raises:
            ValueError: If a δ is not in that range.

        Example:
            >>> import noisycount as nc
            >>> nc.privacy_curve(nc.Laplace(4)).epsilon(0)
            0.25
        """
        return bounds.reshape_like([self._smallest_epsilon(goal) for goal in _check_deltas(delta)], delta)

    @overload
    def epsilon_bracket(self, delta: float) -> tuple[float, float]: ...
    @overload
    def epsilon_bracket(self, delta: Sequence[float] | Reals) -> tuple[Reals, Reals]: ...
    def epsilon_bracket(self, delta: ArrayLike) -> tuple[float | Reals, float | Reals]:
        """Return bounds of the smallest ε with δ(ε) <= delta.

        The upper bound is `epsilon(delta)`. At the lower bound, the lower end of the bracket of δ is still above delta;
        the lower bound is 0 if there is no such ε. If the bounds differ by more than 1e-6 of the upper one, the lower
        bound may be too small by a hundredth of the difference.

        Args:
            delta: As for `epsilon`.

        Raises:
            ValueError: As for `epsilon`.

        Example:
            >>> import noisycount as nc
            >>> low, high = nc.privacy_curve(nc.Gaussian(3)).epsilon_bracket(1e-6)
            >>> 0 < high - low < 1e-9, round(high, 6)
            (True, 1.447988)
            >>> narrow = nc.privacy_curve(nc.DiscreteGaussian(0.1))  # δ is 1 − 4e-22 at ε = 0
            >>> narrow.bracket(0.0)[1], narrow.epsilon_bracket(1.0)
            (1.0, (0.0, 0.0))
            >>> low, high = narrow.epsilon_bracket(1 - 2**-52)
            >>> 0 < high - low < 1e-9, round(high, 6)
            (True, 13.956346)
        """
        return _reshaped_pairs(
            [
                (self._largest_epsilon(goal, high), high)
                for goal in _check_deltas(delta)
                for high in [self._smallest_epsilon(goal)]
            ],
            delta,
        )

    def _facts(self) -> dict[str, object]:
        deltas = self.delta(_SHOWN).tolist()
        told = [{"epsilon": one, "delta": two} for one, two in zip(_SHOWN, deltas, strict=True)]
        return {**self._key_facts(), "deltas": told}

    def _key_facts(self) -> dict[str, object]:
        """Return the facts that need no computation; δ may take seconds."""
        facts: dict[str, object] = {"mechanism": self.mechanism, "population": self.population}
        if self.questions is None:
            return facts
        return {**facts, "questions": [sorted(question) for question in self.questions]}

    def _smallest_epsilon(self, goal: float) -> float:
        """Return the smallest ε at which the upper end of the bracket of δ is at most a goal.

        For a goal of 0, the search starts next to the ε of differential privacy, if there is one: there δ falls to 0.
        """
        shortfall, price = self._log_shortfall(goal, 1), self._divergences.price
        start, step = 0.0, _LEAST_EPSILON
        if goal == 0 and price is not None and price < _LARGEST_EPSILON:
            start = float(f"{price:.14g}")  # without the upward rounding
            step = max(_PRICE_STEP * start, math.ulp(start))
        return root(shortfall, bracket_root(shortfall, start, step, _EPSILONS)).high

    def _largest_epsilon(self, goal: float, high: float) -> float:
        """Return nearly the largest ε at which the lower end of the bracket of δ is above a goal.

        The search starts at `high`, the upper end of ε.
        """
        shortfall = self._log_shortfall(goal, 0)
        start, step = (0.0, _LEAST_EPSILON) if math.isinf(high) else (high, max(_LOW_STEP * high, math.ulp(high)))
        bracket = bracket_root(shortfall, start, step, _EPSILONS)
        gap = (start - bracket.high) / start if start else 0.0
        return max(root(shortfall, bracket, max(PRECISE, _OF_GAP * gap)).low, 0.0)

    def _log_shortfall(self, goal: float, end: int) -> Callable[[float], float]:
        """Return a function of ε: ln(goal/end) for one end of the bracket of δ, 0 lower or 1 upper.

        For a goal above 1/2, the function compares the distances to 1 instead.
        """

        def shortfall(epsilon: float) -> float:
            plus, minus = (one[0] for one in self._cached_directions([epsilon]))
            if goal > _LIKELY:  # 1 − goal then has all its digits
                return _log_ratio(-max(plus.below_1[end], minus.below_1[end]), 1 - goal)
            return _log_ratio(goal, max((one.lower, one.upper)[end] for one in (plus, minus)))

        return shortfall

    def _delta_bounds(self, epsilons: list[float]) -> list[tuple[float, float]]:
        """Return the lower and the upper bound of δ, for each ε."""
        plus, minus = self._cached_directions(epsilons)
        return [(max(a.lower, b.lower), max(a.upper, b.upper)) for a, b in zip(plus, minus, strict=True)]

    def _cached_directions(self, epsilons: list[float]) -> tuple[list[bounds.Bounded], list[bounds.Bounded]]:
        """Return δ₊ and δ₋ for each ε.

        The last results are cached, because callers often request δ and then its bracket, or one end of an ε and then
        the other.
        """
        rising = tuple(sorted(set(epsilons)))
        places = {epsilon: place for place, epsilon in enumerate(rising)}
        found = self._last.get(rising)
        if found is None:
            found = self._divergences.directions(list(rising))
            if len(rising) > 1 or len(self._last) >= _MOST_KEPT:
                self._last.clear()
            self._last[rising] = found
        plus, minus = found
        return ([plus[places[epsilon]] for epsilon in epsilons], [minus[places[epsilon]] for epsilon in epsilons])


def _check_deltas(delta: ArrayLike) -> list[float]:
    """Return δ as a list of floats, or raise ValueError if one is not from 0 to 1."""
    goals = np.asarray(delta, dtype=np.float64)
    if not ((goals >= 0) & (goals <= 1)).all():
        raise ValueError(f"delta must be from 0 to 1, got {delta!r}")
    return goals.ravel().tolist()


def _log_ratio(above: float, below: float) -> float:
    """Return the logarithm of above/below, infinite if `below` is next to 0."""
    if below <= _UNDERFLOW:
        return math.inf
    above = max(above, _UNDERFLOW)
    ratio = above / below
    return math.log1p((above - below) / below) if _LIKELY < ratio < 1 / _LIKELY else math.log(ratio)


def _reshaped_pairs(values: Sequence[tuple[float, float]], like: ArrayLike) -> tuple[float | Reals, float | Reals]:
    """Return the first values and the second values of the pairs, each in the shape of `like`."""
    firsts, seconds = zip(*values, strict=True) if values else ((), ())
    return bounds.reshape_like(firsts, like), bounds.reshape_like(seconds, like)
