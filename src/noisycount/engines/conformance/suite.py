"""Examination of an engine: its answers to the exercises of `tables`, compared with the reference in `memory`."""

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
    """A wrong answer of an engine about made-up records."""

    records: str  # name of the exercise
    question: str  # in the question language
    expected: int | None  # right answer; None: there is none
    found: int | None  # answer of the engine; None: it gave none


@frozen
class Examination(Shown):
    """The result of an examination."""

    identity: Identity
    answers: int  # number of compared answers
    differences: tuple[Mismatch, ...]  # wrong answers; after some the examination stops
    unheld: tuple[str, ...]  # records that its tables cannot store, which were not tested
    seconds: float
    suite: str  # SHA-256 of the records and questions, in hexadecimal digits

    def certificate(self, day: date) -> Certificate | None:
        """Return the certificate that the engine passed on a day, or None if it did not pass."""
        if self.differences:
            return None
        return Certificate(self.identity, day.isoformat(), self.suite, self.answers, self.unheld)


TableCounts = Mapping[object, int]
"""Counts of a table by (level, node), or by the keys of a group."""

_AGAIN = "returned twice"  # mark of keys that an engine returned twice


@cache
def true_counts(exercise: Exercise) -> Sequence[int]:
    """Return the true count of each predicate of an exercise."""
    units = [Unit.of(number, record, exercise.unit) for number, record in enumerate(exercise.records)]
    return [_count(predicate, exercise.records, units) for predicate in exercise.predicates]


def true_table(exercise: Exercise, question: TableQuestion) -> TableCounts:
    """Return the true counts of a table."""
    if isinstance(question, CellQuestion):
        return _by_node(cell_counts(exercise.records, exercise.unit, question))
    return _by_keys(key_counts(exercise.records, exercise.unit, question))


def engine_table(source: Source, question: TableQuestion) -> TableCounts:
    """Return the counts of a table by an engine."""
    if isinstance(question, CellQuestion):
        return _by_node(source.count_cells(question))
    return _by_keys(source.count_keys(question))


def _count(predicate: Predicate, records: Sequence[Record], units: Sequence[Unit]) -> int:
    matching = zip(records, units, strict=True)
    return len({unit.name for record, unit in matching if truth(predicate, record)})


def _by_node(levels: Iterable[NDArray[np.int64]]) -> TableCounts:
    return {(level, node): count for level, counts in enumerate(levels) for node, count in enumerate(counts.tolist())}


def _by_keys(batches: Iterable[KeyCounts]) -> TableCounts:
    counts: dict[object, int] = {}
    for batch in batches:
        for keys, count in zip(batch.keys, batch.counts.tolist(), strict=True):
            counts[(_AGAIN, keys) if keys in counts else keys] = count
    return counts


_LONGEST = 60  # characters of a list of keys or edges in a message


def number_text(question: TableQuestion, place: object) -> str:
    """Return a text for one number of a table.

    Args:
        question: The table.
        place: The level and node of the number, or the keys of its group; None: the whole table.
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
    """Return the name of a level, and the keys of a node's cells."""
    named = question.levels[level]
    cells = [cell for cell, parent in enumerate(named.of_cell.tolist()) if parent == node]
    keys = [question.keys.key(c) if c < len(question.keys) else "other" for c in cells]
    return f"{named.name} {_cut(', '.join(map(str, keys)))}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_BATCH = 100  # predicates of one scan


@frozen
class _Answer:
    """A number that an engine returned, and the right one; None is a refusal."""

    records: str
    question: Callable[[], str]
    expected: int | None
    found: int | None


@dataclass(slots=True)
class Examiner:
    """The examination of an engine with some exercises."""

    engine: EngineUnderTest
    exercises: Sequence[Exercise]
    progress: Callable[[int, int], None] | None = None  # called with the numbers of asked and of all questions
    most: int = 20  # number of differences after which the examination stops
    asked: int = 0
    unheld: list[str] = field(default_factory=list)

    def examination(self) -> Examination:
        """Compare all answers of the engine, and stop after too many differences."""
        start, answers, differences = monotonic(), 0, list[Mismatch]()
        with closing(self._answers()) as all_answers:
            for answer in all_answers:
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
            monotonic() - start,
            digest(self.exercises),
        )

    def _answers(self) -> Generator[_Answer]:
        """Yield every answer of the engine, in order."""
        missing = self._missing_features()
        for each in self.exercises:
            exercise = narrowed(each, missing)
            if exercise.is_refused:
                yield self._refusal(exercise)
                continue
            with ExitStack() as stack:
                source = self._open(exercise, stack)
                if source is None:
                    self.unheld.append(exercise.name)
                    self._report_progress(exercise.questions)
                    continue
                yield from self._counts(exercise, source)
                yield from self._tables(exercise, source)

    def _missing_features(self) -> tuple[Feature, ...]:
        """Return the features of cells that the engine's tables cannot store. All other cells must be stored."""
        with ExitStack() as stack:
            self._open(narrowed(self.exercises[0], FEATURES), stack)
        missing = [feature for feature in FEATURES if not self._holds(feature)]
        self.unheld += [each.name for each in missing]
        return tuple(missing)

    def _holds(self, feature: Feature) -> bool:
        """Return True if a table of the engine can store the cells of a feature."""
        with ExitStack() as stack:
            return self._open(_probe(feature), stack) is not None

    def _open(self, exercise: Exercise, stack: ExitStack) -> Source | None:
        """Open the records as a table. Return None if the engine refuses optional records."""
        try:
            source = stack.enter_context(self._source(exercise))
            source.prepare()
        except SourceError:
            if exercise.is_optional:
                return None
            raise
        return source

    def _source(self, exercise: Exercise) -> AbstractContextManager[Source]:
        return self.engine.source(exercise.records, exercise.schema, exercise.unit)

    def _refusal(self, exercise: Exercise) -> _Answer:
        """Return the answer about records that must be refused: it should be None."""
        count = None
        with suppress(SourceError), self._source(exercise) as source:
            count = source.count(exercise.predicates)[0]
        self._report_progress(exercise.questions)
        return _Answer(exercise.name, lambda: canonical_text(exercise.predicates[0]), None, count)

    def _counts(self, exercise: Exercise, source: Source) -> Iterator[_Answer]:
        """Yield the counts of predicates, in scans of many."""
        expected = true_counts(exercise)
        for first in range(0, len(exercise.predicates), _BATCH):
            batch = exercise.predicates[first : first + _BATCH]
            counts = _count_batch(source, batch)
            true = expected[first : first + _BATCH]
            for predicate, true_count, count in zip(batch, true, counts, strict=True):
                yield _Answer(exercise.name, partial(canonical_text, predicate), true_count, count)
            self._report_progress(len(batch))

    def _tables(self, exercise: Exercise, source: Source) -> Iterator[_Answer]:
        """Yield the counts of tables, number by number."""
        for question in exercise.tables:
            expected = true_table(exercise, question)
            try:
                counts = engine_table(source, question)
            except SourceError:
                text = partial(number_text, question, None)
                yield _Answer(exercise.name, text, sum(expected.values()), None)
            else:
                for place in {**expected, **counts}:
                    text = partial(number_text, question, place)
                    yield _Answer(exercise.name, text, expected.get(place), counts.get(place))
            self._report_progress(1)

    def _report_progress(self, questions: int) -> None:
        self.asked += questions
        if self.progress is not None:
            self.progress(self.asked, sum(each.questions for each in self.exercises))


def _count_batch(source: Source, predicates: Sequence[Predicate]) -> list[int | None]:
    """Count predicates in one scan. If it fails, count each alone, with None for those that fail."""
    try:
        return [*source.count(predicates)]
    except SourceError:
        if len(predicates) == 1:
            return [None]
    return [count for each in predicates for count in _count_batch(source, [each])]


def _probe(feature: Feature) -> Exercise:
    """Return records that consist of the cells of a feature."""
    kinds = {kind: [*filter(feature.covers, cells)] for kind, cells in CELLS.items()}
    columns = {kind: cells for kind, cells in kinds.items() if cells}
    records = [
        {kind.value: cell for kind, cell in zip(columns, row, strict=True)} for row in zip_longest(*columns.values())
    ]
    return Exercise(feature.name, {kind.value: kind for kind in columns}, records, is_optional=True)


_HASH = "5e10efb3a01f05310a4dc6b552c6cc369bd0fd0f7642b72b9c20837d4b9c3fc8"


def suite_hash() -> str:
    """Return the SHA-256 of the suite's records and questions, in hexadecimal digits.

    It is a constant, which a test checks: computing it would delay each opening of a server.
    """
    return _HASH


@cache
def suite(one_in: int = 1) -> Sequence[Exercise]:
    """Return the exercises, with every question or one in `one_in`."""
    return tuple(
        replace(each, predicates=each.predicates[::one_in], tables=each.tables[::one_in]) for each in exercises()
    )


def examined(
    engine: EngineUnderTest, progress: Callable[[int, int], None] | None = None, asked: Sequence[Exercise] | None = None
) -> Examination:
    """Examine an engine with some exercises; None: with the whole suite."""
    return Examiner(engine, suite() if asked is None else asked, progress).examination()
