"""Several answers about one database: what is asked of it, and which divergences that has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from noisycount.analysis.privacy.divergences import Divergences, OneAnswer
from noisycount.analysis.privacy.falling import Falling
from noisycount.analysis.privacy.lists.answers import listed_answers
from noisycount.analysis.privacy.lists.reduced import reduced_list
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.analysis.privacy.repeated.repeated import is_precise, repeated_answers
from noisycount.analysis.privacy.worst_case import whole_price
from noisycount.model.atoms.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.known import Known
from noisycount.model.populations.population import Population

__all__ = ["Asked", "asked", "several_answers"]

Answering = Exact | SymmetricNoise
"""A mechanism that can be one of several."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Several answers about one database.

    Attributes:
        mechanisms: How each is made.
        population: What the outsider knows.
        questions: What each is about; None: all about the same count.
    """

    mechanisms: tuple[Answering, ...]
    population: Population | Atoms | None
    questions: tuple[Question, ...] | None


def asked(
    mechanism: Mechanism | Sequence[Mechanism],
    population: Population | Atoms | None,
    questions: Iterable[Iterable[int]] | None,
) -> Asked:
    """The arguments of a privacy curve of several answers, checked.

    Raises:
        ValueError: If they do not fit each other.
    """
    if not isinstance(population, Atoms):
        if questions is not None:
            raise ValueError(
                "population must be Atoms for a list of questions, whose counts depend on each "
                f"other by the rates of the atoms, got {population!r}: give Atoms(size, rates)"
            )
        told = mechanism if isinstance(mechanism, Sequence) else [mechanism]
        return Asked(_mechanisms(told), population, None)
    sets = population.questions if questions is None else population.checked(questions)
    if not sets:
        raise ValueError("questions must hold one at least, got none: give sets of atoms")
    told = mechanism if isinstance(mechanism, Sequence) else [mechanism] * len(sets)
    if len(told) != len(sets):
        raise ValueError(
            f"questions must be as many as the {len(told)} mechanisms that answer them, "
            f"got {len(sets)}"
        )
    return Asked(_mechanisms(told), population, sets)


def several_answers(told: Asked) -> Divergences:
    """The divergences of several answers.

    Raises:
        ValueError: If a property is certain, or these mechanisms cannot be had together.
    """
    population, questions = told.population, told.questions
    if isinstance(population, Atoms):
        listed = listed_answers(reduced_list(population, questions or (), told.mechanisms))
        return Falling(listed, whole_price(told.mechanisms))
    pairs = tuple(record_pairs(Exact(), population))
    price = whole_price(told.mechanisms) if all(pair.is_shift for pair in pairs) else None
    one = None if is_precise(told.mechanisms) else _as_one_question(population)
    if one is None:
        found = repeated_answers(pairs, told.mechanisms)
        return Falling.of_one(found) if isinstance(found, OneAnswer) else Falling(found, price)
    same = [Question([0])] * len(told.mechanisms)
    return Falling(listed_answers(reduced_list(one, same, told.mechanisms)), price)


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
