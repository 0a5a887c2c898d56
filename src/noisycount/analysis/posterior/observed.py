"""Answers, each with the mechanism that gave it."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard, cast

import numpy as np

from noisycount.model.below import Below
from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.subsampling import Subsample
from noisycount.model.validation import instance_of

__all__ = [
    "Answer",
    "Answers",
    "Published",
    "checked_mechanism",
    "is_published",
    "likelihood",
    "observed",
    "values_and_mechanism",
]

Answer = float | Below
"""A number, or that it was below a threshold."""


class Published(Protocol):
    """An answer that carries its mechanism, as every release does."""

    @property
    def answer(self) -> float:
        """The answer, in records."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """The law of the answer given the count."""
        ...


Answers = Answer | Published | Sequence[Answer | Published] | Reals


def observed(
    answer: Answers, mechanism: Mechanism | Sequence[Mechanism] | None
) -> tuple[tuple[Answer, Mechanism], ...]:
    """One or several answers about one count beside their mechanisms.

    Args:
        answer: A number, `below(t)` or a published answer; or several.
        mechanism: One for each; None: that of each published answer.

    Raises:
        ValueError: If they differ in number, there is none, or a number has no mechanism.
    """
    _check_no_table(answer)
    given: Any = answer.tolist() if isinstance(answer, np.ndarray) else answer
    answers = list(given) if isinstance(given, (list, tuple)) else [given]
    if mechanism is None:
        mechanisms = [_own(one) for one in answers]
    else:
        mechanisms = list(mechanism) if isinstance(mechanism, Sequence) else [mechanism]
    for one in mechanisms:
        checked_mechanism(one)
    if len(answers) != len(mechanisms) or not answers:
        raise ValueError(
            f"answer and mechanism must be equally many and at least one, got {len(answers)} "
            f"and {len(mechanisms)}"
        )
    return tuple(zip(map(_value, answers), mechanisms, strict=True))


def checked_mechanism(mechanism: object) -> None:
    """Refuse what has no likelihood that a posterior can be made from.

    Raises:
        ValueError: It is no mechanism, or one that was derived from `Mechanism` itself.
    """
    instance_of(mechanism, Mechanism, "mechanism")
    if not isinstance(mechanism, Exact | SymmetricNoise | Subsample):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"mechanism must be one of noisycount's mechanisms, got {mechanism!r}, derived from "
            "Mechanism alone: derive a noise from ContinuousNoise or DiscreteNoise, as the page "
            '"How to add something" tells'
        )


def values_and_mechanism(
    answers: Any,  # noqa: ANN401  (whatever holds numbers, and is checked by what reads them)
    mechanism: Mechanism | None,
) -> tuple[Any, Mechanism]:
    """Answers about counts of their own as numbers, and the mechanism of all of them.

    Raises:
        ValueError: If none is given and numbers have none, or published answers have several.
    """
    _check_no_table(answers)
    if is_published(answers):
        return answers.answer, mechanism or answers.mechanism
    listed = answers if isinstance(answers, (list, tuple)) else []
    published = [one for one in listed if is_published(one)]
    values = [_value(one) for one in answers] if published else answers
    if mechanism is not None:
        return values, mechanism
    kinds = {repr(one.mechanism): one.mechanism for one in published}
    if len(kinds) != 1 or len(published) != len(listed):
        raise ValueError(
            f"mechanism must be given unless all answers carry the same, got {len(kinds)} "
            "different ones: refine the answers of each mechanism by themselves"
        )
    return values, next(iter(kinds.values()))


def _check_no_table(answers: object) -> None:
    """The refusal of a published table, whose counts have one law together."""
    if hasattr(answers, "plan") and hasattr(answers, "levels"):
        raise ValueError(
            "answers must be about one count each, got a table: use noisycount.table_posterior("
            "table)"
        )


def likelihood(answer: Answer, mechanism: Mechanism, size: int) -> Factor:
    """The likelihood of a count among `size` records, for an answer that was told or suppressed."""
    if isinstance(answer, Below):
        return answer.likelihood(mechanism, size)
    return mechanism.likelihood(answer, size)


def is_published(answer: object) -> TypeGuard[Published]:
    """Whether an answer carries its mechanism."""
    return isinstance(getattr(answer, "mechanism", None), Mechanism) and hasattr(answer, "answer")


def _value(answer: Answer | Published) -> Answer:
    """What was answered."""
    return answer.answer if is_published(answer) else cast("Answer", answer)


def _own(answer: Answer | Published) -> Mechanism:
    """The mechanism that comes with an answer."""
    if is_published(answer):
        return answer.mechanism
    raise ValueError(f"mechanism must be given with an answer that carries none, got {answer!r}")
