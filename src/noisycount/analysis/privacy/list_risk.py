"""Combined privacy loss of all answers of a query desk: for an outside adversary, and in the worst case.

`list_risk` returns a `ListRisk`, with δ(ε) by a rule that treats small groups of records as known to the adversary.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import overload

from numpy.typing import ArrayLike

from noisycount.analysis.privacy.bounds import MonotoneBounds, checked_epsilons, composed_epsilon, reshape_like
from noisycount.analysis.privacy.disjoint_cells import RUNS, Cell, TableAnswers
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.analysis.privacy.workload import BoundedWorkload, reduced_workload, resolve_questions
from noisycount.analysis.privacy.workload_answers import workload_answers
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial
from noisycount.validation import positive_number, real_number, require_instance

_FEW_RUNS = 16  # number of runs of totals of two groups in a quick bound
_FAINT = 1e-12  # bounds of a list below this have no correct digits; the bounds of its exact counts have
_DEPTH = 34.0  # nats: numbers of records beyond this depth have a probability below 1e-14
Pattern = tuple[int, ...]


@frozen
class Groups:
    """Groups of records with the same answers to all questions. The adversary knows the records of the small groups."""

    size: int  # number of records
    large: dict[Pattern, float]  # rate of each group that is expected to have enough records
    given: float  # probability that a record is in a small group

    @classmethod
    def from_questions(cls, population: Atoms, questions: Sequence[Question], least: float) -> "Groups":
        """Return the groups of some questions. The small ones are expected to have fewer than `least` records."""
        patterns = population.patterns(questions)
        large = {pattern: rate for pattern, rate in patterns.items() if population.size * rate >= least}
        given = math.fsum(rate for pattern, rate in patterns.items() if pattern not in large)
        return cls(population.size, large, min(1.0, given))

    def unknown(self) -> tuple[int, float]:
        """Return a lower bound of the number of records unknown to the adversary, and the probability that it fails."""
        if self.given == 0:
            return self.size, 0.0
        known = Binomial(self.size - 1, self.given).deep_prior()
        most = min(float(known.support[1]), math.ceil(known.reach(_DEPTH)[1]))
        chance = 0.0 if most == known.support[1] else math.exp(known.log_tail_bound(most + 1))
        return self.size - int(most), min(1.0, chance)

    def population(self, size: int) -> tuple[Atoms, tuple[Question, ...]]:
        """Return so many records of the large groups as atoms, and the questions about these atoms."""
        patterns = list(self.large)
        total = math.fsum(self.large.values())
        known = Atoms(size, [self.large[pattern] / total for pattern in patterns])
        columns = zip(*patterns, strict=True)
        return known, tuple(frozenset(atom for atom, holds in enumerate(column) if holds) for column in columns)

    def delta_upper_bound(self, epsilon: float, most_runs: int = RUNS) -> float:
        """Return an upper bound of δ for the exact counts of all large groups, from which all answers can be computed.

        Args:
            epsilon: ε.
            most_runs: Largest number of runs of the totals of two groups. Fewer runs give a larger bound.
        """
        if len(self.large) < 2:  # noqa: PLR2004  (one group is no choice)
            return 0.0
        size, chance = self.unknown()
        rates = self.population(size)[0].rates
        table = TableAnswers(size, tuple(Cell(rate, Exact()) for rate in rates))
        return min(1.0, *(bound + chance for bound in table.upper_bounds([epsilon], most_runs)))


LEAST = 10.0  # expected number of records from which on a group is large
_SHOWN = 0.1  # ε of the summary
_CLOSE = 1.05  # ratio to the lower bound above which an upper bound is compared with another one


def list_risk(
    mechanisms: Sequence[Mechanism],
    population: Atoms,
    questions: Iterable[Iterable[int]] | None = None,
    *,
    least: float = LEAST,
) -> "ListRisk":
    """Return the privacy loss of a list of answers, by a rule that a query desk can rely on.

    The questions divide the records into groups. The adversary is assumed to know the groups that are expected to have
    fewer than `least` records. A record that may be in such a group has the δ of the worst case. Every other record has
    the δ of the list for this adversary. By this rule, δ never falls as the list grows, and the questions "everybody"
    and "everybody except one" together have the δ of the worst case.

    Args:
        mechanisms: Mechanisms that answer the questions, one each: `Exact` or additive noise.
        population: The atoms with their public rates.
        questions: Sets of numbers of atoms. Default: the questions of the `Atoms`.
        least: Expected number of records from which on a group is large, above 0.

    Raises:
        ValueError: As for `privacy_curve`, except if a list is too long for an exact curve: then bounds are used.

    Source: our own; see the page “Several answers”, Theorems 5.7 and 5.8.
    Numerical error: every δ is the upper end of a bracket.

    Example:
        >>> import noisycount as nc
        >>> risk = nc.list_risk([nc.Gaussian(3)] * 2, nc.Atoms.nested(1000, [0.05, 0.1]))
        >>> round(risk.delta(0.1), 4), round(risk.worst(0.1), 3)
        (0.0297, 0.148)
        >>> risk = nc.list_risk([nc.Gaussian(3)] * 2, nc.Atoms(1000, [0.999, 0.001], [{0, 1}, {0}]))
        >>> risk.delta(0.1) == risk.worst(0.1)
        True
    """
    require_instance(population, Atoms, "population")
    number = positive_number(real_number(least, "least"), "least")
    curve = privacy_curve(list(mechanisms), None)
    sets_of_atoms = resolve_questions(population, questions, len(mechanisms))
    accepted = tuple(noise for noise in mechanisms if isinstance(noise, Exact | SymmetricNoise))
    return ListRisk(accepted, population, sets_of_atoms, number, curve)


@frozen(eq=False, repr=False)
class ListRisk(Shown):
    """Privacy loss of a list of answers; made by `list_risk`.

    Attributes:
        mechanisms: Mechanism of each answer.
        population: The atoms.
        questions: The question of each answer, a set of numbers of atoms.
        least: Expected number of records from which on a group is large.
        worst_case: Privacy curve of all answers for an adversary who knows all other records.
    """

    mechanisms: tuple[Exact | SymmetricNoise, ...]
    population: Atoms
    questions: tuple[Question, ...]
    least: float
    worst_case: PrivacyCurve

    @property
    def given(self) -> float:
        """Probability that a record is in a small group, which the adversary is assumed to know."""
        return self._groups.given

    @overload
    def worst(self, epsilon: float) -> float: ...
    @overload
    def worst(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def worst(self, epsilon: ArrayLike) -> float | Reals:
        """Return δ(ε) for an adversary who knows all other records.

        It holds for any questions, however they are chosen.

        If the noises are ε-differentially private with ε₁, ε₂, …, δ is at most (e^E − e^ε)/(1 + e^E) with E = ε₁ + ε₂ +
        …. This is the δ of an answer that is right with odds e^E.

        Args:
            epsilon: ε, at least 0 and finite, a number or an array of any shape.

        Raises:
            ValueError: If an ε is negative, infinite or no number.
        """
        return _at_each_epsilon(self._worst, epsilon)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def delta(self, epsilon: ArrayLike) -> float | Reals:
        """Return δ(ε) by the rule of `list_risk`, the largest over all records.

        Args:
            epsilon: As for `worst`.

        Raises:
            ValueError: As for `worst`.
        """
        return _at_each_epsilon(self._worst if self.given > 0 else self._rest, epsilon)

    @overload
    def rest(self, epsilon: float) -> float: ...
    @overload
    def rest(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def rest(self, epsilon: ArrayLike) -> float | Reals:
        """Return δ(ε) for the records of large groups: the exact value, or an upper bound of it.

        Args:
            epsilon: As for `worst`.

        Raises:
            ValueError: As for `worst`.
        """
        return _at_each_epsilon(self._rest, epsilon)

    @overload
    def adaptive(self, epsilon: float) -> float: ...
    @overload
    def adaptive(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def adaptive(self, epsilon: ArrayLike) -> float | Reals:
        """Return an upper bound of δ(ε) for any questions about unions of these atoms, even if they depend on answers.

        It is δ of the exact counts of the atoms, for any number of questions. If an atom is small, it is δ of the worst
        case of this list.

        Args:
            epsilon: As for `worst`.

        Raises:
            ValueError: As for `worst`.
        """
        return _at_each_epsilon(self._adaptive, epsilon)

    def _worst(self, epsilon: float) -> float:
        """Return `worst` for one ε."""
        return self.worst_case.bracket(epsilon)[1]

    def _rest(self, epsilon: float) -> float:
        """Return `rest` for one ε."""
        groups = self._groups
        if len(groups.large) < 2:  # noqa: PLR2004  (one group is no choice)
            return 0.0
        if groups.delta_upper_bound(epsilon, _FEW_RUNS) < _FAINT:
            return min(groups.delta_upper_bound(epsilon), self._worst(epsilon))
        size, chance = groups.unknown()
        population, questions = groups.population(size)
        try:
            lower, upper = self._bracket(population, questions, epsilon)
        except ValueError:  # the list is too long for `privacy_curve`
            lower, upper = 0.0, 1.0
        if upper > _CLOSE * lower:
            upper = min(upper, groups.delta_upper_bound(epsilon))
        return min(1.0, upper + chance, self._worst(epsilon))

    def _bracket(self, population: Atoms, questions: tuple[Question, ...], epsilon: float) -> tuple[float, float]:
        """Return the bounds of `privacy_curve` for δ of the list; without an exact curve, the lower bound is 0."""
        answers = workload_answers(reduced_workload(population, questions, self.mechanisms))
        if isinstance(answers, BoundedWorkload):
            answers = replace(answers, fewer=None)
        curve = MonotoneBounds(answers, composed_epsilon(self.mechanisms))
        both = [one for (one,) in curve.directions([epsilon])]
        return max(one.lower for one in both), max(one.upper for one in both)

    def _adaptive(self, epsilon: float) -> float:
        """Return `adaptive` for one ε."""
        atoms = Groups.from_questions(
            self.population, [frozenset({atom}) for atom in range(len(self.population.rates))], self.least
        )
        if atoms.given > 0:
            return self._worst(epsilon)
        return min(atoms.delta_upper_bound(epsilon), self._worst(epsilon))

    @property
    def _groups(self) -> Groups:
        """Groups of records that the questions of the list distinguish."""
        return Groups.from_questions(self.population, self.questions, self.least)

    def _facts(self) -> dict[str, object]:
        told = {"epsilon": _SHOWN, "delta": self.delta(_SHOWN), "worst": self.worst(_SHOWN)}
        return {**self._key_facts(), "given": self.given, "deltas": [told]}

    def _key_facts(self) -> dict[str, object]:
        questions = [sorted(question) for question in self.questions]
        return {
            "mechanisms": self.mechanisms,
            "population": self.population,
            "questions": questions,
            "least": self.least,
        }


def _at_each_epsilon(of: Callable[[float], float], epsilon: ArrayLike) -> float | Reals:
    """Return the value of a function at each ε, in the shape of `epsilon`."""
    return reshape_like([of(one) for one in checked_epsilons(epsilon)], epsilon)
