"""The suite itself: the same everywhere, whole, and passed by what defines the answers.

Tests of `engines/conformance/tables.py`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from noisycount.engines.conformance.records import digest
from noisycount.engines.conformance.suite import examine, suite, suite_hash, true_counts
from noisycount.engines.memory import MemorySource
from noisycount.engines.truth import Record
from noisycount.errors import SourceError
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.language import parse
from noisycount.query.predicate import And, Not, Or, Predicate, canonical_text
from noisycount.query.schema import Kind, Schema
from tests.helpers.engines_under_test import MemoryUnderTest


@pytest.mark.thorough
def test_hash_is_of_all_records_and_questions() -> None:
    """A change of the suite needs another hash, so that certificates of the old one end."""
    assert digest(suite()) == suite_hash()


@pytest.mark.thorough
def test_hash_is_the_same_in_another_process() -> None:
    """Nothing hangs on the order of sets, the clock, the zone or the language of a machine."""
    code = (
        "from noisycount.engines.conformance.suite import suite\n"
        "from noisycount.engines.conformance.records import digest\n"
        "print(digest(suite()))"
    )
    settings = {"PYTHONHASHSEED": "7", "TZ": "Pacific/Apia", "LC_ALL": "C", "PYTHONUTF8": "0"}
    told = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == suite_hash()


@pytest.mark.thorough
def test_every_predicate_is_one_that_an_analyst_may_write() -> None:
    """Each one's own text is within the bounds of the language, and parses to it."""
    for exercise in suite(one_in=100):
        asked = Schema(exercise.schema).for_questions(exercise.unit, None)
        for predicate in exercise.predicates:
            assert parse(canonical_text(predicate), asked) == predicate


@pytest.mark.thorough
def test_plain_python_gives_every_answer_as_it_is_defined() -> None:
    """The reference engine passes a part of the suite, and is told as it goes on."""
    told: list[tuple[int, int]] = []
    found = examine(MemoryUnderTest(), suite(one_in=100), lambda *done: told.append(done))
    assert (found.differences, found.unheld) == ((), ())
    assert found.answers >= told[-1][0] == told[-1][1] == sum(e.questions for e in suite(100))
    assert told == sorted(told)


@pytest.mark.thorough
def test_random_predicates_are_worth_asking() -> None:
    """Most hold of some records and not of others, and some are as deep as may be written."""
    exercise = suite(one_in=10)[0]
    asked, counts = exercise.predicates[-500:], true_counts(exercise)[-500:]
    telling = sum(0 < count < len(exercise.records) for count in counts)
    assert telling > 0.7 * len(asked)
    assert max(map(depth, asked)) == 17


def depth(predicate: Predicate) -> int:
    """Return the number of nested connectives in a predicate."""
    match predicate:
        case Not(operand):
            return 1 + depth(operand)
        case And(operands) | Or(operands):
            return 1 + max(map(depth, operands))
        case _:
            return 0


@pytest.mark.thorough
def test_what_an_engine_cannot_hold_is_told_and_not_asked() -> None:
    """Its tables refuse texts beyond the first plane; all other cells are still asked about."""
    found = examine(MemoryUnderTest(Narrow), exercises=suite(100))
    assert found.differences == ()
    assert found.unheld == ("characters beyond the first plane, such as emoji",)


@pytest.mark.thorough
def test_what_every_engine_must_hold_is_no_choice() -> None:
    """Its refusal is the end of the examination."""
    with pytest.raises(SourceError, match="no accents here"):
        examine(MemoryUnderTest(Plain), exercises=suite(100))


def test_engine_that_refuses_a_question_is_wrong_about_it_alone() -> None:
    """If one question fails a scan of many, the suite asks the others again."""
    found = examine(MemoryUnderTest(Picky), exercises=suite(100))
    assert found.differences
    for each in found.differences:
        assert each.found is None
        assert "like" in each.question


def test_engine_that_fails_a_table_is_wrong_about_it_once() -> None:
    """The table is told as a whole, with all of its counts added up."""
    found = examine(MemoryUnderTest(Tableless), exercises=suite(100))
    assert {each.found for each in found.differences} == {None}
    assert all(each.question.endswith(": all of it") for each in found.differences)


class Narrow(MemorySource):
    """An engine of UTF-8 with three bytes at most."""

    __slots__ = ()

    def __init__(self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None) -> None:
        super().__init__(records, schema, unit)
        if "👍" in repr(records):
            raise SourceError("no emoji here")


class Plain(MemorySource):
    """An engine of few characters."""

    __slots__ = ()

    def __init__(self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None) -> None:
        super().__init__(records, schema, unit)
        if "é" in repr(records):
            raise SourceError("no accents here")


class Picky(MemorySource):
    """An engine that fails at patterns with a backslash."""

    __slots__ = ()

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The counts, or a failure of all of them."""
        texts = map(canonical_text, predicates)
        if any("like" in text and "\\" in text for text in texts):
            raise SourceError("it could not be counted")
        return super().count(predicates)


class Tableless(MemorySource):
    """An engine without tables."""

    __slots__ = ()

    def count_cells(self, _: CellQuestion) -> list[NDArray[np.int64]]:
        """A failure."""
        raise SourceError("it could not be counted")

    def count_keys(self, _: KeyQuestion) -> Iterator[KeyCounts]:
        """A failure."""
        raise SourceError("it could not be counted")
