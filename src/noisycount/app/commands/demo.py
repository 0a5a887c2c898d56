"""`noisycount demo`: one private question of a real survey, from the plan to the picture."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import click

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.config.ledger_url import sqlite_url
from noisycount.app.count.question import Answer, answer_to
from noisycount.app.count.wire import answer_object, refinement_object
from noisycount.app.options.common import json_option
from noisycount.app.plan.plan import Plan, planned
from noisycount.app.plan.wire import plan_object
from noisycount.app.refine.estimate import Refinement, refined
from noisycount.app.refine.picture import Caption, save_picture
from noisycount.app.terminal.numbers import approximately, percent, signed
from noisycount.app.terminal.printing import print_json, print_text
from noisycount.app.terminal.waiting import waiting
from noisycount.data import survey_path
from noisycount.errors import NoisyCountError
from noisycount.release.budget.budgets import budget_of
from noisycount.release.budget.exact import exact_text
from noisycount.release.desk import Release

__all__ = ["command"]

_WHERE = "health = 'poor'"
_GUESS, _WITHIN, _CONFIDENCE = 100, 0.2, 0.95
_SIZE, _RATE = 5912, 0.017
_BUDGET = Fraction(2)
_CAPTION = Caption(
    "How many persons ever rated their health poor?",
    f"RAND Health Insurance Experiment, {_SIZE:,} persons",
    "persons",
)


@click.command(name="demo", epilog="Example: noisycount demo --out pictures")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("noisycount-demo"),
    show_default=True,
    help="Where the picture and the ledger go.",
)
@json_option
def command(out: Path, *, as_json: bool) -> None:
    """Ask one private question of a real health survey, start to end.

    How many of 5,912 persons in the RAND Health Insurance Experiment ever rated their health
    "poor"? The survey comes with noisycount.
    """
    plan = planned(_GUESS, _WITHIN, _CONFIDENCE)
    answer = _answer(plan, out)
    refinement = refined(answer.release.answer, _SIZE, _RATE, answer.release.epsilon)
    with waiting("drawing"):
        files = save_picture(refinement, _CAPTION, out, "poor-health")
    if as_json:
        print_json(
            {
                "plan": plan_object(plan),
                "count": answer_object(answer),
                "refinement": refinement_object(refinement),
                "pictures": [str(file) for file in files],
            }
        )
    else:
        _tell(plan, answer, refinement, files)


def _answer(plan: Plan, out: Path) -> Answer:
    """The private count, paid from a ledger in the folder of the demonstration."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoisyCountError(
            f"--out {str(out)!r} cannot be made ({error.strerror}): name another folder"
        ) from None
    survey = DatasetConfig(
        name="rand_hie", source=survey_path(), unit="person", size=_SIZE, budget=_BUDGET
    )
    configuration = Config(None, sqlite_url((out / "ledger.db").absolute()), {})
    return answer_to(_WHERE, survey, configuration, plan.epsilon, _CONFIDENCE)


class _Step(NamedTuple):
    """One step of the demonstration."""

    title: str
    text: str


def _tell(plan: Plan, answer: Answer, refinement: Refinement, files: list[Path]) -> None:
    """The five steps in plain words."""
    print_text("How many persons of a health survey ever rated their health “poor”?", "bold")
    print_text(
        f"The RAND Health Insurance Experiment followed {signed(_SIZE)} persons for up to five "
        "years. Nobody may learn from the answer whether one of them was in poor health."
    )
    steps = [*_asked(plan, answer.release), *_answered(answer, refinement, files)]
    for number, step in enumerate(steps, start=1):
        print_text()
        print_text(f"{number}  {step.title}", "bold")
        print_text(step.text)
    print_text()
    print_text("Next, a question of your own:", "bold")
    print_text('  noisycount count FILE.csv --where "age >= 65" --within 20% --guess 100')


def _asked(plan: Plan, release: Release) -> Iterator[_Step]:
    """The steps before the answer."""
    yield _Step(
        "Plan",
        f"We want the answer to within ±{percent(_WITHIN)} with {percent(_CONFIDENCE)} confidence, "
        f"expecting about {_GUESS} persons: a public guess, made without looking at the data. That "
        f"needs a privacy loss of ε = {exact_text(plan.epsilon)}.",
    )
    yield _Step(
        "Ask",
        f"Count the distinct persons with {release.where}, then add whole-number noise "
        f"({release.mechanism}, scale {approximately(release.scale)}) drawn by an exact sampler. "
        "The ledger is charged before anything is counted.",
    )


def _answered(answer: Answer, refinement: Refinement, files: list[Path]) -> Iterator[_Step]:
    """The steps from the answer on."""
    release, told, (low, high) = answer.release, refinement.told, refinement.interval
    paid = (
        "It was paid for before, so it cost nothing now and is the same answer"
        if release.repeated
        else f"It cost ε = {exact_text(release.charged)}"
    )
    yield _Step(
        f"The answer: {signed(release.answer)} ±{answer.error} persons",
        f"With {percent(_CONFIDENCE)} confidence the true count lies within ±{answer.error} of "
        f"{signed(release.answer)}. {paid}; {exact_text(release.remaining)} of the budget of "
        f"{budget_of(answer.budget).text} is left. What anybody can learn from it: "
        f"{answer.odds}.",
    )
    yield _Step(
        f"A better estimate: {told.mean:.1f} persons",
        f"Suppose it is public that such a person has a chance of {percent(_RATE)}. Together with "
        f"the answer that gives a mean of {told.mean:.1f}, a median of {told.median}, and {low} to "
        f"{high} with {percent(refinement.level)} probability. That costs no privacy.",
    )
    yield _Step(
        "The picture",
        "What was assumed, what the answer says, and what both say together: "
        + " and ".join(str(file) for file in files),
    )
