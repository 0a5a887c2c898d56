"""Examination of an engine: its answers to the exercises of `tables`, compared with the reference in `memory`."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from itertools import chain, zip_longest
from time import monotonic

from noisycount.display.values import Shown
from noisycount.engines.conformance.certificate import Certificate, EngineUnderTest, Identity
from noisycount.engines.conformance.records import (
    CELLS,
    FEATURES,
    Exercise,
    Feature,
    TableQuestion,
    digest,
    without_features,
)
from noisycount.engines.conformance.tables import exercises
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.grouping import CellQuestion
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

_REPEATED = "returned twice"  # mark of keys that an engine returned twice


@cache
def reference(exercise: Exercise) -> MemorySource:
    """Return the records of an exercise in plain Python, whose counts are right by definition."""
    return MemorySource(exercise.records, exercise.schema, exercise.unit)


@cache
def true_counts(exercise: Exercise) -> Sequence[int]:
    """Return the true count of each predicate of an exercise."""
    return reference(exercise).count(exercise.predicates)


def table_counts(source: Source, question: TableQuestion) -> TableCounts:
    """Return the counts of a table by a source."""
    if isinstance(question, CellQuestion):
        levels = enumerate(source.count_cells(question))
        return {(level, node): count for level, nodes in levels for node, count in enumerate(nodes.tolist())}
    counts: dict[object, int] = {}
    for batch in source.count_keys(question):
        for keys, count in zip(batch.keys, batch.counts.tolist(), strict=True):
            counts[(_REPEATED, keys) if keys in counts else keys] = count
    return counts


_LONGEST = 60  # characters of a list of keys or edges in a message


def number_text(question: TableQuestion, place: object) -> str:
    """Return a text that identifies one count of a table.

    Args:
        question: The table.
        place: The level and node of the count, or the keys of its group; None: the whole table.
    """
    parts = question.keys.parts if isinstance(question, CellQuestion) else question.parts
    text = f"by {' and '.join(_shortened(part.text) for part in parts)}"
    if question.where is not None:
        text += f" where {canonical_text(question.where)}"
    if question.max_groups is not None:
        text += f", at most {question.max_groups} a person with salt {question.salt!r}"
    if isinstance(question, CellQuestion) and isinstance(place, tuple):
        return f"{text}: {_node_text(question, *place)}"
    return f"{text}: {'all of it' if place is None else place}"


def _node_text(question: CellQuestion, level: int, node: int) -> str:
    """Return the name of a level, and the keys of a node's cells."""
    named = question.levels[level]
    cells = [cell for cell, parent in enumerate(named.of_cell.tolist()) if parent == node]
    keys = [question.keys.key(c) if c < len(question.keys) else "other" for c in cells]
    return f"{named.name} {_shortened(', '.join(map(str, keys)))}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_BATCH = 100  # predicates of one scan
_MAX_DIFFERENCES = 20  # after so many the examination stops

Answer = tuple[Callable[[], str], int | None, int | None]
"""A question, as a function that writes it, the right answer, and that of the engine; None is a refusal."""


@dataclass(slots=True)
class _Examiner:
    """The examination of an engine with some exercises."""

    engine: EngineUnderTest
    exercises: Sequence[Exercise]
    progress: Callable[[int, int], None] | None
    finished_questions: int = 0
    unheld: list[str] = field(default_factory=list)  # names of records that the engine's tables cannot store

    def answers(self) -> Generator[tuple[str, Answer]]:
        """Yield every answer of the engine, in order, with the name of its exercise."""
        missing = self._missing_features()
        for whole_exercise in self.exercises:
            exercise = without_features(whole_exercise, missing)
            with ExitStack() as stack:
                source = None if exercise.is_refused else self._open(exercise, stack)
                if exercise.is_refused:
                    answers: Iterable[Answer] = self._refusal_answer(exercise)
                elif source is None:
                    self.unheld.append(exercise.name)
                    self._report_progress(exercise.questions)
                    continue
                else:
                    answers = chain(self._predicate_answers(exercise, source), self._table_answers(exercise, source))
                for answer in answers:
                    yield exercise.name, answer

    def _missing_features(self) -> tuple[Feature, ...]:
        """Return the features of cells that the engine's tables cannot store. All other cells must be stored."""
        with ExitStack() as stack:
            self._open(without_features(self.exercises[0], FEATURES), stack)
        missing = [feature for feature in FEATURES if not self._can_store(feature)]
        self.unheld += [feature.name for feature in missing]
        return tuple(missing)

    def _can_store(self, feature: Feature) -> bool:
        """Return True if a table of the engine can store the cells of a feature."""
        with ExitStack() as stack:
            return self._open(_feature_records(feature), stack) is not None

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

    def _refusal_answer(self, exercise: Exercise) -> Iterator[Answer]:
        """Yield the answer about records that must be refused: it should be None."""
        count = None
        with suppress(SourceError), self._source(exercise) as source:
            count = source.count(exercise.predicates)[0]
        self._report_progress(exercise.questions)
        yield partial(canonical_text, exercise.predicates[0]), None, count

    def _predicate_answers(self, exercise: Exercise, source: Source) -> Iterator[Answer]:
        """Yield the counts of predicates, many in one scan."""
        expected = true_counts(exercise)
        for first in range(0, len(exercise.predicates), _BATCH):
            batch = exercise.predicates[first : first + _BATCH]
            counts = _count_batch(source, batch)
            for predicate, true_count, count in zip(batch, expected[first : first + _BATCH], counts, strict=True):
                yield partial(canonical_text, predicate), true_count, count
            self._report_progress(len(batch))

    def _table_answers(self, exercise: Exercise, source: Source) -> Iterator[Answer]:
        """Yield the counts of tables, number by number."""
        for question in exercise.tables:
            expected = table_counts(reference(exercise), question)
            try:
                counts = table_counts(source, question)
            except SourceError:
                yield partial(number_text, question, None), sum(expected.values()), None
            else:
                for place in {**expected, **counts}:
                    yield partial(number_text, question, place), expected.get(place), counts.get(place)
            self._report_progress(1)

    def _report_progress(self, questions: int) -> None:
        self.finished_questions += questions
        if self.progress is not None:
            self.progress(self.finished_questions, sum(exercise.questions for exercise in self.exercises))


def _count_batch(source: Source, predicates: Sequence[Predicate]) -> list[int | None]:
    """Count predicates in one scan. If it fails, count each alone, with None for those that fail."""
    try:
        return [*source.count(predicates)]
    except SourceError:
        if len(predicates) == 1:
            return [None]
    return [count for predicate in predicates for count in _count_batch(source, [predicate])]


def _feature_records(feature: Feature) -> Exercise:
    """Return records that consist of the cells of a feature."""
    kinds = {kind: [*filter(feature.covers, cells)] for kind, cells in CELLS.items()}
    columns = {kind: cells for kind, cells in kinds.items() if cells}
    records = [
        {kind.value: cell for kind, cell in zip(columns, row, strict=True)} for row in zip_longest(*columns.values())
    ]
    return Exercise(feature.name, {kind.value: kind for kind in columns}, records, is_optional=True)


_HASH = "cbceabe2aeab8dab21590dcf62bb2b5d83cc3ff2bd0ea9a2a658cc16eb8d6408"


def suite_hash() -> str:
    """Return the SHA-256 of the suite's records and questions, in hexadecimal digits.

    It is a constant, which a test checks: computing it would delay each opening of a server.
    """
    return _HASH


@cache
def suite(one_in: int = 1) -> Sequence[Exercise]:
    """Return the exercises, with every question or one in `one_in`."""
    return tuple(
        replace(exercise, predicates=exercise.predicates[::one_in], tables=exercise.tables[::one_in])
        for exercise in exercises()
    )


def examine(
    engine: EngineUnderTest,
    exercises: Sequence[Exercise] | None = None,
    progress: Callable[[int, int], None] | None = None,
    max_differences: int = _MAX_DIFFERENCES,
) -> Examination:
    """Compare the answers of an engine with the right ones.

    Args:
        engine: The engine.
        exercises: The records and questions; None: the whole suite.
        progress: Called with the numbers of questions so far and of all questions.
        max_differences: The number of wrong answers after which the examination stops.
    """
    start, answers, differences = monotonic(), 0, list[Mismatch]()
    examiner = _Examiner(engine, suite() if exercises is None else exercises, progress)
    with closing(examiner.answers()) as all_answers:
        for records, (question, expected, count) in all_answers:
            answers += 1
            if count != expected:
                differences.append(Mismatch(records, question(), expected, count))
                if len(differences) == max_differences:
                    break
    unheld = tuple(dict.fromkeys(examiner.unheld))
    seconds, digest_of_suite = monotonic() - start, digest(examiner.exercises)
    return Examination(engine.identity, answers, tuple(differences), unheld, seconds, digest_of_suite)
