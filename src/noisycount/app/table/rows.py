"""The counts of a table as people read them: keys, "all" where they are summed over, estimates."""

from collections.abc import Sequence
from dataclasses import dataclass

from noisycount.release.tables.release import TableRelease

__all__ = ["ShownRow", "shown_rows"]


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
    errors, estimates, deviations = release.errors, release.combined, release.standard_errors
    rows = []
    for place in places:
        level, node = release.place(place)
        best = None
        if estimates is not None and deviations is not None:
            best = float(estimates[level][node]), float(deviations[level][node])
        answer = int(release.answers[level][node])
        labels = release.labels.texts(release.levels[level], node)
        rows.append(ShownRow(labels, answer, errors[level], best))
    return rows
