"""The text of an analyst as it was meant, and as it is counted."""

from collections.abc import Mapping
from functools import lru_cache

from noisycount.frozen import frozen
from noisycount.query.normal_form import normal_form
from noisycount.query.parser import parse
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind, Schema

__all__ = ["Reading", "read"]


_READINGS = 256  # that are remembered: a question is read at every step from its text to its answer


@frozen
class Reading:
    """A question of the predicate language.

    Attributes:
        asked: In the words of the asker.
        normal: The one tree of all its wordings.
    """

    asked: Predicate
    normal: Predicate


def read(text: str, schema: Mapping[str, Kind]) -> Reading:
    """The question that a text asks about columns of a schema; see ``parse``.

    Args:
        text: As for ``parse``.
        schema: As for ``parse``; what was read under the same ``Schema`` may be remembered.

    Raises:
        PredicateError: As for ``parse``.

    Example:
        >>> from noisycount.query.text import canonical_text
        >>> canonical_text(read("not age < 65", {"age": Kind.INTEGER}).normal)
        'age >= 65'
    """
    return _read(text, _Same(schema if isinstance(schema, Schema) else Schema(schema)))


@frozen(eq=False)
class _Same:
    """A schema that equals itself alone: to compare all columns takes longer than to read."""

    schema: Schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.schema is other.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=_READINGS)
def _read(text: str, same: _Same) -> Reading:
    asked = parse(text, same.schema)
    return Reading(asked, normal_form(asked))
