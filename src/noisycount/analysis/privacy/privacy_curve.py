"""How much can one record move the law of an answer, or of several?"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from noisycount.analysis.privacy import bounds
from noisycount.analysis.privacy.composition import composed_answers, is_precise
from noisycount.analysis.privacy.hockey_stick import OneAnswer
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.analysis.privacy.workload import asked_questions, reduced_workload
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
from noisycount.model.searches import PRECISE, bracketed, root

Answering = Exact | SymmetricNoise  # a mechanism that can be one of several


def _checked(
    mechanism: Mechanism | Sequence[Mechanism],
    population: Population | Atoms | None,
    questions: Iterable[Iterable[int]] | None,
) -> tuple[tuple[Answering, ...], tuple[Question, ...] | None]:
    """How each of several answers is made, and what it is about; None: all about the same count."""
    if not isinstance(population, Atoms):
        if questions is not None:
            raise ValueError(
                "population must be Atoms for a list of questions, whose counts depend on each "
                f"other by the rates of the atoms, got {population!r}: give Atoms(size, rates)"
            )
        return _mechanisms(mechanism if isinstance(mechanism, Sequence) else [mechanism]), None
    if isinstance(mechanism, Sequence):
        asked = asked_questions(population, questions, len(mechanism))
        return _mechanisms(mechanism), asked
    asked = asked_questions(population, questions, None)
    return _mechanisms([mechanism] * len(asked)), asked


def _several_answers(
    mechanisms: tuple[Answering, ...], population: Population | Atoms | None, questions: tuple[Question, ...] | None
) -> bounds.MonotoneBounds:
    """The divergences of several answers."""
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
    """The atoms of one question about independent records of one rate; None if these are others.

    Whoever knows all other records sees a database of one.
    """
    match population:
        case Binomial():
            return Atoms.disjoint(population.size, [population.rate])
        case None | Known():
            return Atoms.disjoint(1, [0.5])
    return None


def _mechanisms(mechanisms: Sequence[Mechanism]) -> tuple[Answering, ...]:
    """The mechanisms of a list, each of which answers about the whole database."""
    if not mechanisms:
        raise ValueError("mechanism must be one at least, got an empty list")
    return tuple(_answering(one) for one in mechanisms)


def _answering(mechanism: Mechanism) -> Answering:
    """A mechanism that can be one of several."""
    if isinstance(mechanism, SymmetricNoise):
        require_log_concave(mechanism, "a privacy curve")
        return mechanism
    if isinstance(mechanism, Exact):
        return mechanism
    raise ValueError(
        f"mechanism must be Exact or additive noise where there are several, got {mechanism!r}: "
        "a list of samples has no exact curve here"
    )


_LEAST_EPSILON = 2.0**-30  # the first step of a search for ε, which doubles from there
_LARGEST_EPSILON = 700.0  # whose exponential does not overflow
_EPSILONS = (0.0, _LARGEST_EPSILON)  # in which ε is searched
_PRICE_STEP = 2.0**-36  # of the ε of differential privacy: the first step below it
_LOW_STEP = 2.0**-20  # of the upper end of an ε: the first step to the lower one
_OF_GAP = 1e-2  # of the distance of the two, if it is more than such a step
_MOST_KEPT = 100  # ε of which δ is kept: those of a search
_UNDERFLOW = 1e-305  # below every upper end but 0: a goal of 0 has a logarithm too
_LIKELY = 0.5  # from which on 1 less a float is exact
_SHOWN = (0.0, 0.01, 0.1, 0.5, 1.0)  # ε

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
    """What one record can change in the law of answers, against somebody who knows a population.

    δ(ε) = max(δ₊(ε), δ₋(ε)) with δ₊(ε) = sup_S P₊[Y ∈ S] − e^ε·P₋[Y ∈ S], P₊ and P₋ the laws of the answer if one
    record is positive and if it is negative, and δ₋ the other way round; the largest over all kinds of records.
    Guarantees for a population that leaves several records unknown must not be composed over answers about one
    database: these share its randomness. A list of mechanisms has the curve of all their answers together, about one
    database: each answers the same count or, with `Atoms`, its own question. There a record is in one atom or in
    another, and δ₊ has the record in the first of the questions that tell the two apart.

    Args:
        mechanism: Exact, an additive noise, a NoiseSum or a Subsample; scales in records. Or a list of them without a
            Subsample, one for each answer; with `Atoms` a single one answers every question.
        population: What an outsider knows. None: all records but one, the adversary of differential privacy;
            `Subsample` then needs `Known(size)`. `Atoms` for a list of questions.
        questions: What each mechanism answers, as sets of numbers of atoms; None: the questions of the `Atoms`, or all
            the same count.

    Raises:
        ValueError: If the property is certain (its records have no neighbour), the sample is larger than the database,
            a population is missing, the questions are not those of as many mechanisms or hold what is no atom, or the
            records of a population for questions are not `Atoms`.

    Source: Breutigam and Reischuk, Definition 4 (statistical privacy), Definition 5 (its curve) and sections 4.1 to
    4.3, exactly in place of Lemma 6; Theorems 4.1 and 4.2 with their misprints mended.
    Numerical error: 1e-9 relative where δ >= 1e-50; `bracket` bounds it always, from the relative error of a
    probability (2e-13 to 2e-12; measured, with a margin) in δ or in 1 − δ, so that next to 1 it is some units in the
    last place wide, from 4e-12 of each tail of a sum of noises and 1e-10·δ under it (measured, with a margin of 2), and
    from what a threshold that is off can miss. It is wider than 1e-8·δ where the ratio of dependent records ends within
    1e-4 of e^ε, in the last twentieth of the ε of a sum of Laplace noises, where e^ε is a ratio at which narrow
    discrete noise jumps, where hardly a thousandth of the terms is left of `Strata` or a sample just below its largest
    loss, for `Strata` of more than about 1e8 records, and below 1e-200. From ε = 600 on the lower end is 0, and the
    upper one that at 600, or 0 from the ε of Laplace noise on. Of two `directions` the smaller may be off by as much as
    the bracket of the larger is wide. Several answers have brackets of at most 1e-10 beside rounding of the number of
    records, where noises are none, discrete Gaussian ones about one count, or on the integers in at most three answers
    to a list; of 1e-6·δ for three to six independent questions with such noises whose answers are many; of 5e-4·δ for
    Laplace noises of one scale about one count, discrete or not, and for noises with a density about it, whose answers
    are rounded to a grid for the lower end and told more finely for the upper (1e-3·δ from 257 Laplace answers on). Of
    a list of two or three questions with such noises it is more: 2.5e-2·δ + 5e-8 at most up to ε = 2, measured for two
    of scales from 0.3 to 5 about up to 1,000 records. Other noises about one count, and longer lists, have true bounds
    that may be wide; then δ is the upper one. Rounding of several answers is multiplied by e^ε: from ε = 4 on a bracket
    may be some 1e-10 wide at least. No bracket rises with ε, nor above what the ε of differential privacy of all
    answers leaves.

    Example:
        >>> import noisycount as nc
        >>> curve = nc.privacy_curve(nc.Gaussian(3), nc.Binomial(1000, 0.1))
        >>> round(curve.delta(0.01), 7), round(nc.privacy_curve(nc.Gaussian(3)).delta(0.01), 3)
        (0.0355726, 0.128)
        >>> round(nc.privacy_curve([nc.Gaussian(3)] * 16, nc.Binomial(1000, 0.1)).delta(0.01), 7)
        0.0374123
    """
    if isinstance(population, Atoms) or questions is not None or isinstance(mechanism, Sequence):
        mechanisms, asked = _checked(mechanism, population, questions)
        found = _several_answers(mechanisms, population, asked)
        return PrivacyCurve(mechanisms, population, asked, found)
    return PrivacyCurve(mechanism, population, None, OneAnswer.of(mechanism, population).monotone)


@frozen(eq=False, repr=False)
class PrivacyCurve(Charted):
    """δ as a function of ε: made by `privacy_curve`.

    Attributes:
        mechanism: How answers are made, one for each of a list.
        population: What the outsider knows.
        questions: What each of a list of mechanisms answers; None: the same count.
    """

    mechanism: Mechanism | tuple[Mechanism, ...]
    population: Population | Atoms | None
    questions: tuple[Question, ...] | None
    _divergences: bounds.MonotoneBounds = field(repr=False)
    _last: dict[tuple[float, ...], tuple[list[bounds.Bounded], list[bounds.Bounded]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __add__(self, other: object) -> NoReturn:
        """Refused: curves must not be composed.

        Raises:
            ValueError: Always, with the reason.
        """
        raise ValueError(f"privacy curves cannot be added: {_NOT_COMPOSED}")

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def delta(self, epsilon: ArrayLike) -> float | Reals:
        """δ(ε), an array for an array.

        Args:
            epsilon: ε, at least 0 and finite, a number or an array of any shape.

        Raises:
            ValueError: If an ε is negative, infinite or no number.

        Example:
            >>> import noisycount as nc
            >>> nc.privacy_curve(nc.Laplace(3)).delta([0.1, 0.5]).round(6).tolist()
            [0.110118, 0.0]
        """
        plus, minus = self._directions(bounds.checked_epsilons(epsilon))
        return bounds.shaped([max(a.value, b.value) for a, b in zip(plus, minus, strict=True)], epsilon)

    @overload
    def directions(self, epsilon: float) -> tuple[float, float]: ...
    @overload
    def directions(self, epsilon: Sequence[float] | Reals) -> tuple[Reals, Reals]: ...
    def directions(self, epsilon: ArrayLike) -> tuple[float | Reals, float | Reals]:
        """δ₊(ε) and δ₋(ε): how much a positive record shows, and how much a negative one.

        Of a list of questions: one that moves to where the first question that changes holds, and back. Where a table
        of many cells is bounded by its rarest, both are the larger of the two.

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
        plus, minus = self._directions(bounds.checked_epsilons(epsilon))
        values = [(a.value, b.value) for a, b in zip(plus, minus, strict=True)]
        return _both_shaped(values, epsilon)

    @overload
    def bracket(self, epsilon: float) -> tuple[float, float]: ...
    @overload
    def bracket(self, epsilon: Sequence[float] | Reals) -> tuple[Reals, Reals]: ...
    def bracket(self, epsilon: ArrayLike) -> tuple[float | Reals, float | Reals]:
        """Bounds between which δ(ε) lies, with rounding and all that was left out.

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
        return _both_shaped(self._bounds(bounds.checked_epsilons(epsilon)), epsilon)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: Sequence[float] | Reals) -> Reals: ...
    def epsilon(self, delta: ArrayLike) -> float | Reals:
        """The smallest ε with δ(ε) <= delta, never too small.

        It is the smallest ε at which the upper end of the bracket of δ is at most delta. It is at most 1e-9 too large,
        absolute or relative, where δ falls by more than its bracket is wide over so short a way. Where the curve is
        flat, as between the jumps of narrow discrete noise, it may be too large by as much as `epsilon_bracket` tells.
        Of a delta above 1/2 the distance to 1 is compared, which keeps the digits that δ loses: it is known to 2e-15 of
        its size for all records but one, and for a few of a `Binomial`.

        Args:
            delta: δ from 0 to 1, a number or an array of any shape.

        Returns:
            ε; infinite where none up to 700 is known to be enough.

        Raises:
            ValueError: If a δ is not in that range.

        Example:
            >>> import noisycount as nc
            >>> nc.privacy_curve(nc.Laplace(4)).epsilon(0)
            0.25
        """
        return bounds.shaped([self._high(goal) for goal in _goals(delta)], delta)

    @overload
    def epsilon_bracket(self, delta: float) -> tuple[float, float]: ...
    @overload
    def epsilon_bracket(self, delta: Sequence[float] | Reals) -> tuple[Reals, Reals]: ...
    def epsilon_bracket(self, delta: ArrayLike) -> tuple[float | Reals, float | Reals]:
        """Bounds between which the smallest ε with δ(ε) <= delta lies.

        The upper one is `epsilon(delta)`. At the lower one the lower end of the bracket of δ is above delta still; it
        is 0 where that is so nowhere. Where the two lie more than 1e-6 of the upper one apart, the lower one may be too
        small by a hundredth of the distance.

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
        return _both_shaped(
            [(self._low(goal, high), high) for goal in _goals(delta) for high in [self._high(goal)]], delta
        )

    def _facts(self) -> dict[str, object]:
        deltas = self.delta(_SHOWN).tolist()
        told = [{"epsilon": one, "delta": two} for one, two in zip(_SHOWN, deltas, strict=True)]
        return {**self._key_facts(), "deltas": told}

    def _key_facts(self) -> dict[str, object]:
        """What it is about: δ may take seconds to compute."""
        facts: dict[str, object] = {"mechanism": self.mechanism, "population": self.population}
        if self.questions is None:
            return facts
        return {**facts, "questions": [sorted(question) for question in self.questions]}

    def _high(self, goal: float) -> float:
        """The smallest ε at which the upper end of the bracket of δ is at most a goal.

        Where there is an ε of differential privacy, δ falls to 0 next to it.
        """
        shortfall, price = self._shortfall(goal, 1), self._divergences.price
        start, step = 0.0, _LEAST_EPSILON
        if goal == 0 and price is not None and price < _LARGEST_EPSILON:
            start = float(f"{price:.14g}")  # without what it was rounded up by
            step = max(_PRICE_STEP * start, math.ulp(start))
        return root(shortfall, bracketed(shortfall, start, step, _EPSILONS)).high

    def _low(self, goal: float, high: float) -> float:
        """An ε next to the largest at which the lower end of the bracket of δ is above a goal, near the other end."""
        shortfall = self._shortfall(goal, 0)
        start, step = (0.0, _LEAST_EPSILON) if math.isinf(high) else (high, max(_LOW_STEP * high, math.ulp(high)))
        bracket = bracketed(shortfall, start, step, _EPSILONS)
        gap = (start - bracket.high) / start if start else 0.0
        return max(root(shortfall, bracket, max(PRECISE, _OF_GAP * gap)).low, 0.0)

    def _shortfall(self, goal: float, end: int) -> Callable[[float], float]:
        """How far below a goal an end of the bracket of δ is at an ε, as a logarithm."""

        def shortfall(epsilon: float) -> float:
            plus, minus = (one[0] for one in self._directions([epsilon]))
            if goal > _LIKELY:  # then 1 less it has all its digits
                return _log_ratio(-max(plus.below_1[end], minus.below_1[end]), 1 - goal)
            return _log_ratio(goal, max((one.lower, one.upper)[end] for one in (plus, minus)))

        return shortfall

    def _bounds(self, epsilons: list[float]) -> list[tuple[float, float]]:
        """Below and above δ, for each ε."""
        plus, minus = self._directions(epsilons)
        return [(max(a.lower, b.lower), max(a.upper, b.upper)) for a, b in zip(plus, minus, strict=True)]

    def _directions(self, epsilons: list[float]) -> tuple[list[bounds.Bounded], list[bounds.Bounded]]:
        """δ₊ and δ₋ for each ε; the last are kept, as δ and its bracket, or both ends of an ε, are asked one by one."""
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


def _goals(delta: ArrayLike) -> list[float]:
    """δ as a list of numbers."""
    goals = np.asarray(delta, dtype=np.float64)
    if not ((goals >= 0) & (goals <= 1)).all():
        raise ValueError(f"delta must be from 0 to 1, got {delta!r}")
    return goals.ravel().tolist()


def _log_ratio(above: float, below: float) -> float:
    """The logarithm of a ratio, infinite where the lower number is next to nothing."""
    if below <= _UNDERFLOW:
        return math.inf
    above = max(above, _UNDERFLOW)
    ratio = above / below
    return math.log1p((above - below) / below) if _LIKELY < ratio < 1 / _LIKELY else math.log(ratio)


def _both_shaped(values: Sequence[tuple[float, float]], like: ArrayLike) -> tuple[float | Reals, float | Reals]:
    """The first values and the second ones, each in the shape of an argument."""
    firsts, seconds = zip(*values, strict=True) if values else ((), ())
    return bounds.shaped(firsts, like), bounds.shaped(seconds, like)
