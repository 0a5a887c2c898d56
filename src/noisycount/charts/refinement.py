"""Pictures of a single count: its distribution before and after the noisy answer, or the likelihood alone.

`curves` computes what is drawn here.
"""

from collections.abc import Sequence
from textwrap import wrap

from noisycount.charts.curves import AnswerCurve, RefinementCurves
from noisycount.charts.picture import AxisRange, BandMark, CurveMark, Frame, Picture, PictureMark, RuleMark
from noisycount.charts.plot import Axis
from noisycount.charts.theme import BLUE, DASHED, GREEN, INK, VERMILION, Style
from noisycount.display.numbers import to_one_place

_SIZE, _ANSWER_SIZE = (420, 96), (420, 160)  # width and height of the axes, in pixels
_CHARACTERS = 60  # characters of a line above the chart, so that it is no wider than the chart
_MAX_TICKS = 3  # numbers at a curve of probabilities


def refinement_picture(curves: RefinementCurves, title: str, subtitle: str, unit: str = "records") -> Picture:
    """Return three curves on one axis: the prior, the likelihood of the answer, and the posterior.

    Each curve has a frame of its own, whose heading names the curve and its marks, so that labels never overlap.
    """
    answer = RuleMark(curves.answer, Style(VERMILION, DASHED, 2))
    estimate = RuleMark(curves.estimate, Style(INK, width=2))
    interval = f"{to_one_place(curves.low)} to {to_one_place(curves.high)}"
    prior = (_area(curves.counts, curves.prior, BLUE),)
    likelihood = (_area(curves.counts, curves.noisy, VERMILION), answer)
    posterior = (
        BandMark(curves.low - 0.5, curves.high + 0.5, GREEN),
        _area(curves.counts, curves.posterior, GREEN),
        estimate,
        answer,
    )
    headings = (
        ("What was assumed before", "without any answer"),
        ("What the noisy answer alone says", f"dashed line: the answer, {to_one_place(curves.answer)} {unit}"),
        (
            "What both say together",
            f"solid line: the estimate, {to_one_place(curves.estimate)} {unit}",
            f"shaded: {interval} {unit}, {curves.level * 100:.6g} % sure",
        ),
    )
    places = [*curves.counts, curves.answer, curves.estimate, curves.low - 0.5, curves.high + 0.5]
    largest = max(*curves.prior, *curves.noisy, *curves.posterior)
    y = AxisRange(Axis("probability", is_share=True, field="probability"), 0, largest, _MAX_TICKS, has_grid=True)
    frames = []
    for number, (heading, marks) in enumerate(zip(headings, (prior, likelihood, posterior), strict=True), 1):
        x = _count_range(places, unit, has_numbers=number == len(headings))
        frames.append(Frame(x, y.with_round_end(), _SIZE, marks, heading[0], heading[1:]))
    return Picture(title, [subtitle], frames)


def answer_picture(curve: AnswerCurve, subtitle: str, unit: str = "records") -> Picture:
    """Return the likelihood of each count over the interval of the true count.

    Example:
        >>> curve = AnswerCurve(1, (0, 1, 2), (0.2, 0.4, 0.2), 0, 2, 0.95)
        >>> answer_picture(curve, "age >= 50").title
        'What is the true count?'
    """
    interval = f"{to_one_place(curve.low)} to {to_one_place(curve.high)} {unit}"
    notes = [
        *(wrap(subtitle, _CHARACTERS) or [subtitle]),
        f"dashed line: the answer, {to_one_place(curve.answer)} {unit}",
        f"shaded: {interval}, {curve.confidence * 100:.6g} % sure",
    ]
    marks: Sequence[PictureMark] = (
        BandMark(curve.low - 0.5, curve.high + 0.5, GREEN),
        _area(curve.counts, curve.chances, VERMILION),
        RuleMark(curve.answer, Style(INK, DASHED, 2)),
    )
    x = _count_range([*curve.counts, curve.answer, curve.low - 0.5, curve.high + 0.5], unit)
    y = AxisRange(Axis("likelihood", field="chance"), 0, max(curve.chances), has_numbers=False)
    return Picture("What is the true count?", notes, [Frame(x, y, _ANSWER_SIZE, marks)])


def _area(counts: Sequence[int], probabilities: Sequence[float], colour: str) -> CurveMark:
    points = [(float(count), float(chance)) for count, chance in zip(counts, probabilities, strict=True)]
    return CurveMark(points, Style(colour, width=2), is_area=True)


def _count_range(places: Sequence[float], unit: str, *, has_numbers: bool = True) -> AxisRange:
    """Return the axis of the true count, which contains all places."""
    low, high = min(places), max(places)
    axis = Axis("true count", unit, is_whole=True, field="count")
    return AxisRange(axis, low, max(high, low + 1), has_numbers=has_numbers)
