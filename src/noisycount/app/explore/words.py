"""What the charts of Explore mean, one sentence each."""

from decimal import Decimal

from noisycount.app.explore.error import DELTA, Errors
from noisycount.app.explore.estimate import Told
from noisycount.app.explore.leak import Leaks
from noisycount.app.explore.sliders import Sliders
from noisycount.app.explore.worth import Worth
from noisycount.app.risk.setting import Onlooker
from noisycount.release.budget.exact import exact_text
from noisycount.shown.numbers import (
    approximately,
    at_most,
    odds_sentence,
    percent,
    signed,
    to_one_place,
)

__all__ = [
    "counted_words",
    "errors_sentence",
    "leaks_sentence",
    "onlooker_name",
    "records",
    "told_sentence",
    "without_informed",
    "without_refined",
    "worth_sentence",
]


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


def told_sentence(told: Told) -> str:
    """What the answer tells."""
    low, high = told.curves.low, told.curves.high
    answer, counted = signed(told.sliders.answer), counted_words(told.sliders)
    return (
        f"If the answer is {answer}, the true count {counted} lies from {signed(low)} to "
        f"{signed(high)} with 95 % probability, given the rate; the best estimate is "
        f"{to_one_place(told.posterior.mean)}, with a standard deviation of "
        f"{records(told.posterior.std)} in place of the {records(told.alone)} of the answer alone."
    )


def errors_sentence(errors: Errors) -> str:
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


def leaks_sentence(leaks: Leaks) -> str:
    """What adversaries can learn."""
    told = ", ".join(
        f"{at_most(leak.asked)} for one who {onlooker_name(leak.onlooker)}" for leak in leaks.leaks
    )
    own = leaks.sliders.epsilon
    promised = ""
    if own is not None:
        promised = (
            f"; at ε = {approximately(own)}, that of this noise, it is 0: {odds_sentence(own)}"
        )
    return (
        "δ is the chance, at worst, that the answer gives one person away; otherwise it shifts the "
        f"odds by at most e^ε. At ε = {leaks.epsilon:.3g} it is {told}{promised}."
    )


def worth_sentence(worth: Worth) -> str:
    """What the noise costs, and what it hides."""
    own, size = worth.own, worth.sliders.size
    share = percent(Decimal(f"{worth.errors[own] / size:.2e}"))
    parts = f"{records(worth.noise)} of privacy noise"
    if worth.sliders.is_sampled:
        parts += f" and {records(worth.sampling)} of sampling error"
    guessed = ", ".join(
        f"{guess.shares[own] * 100:.3g} % of the time by one who {onlooker_name(guess.onlooker)}"
        for guess in worth.guesses
    )
    return (
        f"The standard error about all records is {records(worth.errors[own])}, {share} of them "
        f"({parts}); whether one person counts is guessed right {guessed}, 50 % being blind luck."
    )


def onlooker_name(onlooker: Onlooker) -> str:
    """An adversary by what is known besides the answer."""
    return f"knows {onlooker.knows}"


def without_refined(errors: Errors) -> str:
    """Why refined errors are not drawn; empty where they are."""
    if errors.refined is not None:
        return ""
    return (
        "With this noise and so many records the error of the refined answer takes longer than a "
        "page may: noisycount.mean_absolute_error of the library computes it."
    )


def without_informed(sliders: Sliders, *, is_whole: bool) -> str:
    """Why the partly informed adversary is not drawn, and what draws the line; empty where it is.

    Args:
        sliders: Where all sliders stand.
        is_whole: Whether all adversaries are drawn.
    """
    if is_whole:
        return ""
    return (
        f"Of samples of so many records, what one learns who knows {signed(sliders.known_records)} "
        f"of them takes longer than a page may: noisycount risk --size {sliders.size} --rate "
        f"{exact_text(sliders.rate)} --noise {sliders.noise} --scale {exact_text(sliders.scale)} "
        f"--sample {sliders.drawn} --known {sliders.known_records} computes it."
    )
