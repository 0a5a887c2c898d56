"""The Altair chart of a plan: fifty possible answers as dots, and the error against the confidence at several ε.

Begin with `plan_chart`; `PossibleAnswers` is its data.
"""

from collections.abc import Sequence

import altair as alt

from noisycount.charts.drawing import band, data_chart, heading, unchecked
from noisycount.charts.plot import Line
from noisycount.charts.theme import BLUE, CONFIG, GRID, INK
from noisycount.frozen import frozen

_WIDTH, _HEIGHT = 480, 220
_LARGEST_DOT = 18.0
_MIN_REACH = 3  # smallest distance from the centre to the ends of the axis, in records, so that whole numbers get ticks
_NUMBER = "format(datum.value, ',d')"
_OFFSET = "datum.value == 0 ? '0' : format(datum.value, '+,d')"


@frozen
class PossibleAnswers:
    """Quantile dot plot of possible answers: equally likely answers as dots in columns."""

    places: Sequence[tuple[float, int]]  # the value of each dot and its row, from 1; at least one dot
    gap: float  # the smallest distance of dots in a row, in records
    low: int  # the smallest answer that meets the goal, in records
    high: int  # the largest answer that meets the goal, in records
    centre: int  # centre of the answers: the guess of the count, or 0 if errors are drawn
    heading: str  # description of the dots
    notes: Sequence[str]  # descriptions of the marks, one line each
    title: str  # title of the axis
    is_offset: bool = False  # True if numbers have a sign, as errors do

    def __post_init__(self) -> None:
        """Raise ValueError if there is no dot, or if low > high."""
        if not self.places:
            raise ValueError(f"places must hold at least one dot, got {self.places!r}")
        if self.low > self.high:
            raise ValueError(f"low must not exceed high, got {self.low} and {self.high}: swap them")


@unchecked
def plan_chart(
    answers: PossibleAnswers, lines: Sequence[Line], goal: tuple[float, float], title: str, subtitle: str
) -> alt.VConcatChart:
    """Return the chart of a plan: possible answers above the curves of equal ε, error in records against confidence.

    Args:
        answers: The possible answers.
        lines: The curves of equal ε: confidence (x) and error (y).
        goal: The confidence and the error of the goal.
        title: The heading.
        subtitle: The line below the heading.

    Source: the dots after Kay, Kola, Hullman and Munson (2016), *When (ish) is My Bus?*; the curves are Naldi and
    D'Acquisto (2015), Fig. 1, with error against confidence.
    """
    return alt.VConcatChart(
        vconcat=[_answers_chart(answers), _goals_chart(lines, goal)],
        title=heading(title, subtitle),
        spacing=24,
        config=CONFIG,
    )


def _answers_chart(answers: PossibleAnswers) -> alt.LayerChart:
    """Return the dot plot over a band that marks the answers within the goal."""
    distance = max(abs(value - answers.centre) for value, _ in answers.places) + answers.gap
    top_row = max(level for _, level in answers.places)
    reach = max(_MIN_REACH, distance, answers.high - answers.centre + 1)
    diameter = min(_LARGEST_DOT, _WIDTH / (2 * reach / answers.gap), _HEIGHT / (top_row + 1))
    x = alt.X(
        "value:Q",
        title=answers.title,
        axis=alt.Axis(labelExpr=_OFFSET if answers.is_offset else _NUMBER, tickMinStep=1, tickCount=5),
        scale=alt.Scale(domain=[answers.centre - reach, answers.centre + reach], nice=False),
    )
    y = alt.Y("level:Q", axis=None, scale=alt.Scale(domain=[0, _HEIGHT / diameter], nice=False))
    dots = data_chart([{"value": value, "level": level - 0.5} for value, level in answers.places])
    rule = data_chart([{"value": answers.centre}])
    layers = [
        band(answers.low, answers.high, "value").encode(x=x),
        rule.mark_rule(color=INK, strokeDash=[6, 4], strokeWidth=1.5).encode(x=x),
        dots.mark_circle(color=BLUE, opacity=1, size=(0.9 * diameter) ** 2).encode(x=x, y=y),
    ]
    heading = alt.TitleParams(answers.heading, subtitle=list(answers.notes), frame="group")
    return alt.LayerChart(layer=layers, title=heading, width=_WIDTH, height=_HEIGHT)


def _goals_chart(lines: Sequence[Line], goal: tuple[float, float]) -> alt.LayerChart:
    """Return the curves of error against confidence, with ε at the end of each curve."""
    x = alt.X(
        "confidence:Q",
        title="confidence",
        axis=alt.Axis(labelExpr="format(100 * datum.value, '.0f') + ' %'", values=[0.5, 0.6, 0.7, 0.8, 0.9, 0.99]),
        scale=alt.Scale(nice=False, zero=False),
    )
    y = alt.Y(
        "error:Q",
        title="error ±, records",
        axis=alt.Axis(format=",.12~g", tickCount=5, gridColor=GRID),
        scale=alt.Scale(nice=True, zero=True),
    )
    layers = []
    for line in lines:
        style, points = line.style, zip(line.xs, line.ys, strict=True)
        curve = data_chart([{"confidence": at, "error": error} for at, error in points])
        end = data_chart([{"confidence": line.xs[-1], "error": line.ys[-1]}])
        layers += [
            curve.mark_line(color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width).encode(x=x, y=y),
            end.mark_text(
                align="left", baseline="middle", color=style.colour, dx=8, fontSize=14, fontWeight="bold"
            ).encode(x=x, y=y, text=alt.TextValue(line.name)),
        ]
    mark = data_chart([{"confidence": goal[0], "error": goal[1]}])
    layers.append(mark.mark_circle(color=INK, opacity=1, size=90).encode(x=x, y=y))
    heading = alt.TitleParams(
        "What other goals cost",
        subtitle="each line is one ε, with continuous noise; dot: the goal of one answer",
        frame="group",
    )
    return alt.LayerChart(layer=layers, title=heading, width=_WIDTH, height=_HEIGHT)
