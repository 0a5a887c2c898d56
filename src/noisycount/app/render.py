"""Results on a terminal, and as JSON for machines."""

import json
import os.path
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noisycount.app.answer_table import RefinedTable
from noisycount.app.refined import Refinement
from noisycount.app.surprising import warning
from noisycount.app.wording import approximately, odds_sentence, percent, plus_minus, signed
from noisycount.model.noise import DiscreteLaplace
from noisycount.release.budget import exact_text

if TYPE_CHECKING:  # they load the engine and the ledger, which few commands need
    from noisycount.app.asking import Answer
    from noisycount.app.planned import Plan

__all__ = [
    "answer_facts",
    "plan_facts",
    "print_facts",
    "print_json",
    "print_table",
    "print_text",
    "refinement_facts",
    "seen_from_here",
    "table_text",
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


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of cells below the names of their columns."""
    table = Table(*header)
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


def answer_facts(answer: "Answer") -> Facts:
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
        ("noise", f"{release.mechanism}, scale {approximately(release.scale)}"),
        ("privacy", f"ε = {exact_text(release.epsilon)}: {answer.odds}"),
        ("budget", f"charged {paid}; {left}"),
        ("ledger", seen_from_here(answer.ledger) if answer.ledger else "on a server"),
    ]


def plan_facts(plan: "Plan") -> Facts:
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
    told, several = refinement.told, len(refinement.answers) > 1
    low, high = refinement.interval
    raw = "the average of the answers" if several else "the answer alone"
    facts = [
        ("assumed", refinement.assumed.words),
        ("answers" if several else "answer", _answers(refinement)),
        ("mean", f"{signed(told.mean, 1)}  (least squared error)"),
        ("median", f"{signed(told.median)}  (least absolute error)"),
        (
            "interval",
            f"{signed(low)} to {signed(high)} with {percent(refinement.level)} probability",
        ),
        (
            "deviation",
            (
                f"{signed(refinement.deviation, 1)}, against "
                f"{signed(refinement.answer_deviation, 1)} of {raw}"
            ),
        ),
    ]
    odd = warning(refinement)
    return facts if odd is None else [*facts, ("warning", odd)]


def _answers(refinement: Refinement) -> str:
    """The answers and their noise."""
    told = ", ".join(_exact(answer) for answer in refinement.answers)
    if isinstance(refinement.noise, DiscreteLaplace):
        return f"{told}, with noise of ε = {exact_text(refinement.noise.epsilon)}"
    return f"{told}, with {refinement.mechanism} noise of scale {exact_text(refinement.scale)}"


def table_text(table: RefinedTable) -> str:
    """What became of a table of answers, in one line."""
    empty = f" ({table.missing:,} without an answer)" if table.missing else ""
    return f"{table.rows:,} rows{empty} in {table.seconds:.1f} s: {seen_from_here(table.out)}"


def _exact(answer: float) -> str:
    """An answer with the digits that it was given in."""
    return f"{answer:,}".replace("-", "−")
