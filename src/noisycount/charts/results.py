"""The chart of a result, by its kind, and that of a published answer alone."""

import math
from functools import singledispatch
from typing import Self

import altair as alt
import numpy as np

from noisycount.analysis.posterior.observed import Published, is_published
from noisycount.analysis.posterior.posterior import Posterior
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.analysis.tables.table_posterior import TablePosterior
from noisycount.charts.bars import RefinementCurves, TableBars, is_tabled
from noisycount.charts.drawing import as_lines, data_chart, unchecked
from noisycount.charts.plot import Plot
from noisycount.charts.plot_chart import plot_chart
from noisycount.charts.privacy import NamedCurve, PrivacyView, privacy_chart
from noisycount.charts.refined_table import posterior_dots, refined_chart
from noisycount.charts.refinement import refinement_chart
from noisycount.charts.table import table_chart
from noisycount.charts.theme import CONFIG, GREEN, INK, VERMILION
from noisycount.display.numbers import to_one_place
from noisycount.display.values import short
from noisycount.frozen import frozen
from noisycount.model.noises.additive import SymmetricNoise

_WIDTH, _HEIGHT = 420, 160
_CHARACTERS = 60  # of a line above the chart, so that it is no wider
_POINTS = 1000  # at most so many counts: enough for a curve without corners
_LEFT_OUT = 1e-3  # of the noise, beyond the ends of the curve
_CONFIDENCE = 0.95  # of an answer that does not state one


@frozen
class AnswerCurve:
    """How likely the answer is at each count, and between which counts the true one lies."""

    answer: float  # the noisy answer, in records
    counts: tuple[int, ...]  # the counts that are shown, none below 0
    chances: tuple[float, ...]  # the probability of the answer, or its density, at each
    low: int  # the smallest count of the interval
    high: int  # the largest
    confidence: float  # with which the count lies between them

    @classmethod
    def of(cls, told: Published) -> Self:
        """The curve of an answer with noise that was added to the count."""
        noise, answer = told.mechanism, told.answer
        if not isinstance(noise, SymmetricNoise):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
                f"mechanism must be noise that is added to the count, got {noise!r}"
            )
        confidence = float(getattr(told, "confidence", _CONFIDENCE))
        error = noise.smallest_error(1 - confidence) - noise.is_discrete  # ±error holds error
        reach = noise.smallest_error(_LEFT_OUT)
        first, last = max(0, math.floor(answer - reach)), max(0, math.ceil(answer + reach))
        shown = np.append(np.linspace(first, last, _POINTS), max(answer, 0))
        counts = np.unique(shown.round())
        return cls(
            answer=answer,
            counts=tuple(counts.astype(int).tolist()),
            chances=tuple(np.exp(noise.logpmf(answer, counts)).tolist()),
            low=max(0, math.ceil(answer - error)),
            high=max(0, math.floor(answer + error)),
            confidence=confidence,
        )


@unchecked
def answer_chart(curve: AnswerCurve, subtitle: str, unit: str = "records") -> alt.LayerChart:
    """The likelihood of each count, over the interval that holds the true one.

    Example:
        >>> curve = AnswerCurve(1, (0, 1, 2), (0.2, 0.4, 0.2), 0, 2, 0.95)
        >>> answer_chart(curve, "age >= 65").title.text
        'What is the true count?'
    """
    interval = f"{to_one_place(curve.low)} to {to_one_place(curve.high)} {unit}"
    notes = [
        *as_lines(subtitle, _CHARACTERS),
        f"dashed line: the answer, {to_one_place(curve.answer)} {unit}",
        f"shaded: {interval}, {curve.confidence * 100:.6g} % sure",
    ]
    points = zip(curve.counts, curve.chances, strict=True)
    area = data_chart([{"count": count, "chance": chance} for count, chance in points])
    band = data_chart([{"count": curve.low - 0.5, "end": curve.high + 0.5}])
    rule = data_chart([{"count": curve.answer}])
    x = alt.X(
        "count:Q", title=f"true count, {unit}", scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickMinStep=1)
    )
    y = alt.Y("chance:Q", title="likelihood", axis=alt.Axis(grid=False, labels=False))
    layers = [
        band.mark_rect(color=GREEN, opacity=0.15).encode(x=x, x2="end:Q"),
        area.mark_area(
            color=VERMILION, fillOpacity=0.2, interpolate="step", line={"color": VERMILION, "strokeWidth": 2}
        ).encode(x=x, y=y),
        rule.mark_rule(color=INK, strokeDash=[6, 4], strokeWidth=2).encode(x=x),
    ]
    title = alt.TitleParams("What is the true count?", subtitle=notes, fontSize=19, offset=18)
    return alt.LayerChart(layer=layers, title=title, width=_WIDTH, height=_HEIGHT, config=CONFIG)


_SHOWN = 100  # characters of what is refused


@singledispatch
def chart_of(result: object) -> alt.TopLevelMixin:
    """The chart of a posterior, a privacy curve or a figure, of an answer or a table of them."""
    if is_published(result):
        where = getattr(result, "where", "an answer with noise")
        unit = "records" if getattr(result, "unit", None) is None else "persons"
        return answer_chart(AnswerCurve.of(result), where, unit)
    if is_tabled(result):
        return table_chart(TableBars.of(result))
    raise ValueError(
        "result must be a Posterior, a TablePosterior, a PrivacyCurve, a Release, a TableRelease "
        f"or a Figure, got {short(result)[:_SHOWN]}: give one of these"
    )


@chart_of.register
def _(told: Posterior) -> alt.TopLevelMixin:
    """What was assumed, what the answers say, and what both say."""
    several = len(told.observed)
    averaged = f"; the answer is the average of {several}" if several > 1 else ""
    subtitle = f"{told.population.records:,} records{averaged}"
    return refinement_chart(RefinementCurves.of(told), "What is the true count?", subtitle)


@chart_of.register
def _(told: TablePosterior) -> alt.TopLevelMixin:
    """The answers of the cells and of their sums, and the estimates."""
    return refined_chart(posterior_dots(told))


@chart_of.register
def _(curve: PrivacyCurve) -> alt.TopLevelMixin:
    """δ against ε."""
    view = PrivacyView.of([NamedCurve("δ(ε)", curve)])
    against = "all other records" if curve.population is None else f"{curve.population!r}"
    subtitle = f"{curve.mechanism!r}, against whoever knows {against}"
    return privacy_chart(view.lines, view.axes, "What can one record change?", subtitle)


@chart_of.register
def _(plot: Plot) -> alt.TopLevelMixin:
    """The lines of a figure."""
    return plot_chart(plot)
