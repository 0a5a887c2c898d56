"""Independent records in atoms, the smallest groups that a list of predicates can distinguish.

`Atoms` is public and serves the privacy of lists of questions.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.validation import closed_probability, whole_number

Question = frozenset[int]  # numbers of the atoms whose records satisfy a predicate
_SUM_TOLERANCE = 1e-9  # rounding rates to ten digits moves their sum less; a larger error is a mistake
_MOST_PREDICATES = 16  # largest number of independent predicates, whose combinations are the atoms


@frozen(init=False, repr=False)
class Atoms(Shown):
    """Independent records, each of which falls into one of several atoms at public rates.

    The counts of the atoms are multinomial. A question is the set of the atoms whose records satisfy its predicate: k
    predicates part records into at most 2^k atoms.

    Args:
        size: The public number of records, 0 to 2^53.
        rates: The probability of each atom, in [0, 1], with sum 1 within 1e-9 (they are divided by their sum); shape
            (atoms,).
        questions: The default questions, each a set of numbers of atoms from 0. If there are none, every analysis must
            be given its questions.

    Raises:
        ValueError: If size, rates or questions are not such numbers.

    Source: Breutigam and Reischuk, section 2, property queries W_F ⊆ W, for several of them.

    Example:
        >>> import noisycount as nc
        >>> adults = nc.Atoms(1000, [0.05, 0.05, 0.9], [{0}, {0, 1}])
        >>> [round(adults.rate(question), 9) for question in adults.questions]
        [0.05, 0.1]
    """

    size: int
    rates: tuple[float, ...]
    questions: tuple[Question, ...]

    def __init__(self, size: int, rates: Sequence[float] | Reals, questions: Iterable[Iterable[int]] = ()) -> None:
        object.__setattr__(self, "size", whole_number(size, "size"))
        object.__setattr__(self, "rates", _checked_atom_rates(rates))
        object.__setattr__(self, "questions", self.checked(questions))

    @classmethod
    def independent(cls, size: int, rates: Sequence[float]) -> "Atoms":
        """Return records that satisfy each predicate at its rate, independently of the other predicates.

        Atoms are numbered as binary numbers whose first digit is the first predicate: records of atom 0 satisfy no
        predicate, those of atom 1 only the last one, those of the last atom all of them.

        Args:
            size: The public number of records.
            rates: The rate of each predicate, in [0, 1]; at most 16 of them.

        Raises:
            ValueError: If a rate is not a probability, or there are more than 16.

        Example:
            >>> import noisycount as nc
            >>> two = nc.Atoms.independent(400, [0.1, 0.3])
            >>> [round(rate, 9) for rate in two.rates]  # none, the second, the first, both
            [0.63, 0.27, 0.07, 0.03]
            >>> [sorted(question) for question in two.questions]
            [[2, 3], [1, 3]]
        """
        shares = _checked_predicate_rates(rates)
        if len(shares) > _MOST_PREDICATES:
            raise ValueError(
                f"rates must be those of at most {_MOST_PREDICATES} predicates, as each combination of predicates is "
                f"an atom, got {len(shares)}: ask fewer questions"
            )
        signs = list(product((False, True), repeat=len(shares)))
        chances = [math.prod(p if holds else 1 - p for p, holds in zip(shares, one, strict=True)) for one in signs]
        places = range(len(shares))
        asked = [{atom for atom, one in enumerate(signs) if one[place]} for place in places]
        return cls(size, chances, asked)

    @classmethod
    def disjoint(cls, size: int, rates: Sequence[float]) -> "Atoms":
        """Return records that satisfy at most one predicate each; one more atom has the records that satisfy none.

        Args:
            size: The public number of records.
            rates: The rate of each predicate, in [0, 1], with a sum of at most 1.

        Raises:
            ValueError: If these are not such rates.

        Example:
            >>> import noisycount as nc
            >>> nc.Atoms.disjoint(400, [0.5, 0.25]).rates
            (0.5, 0.25, 0.25)
        """
        shares = _checked_predicate_rates(rates)
        total = math.fsum(shares)
        if total > 1 + _SUM_TOLERANCE:
            raise ValueError(f"rates of disjoint predicates must add up to at most 1, got {total}")
        return cls(size, [*shares, max(0.0, 1 - total)], [{place} for place in range(len(shares))])

    @classmethod
    def nested(cls, size: int, rates: Sequence[float]) -> "Atoms":
        """Return records of which each predicate implies the next one.

        Args:
            size: The public number of records.
            rates: The rate of each predicate, in [0, 1], none below the one before it.

        Raises:
            ValueError: If these are not such rates.

        Example:
            >>> import noisycount as nc
            >>> nc.Atoms.nested(1000, [0.25, 0.5]).rates
            (0.25, 0.25, 0.5)
        """
        shares = _checked_predicate_rates(rates)
        if shares != sorted(shares):
            raise ValueError(f"rates of nested predicates must not fall, got {shares}: sort them")
        steps = np.diff([0.0, *shares, 1.0]).tolist()
        return cls(size, steps, [range(place + 1) for place in range(len(shares))])

    def rate(self, question: Iterable[int]) -> float:
        """Return the probability that a record satisfies a question, at most 1.

        Args:
            question: The numbers of its atoms.

        Raises:
            ValueError: If a number is that of no atom.
        """
        (atoms,) = self.checked([question])
        return min(1.0, math.fsum(self.rates[atom] for atom in atoms))

    def checked(self, questions: Iterable[Iterable[int]]) -> tuple[Question, ...]:
        """Return questions as sets of numbers of atoms.

        Raises:
            ValueError: If one is no set of numbers, or a number is that of no atom.
        """
        return tuple(self._checked_question(one) for one in questions)

    def patterns(self, questions: Sequence[Question]) -> dict[tuple[int, ...], float]:
        """Return the combinations of questions that a record can satisfy, with their positive rates.

        Args:
            questions: Sets of numbers of atoms.

        Returns:
            For each row of ones and zeros, one for each question, the rate of its atoms.

        Example:
            >>> import noisycount as nc
            >>> adults = nc.Atoms.nested(1000, [0.25, 0.5])
            >>> adults.patterns(adults.questions)
            {(1, 1): 0.25, (0, 1): 0.25, (0, 0): 0.5}
        """
        parts: dict[tuple[int, ...], list[float]] = {}
        for atom, rate in enumerate(self.rates):
            if rate > 0:
                row = tuple(int(atom in question) for question in questions)
                parts.setdefault(row, []).append(rate)
        return {row: min(1.0, math.fsum(rates)) for row, rates in parts.items()}

    def _checked_question(self, question: Iterable[int]) -> Question:
        """Return a validated question."""
        last = len(self.rates) - 1
        try:
            atoms = list(question)
        except TypeError:
            raise ValueError(f"question must be a set of numbers of atoms, got {question!r}: give {{0, 1}}") from None
        return frozenset(_check_atom_number(number, last) for number in atoms)

    def _facts(self) -> dict[str, object]:
        asked = [sorted(question) for question in self.questions]
        return {"size": self.size, "rates": self.rates, **({"questions": asked} if asked else {})}


def _check_atom_number(number: object, last: int) -> int:
    """Return the number of an atom; raise ValueError if there is no such atom."""
    if isinstance(number, int | np.integer) and not isinstance(number, bool) and 0 <= number <= last:
        return int(number)
    raise ValueError(f"question must hold numbers of atoms from 0 to {last}, got {number!r}")


def _checked_predicate_rates(rates: Sequence[float]) -> list[float]:
    """Return the rates of predicates as floats. Raise ValueError if there are none, or one is not a probability."""
    shares = [closed_probability(rate, "rates") for rate in _numbers_of_array(rates)]
    if not shares:
        raise ValueError("rates must have the rate of at least one predicate, got none")
    return shares


def _checked_atom_rates(rates: ArrayLike) -> tuple[float, ...]:
    """Return the rates of all atoms. Raise ValueError if they do not sum to 1, except for rounding."""
    shares = [closed_probability(rate, "rates") for rate in _numbers_of_array(rates)]
    total = math.fsum(shares)
    if not abs(total - 1) <= _SUM_TOLERANCE:
        raise ValueError(
            f"rates of atoms must add up to 1, got {total!r} from {len(shares)}: add an atom for "
            "the records that are in none of them"
        )
    return tuple(rate / total for rate in shares)


def _numbers_of_array(rates: ArrayLike) -> Iterator[float]:
    """Yield the numbers of a one-dimensional array."""
    try:
        row = np.asarray(rates, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("rates must be numbers, one for each atom: give a list") from None
    if row.ndim != 1:
        raise ValueError(f"rates must be one row of numbers, got shape {row.shape}")
    yield from row.tolist()
