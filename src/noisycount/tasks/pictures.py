"""Charts of a forecast, of a plan and of the privacy loss of an answer, saved as SVG or PNG files.

Each function saves the chart of one result; the ending of the file chooses the format.
"""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np

from noisycount.analysis.relative_error import iso_epsilon_curves, relative_error
from noisycount.charts.picture_svg import save_picture
from noisycount.charts.plan import PossibleAnswers, plan_picture
from noisycount.charts.plot import Line
from noisycount.charts.privacy import NamedCurve, PrivacyView, privacy_picture
from noisycount.charts.table import TableBar, TableBars, table_picture
from noisycount.charts.theme import LEVELS
from noisycount.display.numbers import approximately, at_most, percent, plus_minus, signed
from noisycount.display.output import Done, checked_writing
from noisycount.tasks.forecast import TableForecast, shape_words
from noisycount.tasks.plan import Dots, Plan, goal_words
from noisycount.tasks.risk import Risks, answer_words
from noisycount.validation import exact_text


def save_forecast_plot(result: TableForecast, file: Path) -> None:
    """Save the chart of the error of each level, as SVG or PNG by the ending of the file."""
    has_kinds = len(result.plans) > 1
    bars = [
        TableBar(level.name, level.error(result.confidence), 0, level.mechanism.name if has_kinds else "")
        for same in zip(*(plan.levels for plan in result.plans), strict=True)
        for level in same
    ]
    picture = table_picture(
        TableBars(
            bars=bars,
            title="How far off would each count be?",
            notes=[shape_words(result.design), f"with {percent(result.confidence)} confidence"],
            axis="± of one count",
            kinds="noise" if has_kinds else "",
            labels="counts by",
        )
    )
    with checked_writing(file):
        save_picture(picture, file)


_COLUMNS = 31
_LONGEST = 10
_LEAST, _MOST, _POINTS = 0.5, 0.99, 50
_SUREST = 1 - 1e-9  # largest confidence that the axis can distinguish from 1
_FACTORS = (Fraction(1, 2), Fraction(1), Fraction(2))


def save_plan_plot(plan: Plan, file: Path) -> None:
    """Save the chart of a plan, as SVG or PNG by the ending of the file."""
    confidence, error = _accuracy_of_one_answer(plan)
    first, last = (-math.log1p(-end) for end in (min(_LEAST, confidence), max(_MOST, confidence)))
    confidences = -np.expm1(-np.linspace(first, last, _POINTS))
    prices = [plan.epsilon * factor for factor in _FACTORS]
    errors = iso_epsilon_curves(1, [float(price) for price in prices], confidences)
    lines = [
        Line(f"ε = {_short_price(price)}", style, tuple(confidences.tolist()), tuple(curve.tolist()))
        for price, style, curve in zip(prices, LEVELS, errors, strict=False)
    ]
    title = f"What ε = {approximately(plan.epsilon)} gives"
    subtitle = "" if plan.error is None else f"goal: {goal_words(plan)}"
    picture = plan_picture(possible_answers(plan), lines, (confidence, error), title, subtitle)
    with checked_writing(file):
        save_picture(picture, file)


def possible_answers(plan: Plan, unit: str = "records") -> PossibleAnswers:
    """Return fifty equally likely answers of a plan, or errors if it has no guess of the count, in some unit."""
    dots = Dots.from_errors(plan.possible_errors, plan.centre, _COLUMNS)
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
        title=f"error, {unit}" if guess is None else f"answer if the count is {guess}, {unit}",
        is_offset=guess is None,
    )


def _accuracy_of_one_answer(plan: Plan) -> tuple[float, float]:
    """Return the confidence that each single answer needs, and its error.

    The error is that of the goal, or the one that the price gives at this confidence.
    """
    confidence = min(plan.confidence ** (1 / plan.queries), _SUREST)
    if plan.error is not None:
        return confidence, float(plan.error)
    return confidence, relative_error(1, confidence, float(plan.epsilon))


def _short_price(price: Fraction) -> str:
    exact = exact_text(price)
    return exact if len(exact) <= _LONGEST else f"{float(price):.3g}"


def save_risk_plot(risks: Risks, file: Path, done: Done) -> None:
    """Save the chart of privacy curves, as SVG or PNG by the ending of the file.

    `done` receives the finished share of the work.
    """
    curves = [
        NamedCurve(risk.adversary.name, risk.curve, risk.delta, f"δ = {at_most(risk.delta)}") for risk in risks.risks
    ]
    words = f"ε = {approximately(risks.epsilon)}"
    view = PrivacyView.from_curves(curves, float(risks.epsilon), words, done)
    size = signed(risks.setting.assumed.population.records)
    subtitle = f"{size} records; {answer_words(risks.setting)}"
    picture = privacy_picture(view.lines, view.axes, "What can one record change?", subtitle)
    with checked_writing(file):
        save_picture(picture, file)
