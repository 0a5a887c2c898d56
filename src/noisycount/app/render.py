"""Results on a terminal, and as JSON for machines."""

import json
import os.path
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from noisycount.app.wording import approximately, percent, plus_minus, signed
from noisycount.release.accountant import PureBudget, budget_of
from noisycount.release.budget import exact_text
from noisycount.release.entries import ANALYST
from noisycount.release.predicate_text import printable

if TYPE_CHECKING:  # they load the engine and the ledger, which few commands need
    from noisycount.app.asking import Answer

__all__ = [
    "Facts",
    "answer_facts",
    "cell",
    "console",
    "json_text",
    "print_facts",
    "print_json",
    "print_table",
    "print_text",
    "seen_from_here",
]

Facts = list[tuple[str, str]]


def console() -> Console:
    """Standard output, at most 100 columns wide."""
    terminal = Console(highlight=False)
    terminal.width = min(terminal.width, 100)
    return terminal


def print_json(value: object) -> None:
    """One JSON value; signs that could steer a terminal are escaped."""
    text = json_text(value, indent=2)
    plain = (s if s.isprintable() or s == "\n" else json.dumps(s)[1:-1] for s in text)
    click.echo("".join(plain))


def json_text(value: object, indent: int | None = None) -> str:
    """A JSON value with the signs that standard output can write; the others are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


def print_text(text: str = "", style: str = "") -> None:
    """One paragraph; nothing in it is taken for markup."""
    console().print(Text("\n".join(map(printable, text.split("\n"))), style=style))


def seen_from_here(place: Path | str) -> str:
    """A path as short as one would type it: relative below this folder, `~` for the home."""
    path, home = Path(place), os.path.expanduser("~")  # noqa: PTH111  (Path.home raises without one)
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def cell(text: str) -> Text:
    """A text in a table; nothing in it is taken for markup, or steers the terminal."""
    return Text(printable(text), overflow="fold")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(cell(name), cell(value))
    console().print(grid)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of cells below the names of their columns."""
    table = Table(*header)
    for row in rows:
        table.add_row(*map(cell, row))
    console().print(table)


def budget_left(answer: "Answer") -> str:
    """What one more question may cost, of which budget."""
    remaining, budget = approximately(answer.release.remaining), budget_of(answer.budget)
    own = answer.analyst.budget
    if own is None and isinstance(budget, PureBudget):
        return f"{remaining} of {budget.text} left"
    budgets = budget.text if own is None else f"{budget.text} and {budget_of(own).text}"
    return f"the next may cost up to {remaining} (budget {budgets})"


def answer_facts(answer: "Answer") -> Facts:
    """A private count in words."""
    release = answer.release
    counted = f"distinct values of {answer.unit}" if answer.unit else "rows"
    account = "" if answer.analyst.name == ANALYST else f" to {answer.analyst.name}"
    paid = exact_text(release.charged) + account
    if release.repeated:
        paid = "nothing: this was asked before"
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
        ("budget", f"charged {paid}; {budget_left(answer)}"),
        ("ledger", seen_from_here(answer.ledger) if answer.ledger else "on a server"),
    ]
