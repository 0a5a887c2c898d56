"""The picture of a plan: fifty possible answers, and what other goals cost."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np

from noisycount.analysis.accuracy.relative_error import iso_epsilon_curves, relative_error
from noisycount.app.plan.dots import Dots
from noisycount.app.plan.plan import Plan
from noisycount.app.plan.words import goal_words
from noisycount.app.terminal.files import writing
from noisycount.charts.files import save_file
from noisycount.charts.plan import GoalLine, PossibleAnswers, plan_chart
from noisycount.release.budget.exact import exact_text
from noisycount.shown.numbers import approximately, percent, plus_minus, signed

__all__ = ["save_plan_plot"]

_COLUMNS = 31
_LONGEST = 10
_LEAST, _MOST, _POINTS = 0.5, 0.99, 50
_SUREST = 1 - 1e-9  # what an axis up to 1 can tell from it
_FACTORS = (Fraction(1, 2), Fraction(1), Fraction(2))


def save_plan_plot(plan: Plan, file: Path) -> None:
    """The picture of a plan as one file, SVG or PNG by its ending.

    Raises:
        NoisyCountError: The file cannot be written.
    """
    confidence, error = _goal_of_one(plan)
    first, last = (-math.log1p(-end) for end in (min(_LEAST, confidence), max(_MOST, confidence)))
    confidences = -np.expm1(-np.linspace(first, last, _POINTS))
    prices = [plan.epsilon * factor for factor in _FACTORS]
    errors = iso_epsilon_curves(1, [float(price) for price in prices], confidences)
    lines = [
        GoalLine(f"ε = {_short(price)}", confidences.tolist(), curve.tolist())
        for price, curve in zip(prices, errors, strict=True)
    ]
    title = f"What ε = {approximately(plan.epsilon)} gives"
    subtitle = "" if plan.error is None else f"goal: {goal_words(plan)}"
    chart = plan_chart(_answers(plan), lines, (confidence, error), title, subtitle)
    with writing(file):
        save_file(chart, file)


def _answers(plan: Plan) -> PossibleAnswers:
    """The dots and what they mean."""
    dots = Dots.of(plan.possible_errors, plan.centre, _COLUMNS)
    guess = None if plan.guess is None else signed(plan.centre)
    about = "Fifty possible errors" if guess is None else "Fifty possible answers"
    centre = "no error" if guess is None else f"the guess, {guess}"
    several = f"all {plan.queries:,} answers " if plan.queries > 1 else ""
    inside = f"{several}within {plus_minus(plan.width)} with {percent(plan.confidence)} confidence"
    return PossibleAnswers(
        places=dots.places,
        gap=dots.gap,
        low=plan.centre - plan.width,
        high=plan.centre + plan.width,
        centre=plan.centre,
        heading=f"{about}, each as likely as the others",
        notes=[f"dashed line: {centre}", f"shaded: {inside}"],
        title="error, records" if guess is None else f"answer if the count is {guess}, records",
        is_offset=guess is None,
    )


def _goal_of_one(plan: Plan) -> tuple[float, float]:
    """The confidence that one answer needs, and the error that was asked for or that it has."""
    confidence = min(plan.confidence ** (1 / plan.queries), _SUREST)
    if plan.error is not None:
        return confidence, float(plan.error)
    return confidence, relative_error(1, confidence, float(plan.epsilon))


def _short(price: Fraction) -> str:
    """An ε in few characters."""
    exact = exact_text(price)
    return exact if len(exact) <= _LONGEST else f"{float(price):.3g}"
