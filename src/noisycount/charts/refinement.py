"""A count before and after its noisy answer, as an Altair chart."""

from collections.abc import Sequence

import altair as alt

from noisycount.charts.bars import RefinementCurves
from noisycount.charts.drawing import unchecked
from noisycount.charts.theme import BLUE, CONFIG, GREEN, INK, VERMILION
from noisycount.display.numbers import to_one_place

WIDTH, HEIGHT = 420, 96


@unchecked
def refinement_chart(curves: RefinementCurves, title: str, subtitle: str, unit: str = "records") -> alt.VConcatChart:
    """Three curves on one axis: what was assumed, what the answer says, what both say.

    Each curve has a panel, whose heading names the curve and its marks: no label can lie on another, however close
    answer and estimate are.

    Example:
        >>> curves = RefinementCurves([0, 1], [0.5, 0.5], [0.2, 0.8], [0.2, 0.8], 1.0, 1.0, 0, 1)
        >>> len(refinement_chart(curves, "Poor health", "A survey", unit="persons").vconcat)
        3
    """
    inner = alt.X("count:Q", axis=alt.Axis(title=None, labels=False))
    lowest = alt.X("count:Q", title=f"true count, {unit}")
    answer = _rule(curves.answer, VERMILION, [6, 4])
    estimate = _rule(curves.estimate, INK, [1, 0])
    prior = _panel(
        ["What was assumed before", "without any answer"], inner, [_curve(curves.counts, curves.prior, BLUE)]
    )
    noisy = _panel(
        [
            "What the noisy answer alone says",
            f"dashed line: the answer, {to_one_place(curves.answer)} {unit}",
        ],
        inner,
        [_curve(curves.counts, curves.noisy, VERMILION), answer],
    )
    interval = f"{to_one_place(curves.low)} to {to_one_place(curves.high)}"
    posterior = _panel(
        [
            "What both say together",
            f"solid line: the estimate, {to_one_place(curves.estimate)} {unit}",
            f"shaded: {interval} {unit}, {curves.level * 100:.6g} % sure",
        ],
        lowest,
        [
            _band(curves.low, curves.high),
            _curve(curves.counts, curves.posterior, GREEN),
            estimate,
            answer,
        ],
    )
    return _page(title, subtitle, [prior, noisy, posterior])


def _curve(counts: Sequence[int], probabilities: Sequence[float], color: str) -> alt.Chart:
    """One step a count, since nothing lies between two counts."""
    points = zip(counts, probabilities, strict=True)
    values = [{"count": int(count), "probability": float(chance)} for count, chance in points]
    curve: alt.Chart = alt.Chart(alt.InlineData(values)).mark_area(
        color=color, fillOpacity=0.2, interpolate="step", line={"color": color, "strokeWidth": 2}
    )
    return curve.encode(y="probability:Q")


def _rule(count: float, color: str, dash: list[int]) -> alt.Chart:
    values = alt.InlineData([{"count": float(count)}])
    rule: alt.Chart = alt.Chart(values).mark_rule(color=color, strokeDash=dash, strokeWidth=2)
    return rule


def _band(low: int, high: int) -> alt.Chart:
    """A band over whole steps, from half a count below low to half a count above high."""
    values = alt.InlineData([{"count": low - 0.5, "end": high + 0.5}])
    band: alt.Chart = alt.Chart(values).mark_rect(color=GREEN, opacity=0.15)
    return band.encode(x2="end:Q")


def _panel(lines: list[str], x: alt.X, layers: list[alt.Chart]) -> alt.LayerChart:
    """Layers on one axis under a heading, the first line, and its notes."""
    title = alt.TitleParams(lines[0], subtitle=lines[1:])
    placed = [layer.encode(x=x) for layer in layers]
    return alt.LayerChart(layer=placed, title=title, width=WIDTH, height=HEIGHT)


def _page(title: str, subtitle: str, panels: list[alt.LayerChart]) -> alt.VConcatChart:
    """Panels under one heading, on common scales, in the one theme of all our charts."""
    heading = alt.TitleParams(title, subtitle=subtitle, fontSize=19, offset=18)
    resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", y="shared"))
    return alt.VConcatChart(vconcat=panels, title=heading, spacing=16, resolve=resolve, config=CONFIG)
