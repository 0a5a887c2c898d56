"""The suite that an engine passes before its answers are trusted."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from itertools import zip_longest
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import Shown
from noisycount.engines.conformance.certificate import Certificate, EngineUnderTest, Identity
from noisycount.engines.conformance.records import CELLS, FEATURES, Exercise, Feature, TableQuestion, digest, narrowed
from noisycount.engines.conformance.tables import exercises
from noisycount.engines.interface import Source
from noisycount.engines.memory import Unit, cell_counts, key_counts
from noisycount.engines.truth import Record, truth
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion, KeyCounts
from noisycount.query.predicate import Predicate, canonical_text


@frozen
class Mismatch(Shown):
    """An answer of an engine that is not as its definition says; its records are made up."""

    records: str  # what the records are about
    question: str  # what was asked, in its own language
    expected: int | None  # what the answer is by its definition; None: there is none
    found: int | None  # what the engine said; None: nothing, or it refused


@frozen
class Examination(Shown):
    """What an engine said of made-up records."""

    identity: Identity  # which engine
    answers: int  # how many of its answers were compared
    differences: tuple[Mismatch, ...]  # those that are not as their definition says; after some it is asked no more
    unheld: tuple[str, ...]  # what its tables cannot hold, and was not asked
    seconds: float  # how long it took
    suite: str  # the SHA-256 of what it was asked about which records, in hexadecimal digits

    def certificate(self, day: date) -> Certificate | None:
        """That it passed, on a day; None: it did not."""
        if self.differences:
            return None
        return Certificate(self.identity, day.isoformat(), self.suite, self.answers, self.unheld)


TableCounts = Mapping[object, int]
"""The counts of a table by what they are of: (level, node), or the keys of a group."""

_AGAIN = "told again"  # of keys that an engine tells twice


@cache
def true_counts(exercise: Exercise) -> Sequence[int]:
    """The true count of each predicate of an exercise."""
    units = [Unit.of(number, record, exercise.unit) for number, record in enumerate(exercise.records)]
    return [_count(predicate, exercise.records, units) for predicate in exercise.predicates]


def true_table(exercise: Exercise, question: TableQuestion) -> TableCounts:
    """The true counts of a table."""
    if isinstance(question, CellQuestion):
        return _by_node(cell_counts(exercise.records, exercise.unit, question))
    return _by_keys(key_counts(exercise.records, exercise.unit, question))


def asked_table(source: Source, question: TableQuestion) -> TableCounts:
    """What an engine says that the counts of a table are."""
    if isinstance(question, CellQuestion):
        return _by_node(source.count_cells(question))
    return _by_keys(source.count_keys(question))


def _count(predicate: Predicate, records: Sequence[Record], units: Sequence[Unit]) -> int:
    matching = zip(records, units, strict=True)
    return len({unit.name for record, unit in matching if truth(predicate, record)})


def _by_node(levels: Iterable[NDArray[np.int64]]) -> TableCounts:
    return {(level, node): count for level, counts in enumerate(levels) for node, count in enumerate(counts.tolist())}


def _by_keys(batches: Iterable[KeyCounts]) -> TableCounts:
    found: dict[object, int] = {}
    for batch in batches:
        for keys, count in zip(batch.keys, batch.counts.tolist(), strict=True):
            found[(_AGAIN, keys) if keys in found else keys] = count
    return found


_LONGEST = 60  # characters of a list of keys or edges


def number_text(question: TableQuestion, place: object) -> str:
    """A table and one of its numbers.

    `place`: the level and node of the number, or the keys of its group; None: the whole table.
    """
    parts = question.keys.parts if isinstance(question, CellQuestion) else question.parts
    text = f"by {' and '.join(_cut(part.text) for part in parts)}"
    if question.where is not None:
        text += f" where {canonical_text(question.where)}"
    if question.max_groups is not None:
        text += f", at most {question.max_groups} a person with salt {question.salt!r}"
    if isinstance(question, CellQuestion) and isinstance(place, tuple):
        return f"{text}: {_node(question, *place)}"
    return f"{text}: {'all of it' if place is None else place}"


def _node(question: CellQuestion, level: int, node: int) -> str:
    """A node of a level by the keys of its cells, of which it may have many."""
    named = question.levels[level]
    cells = [cell for cell, of in enumerate(named.of_cell.tolist()) if of == node]
    keys = [question.keys.key(c) if c < len(question.keys) else "other" for c in cells]
    return f"{named.name} {_cut(', '.join(map(str, keys)))}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_AT_ONCE = 100  # predicates of one scan


@frozen
class _Answer:
    """A number that an engine gave, beside what it is by definition; None is a refusal."""

    records: str
    question: Callable[[], str]
    expected: int | None
    found: int | None


@dataclass(slots=True)
class Examiner:
    """An engine, and what it is asked."""

    engine: EngineUnderTest  # the engine
    exercises: Sequence[Exercise]  # what it is asked
    progress: Callable[[int, int], None] | None = None  # it is told how many questions of how many were asked
    most: int = 20  # after how many differences it is asked no more
    asked: int = 0
    unheld: list[str] = field(default_factory=list)

    def examination(self) -> Examination:
        """All that the engine says, until it was wrong too often."""
        begun, answers, differences = monotonic(), 0, list[Mismatch]()
        with closing(self._answers()) as given:
            for answer in given:
                answers += 1
                if answer.found == answer.expected:
                    continue
                differences.append(Mismatch(answer.records, answer.question(), answer.expected, answer.found))
                if len(differences) == self.most:
                    break
        return Examination(
            self.engine.identity,
            answers,
            tuple(differences),
            tuple(dict.fromkeys(self.unheld)),
            monotonic() - begun,
            digest(self.exercises),
        )

    def _answers(self) -> Generator[_Answer]:
        """Every answer of the engine, in order."""
        missing = self._missing_features()
        for each in self.exercises:
            exercise = narrowed(each, missing)
            if exercise.is_refused:
                yield self._refusal(exercise)
                continue
            with ExitStack() as opened:
                source = self._opened(exercise, opened)
                if source is None:
                    self.unheld.append(exercise.name)
                    self._tell(exercise.questions)
                    continue
                yield from self._counts(exercise, source)
                yield from self._tables(exercise, source)

    def _missing_features(self) -> tuple[Feature, ...]:
        """Which cells its tables cannot hold, once it was seen that they hold all others."""
        with ExitStack() as opened:
            self._opened(narrowed(self.exercises[0], FEATURES), opened)
        missing = [feature for feature in FEATURES if not self._holds(feature)]
        self.unheld += [each.name for each in missing]
        return tuple(missing)

    def _holds(self, feature: Feature) -> bool:
        """Whether a table of it can hold some cells."""
        with ExitStack() as opened:
            return self._opened(_probe(feature), opened) is not None

    def _opened(self, exercise: Exercise, opened: ExitStack) -> Source | None:
        """The records in a table of it; None where it may refuse them, and does."""
        try:
            source = opened.enter_context(self._source(exercise))
            source.prepare()
        except SourceError:
            if exercise.is_optional:
                return None
            raise
        return source

    def _source(self, exercise: Exercise) -> AbstractContextManager[Source]:
        return self.engine.source(exercise.records, exercise.schema, exercise.unit)

    def _refusal(self, exercise: Exercise) -> _Answer:
        """That an engine counts nothing in records that cannot be counted."""
        found = None
        with suppress(SourceError), self._source(exercise) as source:
            found = source.count(exercise.predicates)[0]
        self._tell(exercise.questions)
        return _Answer(exercise.name, lambda: canonical_text(exercise.predicates[0]), None, found)

    def _counts(self, exercise: Exercise, source: Source) -> Iterator[_Answer]:
        """The counts of predicates, many from one scan."""
        expected = true_counts(exercise)
        for first in range(0, len(exercise.predicates), _AT_ONCE):
            batch = exercise.predicates[first : first + _AT_ONCE]
            found = _counted(source, batch)
            true = expected[first : first + _AT_ONCE]
            for predicate, wanted, count in zip(batch, true, found, strict=True):
                yield _Answer(exercise.name, partial(canonical_text, predicate), wanted, count)
            self._tell(len(batch))

    def _tables(self, exercise: Exercise, source: Source) -> Iterator[_Answer]:
        """The counts of tables, number by number."""
        for question in exercise.tables:
            expected = true_table(exercise, question)
            try:
                found = asked_table(source, question)
            except SourceError:
                text = partial(number_text, question, None)
                yield _Answer(exercise.name, text, sum(expected.values()), None)
            else:
                for place in {**expected, **found}:
                    text = partial(number_text, question, place)
                    yield _Answer(exercise.name, text, expected.get(place), found.get(place))
            self._tell(1)

    def _tell(self, questions: int) -> None:
        self.asked += questions
        if self.progress is not None:
            self.progress(self.asked, sum(each.questions for each in self.exercises))


def _counted(source: Source, predicates: Sequence[Predicate]) -> list[int | None]:
    """The counts from one scan; where it fails, each from one of its own, None where that does."""
    try:
        return [*source.count(predicates)]
    except SourceError:
        if len(predicates) == 1:
            return [None]
    return [count for each in predicates for count in _counted(source, [each])]


def _probe(feature: Feature) -> Exercise:
    """Records with nothing but some cells."""
    kinds = {kind: [*filter(feature.covers, cells)] for kind, cells in CELLS.items()}
    found = {kind: cells for kind, cells in kinds.items() if cells}
    records = [
        {kind.value: cell for kind, cell in zip(found, row, strict=True)} for row in zip_longest(*found.values())
    ]
    return Exercise(feature.name, {kind.value: kind for kind in found}, records, is_optional=True)


_HASH = "5e10efb3a01f05310a4dc6b552c6cc369bd0fd0f7642b72b9c20837d4b9c3fc8"


def suite_hash() -> str:
    """The SHA-256 of the records and questions of the suite, in hexadecimal digits.

    It is written here, as no opening of a server should wait while it is computed.
    """
    return _HASH


@cache
def suite(one_in: int = 1) -> Sequence[Exercise]:
    """The exercises, with one question in so many."""
    return tuple(
        replace(each, predicates=each.predicates[::one_in], tables=each.tables[::one_in]) for each in exercises()
    )


def examined(
    engine: EngineUnderTest, progress: Callable[[int, int], None] | None = None, asked: Sequence[Exercise] | None = None
) -> Examination:
    """What an engine says of made-up records, compared with what is so by definition."""
    return Examiner(engine, suite() if asked is None else asked, progress).examination()
