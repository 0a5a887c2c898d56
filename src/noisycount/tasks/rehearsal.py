"""Rehearsal of a question: its answer about made-up records, as text and as JSON.

Analysts see the form of an answer without reading a record or paying. `noisycount.release.rehearsal` makes the records.
"""

from typing import Any

from noisycount.display.numbers import percent, plus_minus, signed
from noisycount.query.query import Query
from noisycount.release.rehearsal import Rehearsal, rehearsed
from noisycount.release.results import Release
from noisycount.tasks.answer_json import levels_json, loss_json, row_json
from noisycount.tasks.opening import DatasetSession
from noisycount.validation import exact_text


def rehearsal_of(session: DatasetSession, query: Query) -> Rehearsal:
    """Return the rehearsal of a query. Reads no record and charges nothing."""
    plan = session.plan(query)
    return rehearsed(query, plan, session.records.unit, session.dataset.size)


def made_up_words(rehearsal: Rehearsal) -> str:
    """Return a note that states the number of made-up units, and that the answer is unrelated to the data set."""
    units = "rows" if rehearsal.release.unit is None else "persons"
    return (
        f"{signed(rehearsal.units)} made-up {units} with these columns: no record of the data "
        "set was read, nothing was charged, and the numbers say nothing about it"
    )


def rehearsal_words(rehearsal: Rehearsal) -> str:
    """Return the answer of a count in words, with the exact count of the made-up records and the difference."""
    release, (count,) = rehearsal.release, rehearsal.counts or (0,)
    assert isinstance(release, Release)  # noqa: S101 - tables are printed row by row
    return (
        f"{signed(count)} of the made-up ones match; the answer was {signed(release.answer)} "
        f"{plus_minus(release.error)} ({percent(release.confidence)}), so {signed(abs(release.answer - count))} off"
    )


def rehearsal_json(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return a rehearsal as JSON; `made_up` is an exact count of made-up records, `answer` the count with noise."""
    return {
        "rehearsal": True,
        "units": rehearsal.units,
        "note": made_up_words(rehearsal),
        **_answer_members(rehearsal),
        "charged": "0",
    }


def _answer_members(rehearsal: Rehearsal) -> dict[str, Any]:
    release, counts = rehearsal.release, rehearsal.counts
    if isinstance(release, Release):
        (where,) = rehearsal.query.wheres
        return {
            "where": where,
            "unit": release.unit,
            "made_up": None if counts is None else counts[0],
            "answer": release.answer,
            "error": release.error,
            "confidence": release.confidence,
            "epsilon": exact_text(release.epsilon),
        }
    exact_counts = [None] * len(release) if counts is None else counts
    names = release.labels.names
    return {
        "where": release.where,
        "unit": release.unit,
        "by": list(names),
        "rows": [row_json(names, row, made_up=count) for row, count in zip(release.rows, exact_counts, strict=True)],
        "confidence": release.confidence,
        "price": loss_json(release.price),
        "levels": levels_json(release.plan, release.confidence, len(release)),
    }
