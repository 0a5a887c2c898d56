"""Privacy curves as an Altair chart."""

from collections.abc import Sequence

import altair as alt

from noisycount.charts.drawing import unchecked
from noisycount.charts.lines import as_lines
from noisycount.charts.privacy.curves import PrivacyAxes, PrivacyLine
from noisycount.charts.privacy.labels import HEIGHT, WIDTH, labels, points
from noisycount.charts.theme import CONFIG, INK, Style, styles

__all__ = ["privacy_chart"]

_CHARACTERS = 90  # of a line above the chart, so that it is no wider
_EPSILON = "ε: the odds about one person change by a factor of at most e^ε"
_DELTA = "δ: the probability that the person is given away instead"
_POWER = "datum.value < 1e-3 ? format(datum.value, '.0e') : format(datum.value, '~g')"


@unchecked
def privacy_chart(
    lines: Sequence[PrivacyLine], axes: PrivacyAxes, title: str, subtitle: str
) -> alt.LayerChart:
    """δ against ε, one line an adversary, with marks at the ε that is asked for.

    The name of each line stands beside its mark, where no line can be.

    Args:
        lines: The lines, at most three, each within the axes.
        axes: What the axes show.
        title: The heading, one line.
        subtitle: The line below it.

    Example:
        >>> line = PrivacyLine("worst case", "δ = 0.07", [0, 1], [0.5, 0.01], mark=0.07)
        >>> axes = PrivacyAxes(epsilon=1, floor=0.01, top=1, asked=0.5, words="ε = 0.5")
        >>> privacy_chart([line], axes, "What can one record change?", "").height
        340
    """
    layers = _asked(axes)
    names = [line.name for line in lines]
    drawn = dict(zip(names, styles(names), strict=True))
    for line in lines:
        layers += [_curve(line, drawn[line.name]), *_mark(line, axes, drawn[line.name].colour)]
    for label in labels(lines, axes):
        layers += label.layers(drawn[label.line.name].colour)
    x = alt.X("epsilon:Q", title=_EPSILON, scale=alt.Scale(domain=[0, axes.epsilon], nice=False))
    y = alt.Y(
        "delta:Q",
        title=_DELTA,
        axis=alt.Axis(
            values=axes.powers,
            tickCount=len(axes.powers),
            labelExpr=_POWER,
            titlePadding=12,
        ),
        scale=alt.Scale(type="log", domain=[axes.floor, axes.top], nice=False),
    )
    return alt.LayerChart(
        layer=[layer.encode(x=x, y=y) for layer in layers],
        title=alt.TitleParams(
            title, subtitle=as_lines(subtitle, _CHARACTERS), fontSize=19, offset=30
        ),
        width=WIDTH,
        height=HEIGHT,
        config=CONFIG,
    )


def _curve(line: PrivacyLine, style: Style) -> alt.Chart:
    chart = points(list(zip(line.epsilons, line.deltas, strict=True)))
    curve: alt.Chart = chart.mark_line(
        color=style.colour, strokeDash=list(style.dash), strokeWidth=style.width
    )
    return curve


def _mark(line: PrivacyLine, axes: PrivacyAxes, colour: str) -> list[alt.Chart]:
    """A dot where the line has the ε that is asked for."""
    if line.mark is None or axes.asked is None:
        return []
    dot: alt.Chart = points([(axes.asked, line.mark)]).mark_point(
        color=colour, fill=colour, filled=True, opacity=1, size=70
    )
    return [dot]


def _asked(axes: PrivacyAxes) -> list[alt.Chart]:
    """A dashed line over the whole height, with its ε above; nothing beyond the axis."""
    if axes.asked is None or axes.asked > axes.epsilon:
        return []
    ends = points([(axes.asked, axes.floor), (axes.asked, axes.top)])
    text = points([(axes.asked, axes.top)]).mark_text(
        align="left", baseline="bottom", color=INK, dy=-6, fontSize=14
    )
    return [
        ends.mark_line(color=INK, strokeDash=[6, 4], strokeWidth=1.5),
        text.encode(text=alt.TextValue(axes.words)),
    ]
