"""What each level of a table costs and how far off it is: published or planned."""

from collections.abc import Sequence
from fractions import Fraction

from noisycount.display.numbers import percent, plus_minus
from noisycount.frozen import frozen
from noisycount.release.plan import TablePlan

__all__ = ["MANY", "ShownLevel", "level_rows", "noise_words", "shown_levels"]


MANY = 7


"""So many levels are not told one by one."""


@frozen
class ShownLevel:
    """One level of a table.

    Attributes:
        name: What its counts are by.
        counts: How many there are; None: only the records know.
        error: One lies within ±error with the confidence.
        error_of_all: All of the table do within these; None where nobody knows how many there are.
        share: Of the price.
        sensitivity: By how much one unit moves all of them together.
        mechanism: The name of the noise.
        scale: Of the noise, in units.
    """

    name: str
    counts: int | None
    error: int
    error_of_all: int | None
    share: Fraction
    sensitivity: int
    mechanism: str
    scale: Fraction


def shown_levels(plan: TablePlan, confidence: float, counts: int | None = None) -> list[ShownLevel]:
    """The levels of a table.

    Args:
        plan: Their noise.
        confidence: With which errors are stated.
        counts: How many counts there are in all, where only the records knew.
    """
    is_known = plan.size is not None or counts is not None
    together: Sequence[int | None] = (
        plan.errors_of_all(confidence, counts) if is_known else [None] * len(plan.levels)
    )
    return [
        ShownLevel(
            name=level.name,
            counts=level.size,
            error=level.error(confidence),
            error_of_all=error_of_all,
            share=level.share,
            sensitivity=level.sensitivity,
            mechanism=level.mechanism.name,
            scale=level.mechanism.exact_scale,
        )
        for level, error_of_all in zip(plan.levels, together, strict=True)
    ]


def level_rows(
    levels: Sequence[ShownLevel], confidence: float, of_noise: str = ""
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The names of columns, and a row for each level.

    Args:
        levels: What is told.
        confidence: With which errors are stated.
        of_noise: What stands before the name of the errors.
    """
    each = f"{of_noise}each ({percent(confidence)})"
    header = ("counts by", "how many", each, "all at once", "share")
    rows = [
        (
            level.name,
            "hidden" if level.counts is None else f"{level.counts:,}",
            plus_minus(level.error),
            "" if level.error_of_all is None else plus_minus(level.error_of_all),
            percent(float(f"{float(level.share):.3g}")),
        )
        for level in levels
    ]
    return header, rows


def noise_words(levels: Sequence[ShownLevel]) -> str:
    """The noise of each level, or the range of it where there are many."""
    name, scales = levels[0].mechanism, [level.scale for level in levels]
    if len(levels) == 1:
        return f"{name}, scale {_short(scales[0])}"
    if len(levels) >= MANY:
        ends = f"{_short(min(scales))} to {_short(max(scales))}"
        return f"{name}, scale {ends} over {len(levels)} levels"
    each = (f"{_short(level.scale)} for {level.name}" for level in levels)
    return f"{name}, scale {', '.join(each)}"


def _short(scale: Fraction) -> str:
    """A scale in four digits."""
    return f"{float(scale):,.4g}"
