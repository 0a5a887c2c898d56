"""A rehearsal in words."""

from noisycount.app.rehearsal.rehearsal import CountRehearsal, Rehearsal
from noisycount.shown.numbers import percent, plus_minus, signed

__all__ = ["made_up_words", "rehearsal_words"]


def made_up_words(rehearsal: Rehearsal) -> str:
    """What was counted, and that it says nothing of the data set."""
    units = "rows" if rehearsal.unit is None else "persons"
    return (
        f"{signed(rehearsal.told.units)} made-up {units} with these columns: no record of the data "
        "set was read, nothing was charged, and the numbers say nothing about it"
    )


def rehearsal_words(rehearsal: CountRehearsal) -> str:
    """The answer beside the count that it hides."""
    told, sure = rehearsal.told, percent(rehearsal.confidence)
    return (
        f"{signed(told.count)} of the made-up ones match; the answer was {signed(told.answer)} "
        f"{plus_minus(rehearsal.error)} ({sure}), so {signed(abs(told.answer - told.count))} off"
    )
