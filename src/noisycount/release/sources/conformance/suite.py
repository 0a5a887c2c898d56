"""The suite that an engine passes before its answers are trusted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from noisycount.release.sources.conformance.bench import Bench
from noisycount.release.sources.conformance.examination import Examination
from noisycount.release.sources.conformance.examiner import Examiner
from noisycount.release.sources.conformance.exercise import Exercise
from noisycount.release.sources.conformance.exercises import exercises

__all__ = ["examined", "suite", "suite_hash"]

_HASH = "ce46671569ce393b500ddf37bd52d897a2d0b2407197c6c537993cae24582bfd"


def suite_hash() -> str:
    """The SHA-256 of the records and questions of the suite, in hexadecimal digits.

    It is written here, as no opening of a server should wait while it is computed.
    """
    return _HASH


@cache
def suite(one_in: int = 1) -> Sequence[Exercise]:
    """The exercises, with one question in so many.

    Args:
        one_in: How many questions there are for each that is kept.
    """
    return tuple(
        replace(each, predicates=each.predicates[::one_in], tables=each.tables[::one_in])
        for each in exercises()
    )


def examined(
    bench: Bench,
    progress: Callable[[int, int], None] | None = None,
    asked: Sequence[Exercise] | None = None,
) -> Examination:
    """What an engine says of made-up records, compared with what is so by definition.

    Args:
        bench: The engine.
        progress: It is told now and then how many questions of how many were asked.
        asked: The exercises; None: the whole suite.

    Raises:
        SourceError: The engine makes no table of cells that every engine must hold.
    """
    return Examiner(bench, suite() if asked is None else asked, progress).examination()
