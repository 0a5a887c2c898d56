"""The four charts of Explore, by name."""

from collections.abc import Callable, Sequence

from noisycount.app.explore.error import Errors
from noisycount.app.explore.estimate import Told
from noisycount.app.explore.leak import FLOOR, Leaks
from noisycount.app.explore.sliders import Sliders
from noisycount.app.explore.view import Mark, View
from noisycount.app.explore.words import (
    errors_sentence,
    leaks_sentence,
    onlooker_name,
    records,
    told_sentence,
    without_informed,
    without_refined,
    worth_sentence,
)
from noisycount.app.explore.worth import Worth
from noisycount.charts.plot.plot import Axis, Line, Panel, Plot
from noisycount.charts.theme import BLUE, DOTS, GREEN, GUIDE, LONG, STYLES, VERMILION, Style
from noisycount.errors import NoisyCountError
from noisycount.shown.numbers import signed

__all__ = ["VIEWS", "view"]


def view(name: str, sliders: Sliders) -> View:
    """One chart.

    Args:
        name: `posterior`, `error`, `delta` or `utility`.
        sliders: Where all sliders stand.

    Raises:
        NoisyCountError: There is no chart of that name.
    """
    if name not in VIEWS:
        *others, last = VIEWS
        raise NoisyCountError(
            f"chart must be {', '.join(others)} or {last}, got {name[:20]!r}: choose one"
        )
    return VIEWS[name](sliders)


def _posterior(sliders: Sliders) -> View:
    """What is the count, given the answer?"""
    told = Told.of(sliders)
    curves, shown = told.curves, told.shown
    counts = tuple(float(curves.counts[place]) for place in shown)
    laws = (
        ("before, from the rate alone", Style(BLUE, LONG), curves.prior),
        ("what the answer alone says", Style(VERMILION, DOTS), curves.noisy),
        ("after, from both together", Style(GREEN), curves.posterior),
    )
    lines = [
        Line(name, style, counts, tuple(float(law[place]) for place in shown))
        for name, style, law in laws
    ]
    low, high = curves.low, curves.high
    return View(
        _plot(
            "What is the true count?",
            Axis("true count", _unit(sliders)),
            Axis("probability of each count", low=0.0),
            lines,
        ),
        told_sentence(told),
        marks=(
            Mark(float(sliders.answer), f"the answer, {signed(sliders.answer)}", is_dashed=True),
        )
        if counts[0] <= sliders.answer <= counts[-1]
        else (),
        band=(low - 0.5, high + 0.5),
        band_words=f"{signed(low)} to {signed(high)} records, 95 % probability",
    )


def _error(sliders: Sliders) -> View:
    """How far is the answer from the count, at which price?"""
    errors = Errors.of(sliders)
    measured = [("the answer itself", STYLES["answer"], errors.answer)]
    if errors.refined is not None:
        measured.append(("refined by the public rate (mean)", STYLES["mean"], errors.refined))
    measured.append(("no answer, the rate alone", GUIDE, (errors.guess,) * len(errors.epsilons)))
    price = "ε" if sliders.epsilon is not None else "ε at δ = 10⁻⁶"
    return View(
        _plot(
            "How far off is the answer?",
            Axis(f"{price}, the price of the answer", is_log=True),
            Axis("mean absolute error", _unit(sliders), is_log=True),
            [Line(name, style, errors.epsilons, ys) for name, style, ys in measured],
        ),
        errors_sentence(errors),
        marks=(Mark(errors.epsilon, f"this noise, ε = {errors.epsilon:.3g}"),),
        note=without_refined(errors),
    )


def _delta(sliders: Sliders) -> View:
    """How much can one record move the answer?"""
    leaks = Leaks.of(sliders)
    lines = [
        Line(
            onlooker_name(leak.onlooker),
            STYLES[leak.onlooker.name],
            leak.epsilons,
            tuple(max(FLOOR, delta) for delta in leak.deltas),
        )
        for leak in leaks.leaks
    ]
    marks = [Mark(leaks.epsilon, f"ε = {leaks.epsilon:.3g}", is_dashed=True)]
    if sliders.epsilon is not None and sliders.epsilon <= leaks.end:
        marks.append(Mark(float(sliders.epsilon), f"this noise, ε = {float(sliders.epsilon):.3g}"))
    return View(
        _plot(
            "What can one record change?",
            Axis("ε", low=0.0, high=leaks.end),
            Axis("δ, chance to be given away", low=FLOOR, high=1.0, is_log=True),
            lines,
        ),
        leaks_sentence(leaks),
        marks=tuple(marks),
        note=without_informed(sliders, is_whole=leaks.is_whole),
    )


def _utility(sliders: Sliders) -> View:
    """What does the noise cost, and what does it hide?"""
    worth = Worth.of(sliders)
    lines = [
        Line(
            onlooker_name(guess.onlooker),
            STYLES[guess.onlooker.name],
            worth.errors,
            guess.shares,
        )
        for guess in worth.guesses
    ]
    return View(
        _plot(
            "What does privacy cost?",
            Axis("standard error of the answer", "records", is_log=True),
            Axis("right guesses about one person", low=0.5, is_share=True),
            lines,
        ),
        worth_sentence(worth),
        marks=(Mark(worth.errors[worth.own], f"this noise, ±{records(worth.errors[worth.own])}"),),
        note=without_informed(sliders, is_whole=worth.is_whole),
    )


def _unit(sliders: Sliders) -> str:
    """What a count is counted in."""
    return f"records of the {signed(sliders.drawn)} drawn" if sliders.is_sampled else "records"


def _plot(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> Plot:
    """Lines on one pair of axes."""
    return Plot("explore", "noisycount", "Explore", title, "", x, y, (Panel("", tuple(lines)),))


VIEWS: dict[str, Callable[[Sliders], View]] = {
    "posterior": _posterior,
    "error": _error,
    "delta": _delta,
    "utility": _utility,
}
"""Each chart by its name, in the order in which a page shows them."""
