"""A rehearsal as JSON."""

from collections.abc import Iterator
from typing import Any

from noisycount.app.rehearsal.rehearsal import CountRehearsal, Rehearsal, TableRehearsal
from noisycount.app.rehearsal.words import made_up_words
from noisycount.app.table.levels import shown_levels
from noisycount.app.table.wire import level_objects, loss_object
from noisycount.release.budget.exact import exact_text

__all__ = ["rehearsal_object"]


def rehearsal_object(rehearsal: Rehearsal) -> dict[str, Any]:
    """A rehearsal; `made_up` is a count of made-up records, `answer` the same with noise."""
    told = _table(rehearsal) if isinstance(rehearsal, TableRehearsal) else _count(rehearsal)
    return {
        "rehearsal": True,
        "units": rehearsal.told.units,
        "note": made_up_words(rehearsal),
        **told,
        "charged": "0",
    }


def _count(rehearsal: CountRehearsal) -> dict[str, Any]:
    return {
        "where": rehearsal.where,
        "unit": rehearsal.unit,
        "made_up": rehearsal.told.count,
        "answer": rehearsal.told.answer,
        "error": rehearsal.error,
        "confidence": rehearsal.confidence,
        "epsilon": exact_text(rehearsal.epsilon),
    }


def _table(rehearsal: TableRehearsal) -> dict[str, Any]:
    release = rehearsal.told.release
    return {
        "where": release.where,
        "unit": release.unit,
        "by": list(release.labels.names),
        "rows": list(_rows(rehearsal)),
        "confidence": release.confidence,
        "price": loss_object(release.price),
        "levels": level_objects(shown_levels(release.plan, release.confidence, len(release))),
    }


def _rows(rehearsal: TableRehearsal) -> Iterator[dict[str, Any]]:
    release, counts = rehearsal.told.release, rehearsal.told.counts
    for place, row in enumerate(release.rows):
        yield {
            "level": row.level,
            "keys": dict(zip(release.labels.names, row.labels, strict=True)),
            "made_up": None if counts is None else counts[place],
            "answer": row.answer,
            "error": row.error,
            "error_of_all": row.error_of_all,
            **({} if row.sum_of is None else {"sum_of": row.sum_of}),
        }
