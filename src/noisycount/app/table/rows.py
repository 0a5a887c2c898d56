"""The counts of a table as people read them: keys, "all" where they are summed over, estimates."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from noisycount.release.tables.table_release import TableRelease
from noisycount.shown.label import label_text

__all__ = ["ALL", "OTHER", "ShownRow", "shown_rows"]

ALL, OTHER = "all", "(other)"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One count of a table.

    Attributes:
        level: The place of its level, the cells first.
        labels: What stands for each key.
        answer: The noisy count, in units.
        error: It lies within ±error of the true one with the confidence of the table.
        combined: The best estimate from all levels together, and its standard error; None where
            there is none.
    """

    level: int
    labels: tuple[str, ...]
    answer: int
    error: int
    combined: tuple[float, float] | None = None


def shown_rows(release: TableRelease) -> Iterator[ShownRow]:
    """Every count, the cells first."""
    rows = iter(release.rows)
    estimates, errors = release.combined, release.standard_errors
    for place, level in enumerate(release.levels):
        best: Iterator[tuple[float, float] | None] = repeat(None)
        if estimates is not None and errors is not None:
            best = zip(estimates[place].tolist(), errors[place].tolist(), strict=True)
        codes = [] if level.codes is None else level.codes.tolist()
        nodes = chain(codes, repeat(None))
        for _, node, estimate in zip(range(level.size), nodes, best, strict=False):
            row = next(rows)
            is_other = row.level == OTHER.strip("()")
            labels = (OTHER,) * len(row.labels) if is_other else _labels(row.labels, node)
            yield ShownRow(place, labels, row.answer, row.error, estimate)


def _labels(labels: tuple[object, ...], node: list[int] | None) -> tuple[str, ...]:
    """What stands for each key of a node: "all" where it sums over them."""
    if node is None:
        return tuple(map(label_text, labels))
    return tuple(
        ALL if code < 0 else label_text(label) for label, code in zip(labels, node, strict=True)
    )
