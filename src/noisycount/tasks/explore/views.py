"""The four charts of Explore: their curves, and a sentence that explains each."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from noisycount.analysis.evaluation.evaluation import mean_absolute_error
from noisycount.analysis.posterior.posterior import posterior_of
from noisycount.analysis.privacy.privacy_curve import privacy_curve
from noisycount.analysis.privacy.smallest_scale import smallest_scale
from noisycount.analysis.utility import utility_loss
from noisycount.charts.plot import Axis, Line, Panel, Plot
from noisycount.charts.plot_picture import ChartView, Mark
from noisycount.charts.refinement import RefinementCurves
from noisycount.charts.theme import BLUE, DOTS, GREEN, GUIDE, LONG, STYLES, VERMILION, Style
from noisycount.display.numbers import approximately, at_most, odds_sentence, percent, signed, to_one_place
from noisycount.errors import NoisyCountError
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample
from noisycount.readers.values import NOISE_KINDS
from noisycount.tasks.explore.sliders import QUANTITIES, Sliders
from noisycount.tasks.risk import Adversary, float_above
from noisycount.validation import exact_text


def records(number: float) -> str:
    """Return a number of records with three digits.

    Example:
        >>> records(12345.6), records(9.96), records(1)
        ('12,346 records', '9.96 records', '1 record')
    """
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:,.3g}"  # noqa: PLR2004
    return f"{text.replace('-', '−')} record{'' if text == '1' else 's'}"


def view(name: str, sliders: Sliders) -> ChartView:
    """Return a chart by its name. Raise NoisyCountError if there is none."""
    if name not in VIEWS:
        *others, last = VIEWS
        raise NoisyCountError(f"chart must be {', '.join(others)} or {last}, got {name[:20]!r}: choose one")
    return VIEWS[name](sliders)


_POINTS = 61  # over the whole range, and as many again where the count probably lies


def _posterior_view(sliders: Sliders) -> ChartView:
    """Return the chart of the posterior distribution of the count, given the answer."""
    result = posterior_of(sliders.answer, sliders.sample_count, sliders.added_noise)
    curves = RefinementCurves.from_posterior(result)
    points, low, high = _shown_points(curves), curves.low, curves.high
    counts = tuple(float(curves.counts[point]) for point in points)
    distributions = (
        ("before, from the rate alone", Style(BLUE, LONG), curves.prior),
        ("what the answer alone says", Style(VERMILION, DOTS), curves.noisy),
        ("after, from both together", Style(GREEN), curves.posterior),
    )
    lines = [
        Line(name, style, counts, tuple(float(chances[point]) for point in points))
        for name, style, chances in distributions
    ]
    answer, scope = signed(sliders.answer), f"among all {signed(sliders.size)} records"
    if sliders.is_sampled:
        scope = f"among the {signed(sliders.sample_size)} records that are drawn"
    mark = Mark(float(sliders.answer), f"the answer, {answer}", is_dashed=True)
    return ChartView(
        _plot(
            "What is the true count?",
            Axis("true count", _records_unit(sliders)),
            Axis("probability of each count", low=0.0),
            lines,
        ),
        f"If the answer is {answer}, the true count {scope} lies from {signed(low)} to {signed(high)} with 95 % "
        f"probability, given the rate; the best estimate is {to_one_place(result.mean)}, with a standard deviation of "
        f"{records(result.std)} in place of the {records(sliders.added_noise.variance**0.5)} of the answer alone.",
        marks=(mark,) if counts[0] <= sliders.answer <= counts[-1] else (),
        band=(low - 0.5, high + 0.5),
        band_words=f"{signed(low)} to {signed(high)} records, 95 % probability",
    )


def _shown_points(curves: RefinementCurves) -> list[int]:
    """Return the indices of the drawn points: some over the whole range, and some around the interval."""
    counts = np.asarray(curves.counts)
    width = curves.high - curves.low + 1
    inside = np.flatnonzero((counts >= curves.low - width) & (counts <= curves.high + width)).tolist()
    return sorted({*_evenly_spaced(range(counts.size)), *_evenly_spaced(inside)})


def _evenly_spaced(indices: Sequence[int]) -> list[int]:
    positions = np.linspace(0, len(indices) - 1, min(_POINTS, len(indices))).round().astype(int)
    return [indices[position] for position in positions.tolist()]


_DELTA = 1e-6  # δ at which the ε of Gaussian noise is stated
_EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
# Largest standard deviation of the count at which refined errors take at most a tenth of a second.
_MOST_SPREAD = {"discrete-laplace": 100.0, "laplace": 10.0, "discrete-gaussian": 6.0}
_TOO_LONG = (
    "With this noise and so many records the error of the refined answer takes longer than a "
    "page may: noisycount.mean_absolute_error of the library computes it."
)
_NO_INFORMATION = DiscreteLaplace(2**40)  # noise under which an answer says nothing about the count
_CACHED = 4096


def _error_view(sliders: Sliders) -> ChartView:
    """Return the chart of mean absolute errors against the price, for the sampled records."""
    sample_count, is_pure = sliders.sample_count, sliders.epsilon is not None
    own_epsilon = float(sliders.epsilon) if sliders.epsilon is not None else _epsilon_at_delta(sliders.added_noise)
    price, at_delta = ("ε", "") if is_pure else ("ε at δ = 10⁻⁶", f" (with δ = {Decimal(str(_DELTA)):e})")
    noises = {epsilon: _noise(sliders.noise, epsilon) for epsilon in _EPSILONS} | {own_epsilon: sliders.added_noise}
    epsilons = tuple(sorted(noises))
    answer = tuple(_mean_error(sample_count, noises[epsilon], "answer") for epsilon in epsilons)
    guess = _mean_error(sample_count, _NO_INFORMATION, "mean")
    errors, place = [("the answer itself", STYLES["answer"], answer)], epsilons.index(own_epsilon)
    if sample_count.law().deviation <= _MOST_SPREAD.get(sliders.noise, 0.0):
        refined_errors = tuple(_mean_error(sample_count, noises[epsilon], "mean") for epsilon in epsilons)
        errors.append(("refined by the public rate (mean)", STYLES["mean"], refined_errors))
        better, note = f", together with the public rate by {records(refined_errors[place])}", ""
    else:
        better, note = "", _TOO_LONG
    errors.append(("no answer, the rate alone", GUIDE, (guess,) * len(epsilons)))
    return ChartView(
        _plot(
            "How far off is the answer?",
            Axis(f"{price}, the price of the answer", is_log=True),
            Axis("mean absolute error", _records_unit(sliders), is_log=True),
            [Line(name, style, epsilons, ys) for name, style, ys in errors],
        ),
        f"At ε = {own_epsilon:.3g}{at_delta} the answer is off by {records(answer[place])} on average{better}; a "
        f"guess from the rate alone, without any answer, is off by {records(guess)}.",
        marks=(Mark(own_epsilon, f"this noise, ε = {own_epsilon:.3g}"),),
        note=note,
    )


@lru_cache(_CACHED)
def _epsilon_at_delta(noise: AdditiveNoise) -> float:
    return privacy_curve(noise).epsilon(_DELTA)


@lru_cache(_CACHED)
def _noise(kind: str, epsilon: float) -> AdditiveNoise:
    class_ = NOISE_KINDS[kind]
    if class_(1).epsilon is not None:
        return class_(1 / epsilon)
    return class_(smallest_scale(class_, epsilon, _DELTA))


_mean_error = lru_cache(_CACHED)(mean_absolute_error)


FLOOR = 1e-9  # smallest δ on the axis
_HALVINGS = 5  # number of halvings of the axis in the search for the end of a curve
_BISECTIONS = 2
_SHARES = (0.0, 0.35, 0.7, 0.85, 0.95, 0.99)  # points of a curve, relative to the ε at which it ends
_STATED_SHARE = 0.6  # largest ε for which δ is stated, relative to the axis
_MOST_VARIANCE = 100.0  # of a sampled count, in records²: a tenth of a second
_BEYOND = 1.1  # length of the axis relative to the longest curve
_GAUSSIAN_TAIL = 6.0  # standard deviations beyond which a normal tail is below the smallest δ


def _delta_view(sliders: Sliders) -> ChartView:
    """Return the chart of δ(ε) against each adversary, the worst case first."""
    mechanism, own_epsilon, reach = sliders.scenario.mechanism, sliders.epsilon, _largest_epsilon(sliders)
    adversaries, note = _affordable_adversaries(sliders, _MOST_VARIANCE)
    curves = [_delta_curve(mechanism, adversary, reach) for adversary in adversaries]
    longest = max(epsilons[-1] for epsilons, _ in curves)
    end, stated_epsilon = _BEYOND * longest, _round_below(_STATED_SHARE * longest)
    stated_deltas = [
        (at_most(_cached_deltas(mechanism, adversary.population, (stated_epsilon,))[0]), _adversary_text(adversary))
        for adversary in adversaries
    ]
    deltas = ", ".join(f"{delta} for one who {adversary}" for delta, adversary in stated_deltas)
    promise, marks = "", [Mark(stated_epsilon, f"ε = {stated_epsilon:.3g}", is_dashed=True)]
    if own_epsilon is not None:
        promise = f"; at ε = {approximately(own_epsilon)}, that of this noise, it is 0: {odds_sentence(own_epsilon)}"
    if own_epsilon is not None and own_epsilon <= end:
        marks.append(Mark(float(own_epsilon), f"this noise, ε = {float(own_epsilon):.3g}"))
    return ChartView(
        _plot(
            "What can one record change?",
            Axis("ε", low=0.0, high=end),
            Axis("δ, chance to be given away", low=FLOOR, high=1.0, is_log=True),
            [
                Line(
                    _adversary_text(adversary),
                    STYLES[adversary.name],
                    epsilons,
                    tuple(max(FLOOR, delta) for delta in values),
                )
                for adversary, (epsilons, values) in zip(adversaries, curves, strict=True)
            ],
        ),
        "δ is the chance, at worst, that the answer gives one person away; otherwise it shifts the odds by at most "
        f"e^ε. At ε = {stated_epsilon:.3g} it is {deltas}{promise}.",
        marks=tuple(marks),
        note=note,
    )


def _delta_curve(mechanism: Mechanism, adversary: Adversary, end: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points of a curve from ε = 0 to the edge of the picture, denser near its end."""
    population = adversary.population

    def deltas(*epsilons: float) -> dict[float, float]:
        return dict(zip(epsilons, _cached_deltas(mechanism, population, epsilons), strict=True))

    curve = deltas(*(end / 2**power for power in reversed(range(_HALVINGS))))
    last = next((epsilon for epsilon in curve if curve[epsilon] < FLOOR), end)
    before = max((epsilon for epsilon in curve if epsilon < last), default=0.0)
    for _ in range(_BISECTIONS):
        middle = (before + last) / 2
        curve |= deltas(middle)
        before, last = (before, middle) if curve[middle] < FLOOR else (middle, last)
    curve |= deltas(*(last * share for share in _SHARES))
    epsilons = sorted(epsilon for epsilon in curve if epsilon <= last)
    return tuple(epsilons), tuple(curve[epsilon] for epsilon in epsilons)


def _largest_epsilon(sliders: Sliders) -> float:
    """Return an ε above which δ of the worst case is below the smallest δ on the axis."""
    scale = float(sliders.scale)
    if sliders.epsilon is not None:
        return float_above(sliders.epsilon)
    return _GAUSSIAN_TAIL / scale + 1 / (2 * scale**2)


def _round_below(number: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a number."""
    power = math.floor(math.log10(number))
    rounds = (float(f"{leading}e{power}") for leading in (5, 2, 1))
    return next(candidate for candidate in rounds if candidate <= number)


_FACTORS = tuple(map(Fraction, ("1/8", "3/16", "1/4", "1/2", "1", "3", "8")))  # of the scale
_MOST_VARIANCE_WORTH = 10.0  # of a sampled count, in records²: a tenth of a second


def _utility_view(sliders: Sliders) -> ChartView:
    """Return the chart of right guesses about one person against the standard error, for several scales."""
    size, sample_size, scale = sliders.size, sliders.sample_size, QUANTITIES["scale"]
    variants = [
        replace(sliders, scale=sliders.scale * factor)
        for factor in _FACTORS
        if scale.low <= sliders.scale * factor <= scale.high
    ]
    mechanisms, own_place = [position.scenario.mechanism for position in variants], variants.index(sliders)
    errors = tuple(math.sqrt(utility_loss(mechanism, sliders.population)) * size for mechanism in mechanisms)
    adversaries, note = _affordable_adversaries(sliders, _MOST_VARIANCE_WORTH)
    # How often the best guess about one person is right, 50:50 before: (1 + δ(0))/2.
    guesses = [
        tuple((1 + _cached_deltas(mechanism, adversary.population, (0.0,))[0]) / 2 for mechanism in mechanisms)
        for adversary in adversaries
    ]
    sources = f"{records(sliders.added_noise.variance**0.5 * size / sample_size)} of privacy noise"
    if sliders.is_sampled:
        sampling = math.sqrt(utility_loss(Subsample(sample_size), sliders.population)) * size
        sources += f" and {records(sampling)} of sampling error"
    guess_text = ", ".join(
        f"{shares[own_place] * 100:.3g} % of the time by one who {_adversary_text(adversary)}"
        for adversary, shares in zip(adversaries, guesses, strict=True)
    )
    return ChartView(
        _plot(
            "What does privacy cost?",
            Axis("standard error of the answer", "records", is_log=True),
            Axis("right guesses about one person", low=0.5, is_share=True),
            [
                Line(_adversary_text(adversary), STYLES[adversary.name], errors, shares)
                for adversary, shares in zip(adversaries, guesses, strict=True)
            ],
        ),
        f"The standard error about all records is {records(errors[own_place])}, "
        f"{percent(Decimal(f'{errors[own_place] / size:.2e}'))} of them ({sources}); whether one person counts is "
        f"guessed right {guess_text}, 50 % being blind luck.",
        marks=(Mark(errors[own_place], f"this noise, ±{records(errors[own_place])}"),),
        note=note,
    )


def _affordable_adversaries(sliders: Sliders, largest_variance: float) -> tuple[list[Adversary], str]:
    """Return the adversaries whose curve is computed fast enough for a page, and a note about the others."""
    all_adversaries = list(sliders.scenario.adversaries())
    fast = [adversary for adversary in all_adversaries if _is_affordable(sliders, adversary, largest_variance)]
    if len(fast) == len(all_adversaries):
        return fast, ""
    return fast, (
        f"For samples of so many records, the curve of one who knows {signed(sliders.known_records)} "
        f"of them takes longer than a page may: noisycount risk --size {sliders.size} --rate "
        f"{exact_text(sliders.rate)} --noise {sliders.noise} --scale {exact_text(sliders.scale)} "
        f"--sample {sliders.sample_size} --known {sliders.known_records} computes it."
    )


_CACHED_CURVES, _CACHED_DELTAS = 256, 4096


def _is_affordable(sliders: Sliders, adversary: Adversary, largest_variance: float) -> bool:
    """Return True if the curve of an adversary can be computed while a user waits.

    A sample of known and unknown records is a mixture of many distributions, and of more if the count is wide.
    """
    is_mixed = sliders.is_sampled and adversary.name == "partly informed"
    return not is_mixed or sliders.population.law().variance <= largest_variance


@lru_cache(_CACHED_DELTAS)
def _cached_deltas(
    mechanism: Mechanism, population: Population | None, epsilons: tuple[float, ...]
) -> tuple[float, ...]:
    """Return δ at each ε, from the cached privacy curve."""
    deltas: list[float] = _privacy_curve(mechanism, population).delta(epsilons).tolist()
    return tuple(deltas)


_privacy_curve = lru_cache(_CACHED_CURVES)(privacy_curve)


def _adversary_text(adversary: Adversary) -> str:
    """Return the name of an adversary: the background knowledge."""
    return f"knows {adversary.knows}"


def _records_unit(sliders: Sliders) -> str:
    return f"records of the {signed(sliders.sample_size)} drawn" if sliders.is_sampled else "records"


def _plot(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> Plot:
    return Plot("explore", "noisycount", "Explore", title, "", x, y, (Panel("", tuple(lines)),))


# Each chart by its name, in the order in which a page shows them.
VIEWS: dict[str, Callable[[Sliders], ChartView]] = {
    "posterior": _posterior_view,
    "error": _error_view,
    "delta": _delta_view,
    "utility": _utility_view,
}


def chart_json(name: str, sliders: Sliders, chart: ChartView) -> dict[str, Any]:
    """Return a chart as JSON: the parameters, the sentence, and all numbers."""
    plot = chart.plot
    return {
        "chart": name,
        "sliders": sliders.texts,
        "epsilon": None if sliders.epsilon is None else float(sliders.epsilon),
        "answer": sliders.answer,
        "title": plot.title,
        "sentence": chart.sentence,
        "note": chart.note,
        "x": plot.x.to_dict(),
        "y": plot.y.to_dict(),
        "lines": [line.to_dict() for line in chart.lines],
        "marks": [{"x": mark.x, "words": mark.words} for mark in chart.marks],
        "band": None if chart.band is None else list(chart.band),
    }
