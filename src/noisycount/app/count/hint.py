"""What to do better next time, from the question and published numbers alone."""

from collections.abc import Iterator
from contextlib import suppress

from noisycount.app.count.question import Answer
from noisycount.app.plan.plan import planned
from noisycount.errors import NoisyCountError
from noisycount.release.budget.exact import exact_text
from noisycount.shown.numbers import percent, plus_minus, signed

__all__ = ["hints"]

_FAR = 2  # times as large as the count may be, or as small


def hints(answer: Answer, guess: float | None = None, within: float | None = None) -> list[str]:
    """What the question says of itself, and the answer of its guess; no data is read.

    And where a better answer is.

    Args:
        answer: What was published.
        guess: The guess of the count that the price came from, in units; None where there was none.
        within: The half-width that was asked for, as a share of the guess.
    """
    found = list(answer.impossible)
    if guess and within:
        found.extend(_about_guess(answer, guess, within))
    if answer.better is not None:
        found.append(answer.better.words(answer.confidence))
    return found


def _about_guess(answer: Answer, guess: float, within: float) -> Iterator[str]:
    """What the goal costs for this answer, where the guess was far from all that it may be.

    Or where the goal is missed whatever the count is, as the guess was above all that it may be.
    """
    low, high = answer.interval
    is_far = low > _FAR * guess or guess > _FAR * high
    if not is_far and (guess <= high or answer.error <= within * high):
        return
    shown = plus_minus(guess).removeprefix("±")
    told = (
        f"the guess of {shown} was {'far off' if is_far else 'too large, and the goal is missed'}"
    )
    is_known = answer.release.answer > answer.error
    about = answer.release.answer if is_known else high
    if about < 1:
        yield f"{told}: the count is hardly above 0; say how far off with an ε instead"
        return
    most = "" if is_known else ", the most that it may be,"
    with suppress(NoisyCountError):  # no ledger keeps such a price
        price = planned(about, within, answer.confidence).epsilon
        only = "only " if price < answer.release.epsilon else ""
        yield (
            f"{told}: ±{percent(within)} of {signed(about)}{most} needs {only}"
            f"ε = {exact_text(price)}"
        )
