"""A demonstration in words."""

from collections.abc import Iterator
from typing import NamedTuple

from noisycount.app.demo.demonstration import (
    CONFIDENCE,
    GUESS,
    RATE,
    SIZE,
    WITHIN,
    Demonstration,
)
from noisycount.app.plan.plan import Plan
from noisycount.release.budget.exact import exact_text
from noisycount.release.desk import Release
from noisycount.shown.numbers import approximately, percent, signed

__all__ = ["INTRODUCTION", "NEXT", "QUESTION", "Step", "steps"]

QUESTION = "How many persons of a health survey ever rated their health “poor”?"
INTRODUCTION = (
    f"The RAND Health Insurance Experiment followed {signed(SIZE)} persons for up to five years. "
    "Nobody may learn from the answer whether one of them was in poor health."
)
NEXT = 'noisycount count FILE.csv --unit COLUMN --where "age >= 65" --within 20% --guess 100'


class Step(NamedTuple):
    """One step of the demonstration."""

    title: str
    text: str


def steps(shown: Demonstration) -> list[Step]:
    """The five steps in plain words."""
    release = shown.answer.release
    return [*_asked(shown.plan, release), *_answered(shown)]


def _asked(plan: Plan, release: Release) -> Iterator[Step]:
    """The steps before the answer."""
    yield Step(
        "Plan",
        f"We want the answer to within ±{percent(WITHIN)} with {percent(CONFIDENCE)} confidence, "
        f"expecting about {GUESS} persons: a public guess, made without looking at the data. That "
        f"needs a privacy loss of ε = {exact_text(plan.epsilon)}.",
    )
    yield Step(
        "Ask",
        f"Count the distinct persons with {release.where}, then add whole-number noise "
        f"({release.mechanism.name}, scale {approximately(release.scale)}) drawn by an exact "
        "sampler. The ledger is charged before anything is counted.",
    )


def _answered(shown: Demonstration) -> Iterator[Step]:
    """The steps from the answer on."""
    answer, refinement = shown.answer, shown.refinement
    release, told, (low, high) = answer.release, refinement.told, refinement.interval
    paid = (
        "It was paid for before, so it cost nothing now and is the same answer"
        if release.repeated
        else f"It cost ε = {exact_text(release.charged)}"
    )
    yield Step(
        f"The answer: {signed(release.answer)} ±{answer.error} persons",
        f"With {percent(CONFIDENCE)} confidence the true count lies within ±{answer.error} of "
        f"{signed(release.answer)}. {paid}; {exact_text(release.remaining)} of the budget of "
        f"{answer.budget.text} is left. What anybody can learn from it: "
        f"{answer.odds}.",
    )
    yield Step(
        f"A better estimate: {told.mean:.1f} persons",
        f"Suppose it is public that such a person has a chance of {percent(RATE)}. Together with "
        f"the answer that gives a mean of {told.mean:.1f}, a median of {told.median}, and {low} to "
        f"{high} with {percent(refinement.level)} probability. That costs no privacy.",
    )
    yield Step(
        "The picture",
        "What was assumed, what the answer says, and what both say together: "
        + " and ".join(str(file) for file in shown.pictures),
    )
