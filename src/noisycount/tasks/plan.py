"""Plans: the ε for an accuracy goal, or the accuracy of an ε, and the number of answers that the budget pays for.

`Plan` needs a guess of the count, an error in records or an ε. `OpenPlan` needs none of them: it holds the prices of an
error relative to an unknown count, which differ by the count, as an answer stops as soon as it is accurate enough.
"""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from noisycount.analysis.accuracy import failure_probability, negative_probability
from noisycount.config.config import DEFAULT_BUDGET
from noisycount.display.numbers import approximately, at_most, odds_sentence, percent, plus_minus, rounded_up, signed
from noisycount.display.values import members
from noisycount.errors import QueryError
from noisycount.frozen import frozen
from noisycount.model.half_width import epsilon_within, error_within, readable_epsilon_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import fraction_as_written
from noisycount.release.dataset import AvailableBudget, next_price_words
from noisycount.validation import exact_text, is_in_range, optional_text

if TYPE_CHECKING:
    from noisycount.analysis.within import StoppingRule


UNSPENT = AvailableBudget(DEFAULT_BUDGET)  # pays if neither a budget nor a data set is given


POSSIBLE = 50  # number of possible answers that a preview shows
_CONFIDENCES = (0.5, 0.9, 0.95, 0.99)


@frozen
class Plan:
    """The ε for an accuracy goal, or the accuracy of an ε."""

    epsilon: Fraction  # ε of each answer with discrete noise, rounded up to a readable number
    width: int  # all answers lie within ±width with the confidence, in records
    confidence: float  # of the goal
    queries: int = 1  # number of answers that the confidence holds for together
    formula: float | None = None  # ε of continuous noise for the goal; None if ε was given
    error: Fraction | None = None  # half-width of the goal, in records; None if ε was given
    within: float | None = None  # half-width relative to the guess, if the goal was given so
    guess: float | None = None  # public guess of the count, in records; None: no guess
    guessed_from: str | None = None  # source of the guess, in words; None if it was given
    paying: AvailableBudget = UNSPENT  # budget that pays for the answers

    @property
    def noise(self) -> DiscreteLaplace:
        """Noise of an answer."""
        return DiscreteLaplace.for_epsilon(self.epsilon)

    @property
    def total(self) -> Fraction:
        """Total price of all answers, in ε."""
        return self.queries * self.epsilon

    @property
    def reached_confidence(self) -> float:
        """Probability that all answers lie within ±width."""
        return 1 - failure_probability(self.noise, self.width + 1, self.queries)

    @property
    def errors(self) -> tuple[tuple[float, int], ...]:
        """Pairs of a confidence and the error of one answer at that confidence, in records."""
        noise = self.noise
        return tuple((level, error_within(noise, level)) for level in _CONFIDENCES)

    @property
    def negative(self) -> float | None:
        """Probability of an answer below 0 if the guess is right."""
        return None if self.guess is None else negative_probability(self.centre, self.noise)

    @property
    def affordable(self) -> int:
        """Number of answers that the budget pays for."""
        return self.paying.affordable(self.epsilon)

    @property
    def centre(self) -> int:
        """Count of the possible answers: the rounded guess, or 0 to show errors."""
        return 0 if self.guess is None else round(self.guess)

    @property
    def possible_errors(self) -> tuple[int, ...]:
        """Fifty equally likely errors in ascending order: the quantiles at 1 %, 3 %, ..., 99 %."""
        noise = self.noise
        tails = ((2 * rank + 1) / POSSIBLE for rank in range(POSSIBLE // 2))
        farthest_first = [int(noise.smallest_error(tail)) - 1 for tail in tails]
        return (*(-error for error in farthest_first), *reversed(farthest_first))


def plan_for_guess(guess: float, within: float, confidence: float, queries: int = 1) -> Plan:
    """Return the plan for answers within ±within·guess with a confidence. Reads no data."""
    error = fraction_as_written(within, "within") * fraction_as_written(guess, "guess")
    goal = f"{{within:{within:g}}} of {{guess:{guess:g}}}"
    return _plan_for_error(error, confidence, queries, goal, within, guess)


def plan_for_error(error: Fraction, confidence: float, queries: int = 1, guess: float | None = None) -> Plan:
    """Return the plan for answers within ±error records with a confidence."""
    return _plan_for_error(error, confidence, queries, f"{{error:{float(error):g}}}", None, guess)


def plan_at_epsilon(epsilon: Fraction, confidence: float, queries: int = 1, guess: float | None = None) -> Plan:
    """Return the plan of answers at a given ε."""
    width = error_within(DiscreteLaplace.for_epsilon(epsilon), confidence, queries)
    return Plan(epsilon, width, confidence, queries, guess=guess)


def _plan_for_error(  # noqa: PLR0913, PLR0917  (a goal and its words)
    error: Fraction, confidence: float, queries: int, goal: str, within: float | None, guess: float | None
) -> Plan:
    """Return the plan for answers within ±error records. Raise QueryError if no ledger stores its price."""
    formula = epsilon_within(error, confidence, queries)
    if not is_in_range(formula):
        raise QueryError(f"{goal} needs ε = {formula:.2g}, outside 1e-9 to 1e6: choose another goal")
    return Plan(
        epsilon=readable_epsilon_within(error, confidence, queries),
        width=math.floor(error),
        confidence=confidence,
        queries=queries,
        formula=formula,
        error=error,
        within=within,
        guess=guess,
    )


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON: `formula` is ε by eq. (10), `epsilon` the ε of discrete noise."""
    possible = [plan.centre + error for error in plan.possible_errors]
    return {
        **members(plan, "guess", "guessed_from", "within", "confidence", "queries", "formula", "epsilon", "total"),
        "mechanism": "discrete Laplace",
        "scale": exact_text(plan.noise.scale),
        "error": plan.width,
        "reached": plan.reached_confidence,
        "errors": [{"confidence": level, "error": error} for level, error in plan.errors],
        "negative": plan.negative,
        "odds": odds_sentence(plan.epsilon),
        "budget": exact_text(plan.paying.left),
        "dataset": plan.paying.dataset,
        "affordable": plan.affordable,
        "left_in_rho": optional_text(plan.paying.left_in_rho),
        "possible_answers": None if plan.guess is None else possible,
        "possible_errors": list(plan.possible_errors),
    }


_DOT = "●"
_MOST_ROWS = 10
_OVERHANG = 2  # characters by which a label may extend beyond the axis
_STEPS = (1, 3, 5)  # odd, so that all columns contain the same number of whole numbers
_LEADING = (1, 2, 5)


@frozen
class Dots:
    """A dot plot: dots in columns of equal width around a centre."""

    centre: int  # value in the middle of the middle column
    step: int  # number of whole numbers of a column
    heights: tuple[int, ...]  # number of dots in each column, from −reach to reach

    @classmethod
    def from_errors(cls, errors: Sequence[int], centre: int, most_columns: int) -> "Dots":
        """Return the plot of the values centre + error, with at most `most_columns` columns."""
        smallest = 2 * max(errors) / max(1, most_columns - 2)
        step = next((step for step in _STEPS if step >= smallest), 0) or round_step(smallest)
        columns = Counter(_column_of(error, step) for error in errors)
        reach = max(columns)
        return cls(centre, step, tuple(columns[column] for column in range(-reach, reach + 1)))

    @property
    def reach(self) -> int:
        """Number of columns on each side of the middle one."""
        return len(self.heights) // 2

    @property
    def dots_per_row(self) -> int:
        """Number of dots beside each other in a column, so that no column is too tall."""
        return math.ceil(max(self.heights) / _MOST_ROWS)

    @property
    def places(self) -> list[tuple[float, int]]:
        """Position of each dot: a value around the middle of its column, and a row from 1."""
        return [
            (self.centre + (column - self.reach) * self.step + offset, level)
            for column, height in enumerate(self.heights)
            for level, first in enumerate(range(0, height, self.dots_per_row), start=1)
            for offset in self._dot_offsets(min(self.dots_per_row, height - first))
        ]

    @property
    def gap(self) -> float:
        """Distance of dots beside each other."""
        return self.step / (self.dots_per_row + 1) if self.dots_per_row > 1 else float(self.step)

    def _dot_offsets(self, dots: int) -> list[float]:
        """Return the offsets of dots beside each other from the middle of their column."""
        return [(dot - (dots - 1) / 2) * self.gap for dot in range(dots)]

    def lines(self, *, is_offset: bool) -> list[str]:
        """Return the plot as lines of text: rows of dots from the top, an axis, and its labels."""
        rows = math.ceil(max(self.heights) / self.dots_per_row)
        dots = [self._row(row).rstrip() for row in reversed(range(rows))]
        return [*dots, *self._axis(self.dots_per_row + 1, is_offset=is_offset)]

    def _row(self, row: int) -> str:
        """Return the dots of one row, with a space after each column."""
        remaining = (max(0, height - row * self.dots_per_row) for height in self.heights)
        return "".join((_DOT * min(self.dots_per_row, dots)).ljust(self.dots_per_row + 1) for dots in remaining)

    def _axis(self, cell: int, *, is_offset: bool) -> list[str]:
        """Return a line with marks, and the labels below them that have room."""
        every = self._label_interval(cell, is_offset=is_offset)
        width = len(self.heights) * cell - 1
        line, labels = "", ""
        for column in range(-self.reach, self.reach + 1):
            is_marked = column % every == 0
            middle = (column + self.reach) * cell + (cell - 1) // 2
            line = line.ljust(middle, "─") + ("┬" if is_marked else "─")
            label = self._label(column, is_offset=is_offset)
            start = middle - (len(label) - 1) // 2
            has_room = len(labels) + bool(labels) <= start <= width + _OVERHANG - len(label)
            if is_marked and has_room:
                labels = labels.ljust(start) + label
        return [line.ljust(width, "─"), labels or self._label(0, is_offset=is_offset)]

    def _label_interval(self, cell: int, *, is_offset: bool) -> int:
        """Return the distance between labels of the axis, in columns of dots, so that no labels touch.

        Args:
            cell: The width of a column, in characters.
            is_offset: True if the labels are signed offsets from the middle column.
        """
        ends = (self._label(end, is_offset=is_offset) for end in (-self.reach, self.reach))
        smallest = (max(map(len, ends)) + 2) / cell
        every = round_step(smallest)
        return every if every <= self.reach else math.ceil(smallest)

    def _label(self, column: int, *, is_offset: bool) -> str:
        """Return the value in the middle of a column as text."""
        text = signed(self.centre + column * self.step)
        return f"+{text}" if is_offset and column > 0 else text


def _column_of(error: int, step: int) -> int:
    """Return the column of an error. Halves belong to the outer column."""
    column = (2 * abs(error) + step) // (2 * step)
    return column if error > 0 else -column


def round_step(smallest: float) -> int:
    """Return the first of 1, 2, 5, 10, 20, 50, ... that is at least `smallest`."""
    power = int(10.0 ** math.floor(math.log10(max(1.0, smallest))))
    return next(leading * size for size in (power, 10 * power) for leading in _LEADING if leading * size >= smallest)


_MARGIN = 2


def plan_facts(plan: Plan) -> list[tuple[str, str]]:
    """Return a plan as facts."""
    errors = ", ".join(f"{plus_minus(error)} ({percent(level)})" for level, error in plan.errors)
    facts = [
        ("goal", goal_words(plan)),
        ("ε", _price_text(plan)),
        ("noise", f"discrete Laplace, scale {approximately(plan.noise.scale)}"),
        ("error", errors if plan.queries == 1 else f"of one answer: {errors}"),
        ("reached", _reached_text(plan)),
        ("negative", _negative_text(plan)),
        ("privacy", _privacy_text(plan)),
        ("budget", _budget_text(plan)),
        ("guess", plan.guessed_from or ""),
        ("hint", _hint_text(plan)),
    ]
    return [(name, words) for name, words in facts if words]


def goal_words(plan: Plan) -> str:
    """Return the goal of a plan in words."""
    if plan.error is None:
        return f"accuracy at ε = {exact_text(plan.epsilon)}"
    several = f"all {plan.queries:,} answers " if plan.queries > 1 else ""
    confidence = f"with {percent(plan.confidence)} confidence"
    if plan.within is not None and plan.guess is not None:
        of_guess = f"±{percent(plan.within)} of about {_guess_text(plan.guess)}"
        return f"{several}within {of_guess}, that is {plus_minus(plan.width)}, {confidence}"
    error = plus_minus(float(plan.error))
    if plan.error == plan.width:
        return f"{several}within {error} {confidence}"
    return f"{several}within {error}, that is {plus_minus(plan.width)}, {confidence}"


def preview_heading(plan: Plan) -> str:
    """Return the heading of the dots: answers, or errors if there is no guess."""
    values = "errors" if plan.guess is None else f"answers if the count is {signed(plan.centre)}"
    return f"Fifty possible {values}, each as likely as the others"


def preview(plan: Plan, columns: int) -> list[str]:
    """Return fifty possible answers or errors as lines of dots on an axis."""
    dots = Dots.from_errors(plan.possible_errors, plan.centre, (columns - 2 * _MARGIN) // 2)
    return [" " * _MARGIN + line for line in dots.lines(is_offset=plan.guess is None)]


def _price_text(plan: Plan) -> str:
    each = exact_text(plan.epsilon)
    if plan.queries > 1:
        each = f"{each} an answer, {exact_text(plan.total)} together"
    return each if plan.formula is None else f"{each}  (continuous noise: {plan.formula:.4g})"


def _reached_text(plan: Plan) -> str:
    """Return the accuracy of the discrete noise, and its confidence, in words."""
    share = ""
    if plan.guess is not None and plan.within is None:
        share = f", {percent(_share_of_guess(plan.width, plan.guess))} of about {_guess_text(plan.guess)},"
    several = f"all {plan.queries:,} answers " if plan.queries > 1 else ""
    # rounded down, with two digits of 1 − confidence
    reached = 1 - Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(1 - plan.reached_confidence)
    return f"{several}{plus_minus(plan.width)}{share} with {percent(reached)} confidence"


def _negative_text(plan: Plan) -> str:
    """Return the probability of an answer below 0 in words."""
    if plan.negative is None:
        return ""
    chance = at_most(plan.negative) if plan.negative > 0 else "less than 1e-300"
    return f"an answer below 0 has a probability of {chance} if the count is {signed(plan.centre)}"


def _privacy_text(plan: Plan) -> str:
    """Return the odds that the price implies for one person, after one answer and after all answers."""
    if plan.queries == 1:
        return odds_sentence(plan.epsilon)
    total = f"all {plan.queries:,} answers, ε = {rounded_up(plan.total)}: {odds_sentence(plan.total)}"
    return f"{odds_sentence(plan.epsilon)}; {total}"


def _budget_text(plan: Plan) -> str:
    number = plan.affordable
    answers = f"{number:,} such answer{'' if number == 1 else 's'}" if number else "no such answer"
    missing = f", not for {plan.queries:,}" if number < plan.queries > 1 else ""
    paying, remaining = plan.paying, approximately(plan.paying.left)
    if paying.dataset is None:
        return f"{paying.budget.text} pays for {answers}{missing}"
    owner = paying.dataset
    if paying.budget.is_a_sum:
        return f"{remaining} is left of {owner}: it pays for {answers}{missing}"
    return f"{next_price_words(paying.left)} of {owner} (budget {paying.budget.text}): it pays for {answers}{missing}"


def _hint_text(plan: Plan) -> str:
    """Return a warning if a first answer with Gaussian noise would leave less budget than it costs."""
    remaining = plan.paying.left_in_rho
    if remaining is None:
        return ""
    return (
        "an answer with Gaussian noise, however cheap, would leave less: after it the ρ of all "
        f"answers count, not their ε, and {next_price_words(remaining)} at most"
    )


def _guess_text(guess: float) -> str:
    return plus_minus(guess).removeprefix("±")


def _share_of_guess(width: int, guess: float) -> Decimal:
    """Return an error relative to the guess, rounded up to two digits."""
    return Context(prec=2, rounding=ROUND_CEILING).divide(Decimal(width), Decimal(str(guess)))


_COUNTS = (100, 1000, 10_000)  # counts for which the mean price is shown


def average_prices(rule: "StoppingRule") -> list[tuple[int, float]]:
    """Return pairs of a count and the mean ε of its answer."""
    from noisycount.analysis.within import mean_price  # noqa: PLC0415 - slow to import, and rarely needed

    return [(count, mean_price(rule, count)) for count in _COUNTS]


@frozen
class OpenPlan:
    """An accuracy goal relative to an unknown count, with its prices."""

    within: Fraction  # largest error as a share of the count
    confidence: Fraction
    at_most: Fraction  # largest price, in ε
    paying: AvailableBudget = UNSPENT  # budget that pays for the answers

    @property
    def rule(self) -> "StoppingRule":
        """Stopping rule of the answers."""
        from noisycount.analysis.within import stopping_rule  # noqa: PLC0415 - as in `average_prices`

        return stopping_rule(self.within, self.confidence, self.at_most)

    @property
    def prices(self) -> list[tuple[int, float, float]]:
        """Triples of a count, the mean ε of its answer, and the ε that would suffice if the count were known."""
        from noisycount.analysis.within import knowing_price  # noqa: PLC0415 - as in `average_prices`

        return [
            (count, mean, knowing_price(self.within, self.confidence, count))
            for count, mean in average_prices(self.rule)
        ]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The goal, its prices, its largest error and the number of affordable answers, as texts."""
        share, confidence = percent(float(self.within)), percent(float(self.confidence))
        largest = exact_text(self.at_most)
        averages = [
            f"{price:.2g} for {signed(count)} ({known_price:.2g} if the count were known)"
            for count, price, known_price in self.prices
        ]
        number, owner = self.paying.affordable(self.at_most), self.paying.dataset
        left = approximately(self.paying.left) + (f" of {owner}" if owner else "")
        return [
            ("goal", f"within ±{share} of the count with {confidence} confidence, for ε = {largest} at most"),
            ("ε", f"on average {averages[0].replace('for', 'for a count of', 1)}"),
            *(("", words) for words in averages[1:]),
            ("error", f"{plus_minus(self.rule.reach)} where ±{share} would cost more"),
            ("privacy", f"at the most {odds_sentence(self.at_most)}"),
            ("budget", f"{left} pays for at least {number:,} such answer{'' if number == 1 else 's'}"),
        ]

    @property
    def json(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "within": float(self.within),
            "confidence": float(self.confidence),
            "at_most": exact_text(self.at_most),
            "error": self.rule.reach,
            "prices": [
                {"count": count, "mean": mean, "known": known_price} for count, mean, known_price in self.prices
            ],
            "odds": odds_sentence(self.at_most),
            "budget": exact_text(self.paying.left),
            "dataset": self.paying.dataset,
            "affordable": self.paying.affordable(self.at_most),
        }
