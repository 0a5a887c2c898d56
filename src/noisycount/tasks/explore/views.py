"""The four charts of Explore, by name, and what they mean, one sentence each."""

from collections.abc import Callable, Sequence
from decimal import Decimal

from noisycount.charts.plot import Axis, Line, Panel, Plot
from noisycount.charts.svg import ChartView, Mark
from noisycount.charts.theme import BLUE, DOTS, GREEN, GUIDE, LONG, STYLES, VERMILION, Style
from noisycount.display.numbers import approximately, at_most, odds_sentence, percent, signed, to_one_place
from noisycount.errors import NoisyCountError
from noisycount.tasks.explore.charts import DELTA, FLOOR, ErrorCurves, PosteriorView, PrivacyCurves, WorthCurves
from noisycount.tasks.explore.sliders import Sliders
from noisycount.tasks.risk import Adversary
from noisycount.validation import exact_text


def records(number: float) -> str:
    """A number of records to three digits.

    Example:
        >>> records(12345.6), records(9.96), records(1)
        ('12,346 records', '9.96 records', '1 record')
    """
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:,.3g}"  # noqa: PLR2004
    return f"{text.replace('-', '−')} record{'' if text == '1' else 's'}"


def counted_words(sliders: Sliders) -> str:
    """Whose count the answer is about."""
    if sliders.is_sampled:
        return f"among the {signed(sliders.drawn)} records that are drawn"
    return f"among all {signed(sliders.size)} records"


def told_sentence(told: PosteriorView) -> str:
    """What the answer tells."""
    low, high = told.curves.low, told.curves.high
    answer, counted = signed(told.sliders.answer), counted_words(told.sliders)
    return (
        f"If the answer is {answer}, the true count {counted} lies from {signed(low)} to {signed(high)} with 95 % "
        f"probability, given the rate; the best estimate is {to_one_place(told.posterior.mean)}, with a standard "
        f"deviation of {records(told.posterior.std)} in place of the {records(told.alone)} of the answer alone."
    )


def errors_sentence(errors: ErrorCurves) -> str:
    """How far off the answer is."""
    answer, refined = errors.own
    at = f"ε = {errors.epsilon:.3g}"
    if errors.sliders.epsilon is None:
        at += f" (with δ = {Decimal(str(DELTA)):e})"
    better = "" if refined is None else f", together with the public rate by {records(refined)}"
    return (
        f"At {at} the answer is off by {records(answer)} on average{better}; whoever guesses from "
        f"the rate alone, without any answer, is off by {records(errors.guess)}."
    )


def leaks_sentence(leaks: PrivacyCurves) -> str:
    """What adversaries can learn."""
    told = ", ".join(f"{at_most(leak.asked)} for one who {adversary_name(leak.adversary)}" for leak in leaks.leaks)
    own = leaks.sliders.epsilon
    promised = ""
    if own is not None:
        promised = f"; at ε = {approximately(own)}, that of this noise, it is 0: {odds_sentence(own)}"
    return (
        "δ is the chance, at worst, that the answer gives one person away; otherwise it shifts the "
        f"odds by at most e^ε. At ε = {leaks.epsilon:.3g} it is {told}{promised}."
    )


def worth_sentence(worth: WorthCurves) -> str:
    """What the noise costs, and what it hides."""
    own, size = worth.own, worth.sliders.size
    share = percent(Decimal(f"{worth.errors[own] / size:.2e}"))
    parts = f"{records(worth.noise)} of privacy noise"
    if worth.sliders.is_sampled:
        parts += f" and {records(worth.sampling)} of sampling error"
    guessed = ", ".join(
        f"{guess.shares[own] * 100:.3g} % of the time by one who {adversary_name(guess.adversary)}"
        for guess in worth.guesses
    )
    return (
        f"The standard error about all records is {records(worth.errors[own])}, {share} of them "
        f"({parts}); whether one person counts is guessed right {guessed}, 50 % being blind luck."
    )


def adversary_name(adversary: Adversary) -> str:
    """An adversary by what is known besides the answer."""
    return f"knows {adversary.knows}"


def without_refined(errors: ErrorCurves) -> str:
    """Why refined errors are not drawn; empty where they are."""
    if errors.refined is not None:
        return ""
    return (
        "With this noise and so many records the error of the refined answer takes longer than a "
        "page may: noisycount.mean_absolute_error of the library computes it."
    )


def without_informed(sliders: Sliders, *, is_whole: bool) -> str:
    """Why the partly informed adversary is not drawn, and what draws it; empty where it is."""
    if is_whole:
        return ""
    return (
        f"Of samples of so many records, what one learns who knows {signed(sliders.known_records)} "
        f"of them takes longer than a page may: noisycount risk --size {sliders.size} --rate "
        f"{exact_text(sliders.rate)} --noise {sliders.noise} --scale {exact_text(sliders.scale)} "
        f"--sample {sliders.drawn} --known {sliders.known_records} computes it."
    )


def view(name: str, sliders: Sliders) -> ChartView:
    """One chart."""
    if name not in VIEWS:
        *others, last = VIEWS
        raise NoisyCountError(f"chart must be {', '.join(others)} or {last}, got {name[:20]!r}: choose one")
    return VIEWS[name](sliders)


def _posterior(sliders: Sliders) -> ChartView:
    """What is the count, given the answer?"""
    told = PosteriorView.of(sliders)
    curves, shown = told.curves, told.shown
    counts = tuple(float(curves.counts[place]) for place in shown)
    laws = (
        ("before, from the rate alone", Style(BLUE, LONG), curves.prior),
        ("what the answer alone says", Style(VERMILION, DOTS), curves.noisy),
        ("after, from both together", Style(GREEN), curves.posterior),
    )
    lines = [Line(name, style, counts, tuple(float(law[place]) for place in shown)) for name, style, law in laws]
    low, high = curves.low, curves.high
    return ChartView(
        _plot(
            "What is the true count?",
            Axis("true count", _unit(sliders)),
            Axis("probability of each count", low=0.0),
            lines,
        ),
        told_sentence(told),
        marks=(Mark(float(sliders.answer), f"the answer, {signed(sliders.answer)}", is_dashed=True),)
        if counts[0] <= sliders.answer <= counts[-1]
        else (),
        band=(low - 0.5, high + 0.5),
        band_words=f"{signed(low)} to {signed(high)} records, 95 % probability",
    )


def _error(sliders: Sliders) -> ChartView:
    """How far is the answer from the count, at which price?"""
    errors = ErrorCurves.of(sliders)
    measured = [("the answer itself", STYLES["answer"], errors.answer)]
    if errors.refined is not None:
        measured.append(("refined by the public rate (mean)", STYLES["mean"], errors.refined))
    measured.append(("no answer, the rate alone", GUIDE, (errors.guess,) * len(errors.epsilons)))
    price = "ε" if sliders.epsilon is not None else "ε at δ = 10⁻⁶"
    return ChartView(
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


def _delta(sliders: Sliders) -> ChartView:
    """How much can one record move the answer?"""
    leaks = PrivacyCurves.of(sliders)
    lines = [
        Line(
            adversary_name(leak.adversary),
            STYLES[leak.adversary.name],
            leak.epsilons,
            tuple(max(FLOOR, delta) for delta in leak.deltas),
        )
        for leak in leaks.leaks
    ]
    marks = [Mark(leaks.epsilon, f"ε = {leaks.epsilon:.3g}", is_dashed=True)]
    if sliders.epsilon is not None and sliders.epsilon <= leaks.end:
        marks.append(Mark(float(sliders.epsilon), f"this noise, ε = {float(sliders.epsilon):.3g}"))
    return ChartView(
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


def _utility(sliders: Sliders) -> ChartView:
    """What does the noise cost, and what does it hide?"""
    worth = WorthCurves.of(sliders)
    lines = [
        Line(adversary_name(guess.adversary), STYLES[guess.adversary.name], worth.errors, guess.shares)
        for guess in worth.guesses
    ]
    return ChartView(
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
    return f"records of the {signed(sliders.drawn)} drawn" if sliders.is_sampled else "records"


def _plot(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> Plot:
    return Plot("explore", "noisycount", "Explore", title, "", x, y, (Panel("", tuple(lines)),))


# Each chart by its name, in the order in which a page shows them.
VIEWS: dict[str, Callable[[Sliders], ChartView]] = {
    "posterior": _posterior,
    "error": _error,
    "delta": _delta,
    "utility": _utility,
}
