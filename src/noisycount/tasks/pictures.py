"""The pictures of a forecast, a plan, a risk, a refined count and a refined table, as files."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np

from noisycount.analysis.relative_error import iso_epsilon_curves, relative_error
from noisycount.charts.curves import RefinementCurves
from noisycount.charts.drawing import save, save_file
from noisycount.charts.plan import GoalLine, PossibleAnswers, plan_chart
from noisycount.charts.privacy import NamedCurve, PrivacyView, privacy_chart
from noisycount.charts.refined_table import RefinedDot, RefinedDots, RefinedSums, answer_error, refined_chart
from noisycount.charts.refinement import refinement_chart
from noisycount.charts.table import TableBar, TableBars, table_chart
from noisycount.display.numbers import approximately, at_most, percent, plus_minus, signed
from noisycount.display.output import Done, draft, writing
from noisycount.display.texts import ALL_KEYS
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.tasks.plan import Dots, Plan, goal_words
from noisycount.tasks.refine.estimate import Refinement
from noisycount.tasks.refine.published import PublishedLevel, PublishedTable
from noisycount.tasks.refine.refined import RefinedTable
from noisycount.tasks.risk.risk import Risks, answer_words
from noisycount.tasks.table.forecast import TableForecast, shape_words
from noisycount.validation import exact_text


def save_forecast_plot(told: TableForecast, file: Path) -> None:
    """The ± of each level as one picture, SVG or PNG by its ending."""
    levels = list(map(told.levels, told.plans))
    bars = [
        TableBar(level.name, level.error, 0, level.mechanism if len(levels) > 1 else "")
        for same in zip(*levels, strict=True)
        for level in same
    ]
    chart = table_chart(
        TableBars(
            bars=bars,
            title="How far off would each count be?",
            notes=[shape_words(told.design), f"with {percent(told.confidence)} confidence"],
            axis="± of one count",
            kinds="noise" if len(levels) > 1 else "",
        )
    )
    with writing(file):
        save_file(chart, file)


_COLUMNS = 31
_LONGEST = 10
_LEAST, _MOST, _POINTS = 0.5, 0.99, 50
_SUREST = 1 - 1e-9  # what an axis up to 1 can tell from it
_FACTORS = (Fraction(1, 2), Fraction(1), Fraction(2))


def save_plan_plot(plan: Plan, file: Path) -> None:
    """The picture of a plan as one file, SVG or PNG by its ending."""
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
    exact = exact_text(price)
    return exact if len(exact) <= _LONGEST else f"{float(price):.3g}"


def save_risk_plot(risks: Risks, file: Path, done: Done) -> None:
    """The picture of privacy curves as one file, SVG or PNG by its ending."""
    curves = [
        NamedCurve(risk.adversary.name, risk.curve, risk.delta, f"δ = {at_most(risk.delta)}") for risk in risks.risks
    ]
    words = f"ε = {approximately(risks.epsilon)}"
    view = PrivacyView.of(curves, float(risks.epsilon), words, done)
    size = signed(risks.setting.assumed.population.records)
    subtitle = f"{size} records; {answer_words(risks.setting)}"
    chart = privacy_chart(view.lines, view.axes, "What can one record change?", subtitle)
    with writing(file):
        save_file(chart, file)


@frozen
class Caption:
    """What stands above a picture."""

    title: str  # the question
    subtitle: str  # whose records
    unit: str = "records"  # what is counted, in the plural


def save_picture(refinement: Refinement, caption: Caption, folder: Path, stem: str) -> list[Path]:
    """The picture of a refinement as SVG and PNG: the two files."""
    chart = refinement_chart(
        RefinementCurves.of(refinement.told, refinement.level), caption.title, caption.subtitle, caption.unit
    )
    try:
        return save(chart, folder, stem)
    except OSError as error:
        raise NoisyCountError(f"folder {str(folder)!r} cannot be written ({error.strerror}): name another") from None


def save_plot(refinement: Refinement, file: Path) -> None:
    """The picture of a refinement as one file, SVG or PNG by its ending."""
    size, answers = refinement.assumed.population.records, len(refinement.answers)
    kind = "average" if refinement.noise is not None else "weighted average"
    averaged = f"; the answer is the {kind} of {answers}" if answers > 1 else ""
    subtitle = f"{size:,} records{averaged}"
    chart = refinement_chart(
        RefinementCurves.of(refinement.told, refinement.level, refinement.answer), "What is the true count?", subtitle
    )
    with writing(file):
        save_file(chart, file)


def save_refined_table_plot(refined: RefinedTable, file: Path) -> None:
    """The picture of the cells of a table and their sums as a file, SVG or PNG by its ending."""
    chart = refined_chart(_dots(refined))
    with draft(file) as part:
        save_file(chart, part)


def _dots(refined: RefinedTable) -> RefinedDots:
    """The answers and estimates of the cells, and of each level of sums."""
    table = refined.published
    cells = table.levels if table.is_selected else (table.cells,)
    dots = [dot for level in cells for dot in _level(refined, level)]
    sums = [
        RefinedSums.of_largest(level.name, found)
        for level in table.levels
        if level not in cells and (found := _level(refined, level))
    ]
    title, notes = "What are the true counts?", [table.subject]
    return RefinedDots.of_largest(dots, title, notes, refined.level, table.unit, sums)


def _level(refined: RefinedTable, level: PublishedLevel) -> list[RefinedDot]:
    """The answers and estimates of a level; none where it is not told."""
    table, error = refined.published, answer_error(level.mechanism, refined.level)
    told = zip(*(refined.estimates[name][level.rows].tolist() for name in ("mean", "low", "high")), strict=True)
    return [
        RefinedDot(
            _label(table, level, row),
            None if np.isnan(table.answers[row]) else float(table.answers[row]),
            error,
            mean,
            low,
            high,
        )
        for row, (mean, low, high) in zip(level.rows.tolist(), told, strict=True)
        if mean is not None
    ]


def _label(table: PublishedTable, level: PublishedLevel, row: int) -> str:
    """The keys of a count; of sums of a hierarchy, or over all keys of a column, those it keeps."""
    keys = table.keys[row]
    if level.of_cell is not None or level is table.cells:
        return ", ".join(keys)
    kept = [at in level.columns or not (table.is_hierarchy or key == ALL_KEYS) for at, key in enumerate(keys)]
    told = [key for key, is_kept in zip(keys, kept, strict=True) if is_kept]
    return ", ".join(told) or level.name
