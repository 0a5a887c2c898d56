"""Altair charts of a single count: its distribution before and after the noisy answer, or the likelihood alone.

`curves` computes what is drawn here.
"""

from collections.abc import Sequence

import altair as alt

from noisycount.charts.curves import AnswerCurve, RefinementCurves
from noisycount.charts.drawing import area, as_lines, band, data_chart, heading, unchecked
from noisycount.charts.theme import BLUE, CONFIG, GREEN, INK, VERMILION
from noisycount.display.numbers import to_one_place

WIDTH, HEIGHT = 420, 96
_ANSWER_HEIGHT = 160  # height of the chart of an answer alone, in pixels
_CHARACTERS = 60  # characters of a line above the chart, so that it is no wider than the chart


@unchecked
def refinement_chart(curves: RefinementCurves, title: str, subtitle: str, unit: str = "records") -> alt.VConcatChart:
    """Return three curves on one axis: the prior, the likelihood of the answer, and the posterior.

    Each curve has a panel of its own, whose heading names the curve and its marks, so that labels never overlap.
    """
    inner = alt.X("count:Q", axis=alt.Axis(title=None, labels=False))
    lowest = alt.X("count:Q", title=f"true count, {unit}")
    answer = _draw_rule(curves.answer, VERMILION, [6, 4])
    estimate = _draw_rule(curves.estimate, INK, [1, 0])
    prior = _draw_panel(
        ["What was assumed before", "without any answer"], inner, [_draw_curve(curves.counts, curves.prior, BLUE)]
    )
    noisy = _draw_panel(
        ["What the noisy answer alone says", f"dashed line: the answer, {to_one_place(curves.answer)} {unit}"],
        inner,
        [_draw_curve(curves.counts, curves.noisy, VERMILION), answer],
    )
    interval = f"{to_one_place(curves.low)} to {to_one_place(curves.high)}"
    posterior = _draw_panel(
        [
            "What both say together",
            f"solid line: the estimate, {to_one_place(curves.estimate)} {unit}",
            f"shaded: {interval} {unit}, {curves.level * 100:.6g} % sure",
        ],
        lowest,
        [band(curves.low, curves.high), _draw_curve(curves.counts, curves.posterior, GREEN), estimate, answer],
    )
    resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", y="shared"))
    panels = [prior, noisy, posterior]
    return alt.VConcatChart(vconcat=panels, title=heading(title, subtitle), spacing=16, resolve=resolve, config=CONFIG)


def _draw_curve(counts: Sequence[int], probabilities: Sequence[float], colour: str) -> alt.Chart:
    points = zip(counts, probabilities, strict=True)
    return area([{"count": int(count), "probability": float(chance)} for count, chance in points], colour).encode(
        y="probability:Q"
    )


def _draw_rule(count: float, colour: str, dash: list[int]) -> alt.Chart:
    rule: alt.Chart = data_chart([{"count": float(count)}]).mark_rule(color=colour, strokeDash=dash, strokeWidth=2)
    return rule


def _draw_panel(lines: list[str], x: alt.X, layers: list[alt.Chart]) -> alt.LayerChart:
    """Return layers on one axis; the first line is the heading, the others are notes."""
    title = alt.TitleParams(lines[0], subtitle=lines[1:])
    layers_with_axis = [layer.encode(x=x) for layer in layers]
    return alt.LayerChart(layer=layers_with_axis, title=title, width=WIDTH, height=HEIGHT)


@unchecked
def answer_chart(curve: AnswerCurve, subtitle: str, unit: str = "records") -> alt.LayerChart:
    """Return the chart of the likelihood of each count over the interval of the true count.

    Example:
        >>> curve = AnswerCurve(1, (0, 1, 2), (0.2, 0.4, 0.2), 0, 2, 0.95)
        >>> answer_chart(curve, "age >= 50").title.text
        'What is the true count?'
    """
    interval = f"{to_one_place(curve.low)} to {to_one_place(curve.high)} {unit}"
    notes = [
        *as_lines(subtitle, _CHARACTERS),
        f"dashed line: the answer, {to_one_place(curve.answer)} {unit}",
        f"shaded: {interval}, {curve.confidence * 100:.6g} % sure",
    ]
    points = zip(curve.counts, curve.chances, strict=True)
    likelihood = area([{"count": count, "chance": chance} for count, chance in points], VERMILION)
    x = alt.X(
        "count:Q", title=f"true count, {unit}", scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickMinStep=1)
    )
    y = alt.Y("chance:Q", title="likelihood", axis=alt.Axis(grid=False, labels=False))
    layers = [
        band(curve.low, curve.high).encode(x=x),
        likelihood.encode(x=x, y=y),
        _draw_rule(curve.answer, INK, [6, 4]).encode(x=x),
    ]
    title = heading("What is the true count?", notes)
    return alt.LayerChart(layer=layers, title=title, width=WIDTH, height=_ANSWER_HEIGHT, config=CONFIG)
