"""What all answers of a desk show together: of an outsider, and in the worst case."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import overload

from numpy.typing import ArrayLike

from noisycount.analysis.privacy.bounds import checked_epsilons, shaped
from noisycount.analysis.privacy.disjoint_cells import RUNS, Cell, TableAnswers
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.analysis.privacy.workload import asked_questions
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial
from noisycount.validation import positive_number, real_number, require_instance

_FEW_RUNS = 16  # of totals of two groups
_FAINT = 1e-12  # bounds of a list that are as small as this have no digits, those of its exact counts do
_DEPTH = 34.0  # nepers: a number of records farther off has a probability below 1e-14
Pattern = tuple[int, ...]


@frozen
class Groups:
    """Groups of records, of which the small ones are known to the outsider."""

    size: int
    large: dict[Pattern, float]  # the rate of each group that is expected to hold enough records
    given: float  # the probability that a record is in a small group

    @classmethod
    def of(cls, population: Atoms, questions: Sequence[Question], least: float) -> "Groups":
        """The groups of some questions, the small ones expected to hold fewer than `least`."""
        patterns = population.patterns(questions)
        large = {pattern: rate for pattern, rate in patterns.items() if population.size * rate >= least}
        given = math.fsum(rate for pattern, rate in patterns.items() if pattern not in large)
        return cls(population.size, large, min(1.0, given))

    def unknown(self) -> tuple[int, float]:
        """The least number of records that the outsider does not know, and how often it is less."""
        if self.given == 0:
            return self.size, 0.0
        known = Binomial(self.size - 1, self.given).deep_law()
        most = min(float(known.support[1]), math.ceil(known.reach(_DEPTH)[1]))
        chance = 0.0 if most == known.support[1] else math.exp(known.log_tail_bound(most + 1))
        return self.size - int(most), min(1.0, chance)

    def population(self, size: int) -> tuple[Atoms, tuple[Question, ...]]:
        """So many records of the large groups, and what the questions are about them."""
        patterns = list(self.large)
        total = math.fsum(self.large.values())
        known = Atoms(size, [self.large[pattern] / total for pattern in patterns])
        columns = zip(*patterns, strict=True)
        return known, tuple(frozenset(atom for atom, holds in enumerate(column) if holds) for column in columns)

    def ceiling(self, epsilon: float, most_runs: int = RUNS) -> float:
        """Return an upper bound of δ of the exact counts of all large groups, of which all answers are made.

        It is larger if the totals of two groups are parted in fewer runs.
        """
        if len(self.large) < 2:  # noqa: PLR2004  (one group is no choice)
            return 0.0
        size, chance = self.unknown()
        rates = self.population(size)[0].rates
        table = TableAnswers(size, tuple(Cell(rate, Exact()) for rate in rates))
        return min(1.0, *(bound + chance for bound in table.upper_bounds([epsilon], most_runs)))


LEAST = 10.0  # the expected number of records from which on a group is not given to the outsider
_SHOWN = 0.1  # ε
_CLOSE = 1.05  # times a lower bound: an upper one beyond it may be improved on


def list_risk(
    mechanisms: Sequence[Mechanism],
    population: Atoms,
    questions: Iterable[Iterable[int]] | None = None,
    *,
    least: float = LEAST,
) -> "ListRisk":
    """What a list of answers shows, by a rule that a desk may rely on.

    The questions part the records into groups. Groups that are expected to hold fewer than `least` records are given to
    the outsider, and whoever may be in one has the δ of the worst case; all others have the exact δ of the list. It
    never falls as the list grows, and "everybody" beside "everybody but one" has that of the worst case.

    Args:
        mechanisms: How each question is answered: Exact or additive noise.
        population: The atoms with their public rates.
        questions: Sets of numbers of atoms; None: those of the `Atoms`.
        least: The number of records from which on a group is large, above 0.

    Raises:
        ValueError: As `privacy_curve`, except where a list is too long for an exact curve: then bounds take its place.

    Source: ours: the page “Several answers, one outsider”, Theorems 7 and 8.
    Numerical error: every number is an upper end of a bracket.

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
    asked = asked_questions(population, questions, len(mechanisms))
    told = tuple(one for one in mechanisms if isinstance(one, Exact | SymmetricNoise))
    return ListRisk(told, population, asked, number, curve)


@frozen(eq=False, repr=False)
class ListRisk(Shown):
    """What a list of answers shows: made by `list_risk`.

    Attributes:
        mechanisms: How each question is answered.
        population: The atoms.
        questions: What each is about.
        least: The number of records from which on a group is large.
        worst_case: The curve of all answers for somebody who knows all other records.
    """

    mechanisms: tuple[Exact | SymmetricNoise, ...]
    population: Atoms
    questions: tuple[Question, ...]
    least: float
    worst_case: PrivacyCurve

    @property
    def given(self) -> float:
        """The probability that a record is in a group so small that the outsider is given it."""
        return self._groups.given

    @overload
    def worst(self, epsilon: float) -> float: ...
    @overload
    def worst(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def worst(self, epsilon: ArrayLike) -> float | Reals:
        """δ(ε) for somebody who knows all other records: it holds whatever is asked, and why.

        Answers whose noises have the ε of differential privacy ε₁, ε₂, … have at most (e^E − e^ε)/(1 + e^E) with
        E = ε₁ + ε₂ + …, that of an answer that is right with odds e^E.

        Args:
            epsilon: ε, at least 0 and finite, a number or an array of any shape.

        Raises:
            ValueError: If an ε is negative, infinite or no number.
        """
        return _each(self._worst, epsilon)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def delta(self, epsilon: ArrayLike) -> float | Reals:
        """δ(ε) by the rule, the largest over all records.

        Args:
            epsilon: As for `worst`.

        Raises:
            ValueError: As for `worst`.
        """
        return _each(self._worst if self.given > 0 else self._rest, epsilon)

    @overload
    def rest(self, epsilon: float) -> float: ...
    @overload
    def rest(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def rest(self, epsilon: ArrayLike) -> float | Reals:
        """δ(ε) of those whose groups are large: the exact one, or a bound of it.

        Args:
            epsilon: As for `worst`.

        Raises:
            ValueError: As for `worst`.
        """
        return _each(self._rest, epsilon)

    @overload
    def adaptive(self, epsilon: float) -> float: ...
    @overload
    def adaptive(self, epsilon: Sequence[float] | Reals) -> Reals: ...
    def adaptive(self, epsilon: ArrayLike) -> float | Reals:
        """δ(ε) of any questions that are unions of these atoms, also if answers led to them.

        It is that of the exact counts of the atoms, however many questions are asked; where an atom is small, that of
        the worst case of this list.

        Args:
            epsilon: As for `worst`.

        Raises:
            ValueError: As for `worst`.
        """
        return _each(self._adaptive, epsilon)

    def _worst(self, epsilon: float) -> float:
        """`worst` of one ε."""
        return self.worst_case.bracket(epsilon)[1]

    def _rest(self, epsilon: float) -> float:
        """`rest` of one ε."""
        groups = self._groups
        if len(groups.large) < 2:  # noqa: PLR2004  (one group is no choice)
            return 0.0
        if groups.ceiling(epsilon, _FEW_RUNS) < _FAINT:
            return min(groups.ceiling(epsilon), self._worst(epsilon))
        size, chance = groups.unknown()
        population, questions = groups.population(size)
        try:
            lower, upper = privacy_curve(self.mechanisms, population, questions).bracket(epsilon)
        except ValueError:  # more questions than can be had
            lower, upper = 0.0, 1.0
        if upper > _CLOSE * lower:
            upper = min(upper, groups.ceiling(epsilon))
        return min(1.0, upper + chance, self._worst(epsilon))

    def _adaptive(self, epsilon: float) -> float:
        """`adaptive` of one ε."""
        atoms = Groups.of(
            self.population, [frozenset({atom}) for atom in range(len(self.population.rates))], self.least
        )
        if atoms.given > 0:
            return self._worst(epsilon)
        return min(atoms.ceiling(epsilon), self._worst(epsilon))

    @property
    def _groups(self) -> Groups:
        """What the list tells apart."""
        return Groups.of(self.population, self.questions, self.least)

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


def _each(of: Callable[[float], float], epsilon: ArrayLike) -> float | Reals:
    """What is told of each ε, in the shape of the argument."""
    return shaped([of(one) for one in checked_epsilons(epsilon)], epsilon)
