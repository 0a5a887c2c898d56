"""A refusal as one line on standard error, and the status with which a command ends."""

import json
import sys

import click

from noisycount.app.terminal.characters import writable
from noisycount.errors import BudgetError, LedgerError, SourceError
from noisycount.shown.passwords import without_passwords
from noisycount.shown.printable import printable

__all__ = ["STATUSES", "USAGE", "status_of", "tell"]

USAGE = 2
STATUSES = {BudgetError: 3, SourceError: 4, LedgerError: 5}
"""The exit status of a refusal of each seam, a class before its parents; of every other, 2."""

_KINDS = {USAGE: "usage", 3: "budget", 4: "source", 5: "ledger"}


def status_of(error: BaseException | None) -> int:
    """The exit status of what went wrong.

    Example:
        >>> status_of(BudgetError("all is spent")), status_of(ValueError("no such column"))
        (3, 2)
    """
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), USAGE)


def tell(refusal: str, status: int = USAGE) -> None:
    """A refusal as one line on standard error, or as one JSON object where JSON was asked for."""
    text = without_passwords(" ".join(refusal.split()))
    if "--json" in sys.argv[1:]:
        told = {"error": text, "kind": _KINDS[status], "status": status}
        click.echo(json.dumps(told), err=True)
        return
    line = f"error: {printable(text)}"
    click.echo(writable(line, getattr(sys.stderr, "encoding", None) or "utf-8"), err=True)
