"""What asks an engine everything, and compares."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from time import monotonic

from noisycount.errors import SourceError
from noisycount.release.question.text import canonical_text
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.conformance.bench import Bench
from noisycount.release.sources.conformance.canonical import digest
from noisycount.release.sources.conformance.cells import CELLS, FEATURES, Feature
from noisycount.release.sources.conformance.examination import Difference, Examination
from noisycount.release.sources.conformance.exercise import Exercise, narrowed
from noisycount.release.sources.conformance.reference import asked_table, true_counts, true_table
from noisycount.release.sources.conformance.table_text import number_text
from noisycount.release.sources.interface import Source

__all__ = ["Examiner"]

_AT_ONCE = 100  # predicates of one scan


@dataclass(frozen=True, slots=True)
class _Answer:
    """A number that an engine gave, beside what it is by definition; None is a refusal."""

    records: str
    question: Callable[[], str]
    expected: int | None
    found: int | None


@dataclass(slots=True)
class Examiner:
    """An engine, and what it is asked.

    Args:
        bench: The engine.
        exercises: What it is asked.
        progress: It is told how many questions of how many were asked.
        most: After how many differences it is asked no more.
    """

    bench: Bench
    exercises: Sequence[Exercise]
    progress: Callable[[int, int], None] | None = None
    most: int = 20
    asked: int = 0
    unheld: list[str] = field(default_factory=list)

    def examination(self) -> Examination:
        """All that the engine says, until it was wrong too often.

        Raises:
            SourceError: It makes no table of the cells that every engine must hold.
        """
        begun, answers, differences = monotonic(), 0, list[Difference]()
        with closing(self._answers()) as given:
            for answer in given:
                answers += 1
                if answer.found == answer.expected:
                    continue
                told = (answer.records, answer.question(), answer.expected, answer.found)
                differences.append(Difference(*told))
                if len(differences) == self.most:
                    break
        return Examination(
            self.bench.identity,
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
        """The records in a table of it; None where it may refuse them, and does.

        Raises:
            SourceError: It may not, and does.
        """
        try:
            source = opened.enter_context(self._source(exercise))
            source.prepare()
        except SourceError:
            if exercise.is_optional:
                return None
            raise
        return source

    def _source(self, exercise: Exercise) -> AbstractContextManager[Source]:
        return self.bench.source(exercise.records, exercise.schema, exercise.unit)

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
        {kind.value: cell for kind, cell in zip(found, row, strict=True)}
        for row in zip_longest(*found.values())
    ]
    return Exercise(feature.name, {kind.value: kind for kind in found}, records, is_optional=True)
