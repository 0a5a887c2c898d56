"""The suite itself: the same everywhere, whole, and passed by what defines the answers."""

import os
import subprocess
import sys

from noisycount.release.question.parser import parse
from noisycount.release.question.text import canonical_text
from noisycount.release.sources.conformance.canonical import digest
from noisycount.release.sources.conformance.suite import examined, suite, suite_hash
from tests.release.sources.conformance.benches import MemoryBench


def test_hash_is_of_all_records_and_questions() -> None:
    """A change of the suite needs another hash, so that certificates of the old one end."""
    assert digest(suite()) == suite_hash()


def test_hash_is_the_same_in_another_process() -> None:
    """Nothing hangs on the order of sets, the clock, the zone or the language of a machine."""
    code = (
        "from noisycount.release.sources.conformance.suite import suite\n"
        "from noisycount.release.sources.conformance.canonical import digest\n"
        "print(digest(suite()))"
    )
    settings = {"PYTHONHASHSEED": "7", "TZ": "Pacific/Apia", "LC_ALL": "C", "PYTHONUTF8": "0"}
    told = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", code],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == suite_hash()


def test_every_predicate_is_one_that_an_analyst_may_write() -> None:
    """Each one's own text is within the bounds of the language, and parses to it."""
    for exercise in suite(one_in=7):
        asked = {name: kind for name, kind in exercise.schema.items() if name != exercise.unit}
        for predicate in exercise.predicates:
            assert parse(canonical_text(predicate), asked) == predicate


def test_plain_python_gives_every_answer_as_it_is_defined() -> None:
    """The reference engine passes a part of the suite, and is told as it goes on."""
    told: list[tuple[int, int]] = []
    found = examined(MemoryBench(), lambda *done: told.append(done), suite(one_in=40))
    assert (found.differences, found.unheld) == ((), ())
    assert found.answers >= told[-1][0] == told[-1][1] == sum(e.questions for e in suite(40))
    assert told == sorted(told)
