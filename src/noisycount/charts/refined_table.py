"""Picture of a refined table: for each count a dot for the noisy answer and one for the refined estimate.

`posterior_dots` collects the dots of a table posterior; `refined_picture` draws them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from noisycount.analysis.accuracy import accuracy
from noisycount.analysis.tables.table_posterior import TablePosterior
from noisycount.charts.picture import DotMarks, Frame, Picture, PictureMark, SegmentMark, SpanMarks
from noisycount.charts.table import count_range, label_height, row_labels, wrapped_notes, zero_line
from noisycount.charts.theme import BLUE, DENSE, GRID, SOLID, VERMILION, Style
from noisycount.display.numbers import percent
from noisycount.frozen import frozen
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise

MOST_DOTS = 60  # largest number of counts of a level that are drawn; of more, the largest counts are
_MAX_SUM_DOTS = 2 * MOST_DOTS  # largest number of dots in all levels of sums together


@frozen
class RefinedDot:
    """Answer and estimate of a cell or of a sum of cells."""

    label: str  # name of the cell or sum
    answer: float | None  # published count in records; None if none was published
    error: float  # half-width of the interval around the answer; 0 without an answer
    estimate: float  # posterior mean of the count given all answers
    low: int  # smallest count of the posterior interval
    high: int  # largest count of the posterior interval


@frozen
class RefinedSums:
    """A level of sums, drawn on a scale of its own because sums are larger than cells.

    Example:
        >>> RefinedSums("county", [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)]).name
        'county: the 60 largest of 100'
    """

    name: str  # name of the level
    dots: Sequence[
        RefinedDot
    ]  # counts in their order; if there are more than `MOST_DOTS`, the largest ones in descending order

    def __post_init__(self) -> None:
        """Keep only the largest counts if there are too many. Raise ValueError if there is none."""
        dots, selection = _select_largest(self.dots)
        object.__setattr__(self, "name", f"{self.name}: {selection}" if selection else self.name)
        object.__setattr__(self, "dots", dots)


@frozen
class RefinedDots:
    """Data of the chart of a refined table.

    Example:
        >>> table = RefinedDots([RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)], "Towns")
        >>> len(table.dots), table.dots[0].label, table.notes
        (60, '99', ['the 60 largest of 100 cells'])
    """

    dots: Sequence[
        RefinedDot
    ]  # cells in their order; if there are more than `MOST_DOTS`, the largest ones in descending order
    title: str  # heading
    notes: Sequence[str] = ()  # lines below the heading
    level: float = 0.95  # probability of every interval
    unit: str = "records"  # what is counted, in the plural
    labels: str = ""  # common name of the labels of the cells, such as the names of columns
    sums: Sequence[RefinedSums] = ()  # levels of sums, drawn below the cells; if too many, those with the fewest counts

    def __post_init__(self) -> None:
        """Keep only the largest cells and the smallest levels if there are too many.

        Raise ValueError if there is no cell.
        """
        dots, selection = _select_largest(self.dots)
        levels, notes = (
            _select_smallest_levels(self.sums),
            [*self.notes, *([f"{selection} cells"] if selection else [])],
        )
        if len(levels) < len(self.sums):
            notes.append(f"{len(levels)} of {len(self.sums)} levels of sums: those with the fewest")
        for name, value in (("dots", dots), ("notes", notes), ("sums", levels)):
            object.__setattr__(self, name, value)


def _select_smallest_levels(levels: Sequence[RefinedSums]) -> list[RefinedSums]:
    """Return the levels with the fewest counts, in their order, with at most 120 counts in all."""
    remaining, selected = _MAX_SUM_DOTS, []
    for level in sorted(levels, key=lambda level: len(level.dots)):
        remaining -= len(level.dots)
        if remaining >= 0:
            selected.append(level)
    return [level for level in levels if level in selected]


def _select_largest(dots: Sequence[RefinedDot]) -> tuple[Sequence[RefinedDot], str]:
    """Return the 60 largest counts and a phrase that states the selection; up to 60 counts are returned with ""."""
    if not dots:
        raise ValueError(f"dots must be at least one, got {dots!r}")
    if len(dots) <= MOST_DOTS:
        return dots, ""
    largest = sorted(dots, key=lambda dot: -dot.estimate)[:MOST_DOTS]
    return largest, f"the {MOST_DOTS} largest of {len(dots):,}"


def answer_error(mechanism: Mechanism | None, level: float) -> float:
    """Return the half-width of the interval around an answer that contains the count with probability `level`.

    Returns 0 for an exact answer, or without symmetric noise.

    Example:
        >>> from noisycount import DiscreteLaplace, Exact, Gaussian
        >>> answer_error(DiscreteLaplace.for_epsilon(0.15), 0.95), answer_error(Exact(), 0.95)
        (20, 0.0)
        >>> round(answer_error(Gaussian(10), 0.95), 5)
        19.59964
    """
    if not isinstance(mechanism, SymmetricNoise):
        return 0.0
    return accuracy(mechanism, 1 - level) - mechanism.is_discrete


_LEVEL = 0.95


def posterior_dots(posterior: TablePosterior) -> RefinedDots:
    """Return the dots of the cells of a table, and of every level of sums that has an answer."""
    cells = posterior.tree.depth - 1
    sums = [
        RefinedSums(posterior.tree.names[level], _level_dots(posterior, level))
        for level in reversed(range(cells))
        if posterior.solution.answers(level)
    ]
    name = posterior.tree.names[cells]
    dots = _level_dots(posterior, cells)
    return RefinedDots(dots, "What are the true counts?", [posterior.prior.words], _LEVEL, labels=name, sums=sums)


def _level_dots(posterior: TablePosterior, level: int) -> list[RefinedDot]:
    """Return a dot for each node of a level, with its estimate and, if there is one, its answer."""
    estimates = posterior.level(level)
    number = len(estimates.mean)
    answers, errors = np.full(number, np.nan), np.zeros(number)
    for measurement in posterior.solution.answers(level):
        is_answered = ~measurement.suppressed
        answers[measurement.nodes[is_answered]] = measurement.answers[is_answered]
        errors[measurement.nodes[is_answered]] = answer_error(measurement.mechanism, _LEVEL)
    return [
        RefinedDot(
            ", ".join(posterior.tree.label(level, node)) or posterior.tree.names[level],
            None if np.isnan(answers[node]) else float(answers[node]),
            float(errors[node]),
            float(estimates.mean[node]),
            int(estimates.low[node]),
            int(estimates.high[node]),
        )
        for node in range(number)
    ]


_RAW, _REFINED = "answer, with noise", "refined"
_WIDTH = 420
_ROW, _NARROW_ROW = 30, 22  # height of a row in pixels, and that of a row if there are many
_MANY = 20  # number of rows above which they are narrow
_OFFSET_SHARE = 0.17  # share of the row height: the answer is so far above the middle, the estimate so far below
_LEVEL_SPACING = 28  # pixels between levels


def refined_picture(table: RefinedDots) -> Picture:
    """Return the picture: rows with the answer above the estimate, and their intervals. Sums are below the cells."""
    cells = _level_frame(table.dots, table.unit, table.labels)
    sums = [replace(_level_frame(level.dots, table.unit), title=level.name, legend=()) for level in table.sums]
    intervals = f"lines: where the count lies with {percent(table.level)} probability"
    return Picture(table.title, wrapped_notes([*table.notes, intervals]), [cells, *sums], _LEVEL_SPACING)


def _level_frame(dots: Sequence[RefinedDot], unit: str, name: str = "") -> Frame:
    """Return the frame of the rows of one level, with the common name of their labels above them."""
    middles, height = _row_middles(dots)
    offset = _OFFSET_SHARE * _row_height(dots)
    rows = list(zip(dots, middles, strict=True))
    answers = [
        (dot.answer, dot.answer - dot.error, dot.answer + dot.error, middle - offset)
        for dot, middle in rows
        if dot.answer is not None
    ]
    estimates = [(dot.estimate, dot.low, dot.high, middle + offset) for dot, middle in rows]
    lead = Style(GRID, (1, 3), 1)  # leads the eye from a dot to its label
    marks: list[PictureMark] = [*(SegmentMark((0, middle), (_WIDTH, middle), lead) for middle in middles), zero_line()]
    for kind, colour, dash, counts in ((_RAW, VERMILION, DENSE, answers), (_REFINED, BLUE, SOLID, estimates)):
        marks.append(SpanMarks([(low, high, place) for _, low, high, place in counts], Style(colour, dash, 2)))
        marks.append(DotMarks([(count, place) for count, _, _, place in counts], colour, 6.8, kind))
    x = count_range([(low, high) for _, low, high, _ in [*answers, *estimates]], unit, "count")
    marks += row_labels(((dot.label, middle) for dot, middle in rows), name)
    return Frame(x, None, (_WIDTH, height), marks, legend=((_RAW, VERMILION), (_REFINED, BLUE)))


def _row_height(dots: Sequence[RefinedDot]) -> int:
    return _NARROW_ROW if len(dots) > _MANY else _ROW


def _row_middles(dots: Sequence[RefinedDot]) -> tuple[list[float], float]:
    """Return the middle of each row from the top, and the total height, in pixels."""
    middles: list[float] = []
    top = 0.0
    for dot in dots:
        room = max(_row_height(dots), label_height(dot.label) + 6)
        middles.append(top + room / 2)
        top += room
    return middles, top
