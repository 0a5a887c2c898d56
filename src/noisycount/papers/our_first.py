"""Our figure on accuracy goals: the price of a relative accuracy without a guess of the count, against that with one.

The stopping rule is in `analysis.within`.
"""

from fractions import Fraction

import numpy as np

from noisycount.analysis.relative_error import epsilon_for_relative_error, relative_confidence
from noisycount.analysis.within import coverage, knowing_price, mean_price, stopping_rule
from noisycount.charts.plot import Line, Panel
from noisycount.charts.theme import DENSE, DOTS, GUIDE, LEVELS, PAIRS, STYLES
from noisycount.papers.figure import Claim, Drawing, Verdict, number, percent

WITHIN, CONFIDENCE = Fraction(1, 5), Fraction(19, 20)
AT_MOST = Fraction(1, 2)
GOALS = {
    "±20 % at 95 %": (WITHIN, CONFIDENCE),
    "±10 % at 95 %": (Fraction(1, 10), CONFIDENCE),
    "±50 % at 90 %": (Fraction(1, 2), Fraction(9, 10)),
}
WRONG = (2, 5, 10)
COUNTS = tuple(int(count) for count in np.unique(np.geomspace(200, 10_000, 35).round()))
NOTABLE = 1.1  # "hardly more": less than 10 %


def first() -> Drawing:
    """Return the figure: the mean price of an accuracy goal over the price of an analyst who knows the count."""
    lines = [
        Line(goal_text, style, COUNTS, tuple(_rule_price_ratio(*goal, count) for count in COUNTS))
        for (goal_text, goal), style in zip(GOALS.items(), LEVELS, strict=False)
    ]
    wrong_guesses = [
        Line(f"guess of 1/{times}", style, COUNTS, tuple(_guess_price_ratio(times, count) for count in COUNTS))
        for times, style in zip(WRONG, map(STYLES["printed"].dashed, (DOTS, DENSE, PAIRS)), strict=True)
    ]
    return Drawing(
        (Panel("", (*lines, *wrong_guesses, Line("", GUIDE, (COUNTS[0], COUNTS[-1]), (1, 1)))),),
        (_claim_small_surcharge(lines), _claim_coverage(), _claim_wrong_guess()),
    )


def _rule_price_ratio(within: Fraction, confidence: Fraction, count: int) -> float:
    rule = stopping_rule(within, confidence, AT_MOST)
    return mean_price(rule, count) / knowing_price(within, confidence, count)


def _guess_price_ratio(times: int, count: int) -> float:
    price = epsilon_for_relative_error(count / times, float(WITHIN), float(CONFIDENCE))
    return price / knowing_price(WITHIN, CONFIDENCE, count)


def _claim_small_surcharge(lines: list[Line]) -> Claim:
    narrow = [*lines[0].ys, *lines[1].ys]
    return Claim(
        "the page “Accuracy first”",
        "Not to know the count costs hardly more than to know it, where the share is narrow.",
        f"for counts from {COUNTS[0]} to {COUNTS[-1]:,} it costs {number(min(narrow))} to {number(max(narrow))} times "
        f"as much for ±20 % and ±10 % at 95 %, and {number(min(lines[2].ys))} to {number(max(lines[2].ys))} for ±50 % "
        "at 90 %.",
        Verdict.of(max(narrow) < NOTABLE),
    )


def _claim_coverage() -> Claim:
    coverages = [min(coverage(stopping_rule(*goal, AT_MOST), count) for count in COUNTS) for goal in GOALS.values()]
    coverage_text = ", ".join(
        f"{100 * share:.2f} % for {goal_text}" for goal_text, share in zip(GOALS, coverages, strict=True)
    )
    return Claim(
        "the page “Accuracy first”, Theorem 5",
        "The stated interval holds with the stated confidence, whatever the count.",
        f"the least over these counts is {coverage_text}.",
        Verdict.of(*(share >= goal[1] for share, goal in zip(coverages, GOALS.values(), strict=True))),
    )


def _claim_wrong_guess() -> Claim:
    price = epsilon_for_relative_error(1000, float(WITHIN), float(CONFIDENCE))
    confidences = [float(relative_confidence(1000 / times, float(WITHIN), price)) for times in WRONG]
    price_ratios = [_guess_price_ratio(times, COUNTS[-1]) for times in WRONG]
    return Claim(
        "the page “Accuracy first”",
        "A wrong guess costs as many times as it is wrong, or breaks the promise.",
        f"2, 5 or 10 times too low it costs {', '.join(map(number, price_ratios))} times as much; as much too "
        f"high it keeps ±20 % with {', '.join(map(percent, confidences))} in place of 95 %.",
        Verdict.of(
            *(value < CONFIDENCE for value in confidences),
            *(ratio >= times for ratio, times in zip(price_ratios, WRONG, strict=True)),
        ),
    )
