"""A goal in words, the noise that meets it, and what pays for it."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from noisycount.analysis.accuracy import failure_probability, negative_probability
from noisycount.config.config import DEFAULT_BUDGET
from noisycount.display.numbers import approximately, odds_sentence
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Loss
from noisycount.model.half_width import epsilon_within, error_within, readable_epsilon_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scales import as_written
from noisycount.release.dataset import affordable, next_words
from noisycount.validation import exact_text, is_in_range, optional_text

if TYPE_CHECKING:
    from noisycount.release.results import TablePlan


@frozen
class Paying:
    """A budget, and what was spent of it, as the ledger adds it up."""

    budget: Budget = DEFAULT_BUDGET  # the whole budget
    spent: Loss = Loss()  # what all answers have cost together
    dataset: str | None = None  # whose budget it is; None where it was given

    @property
    def left(self) -> Fraction:
        """The largest ε at which one more answer may be asked."""
        return self.budget.left(self.spent)

    def affordable(self, epsilon: Fraction) -> int:
        """How many answers at an ε the budget pays for, on top of what was spent."""
        return affordable(self.budget, self.spent, epsilon)

    def admits(self, price: Loss) -> bool:
        """Whether it pays for one more answer."""
        return self.budget.admits(self.spent + price)

    def left_after(self, price: Loss) -> Fraction:
        """The largest ε of one more answer after one of this price."""
        return self.budget.left(self.spent + price)

    @property
    def left_in_rho(self) -> Fraction | None:
        """The largest ε that any answer with Gaussian noise leaves; None: it leaves as much as now.

        Where one is among the answers, their ε no longer add up, and only their ρ are counted.
        """
        if self.budget.obstacle(Loss.concentrated(Fraction(1)), "") is not None:
            return None
        left = self.left_after(Loss.concentrated(Fraction(0)))
        return left if left < self.left else None


def left_facts(plans: Sequence["TablePlan"], paying: Paying) -> list[tuple[str, str]]:
    """What one more answer may cost now, and after the table with each noise."""
    owner = paying.dataset or "the budget"
    now = f"{next_words(paying.left)} of {owner}"
    return [
        ("budget", f"{now} (budget {paying.budget.text})"),
        *(("", f"after this table with {_left_words(plan, paying)}") for plan in plans),
    ]


def left_object(plans: Sequence["TablePlan"], paying: Paying | None) -> dict[str, Any]:
    """The same as JSON; null where no data set is named, or where a table is not paid for."""
    if paying is None:
        return {"dataset": None, "left": None, "left_after": None}
    after = [exact_text(paying.left_after(plan.loss)) if paying.admits(plan.loss) else None for plan in plans]
    return {"dataset": paying.dataset, "left": exact_text(paying.left), "left_after": after}


def _left_words(plan: "TablePlan", paying: Paying) -> str:
    """What one more answer may cost after the table, or why it is not paid for."""
    noise = f"{plan.levels[0].mechanism.name} noise"
    if paying.admits(plan.loss):
        return f"{noise}: up to {approximately(paying.left_after(plan.loss))}"
    obstacle = paying.budget.obstacle(plan.loss, paying.dataset or "")
    return f"{noise}: it is not paid for, as {obstacle or 'the price exceeds what is left'}"


POSSIBLE = 50
_CONFIDENCES = (0.5, 0.9, 0.95, 0.99)


@frozen
class Plan:
    """An ε for a goal, or the goal that an ε reaches."""

    epsilon: Fraction  # ε of each answer with the discrete noise that is drawn, readable
    width: int  # all answers lie within ±width with the confidence, in records
    confidence: float  # the confidence that was asked for
    queries: int = 1  # for how many answers together it was asked for
    formula: float | None = None  # ε of continuous noise for the goal; None where ε was given
    error: Fraction | None = None  # the half-width that was asked for, in records; None where ε was given
    within: float | None = None  # the same as a share of the guess, if it was given so
    guess: float | None = None  # the public guess of the count, in records; None where there is none
    guessed_from: str | None = None  # where the guess comes from, in words; None where it was given
    paying: Paying = Paying()  # what pays for such answers

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of an answer at that ε."""
        return DiscreteLaplace.for_epsilon(self.epsilon)

    @property
    def total(self) -> Fraction:
        """What all answers cost together."""
        return self.queries * self.epsilon

    @property
    def reached(self) -> float:
        """The confidence that all answers lie within ±width."""
        return 1 - failure_probability(self.noise, self.width + 1, self.queries)

    @property
    def errors(self) -> tuple[tuple[float, int], ...]:
        """Pairs of a confidence and the error of one answer at it, in records."""
        noise = self.noise
        return tuple((level, error_within(noise, level)) for level in _CONFIDENCES)

    @property
    def negative(self) -> float | None:
        """The probability that an answer is below 0, if the guess is right."""
        return None if self.guess is None else negative_probability(self.centre, self.noise)

    @property
    def affordable(self) -> int:
        """How many such answers the budget pays for."""
        return self.paying.affordable(self.epsilon)

    @property
    def centre(self) -> int:
        """The count that possible answers are about: the guess, rounded, or 0 for errors alone."""
        return 0 if self.guess is None else round(self.guess)

    @property
    def possible_errors(self) -> tuple[int, ...]:
        """Fifty errors, each as likely as the others, rising: quantiles at 1 %, 3 %, ..., 99 %."""
        noise = self.noise
        tails = ((2 * rank + 1) / POSSIBLE for rank in range(POSSIBLE // 2))
        farthest_first = [int(noise.smallest_error(tail)) - 1 for tail in tails]
        return (*(-error for error in farthest_first), *reversed(farthest_first))


def planned(guess: float, within: float, confidence: float, queries: int = 1) -> Plan:
    """The plan for answers within ±within·guess with that confidence; no data is read for it."""
    error = as_written(within, "within") * as_written(guess, "guess")
    goal = f"--within {within:g} of --guess {guess:g}"
    return _plan(error, confidence, queries, goal, within, guess)


def planned_error(error: Fraction, confidence: float, queries: int = 1, guess: float | None = None) -> Plan:
    """The plan for answers within ±error records with that confidence."""
    return _plan(error, confidence, queries, f"--error {float(error):g}", None, guess)


def planned_epsilon(epsilon: Fraction, confidence: float, queries: int = 1, guess: float | None = None) -> Plan:
    """What answers at that ε reach."""
    width = error_within(DiscreteLaplace.for_epsilon(epsilon), confidence, queries)
    return Plan(epsilon, width, confidence, queries, guess=guess)


def _plan(  # noqa: PLR0913, PLR0917  (a goal and its words)
    error: Fraction, confidence: float, queries: int, goal: str, within: float | None, guess: float | None
) -> Plan:
    """The plan for answers within ±error records, if a ledger keeps its price."""
    formula = epsilon_within(error, confidence, queries)
    if not is_in_range(formula):
        raise NoisyCountError(f"{goal} needs ε = {formula:.2g}, outside 1e-9 to 1e6: choose another goal")
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


def plan_object(plan: Plan) -> dict[str, Any]:
    """A plan; `formula` is ε by eq. (10), `epsilon` the exact one to use."""
    possible = [plan.centre + error for error in plan.possible_errors]
    return {
        "guess": plan.guess,
        "guessed_from": plan.guessed_from,
        "within": plan.within,
        "confidence": plan.confidence,
        "queries": plan.queries,
        "formula": plan.formula,
        "epsilon": exact_text(plan.epsilon),
        "total": exact_text(plan.total),
        "mechanism": "discrete Laplace",
        "scale": exact_text(plan.noise.scale),
        "error": plan.width,
        "reached": plan.reached,
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
