"""A plan in words, and fifty possible answers as dots."""

from decimal import ROUND_CEILING, Context, Decimal

from noisycount.app.plan.dots import Dots
from noisycount.app.plan.plan import Plan
from noisycount.release.budget.exact import exact_text
from noisycount.release.remains import next_words
from noisycount.shown.numbers import (
    approximately,
    at_most,
    odds,
    odds_sentence,
    percent,
    plus_minus,
    signed,
)

__all__ = ["goal_words", "plan_facts", "preview", "preview_heading"]

_MARGIN = 2


def plan_facts(plan: Plan) -> list[tuple[str, str]]:
    """A plan in words."""
    errors = ", ".join(f"{plus_minus(error)} ({percent(level)})" for level, error in plan.errors)
    facts = [
        ("goal", goal_words(plan)),
        ("ε", _price(plan)),
        ("noise", f"discrete Laplace, scale {approximately(plan.noise.scale)}"),
        ("error", errors if plan.queries == 1 else f"of one answer: {errors}"),
        ("reached", _reached(plan)),
        ("negative", _negative(plan)),
        ("privacy", _privacy(plan)),
        ("budget", _budget(plan)),
        ("guess", plan.guessed_from or ""),
        ("hint", _hint(plan)),
    ]
    return [(name, words) for name, words in facts if words]


def goal_words(plan: Plan) -> str:
    """What was asked for."""
    if plan.error is None:
        return f"what ε = {exact_text(plan.epsilon)} gives"
    several = f"all {plan.queries:,} answers " if plan.queries > 1 else ""
    sure = f"with {percent(plan.confidence)} confidence"
    if plan.within is not None and plan.guess is not None:
        of_guess = f"±{percent(plan.within)} of about {_digits(plan.guess)}"
        return f"{several}within {of_guess}, that is {plus_minus(plan.width)}, {sure}"
    asked = plus_minus(float(plan.error))
    if plan.error == plan.width:
        return f"{several}within {asked} {sure}"
    return f"{several}within {asked}, that is {plus_minus(plan.width)}, {sure}"


def preview_heading(plan: Plan) -> str:
    """What the dots are: answers, or errors where there is no guess."""
    what = "errors" if plan.guess is None else f"answers if the count is {signed(plan.centre)}"
    return f"Fifty possible {what}, each as likely as the others"


def preview(plan: Plan, columns: int) -> list[str]:
    """Fifty possible answers or errors as dots on an axis.

    Args:
        plan: The plan.
        columns: The width of the terminal.
    """
    dots = Dots.of(plan.possible_errors, plan.centre, (columns - 2 * _MARGIN) // 2)
    return [" " * _MARGIN + line for line in dots.lines(is_offset=plan.guess is None)]


def _price(plan: Plan) -> str:
    """ε of one answer and of all, and that of continuous noise."""
    each = exact_text(plan.epsilon)
    if plan.queries > 1:
        each = f"{each} an answer, {exact_text(plan.total)} together"
    return each if plan.formula is None else f"{each}  (continuous noise: {plan.formula:.4g})"


def _reached(plan: Plan) -> str:
    """The interval that the discrete noise keeps, and how surely."""
    share = ""
    if plan.guess is not None and plan.within is None:
        share = f", {percent(_share(plan.width, plan.guess))} of about {_digits(plan.guess)},"
    several = f"all {plan.queries:,} answers " if plan.queries > 1 else ""
    return (
        f"{several}{plus_minus(plan.width)}{share} with {percent(_kept(plan.reached))} confidence"
    )


def _negative(plan: Plan) -> str:
    """How likely an answer below 0 is."""
    if plan.negative is None:
        return ""
    chance = at_most(plan.negative) if plan.negative > 0 else "less than 1e-300"
    return f"an answer below 0 has a probability of {chance} if the count is {signed(plan.centre)}"


def _privacy(plan: Plan) -> str:
    """What one answer tells about one person, and what all do."""
    if plan.queries == 1:
        return odds_sentence(plan.epsilon)
    return f"{odds_sentence(plan.epsilon)}, after all {plan.queries:,} answers {odds(plan.total)}"


def _budget(plan: Plan) -> str:
    """How many such answers the budget pays for."""
    number = plan.affordable
    paid = f"{number:,} such answer{'' if number == 1 else 's'}" if number else "no such answer"
    missing = f", not for {plan.queries:,}" if number < plan.queries > 1 else ""
    paying, left = plan.paying, approximately(plan.paying.left)
    if paying.dataset is None:
        return f"{paying.budget.text} pays for {paid}{missing}"
    owner = paying.dataset
    if paying.budget.is_a_sum:
        return f"{left} is left of {owner}: it pays for {paid}{missing}"
    return (
        f"{next_words(paying.left)} of {owner} (budget {paying.budget.text}): it pays for "
        f"{paid}{missing}"
    )


def _hint(plan: Plan) -> str:
    """What the first answer with Gaussian noise leaves, before somebody asks it."""
    least = plan.paying.left_in_rho
    if least is None:
        return ""
    return (
        "an answer with Gaussian noise, however cheap, would leave less: after it the ρ of all "
        f"answers count, not their ε, and {next_words(least)} at most"
    )


def _digits(guess: float) -> str:
    """A guess, whole where it is whole."""
    return plus_minus(guess).removeprefix("±")


def _kept(confidence: float) -> Decimal:
    """A confidence with two digits of what it lacks, rounded so that it promises no more."""
    return 1 - Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(1 - confidence)


def _share(width: int, guess: float) -> Decimal:
    """The share that an error is of a guess as it is written, rounded up to two digits."""
    return Context(prec=2, rounding=ROUND_CEILING).divide(Decimal(width), Decimal(str(guess)))
