"""The picture of a plan: fifty possible answers as dots, and the error against the confidence at several ε.

Begin with `plan_picture`; `PossibleAnswers` is its data.
"""

from collections.abc import Sequence
from dataclasses import replace

from noisycount.charts.picture import (
    AxisRange,
    BandMark,
    CurveMark,
    DotMarks,
    Frame,
    Picture,
    PictureMark,
    RuleMark,
    TextMark,
)
from noisycount.charts.plot import Axis, Line
from noisycount.charts.theme import BLUE, DASHED, GREEN, INK, Style
from noisycount.frozen import frozen

_SIZE = _WIDTH, _HEIGHT = 480, 220  # width and height of each pair of axes, in pixels
_LARGEST_DOT = 18.0
_MIN_REACH = 3  # smallest distance from the centre to the ends of the axis, in records, so that whole numbers get ticks
_CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.99)  # confidences with a number on the axis


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


def plan_picture(
    answers: PossibleAnswers, lines: Sequence[Line], goal: tuple[float, float], title: str, subtitle: str
) -> Picture:
    """Return the picture of a plan: possible answers above the curves of equal ε, error in records against confidence.

    Args:
        answers: The possible answers.
        lines: The curves of equal ε: confidence (x) and error (y).
        goal: The confidence and the error of the goal.
        title: The heading.
        subtitle: The line below the heading; empty to leave it out.

    Source: the dots after Kay, Kola, Hullman and Munson (2016), *When (ish) is My Bus?*; the curves are Naldi and
    D'Acquisto (2015), Fig. 1, with error against confidence.
    """
    frames = [_answers_frame(answers), _goals_frame(lines, goal)]
    return Picture(title, [subtitle] if subtitle else [], frames, spacing=24)


def answers_picture(answers: PossibleAnswers, title: str) -> Picture:
    """Return the picture of the possible answers alone, without a heading and notes of its own."""
    return Picture(title, (), [replace(_answers_frame(answers), title="", notes=())])


def _answers_frame(answers: PossibleAnswers) -> Frame:
    """Return the dot plot over a band that marks the answers within the goal."""
    distance = max(abs(value - answers.centre) for value, _ in answers.places) + answers.gap
    top_row = max(row for _, row in answers.places)
    reach = max(_MIN_REACH, distance, answers.high - answers.centre + 1)
    diameter = min(_LARGEST_DOT, _WIDTH / (2 * reach / answers.gap), _HEIGHT / (top_row + 1))
    axis = Axis(answers.title, is_whole=True, is_signed=answers.is_offset, field="value")
    marks: Sequence[PictureMark] = (
        BandMark(answers.low - 0.5, answers.high + 0.5, GREEN),
        RuleMark(answers.centre, Style(INK, DASHED, 1.5)),
        DotMarks([(value, _HEIGHT - (row - 0.5) * diameter) for value, row in answers.places], BLUE, 0.9 * diameter),
    )
    x = AxisRange(axis, answers.centre - reach, answers.centre + reach)
    return Frame(x, None, _SIZE, marks, answers.heading, answers.notes)


def _goals_frame(lines: Sequence[Line], goal: tuple[float, float]) -> Frame:
    """Return the curves of error against confidence, with ε at the end of each curve."""
    confidences = [x for line in lines for x in line.xs]
    y = AxisRange.from_values(
        Axis("error ±, records", low=0, field="error"), [goal[1], *(y for line in lines for y in line.ys)]
    )
    axis = Axis("confidence", is_share=True, ticks=_CONFIDENCES, field="confidence")
    frame = Frame(
        AxisRange(axis, min(confidences), max(confidences)),
        replace(y, max_ticks=5, has_grid=True),
        _SIZE,
        (),
        "What other goals cost",
        ("each line is one ε, with continuous noise; dot: the goal of one answer",),
    )
    marks: list[PictureMark] = []
    for line in lines:
        x_pixel, y_pixel = frame.place(line.xs[-1], line.ys[-1])
        name = TextMark((x_pixel + 8, y_pixel), line.name, line.style.colour, size=14, is_bold=True)
        marks += [CurveMark(line.points, line.style), name]
    return replace(frame, marks=[*marks, DotMarks([goal], INK, 9.5)])
