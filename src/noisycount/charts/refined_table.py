"""A refined table as an Altair chart: two dots a count, the noisy answer and the estimate."""

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

MOST_DOTS = 60  # of more counts of a level the largest are shown
_MOST_SUMS = 2 * MOST_DOTS  # of all levels together


@frozen
class RefinedDot:
    """One cell, or one sum of cells."""

    label: str  # what was counted
    answer: float | None  # the published count, in records; None: there is none
    error: float  # the count lies within ±error of the answer; of a missing one 0
    estimate: float  # the expected count given all answers
    low: int  # the smallest count of its interval,
    high: int  # and the largest


@frozen
class RefinedSums:
    """A level of sums, which has a scale of its own: sums are larger than cells.

    Example:
        >>> RefinedSums("county", [RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)]).name
        'county: the 60 largest of 100'
    """

    name: str  # which level it is
    dots: Sequence[RefinedDot]  # its counts, in their order; of more than anybody reads the largest, largest first

    def __post_init__(self) -> None:
        """The refusal of no counts, and the choice among too many."""
        shown, told = _largest(self.dots)
        object.__setattr__(self, "name", f"{self.name}: {told}" if told else self.name)
        object.__setattr__(self, "dots", shown)


@frozen
class RefinedDots:
    """What a chart of a refined table shows.

    Example:
        >>> shown = RefinedDots([RefinedDot(str(n), n, 2, n, n - 1, n + 1) for n in range(100)], "Towns")
        >>> len(shown.dots), shown.dots[0].label, shown.notes
        (60, '99', ['the 60 largest of 100 cells'])
    """

    dots: Sequence[RefinedDot]  # the cells, in their order; of more than anybody reads the largest, largest first
    title: str  # the heading
    notes: Sequence[str] = ()  # lines below it
    level: float = 0.95  # the probability of every interval
    unit: str = "records"  # what is counted, in the plural
    labels: str = ""  # what the labels of the cells are, such as the names of columns
    sums: Sequence[RefinedSums] = ()  # the levels of sums that stand below the cells; of too many those of few counts

    def __post_init__(self) -> None:
        """The refusal of no cells, and the choice among too many cells and levels."""
        shown, told = _largest(self.dots)
        drawn, notes = _fewest(self.sums), [*self.notes, *([f"{told} cells"] if told else [])]
        if len(drawn) < len(self.sums):
            notes.append(f"{len(drawn)} of {len(self.sums)} levels of sums: those with the fewest")
        for name, value in (("dots", shown), ("notes", notes), ("sums", drawn)):
            object.__setattr__(self, name, value)


def _fewest(sums: Sequence[RefinedSums]) -> list[RefinedSums]:
    """The levels with the fewest counts, in their order, as many as anybody reads together."""
    left, drawn = _MOST_SUMS, []
    for one in sorted(sums, key=lambda one: len(one.dots)):
        left -= len(one.dots)
        if left >= 0:
            drawn.append(one)
    return [one for one in sums if one in drawn]


def _largest(dots: Sequence[RefinedDot]) -> tuple[Sequence[RefinedDot], str]:
    """As many as anybody reads, and in words which, if they are not all."""
    if not dots:
        raise ValueError(f"dots must be at least one, got {dots!r}")
    if len(dots) <= MOST_DOTS:
        return dots, ""
    largest = sorted(dots, key=lambda dot: -dot.estimate)[:MOST_DOTS]
    return largest, f"the {MOST_DOTS} largest of {len(dots):,}"


def answer_error(mechanism: Mechanism | None, level: float) -> float:
    """A count lies within ±this of its answer with that probability; 0 of an exact one.

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


def posterior_dots(told: TablePosterior) -> RefinedDots:
    """The cells of a table, and each level of sums about which something was answered."""
    cells = told.tree.depth - 1
    sums = [
        RefinedSums(told.tree.names[level], _level_dots(told, level))
        for level in reversed(range(cells))
        if told.solution.answers(level)
    ]
    name = told.tree.names[cells]
    dots = _level_dots(told, cells)
    return RefinedDots(dots, "What are the true counts?", [told.prior.words], _LEVEL, labels=name, sums=sums)


def _level_dots(told: TablePosterior, level: int) -> list[RefinedDot]:
    """The nodes of a level, each with its answer if it has one, and its estimate."""
    estimates = told.level(level)
    number = len(estimates.mean)
    answers, errors = np.full(number, np.nan), np.zeros(number)
    for one in told.solution.answers(level):
        given = ~one.suppressed
        answers[one.nodes[given]] = one.answers[given]
        errors[one.nodes[given]] = answer_error(one.mechanism, _LEVEL)
    return [
        RefinedDot(
            ", ".join(told.tree.label(level, node)) or told.tree.names[level],
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
_ROW, _NARROW_ROW = 30, 22  # pixels of a row, and of one of many
_MANY = 20  # rows
_APART = 0.17  # of a row: the answer above its middle, the estimate below
_BETWEEN = 28  # pixels from level to level


@drawing.unchecked
def refined_chart(table: RefinedDots) -> alt.LayerChart | alt.VConcatChart:
    """Two dots a row with their intervals: the answer above, the estimate from all answers below; sums below cells."""
    cells = _level_chart(table.dots, table.unit, table.labels, has_legend=True)
    if not table.sums:
        alone: alt.LayerChart = cells.properties(title=_title(table), config=CONFIG)
        return alone
    sums = [
        _level_chart(one.dots, table.unit).properties(title=alt.TitleParams(one.name, frame="group"))
        for one in table.sums
    ]
    return alt.VConcatChart(
        vconcat=[cells, *sums],
        title=_title(table),
        spacing=_BETWEEN,
        config=CONFIG,
        resolve=alt.Resolve(scale={"x": "independent", "y": "independent"}),
    )


def _level_chart(rows: Sequence[RefinedDot], unit: str, name: str = "", *, has_legend: bool = False) -> alt.LayerChart:
    """Draw the rows of one level, the name of their labels above them."""
    middles, height = _middles(rows)
    values = list(_marks(rows, middles))
    marks = drawing.data_chart(values)
    y = drawing.rows_axis(height)
    x = alt.X("count:Q", title=unit, axis=drawing.count_axis(), scale=drawing.count_scale(values))
    kinds = [_RAW, _REFINED]
    named = alt.Legend(orient="top", title=None, labelFontSize=13, symbolType="circle", symbolStrokeWidth=0)
    legend = named if has_legend else None
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[VERMILION, BLUE]), legend=legend)
    dash = alt.StrokeDash("kind:N", scale=alt.Scale(domain=kinds, range=[list(DENSE), list(SOLID)]), legend=None)
    spans = marks.mark_rule(strokeWidth=2, opacity=0.75).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, strokeDash=dash
    )
    dots = marks.mark_circle(opacity=1, size=46).encode(x=x, y=y, color=colour)
    labels = drawing.row_labels(zip((row.label for row in rows), middles, strict=True), y, name)
    places = drawing.data_chart([{"place": middle} for middle in middles])
    lines = places.mark_rule(color=GRID, strokeDash=[1, 3]).encode(y=y)  # by which the eye finds a label
    layers = [lines, drawing.zero_line(), spans, dots, *labels]
    return alt.LayerChart(layer=layers, width=_WIDTH, height=height)


def _title(table: RefinedDots) -> alt.TitleParams:
    """The heading, and what the lines are."""
    return drawing.table_heading(
        table.title, [*table.notes, f"lines: where the count lies with {percent(table.level)} probability"]
    )


def _middles(dots: Sequence[RefinedDot]) -> tuple[list[float], float]:
    """The middle of each row from the top, and the height of all, in pixels."""
    least = _NARROW_ROW if len(dots) > _MANY else _ROW
    middles: list[float] = []
    top = 0.0
    for dot in dots:
        room = max(least, drawing.label_height(dot.label) + 6)
        middles.append(top + room / 2)
        top += room
    return middles, top


def _marks(dots: Sequence[RefinedDot], middles: Sequence[float]) -> Iterator[dict[str, object]]:
    """The two dots of each row; one where there is no answer."""
    apart = _APART * (_NARROW_ROW if len(dots) > _MANY else _ROW)
    for dot, middle in zip(dots, middles, strict=True):
        if dot.answer is not None:
            low, high = dot.answer - dot.error, dot.answer + dot.error
            yield _mark(_RAW, middle - apart, dot.answer, low, high)
        yield _mark(_REFINED, middle + apart, dot.estimate, dot.low, dot.high)


def _mark(kind: str, place: float, count: float, low: float, high: float) -> dict[str, object]:
    return {"kind": kind, "place": place, "count": count, "low": low, "high": high}
