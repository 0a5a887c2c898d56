"""What all answers of a ledger show together: to an outsider, and in the worst case."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.privacy.desk.list_risk import ListRisk, list_risk
from noisycount.app.risk.known import Known, check_known
from noisycount.app.risk.lists.answers_so_far import AnswersSoFar
from noisycount.app.risk.lists.atoms_file import atoms_of_file
from noisycount.app.risk.risk import float_above
from noisycount.errors import NoisyCountError
from noisycount.model.atoms.atoms import Atoms

__all__ = ["ListRisks", "Outsider"]


@dataclass(frozen=True, slots=True)
class Outsider:
    """What somebody learns who knows how often records are in which atom, and perhaps some records.

    Attributes:
        size: The number of records that are not known.
        delta: δ by the rule of the desk.
        of_large: δ of those whose groups are large.
        led: δ also where answers led to questions.
        given: The probability that a record is in a small group.
        least: The number of records from which on a group is large.
    """

    size: int
    delta: float
    of_large: float
    led: float
    given: float
    least: float

    @classmethod
    def of(cls, risk: ListRisk, epsilon: float) -> "Outsider":
        """What is learned at an ε."""
        of_large = risk.rest(epsilon)
        delta = risk.worst(epsilon) if risk.given > 0 else of_large
        led = risk.adaptive(epsilon)
        return cls(risk.population.size, delta, of_large, led, risk.given, risk.least)


@dataclass(frozen=True, slots=True)
class ListRisks:
    """What the answers so far show.

    Attributes:
        asked: The answers.
        epsilon: The ε at which δ is told.
        worst: δ for somebody who knows all other records.
        outsider: What an outsider has; None where that is not told.
        partly: What somebody has who holds some records besides; None: nobody was asked about.
        why: Why it is not; empty where it is.
        held: How many these records are.
    """

    asked: AnswersSoFar
    epsilon: Fraction
    worst: float
    outsider: Outsider | None
    why: str = ""
    partly: Outsider | None = None
    held: int | None = None

    @classmethod
    def of(cls, asked: AnswersSoFar, known: Known, epsilon: Fraction | None) -> "ListRisks":
        """The risks of a list at an ε, by default the price of the dearest answer.

        Raises:
            NoisyCountError: The size is not public, the file of the atoms cannot be read, or
                nothing is left to tell of somebody who holds records.
        """
        told = asked.dearest if epsilon is None else epsilon
        number = float_above(told)
        if asked.tables:
            why = "no figure of its own, as tables are among the answers"
            _check_untold(known, why)
            return cls(asked, told, asked.paid.delta(told), None, why)
        atoms = _atoms(asked, known)
        if atoms is None:
            why = _untold(asked)
            _check_untold(known, why)
            return cls(asked, told, _of_counts(asked, told), None, why)
        risk = _risk(asked, atoms, known)
        partly = None
        if known.held is not None:
            check_known(known.held, atoms.size)
            others = Atoms(atoms.size - known.held, atoms.rates, atoms.questions)
            partly = Outsider.of(_risk(asked, others, known), number)
        outsider = Outsider.of(risk, number)
        worst = min(asked.paid.delta(told), risk.worst(number))
        return cls(asked, told, worst, outsider, partly=partly, held=known.held)


def _risk(asked: AnswersSoFar, atoms: Atoms, known: Known) -> ListRisk:
    """What the counts show of the records of these atoms.

    Whoever holds records takes them off each count: what is left are the answers about the others,
    which are independent of them (docs/several-answers.md, the corollary of Theorem 2).
    """
    sets = [atoms.questions[place] for place in asked.places]
    return list_risk(asked.mechanisms, atoms, sets, least=known.least)


def _check_untold(known: Known, why: str) -> None:
    """The refusal of somebody who holds records, where no outsider is told of."""
    if known.held is not None:
        raise NoisyCountError(f"leave --known {known.held} out: {why}")


def _of_counts(asked: AnswersSoFar, epsilon: Fraction) -> float:
    """δ of counts in the worst case, whatever was asked."""
    alike = Atoms(1, [0.5, 0.5])
    counts = list_risk(asked.mechanisms, alike, [{0}] * len(asked.places))
    return min(asked.paid.delta(epsilon), counts.worst(float_above(epsilon)))


def _untold(asked: AnswersSoFar) -> str:
    """Why the outsider has no δ."""
    if len(asked.questions) > 1:
        number = len(asked.questions)
        return f"{number} questions may overlap in any way unless --atoms FILE tells how"
    return "no figure of its own without the rate of the question: give --rate"


def _atoms(asked: AnswersSoFar, known: Known) -> Atoms | None:
    """The atoms that are told; None where they are not."""
    size = known.size or asked.size
    if known.atoms is None and (known.rate is None or len(asked.questions) > 1):
        return None
    if size is None:
        raise NoisyCountError(
            f"--ledger {asked.dataset!r}: its size is not public in noisycount.toml: give --size"
        )
    if known.atoms is not None:
        return atoms_of_file(known.atoms, size, len(asked.questions))
    rate = known.rate
    if rate is None or rate.deviation or rate.mean in {0, 1}:
        raise NoisyCountError(
            f"--rate {rate} must be one known rate between 0 and 1 for a list of answers: records "
            "of an uncertain rate depend on each other"
        )
    return Atoms.nested(size, [rate.mean])
