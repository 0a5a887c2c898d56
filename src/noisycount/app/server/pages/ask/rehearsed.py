"""A rehearsal as its page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from noisycount.app.rehearsal.rehearsal import CountRehearsal, Rehearsal
from noisycount.app.rehearsal.words import made_up_words, rehearsal_words
from noisycount.app.table.rows import shown_rows
from noisycount.shown.numbers import percent, plus_minus, signed

__all__ = ["RehearsedPanel"]

_MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class RehearsedPanel:
    """The panel of a rehearsal.

    Attributes:
        note: That the records are made up.
        words: The answer beside the count; empty for a table.
        header: The names of the columns of a table.
        rows: Its rows.
        keys: How many of the columns are keys.
    """

    note: str
    words: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    keys: int = 1

    @classmethod
    def of(cls, rehearsal: Rehearsal) -> Self:
        """The panel that shows a rehearsal."""
        note = made_up_words(rehearsal)
        if isinstance(rehearsal, CountRehearsal):
            return cls(note, rehearsal_words(rehearsal))
        release, counts = rehearsal.told.release, rehearsal.told.counts
        names, places = release.labels.names, range(min(len(release), _MOST_ROWS))
        header = [*names, "made up", f"answer ({percent(release.confidence)})"]
        rows = [
            [
                *row.labels,
                "hidden" if counts is None else signed(counts[place]),
                f"{signed(row.answer)} {plus_minus(row.error)}",
            ]
            for place, row in zip(places, shown_rows(release, places), strict=True)
        ]
        words = "" if rows else "No key is shown: none reached the threshold"
        return cls(note, words, header, rows, len(names))
