"""Results on a terminal, and as JSON for machines."""

import json
import os.path
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noisycount.app.asking import Answer
from noisycount.app.planned import Plan
from noisycount.app.refined import Refinement
from noisycount.app.wording import approximately, odds_sentence, percent, plus_minus, signed
from noisycount.release.budget import exact_text

__all__ = [
    "answer_facts",
    "plan_facts",
    "print_facts",
    "print_json",
    "print_text",
    "refinement_facts",
    "seen_from_here",
]

Facts = list[tuple[str, str]]


def console() -> Console:
    """Standard output, at most 100 columns wide."""
    terminal = Console(highlight=False)
    terminal.width = min(terminal.width, 100)
    return terminal


def print_json(value: object) -> None:
    """One JSON value, in UTF-8."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_text(text: str = "", style: str = "") -> None:
    """One paragraph; nothing in it is taken for markup."""
    console().print(Text(text, style=style))


def seen_from_here(place: Path | str) -> str:
    """A path as short as one would type it: relative below this folder, `~` for the home."""
    path, home = Path(place), os.path.expanduser("~")  # noqa: PTH111  (Path.home raises without one)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def print_facts(facts: Iterable[tuple[str, str]], indent: int = 0) -> None:
    """Names and values in two columns."""
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(Text(" " * indent + name), Text(value))
    console().print(grid)


def answer_facts(answer: Answer) -> Facts:
    """A private count in words."""
    release = answer.release
    counted = f"distinct values of {answer.unit}" if answer.unit else "rows"
    paid = "nothing: this was asked before" if not release.charged else exact_text(release.charged)
    left = f"{approximately(release.remaining)} of {exact_text(answer.budget)} left"
    return [
        ("question", f"{release.where}  ({answer.meaning})"),
        ("data set", f"{seen_from_here(release.dataset)}, counting {counted}"),
        ("answer", f"{signed(release.answer)} {plus_minus(answer.error)}"),
        (
            "",
            f"with {percent(answer.confidence)} confidence the true count lies that near",
        ),
        ("noise", f"discrete Laplace, scale {approximately(release.scale)}"),
        ("privacy", f"ε = {exact_text(release.epsilon)}: {answer.odds}"),
        ("budget", f"charged {paid}; {left}"),
        ("ledger", seen_from_here(answer.ledger) if answer.ledger else "on a server"),
    ]


def plan_facts(plan: Plan) -> Facts:
    """A plan in words."""
    goal = (
        f"within ±{percent(plan.within)} of about {signed(plan.guess)}, that is "
        f"{plus_minus(plan.width)}, with {percent(plan.confidence)} confidence"
    )
    errors = ", ".join(f"{plus_minus(error)} ({percent(level)})" for level, error in plan.errors)
    return [
        ("goal", goal),
        ("ε", f"{exact_text(plan.epsilon)}  (continuous noise: {plan.formula:.4g})"),
        ("noise", f"discrete Laplace, scale {approximately(plan.noise.scale)}"),
        ("error", errors),
        ("reached", f"{plus_minus(plan.width)} with {percent(_kept(plan.reached))} confidence"),
        ("privacy", odds_sentence(plan.epsilon)),
    ]


def _kept(confidence: float) -> Decimal:
    """A confidence with two digits of what it lacks, rounded so that it promises no more."""
    return 1 - Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(1 - confidence)


def refinement_facts(refinement: Refinement) -> Facts:
    """A Bayes estimate in words."""
    population, told = refinement.population, refinement.told
    prior = population.law()
    low, high = refinement.interval
    level, price = percent(refinement.level), exact_text(refinement.epsilon)
    assumed = (
        f"each of {signed(population.size)} counts with a chance of {percent(population.rate)}: "
        f"{signed(prior.mean, 1)} expected, standard deviation {signed(prior.variance**0.5, 1)}"
    )
    return [
        ("assumed", assumed),
        ("answer", f"{signed(refinement.answer)}, with noise of ε = {price}"),
        ("mean", f"{signed(told.mean, 1)}  (least squared error)"),
        ("median", f"{signed(told.median)}  (least absolute error)"),
        ("interval", f"{signed(low)} to {signed(high)} with {level} probability"),
    ]
