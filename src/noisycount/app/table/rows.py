"""The counts of a table as people read them: keys, "all" where they are summed over, estimates."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from noisycount.release.tables.table_release import Label, TableRelease
from noisycount.shown.label import label_text

__all__ = ["ALL", "OTHER", "ShownRow", "shown_rows"]

ALL, OTHER = "all", "(other)"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One count of a table.

    Attributes:
        labels: What stands for each key.
        answer: The noisy count, in units.
        error: It lies within ±error of the true one with the confidence of the table.
        combined: The best estimate from all levels together, and its standard error; None where
            there is none.
    """

    labels: tuple[str, ...]
    answer: int
    error: int
    combined: tuple[float, float] | None = None


def shown_rows(release: TableRelease, places: Sequence[int]) -> list[ShownRow]:
    """Some of the counts.

    Args:
        release: The table.
        places: Which of them, from 0, the cells first.
    """
    starts = [0, *accumulate(len(answers) for answers in release.answers)]
    errors, estimates, deviations = release.errors, release.combined, release.standard_errors
    rows = []
    for place in places:
        level = bisect_right(starts, place) - 1
        node = place - starts[level]
        best = None
        if estimates is not None and deviations is not None:
            best = float(estimates[level][node]), float(deviations[level][node])
        answer = int(release.answers[level][node])
        rows.append(ShownRow(_labels(release, level, node), answer, errors[level], best))
    return rows


def _labels(release: TableRelease, level: int, node: int) -> tuple[str, ...]:
    """What stands for each key of a node: "all" where it sums over them."""
    names, codes = release.labels.names, release.levels[level].codes
    if codes is None:  # ranges, of which there are fewer than cells
        (told,) = list(release.labels.of(release.levels[level]))[node]
        return (label_text(told),)
    if node >= len(codes):
        return (OTHER,) * len(names)
    return tuple(
        _label(values, code)
        for values, code in zip(release.labels.values, codes[node].tolist(), strict=True)
    )


def _label(values: Sequence[Label], code: int) -> str:
    return ALL if code < 0 else label_text(values[code])
