"""`noisycount ledger`: what was asked, and what is left."""

import json
from collections.abc import Sequence
from fractions import Fraction

import click
from rich.table import Table
from rich.text import Text

from noisycount.app.booked import booked
from noisycount.app.config import DEFAULT_BUDGET, Config
from noisycount.app.parameters import config_option, json_option
from noisycount.app.render import console, print_json, print_text, seen_from_here
from noisycount.app.wire import entry_objects
from noisycount.app.wording import signed
from noisycount.release.budget import exact_text
from noisycount.release.ledger import Entry

__all__ = ["command"]


@click.group(name="ledger", epilog="Example: noisycount ledger show")
def command() -> None:
    """Show what was asked and what is left of the budgets."""


@command.command(name="show", epilog="Example: noisycount ledger show --json")
@config_option
@json_option
def show(configuration: Config, *, as_json: bool) -> None:
    """Show what was asked, and what is left of each budget."""
    place, entries = configuration.ledger_file, booked(configuration)
    budgets = _budgets(configuration, entries)
    if as_json:
        print_json(_object(configuration, entries, budgets))
    else:
        print_text(f"ledger: {seen_from_here(place) if place else 'on a server'}")
        _print_budgets(budgets)
        _print_entries(entries)


Budgets = dict[str, tuple[Fraction, Fraction]]


def _budgets(configuration: Config, entries: Sequence[Entry]) -> Budgets:
    """For each data set that is configured or was asked: its budget, and what it has spent."""
    spent = {entry.request.dataset: entry.spent for entry in entries}
    configured = {name: dataset.budget for name, dataset in configuration.datasets.items()}
    names = [*configured, *(name for name in spent if name not in configured)]
    return {
        name: (configured.get(name, DEFAULT_BUDGET), spent.get(name, Fraction(0))) for name in names
    }


def _object(configuration: Config, entries: Sequence[Entry], budgets: Budgets) -> dict[str, object]:
    """The whole ledger for machines."""
    place = configuration.ledger_file
    return {
        "ledger": None if place is None else str(place),
        "datasets": [
            {
                "dataset": name,
                "budget": exact_text(budget),
                "spent": exact_text(spent),
                "remaining": exact_text(max(budget - spent, Fraction(0))),
            }
            for name, (budget, spent) in budgets.items()
        ],
        "entries": entry_objects(entries),
    }


def _print_budgets(budgets: Budgets) -> None:
    """What each data set may still spend."""
    table = Table("data set", "budget ε", "spent", "left", title_justify="left")
    for name, (budget, spent) in budgets.items():
        left = max(budget - spent, Fraction(0))
        table.add_row(
            Text(seen_from_here(name)), exact_text(budget), exact_text(spent), exact_text(left)
        )
    if budgets:
        console().print(table)


def _print_entries(entries: Sequence[Entry]) -> None:
    """Every debit, oldest first."""
    if not entries:
        print_text("nothing was asked yet")
        return
    table = Table("when (UTC)", "data set", "question", "ε", "answer")
    for entry in entries:
        answer = "not given" if entry.answer is None else signed(entry.answer)
        table.add_row(
            f"{entry.made:%Y-%m-%d %H:%M}",
            Text(seen_from_here(entry.request.dataset), overflow="fold"),
            Text(json.loads(entry.request.question)["where"], overflow="fold"),
            exact_text(entry.request.epsilon),
            answer,
        )
    console().print(table)
