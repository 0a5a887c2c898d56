"""What a question says of itself: that no record can satisfy a part of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noisycount.errors import PredicateError
from noisycount.release.question.contradictions import contradictions
from noisycount.release.question.reading import read
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import canonical_text
from noisycount.release.question.tree import And, Predicate, Range

__all__ = ["impossible_hints", "in_vain"]

_SHOWN = 3  # of a table of many questions


def impossible_hints(wheres: Iterable[str], schema: Mapping[str, Kind]) -> list[str]:
    """A sentence for each part of the questions that no record can satisfy; no data is read.

    Args:
        wheres: Questions in the predicate language.
        schema: The columns that they may use.

    Raises:
        PredicateError: A question is outside the language.

    Example:
        >>> impossible_hints(["age between 64 and 1"], {"age": Kind.INTEGER})
        ['no record can satisfy age between 64 and 1: write the smaller end first']
    """
    parts = dict.fromkeys(
        part for where in wheres for part in contradictions(read(where, schema).normal)
    )
    told = [f"no record can satisfy {canonical_text(part)}{_remedy(part)}" for part in parts]
    return [*told[:_SHOWN], *_others(len(told) - _SHOWN)]


def in_vain(hints: Sequence[str]) -> PredicateError:
    """The refusal of a question that cannot mean what it says, before anything is charged.

    Args:
        hints: What no record can satisfy.
    """
    return PredicateError(f"where asks in vain: {'; '.join(hints)}")


def _others(number: int) -> Iterator[str]:
    """That there are more of them than are shown."""
    if number > 0:
        yield f"nor {number:,} other {'part' if number == 1 else 'parts'} of the questions"


def _remedy(part: Predicate) -> str:
    """What else may have been meant."""
    if isinstance(part, Range):
        return ": write the smaller end first"
    if isinstance(part, And):
        return ", all of it at once: write or between its parts where one of them is enough"
    return ""
