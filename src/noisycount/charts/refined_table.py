"""Altair chart of a refined table: for each count a dot for the noisy answer and one for the refined estimate.

`posterior_dots` collects the dots of a table posterior; `refined_chart` draws them.
"""

from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from noisycount.analysis.accuracy import accuracy
from noisycount.analysis.tables.table_posterior import TablePosterior
from noisycount.charts import drawing
from noisycount.charts.theme import BLUE, CONFIG, DENSE, GRID, SOLID, VERMILION
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
        """Select the largest counts if there are too many. Raise ValueError if there is none."""
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
        """Select the largest cells and smallest levels if there are too many. Raise ValueError if there is no cell."""
        dots, selection = _select_largest(self.dots)
        drawn, notes = _select_smallest_levels(self.sums), [*self.notes, *([f"{selection} cells"] if selection else [])]
        if len(drawn) < len(self.sums):
            notes.append(f"{len(drawn)} of {len(self.sums)} levels of sums: those with the fewest")
        for name, value in (("dots", dots), ("notes", notes), ("sums", drawn)):
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
    """Return the nodes of a level, each with its answer, if it has one, and its estimate."""
    estimates = posterior.level(level)
    number = len(estimates.mean)
    answers, errors = np.full(number, np.nan), np.zeros(number)
    for measurement in posterior.solution.answers(level):
        given = ~measurement.suppressed
        answers[measurement.nodes[given]] = measurement.answers[given]
        errors[measurement.nodes[given]] = answer_error(measurement.mechanism, _LEVEL)
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


@drawing.unchecked
def refined_chart(table: RefinedDots) -> alt.LayerChart | alt.VConcatChart:
    """Return the chart: in each row the answer above the estimate, with their intervals; sums below the cells."""
    cells = _level_chart(table.dots, table.unit, table.labels, has_legend=True)
    if not table.sums:
        alone: alt.LayerChart = cells.properties(title=_title(table), config=CONFIG)
        return alone
    sums = [
        _level_chart(level.dots, table.unit).properties(title=alt.TitleParams(level.name, frame="group"))
        for level in table.sums
    ]
    return alt.VConcatChart(
        vconcat=[cells, *sums],
        title=_title(table),
        spacing=_LEVEL_SPACING,
        config=CONFIG,
        resolve=alt.Resolve(scale={"x": "independent", "y": "independent"}),
    )


def _level_chart(rows: Sequence[RefinedDot], unit: str, name: str = "", *, has_legend: bool = False) -> alt.LayerChart:
    """Return the chart of the rows of one level, with the common name of their labels above them."""
    middles, height = _row_middles(rows)
    values = list(_marks(rows, middles))
    marks = drawing.data_chart(values)
    y = drawing.rows_axis(height)
    x = alt.X("count:Q", title=unit, axis=drawing.count_axis(), scale=drawing.count_scale(values))
    kinds = [_RAW, _REFINED]
    top_legend = alt.Legend(orient="top", title=None, labelFontSize=13, symbolType="circle", symbolStrokeWidth=0)
    legend = top_legend if has_legend else None
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[VERMILION, BLUE]), legend=legend)
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=kinds, range=[list(DENSE), list(SOLID)]), legend=None)
    spans = marks.mark_rule(strokeWidth=2, opacity=0.75).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, strokeDash=dash
    )
    dots = marks.mark_circle(opacity=1, size=46).encode(x=x, y=y, color=colour)
    labels = drawing.row_labels(zip((row.label for row in rows), middles, strict=True), y, name)
    places = drawing.data_chart([{"place": middle} for middle in middles])
    lines = places.mark_rule(color=GRID, strokeDash=[1, 3]).encode(y=y)  # lead the eye from a dot to its label
    layers = [lines, drawing.zero_line(), spans, dots, *labels]
    return alt.LayerChart(layer=layers, width=_WIDTH, height=height)


def _title(table: RefinedDots) -> alt.TitleParams:
    """Return the heading, with a note that explains the lines."""
    return drawing.table_heading(
        table.title, [*table.notes, f"lines: where the count lies with {percent(table.level)} probability"]
    )


def _row_middles(dots: Sequence[RefinedDot]) -> tuple[list[float], float]:
    """Return the middle of each row from the top, and the total height, in pixels."""
    row_height = _NARROW_ROW if len(dots) > _MANY else _ROW
    middles: list[float] = []
    top = 0.0
    for dot in dots:
        room = max(row_height, drawing.label_height(dot.label) + 6)
        middles.append(top + room / 2)
        top += room
    return middles, top


def _marks(dots: Sequence[RefinedDot], middles: Sequence[float]) -> Iterator[dict[str, object]]:
    """Yield the answer, if there is one, and the estimate of each row as data of a mark."""
    offset = _OFFSET_SHARE * (_NARROW_ROW if len(dots) > _MANY else _ROW)
    for dot, middle in zip(dots, middles, strict=True):
        if dot.answer is not None:
            low, high = dot.answer - dot.error, dot.answer + dot.error
            yield _mark(_RAW, middle - offset, dot.answer, low, high)
        yield _mark(_REFINED, middle + offset, dot.estimate, dot.low, dot.high)


def _mark(kind: str, place: float, count: float, low: float, high: float) -> dict[str, object]:
    return {"kind": kind, "place": place, "count": count, "low": low, "high": high}
