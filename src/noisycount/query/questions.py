"""Several questions at once, as they are asked."""

from collections.abc import Mapping, Sequence

import numpy as np

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Level
from noisycount.query.predicate import Predicate
from noisycount.query.reading import read
from noisycount.query.schema import Kind
from noisycount.query.text import canonical_text

__all__ = ["ManyQuestions"]


MOST_QUESTIONS = 1000


@frozen
class ManyQuestions:
    """What is counted in one scan, each in its normal form.

    Args:
        predicates: The questions, in the order in which they are shown.
        texts: Their canonical texts.
        asked: Those of the words in which they were asked, which older ledgers hold.
    """

    predicates: tuple[Predicate, ...]
    texts: tuple[str, ...]
    asked: tuple[str, ...]

    @classmethod
    def read(cls, wheres: Sequence[str], schema: Mapping[str, Kind]) -> "ManyQuestions":
        """The questions that texts ask.

        Raises:
            PredicateError: One is outside the language or asked twice, or there are none or too
                many.
        """
        if isinstance(wheres, str) or not 1 <= len(wheres) <= MOST_QUESTIONS:
            count = 0 if isinstance(wheres, str) else len(wheres)
            raise PredicateError(
                f"wheres must be a list of 1 to {MOST_QUESTIONS:,} questions, got {count:,}"
            )
        readings = [read(where, schema) for where in wheres]
        predicates = tuple(reading.normal for reading in readings)
        texts = tuple(map(canonical_text, predicates))
        for text, where in zip(texts, wheres, strict=True):
            if texts.count(text) > 1:
                raise PredicateError(f"where asks {where[:80]!r} twice: ask each question once")
        return cls(predicates, texts, tuple(canonical_text(each.asked) for each in readings))

    @property
    def order(self) -> list[int]:
        """The places of the questions in the order of their texts, in which they are kept."""
        return sorted(range(len(self.texts)), key=self.texts.__getitem__)

    @property
    def level(self) -> Level:
        """The one level of their counts."""
        nodes = np.arange(len(self.texts), dtype=np.int32)
        return Level("questions", nodes, len(nodes), nodes[:, np.newaxis])
