"""Pictures of a single count: its distribution before and after the noisy answer, or the likelihood alone.

`RefinementCurves` and `AnswerCurve` compute what `refinement_picture` and `answer_picture` draw.
"""

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Self

import numpy as np

from noisycount.analysis.posterior.observed import Published
from noisycount.analysis.posterior.posterior import Posterior, chart_counts, likelihood_curve
from noisycount.charts.picture import AxisRange, BandMark, CurveMark, Frame, Picture, PictureMark, RuleMark
from noisycount.charts.plot import Axis
from noisycount.charts.theme import BLUE, DASHED, GREEN, INK, VERMILION, Style
from noisycount.display.numbers import to_one_place
from noisycount.frozen import frozen
from noisycount.model.exact import Below
from noisycount.model.noises.additive import SymmetricNoise


@frozen
class RefinementCurves:
    """The distribution of a count before and after its noisy answer."""

    counts: Sequence[int]  # the counts to show, increasing, in records
    prior: Sequence[float]  # the probability of each count before the answer
    noisy: Sequence[float]  # the likelihood of the answer at each count, normalised over the counts
    posterior: Sequence[float]  # the probability of each count given the answer
    answer: float  # the noisy answer, in records; it may lie outside the counts
    estimate: float  # the estimate made from both, in records
    low: int  # the smallest count of the interval
    high: int  # the largest count of the interval
    level: float = 0.95  # the probability of the interval

    @classmethod
    def from_posterior(cls, posterior: Posterior, level: float = 0.95, answer: float | None = None) -> Self:
        """Return the curves of a posterior over the counts that hold nearly all the probability.

        Args:
            posterior: The distribution of the count given its noisy answers.
            level: The probability of the interval.
            answer: The answer to mark; by default the mean of the observed answers, except those below a threshold.
        """
        counts = chart_counts(posterior)
        answers = [answer for answer, _ in posterior.observed if not isinstance(answer, Below)]
        if answer is None:
            answer = answers[0] if len(answers) == 1 else sum(answers) / len(answers)
        low, high = posterior.interval(level)
        return cls(
            counts=counts.astype(int).tolist(),
            prior=posterior.population.law().pmf(counts).tolist(),
            noisy=likelihood_curve(posterior, counts).tolist(),
            posterior=posterior.pmf(counts).tolist(),
            answer=answer,
            estimate=posterior.mean,
            low=low,
            high=high,
            level=level,
        )


_POINTS = 1000  # largest number of counts of a curve, enough to look smooth
_LEFT_OUT = 1e-3  # probability of the noise beyond the ends of the curve
_CONFIDENCE = 0.95  # confidence of an answer that states none


@frozen
class AnswerCurve:
    """The likelihood of each count given one noisy answer, and the interval of the true count."""

    answer: float  # the noisy answer, in records
    counts: tuple[int, ...]  # the counts that are shown, none below 0
    chances: tuple[float, ...]  # probability or density of the answer, given each count
    low: int  # the smallest count of the interval
    high: int  # the largest
    confidence: float  # probability that the interval contains the true count

    @classmethod
    def from_answer(cls, published: Published) -> Self:
        """Return the curve of a published answer.

        Raises:
            ValueError: The mechanism does not add symmetric noise to the count.
        """
        noise, answer = published.mechanism, published.answer
        if not isinstance(noise, SymmetricNoise):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere)
                f"mechanism must be noise that is added to the count, got {noise!r}"
            )
        confidence = float(getattr(published, "confidence", _CONFIDENCE))
        error = noise.smallest_error(1 - confidence) - noise.is_discrete  # discrete noise: ±error includes error itself
        reach = noise.smallest_error(_LEFT_OUT)
        first, last = max(0, math.floor(answer - reach)), max(0, math.ceil(answer + reach))
        grid = np.append(np.linspace(first, last, _POINTS), max(answer, 0))
        counts = np.unique(grid.round())
        return cls(
            answer=answer,
            counts=tuple(counts.astype(int).tolist()),
            chances=tuple(np.exp(noise.logpmf(answer, counts)).tolist()),
            low=max(0, math.ceil(answer - error)),
            high=max(0, math.floor(answer + error)),
            confidence=confidence,
        )


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
    prior = (_curve_area(curves.counts, curves.prior, BLUE),)
    likelihood = (_curve_area(curves.counts, curves.noisy, VERMILION), answer)
    posterior = (
        BandMark(curves.low - 0.5, curves.high + 0.5, GREEN),
        _curve_area(curves.counts, curves.posterior, GREEN),
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
        _curve_area(curve.counts, curve.chances, VERMILION),
        RuleMark(curve.answer, Style(INK, DASHED, 2)),
    )
    x = _count_range([*curve.counts, curve.answer, curve.low - 0.5, curve.high + 0.5], unit)
    y = AxisRange(Axis("likelihood", field="chance"), 0, max(curve.chances), has_numbers=False)
    return Picture("What is the true count?", notes, [Frame(x, y, _ANSWER_SIZE, marks)])


def _curve_area(counts: Sequence[int], probabilities: Sequence[float], colour: str) -> CurveMark:
    points = [(float(count), float(chance)) for count, chance in zip(counts, probabilities, strict=True)]
    return CurveMark(points, Style(colour, width=2), is_area=True)


def _count_range(places: Sequence[float], unit: str, *, has_numbers: bool = True) -> AxisRange:
    """Return the axis of the true count, which contains all places."""
    low, high = min(places), max(places)
    axis = Axis("true count", unit, is_whole=True, field="count")
    return AxisRange(axis, low, max(high, low + 1), has_numbers=has_numbers)
