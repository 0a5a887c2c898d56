"""`noisycount ledger`: what was asked, what is left, and whether the ledger is whole."""

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from noisycount.app.config.config import Config
from noisycount.app.count.wire import account_objects, entry_objects
from noisycount.app.ledger.accounts import Account, accounts_of_analysts, accounts_of_datasets
from noisycount.app.ledger.opened import booked, opened
from noisycount.app.options.common import as_head, config_option, json_option
from noisycount.app.terminal.numbers import signed
from noisycount.app.terminal.printing import (
    cell,
    console,
    json_text,
    print_json,
    print_text,
    seen_from_here,
)
from noisycount.errors import LedgerError, NoisyCountError
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.chain import Head, Verification
from noisycount.release.ledger.ledger import Entry

__all__ = ["command"]

_BROKEN = 2  # the exit status of every refusal


@click.group(name="ledger", epilog="Example: noisycount ledger show")
def command() -> None:
    """Show, verify and export what was asked and what it cost."""


@command.command(
    name="show",
    short_help="Show what was asked, and what is left.",
    epilog="Example: noisycount ledger show --json",
)
@config_option
@json_option
def show(configuration: Config, *, as_json: bool) -> None:
    """Show what was asked, and what is left of each budget."""
    entries = booked(configuration)
    datasets = accounts_of_datasets(configuration, entries)
    analysts = accounts_of_analysts(configuration, entries)
    if as_json:
        print_json(
            {
                "ledger": _place(configuration),
                "datasets": account_objects("dataset", datasets),
                "analysts": account_objects("analyst", analysts),
                "entries": entry_objects(entries),
            }
        )
        return
    print_text(f"ledger: {_shown_place(configuration)}")
    _print_accounts("data set", datasets)
    if configuration.analysts:
        _print_accounts("analyst", analysts)
    _print_entries(entries)


@command.command(
    name="verify",
    short_help="Check that every row is as it was written.",
    epilog="Example: noisycount ledger verify --head 12:0f3a...",
)
@click.option(
    "--head",
    "written",
    callback=as_head,
    metavar="NUMBER:HASH",
    help="What an earlier `verify` printed; left out: the head in noisycount.toml.",
)
@config_option
@json_option
@click.pass_context
def verify(
    context: click.Context, written: Head | None, configuration: Config, *, as_json: bool
) -> None:
    """Check that no row was changed, removed or added behind the ledger's back.

    Each row carries the hash of the one before, so the last hash stands for all rows. Write it
    down where whoever may touch the ledger cannot: with it, an older copy is told from the ledger.
    """
    found = _verified(configuration, written or configuration.written)
    if as_json:
        print_json(
            {
                "ledger": _place(configuration),
                "intact": found.broken is None,
                "head": str(found.head),
                "broken": found.broken,
                "why": found.why or None,
            }
        )
        context.exit(0 if found.broken is None else _BROKEN)
    if found.broken is not None:
        raise LedgerError(
            f"row {found.broken} of the ledger {found.why}; restore it from a copy that holds"
            " every debit"
        )
    print_text(f"ledger: {_shown_place(configuration)}")
    print_text(f"{found.head.number} rows, each as it was written")
    click.echo(f"head: {found.head}")  # on one line, however narrow the terminal
    if written is None and configuration.written is None:
        print_text("Write the head down: with --head it tells this ledger from an older copy.")


@command.command(
    name="export",
    short_help="Write every row with its hash, as JSON.",
    epilog="Example: noisycount ledger export --out ledger.jsonl",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A new file; left out: standard output.",
)
@config_option
@json_option
def export(out: Path | None, configuration: Config, *, as_json: bool) -> None:
    """Write every row with its hash: one JSON object a line, or one for all (--json).

    Whoever has the rows can check the hashes; docs/security.md tells how. The questions name the
    version of the records, the size and the time of the file in clear: treat the export as the
    ledger itself.
    """
    with opened(configuration) as ledger:
        rows = ledger.rows() if ledger else []
        if as_json:
            head = Head(rows[-1]["number"], rows[-1]["hash"]) if rows else Head()
            text = json_text({"head": str(head), "rows": rows}, indent=2)
        else:
            text = "\n".join(map(json_text, rows))
    if out is None:
        click.echo(text, nl=bool(text))
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(f"{text}\n" if text else "")
    except FileExistsError:
        raise NoisyCountError(f"--out {str(out)!r} exists already: name another file") from None
    except OSError as error:
        raise NoisyCountError(f"--out {str(out)!r} cannot be written ({error.strerror})") from None
    print_text(f"wrote {len(rows)} rows to {out}")


def _verified(configuration: Config, written: Head | None) -> Verification:
    """What became of reading the whole ledger; one that was never made has no rows."""
    with opened(configuration, anchored=False) as ledger:
        if ledger is not None:
            return ledger.verify(written)
    if written is None or written.number == 0:
        return Verification(Head())
    raise LedgerError(
        f"there is no ledger, though row {written.number} was written down; restore it from a copy"
        " that holds every debit"
    )


def _place(configuration: Config) -> str | None:
    """The file of the ledger for machines; None for a server."""
    place = configuration.ledger_file
    return None if place is None else str(place)


def _shown_place(configuration: Config) -> str:
    """The file of the ledger for people."""
    place = configuration.ledger_file
    return "on a server" if place is None else seen_from_here(place)


def _print_accounts(title: str, accounts: Sequence[Account]) -> None:
    """What each data set or analyst may still spend."""
    pure = all(account.in_epsilon for account in accounts)
    table = Table(title, "budget ε" if pure else "budget", "spent", "left", title_justify="left")
    for account in accounts:
        table.add_row(cell(seen_from_here(account.name)), *account.words)
    if accounts:
        console().print(table)


def _print_entries(entries: Sequence[Entry]) -> None:
    """Every debit, oldest first."""
    if not entries:
        print_text("nothing was asked yet")
        return
    named = any(entry.analyst != entries[0].analyst for entry in entries)
    columns = ["when (UTC)", *(["analyst"] if named else []), "data set", "question", "ε", "answer"]
    table = Table(*columns)
    for entry in entries:
        answer = "not given" if entry.answer is None else signed(entry.answer)
        table.add_row(
            f"{entry.made:%Y-%m-%d %H:%M}",
            *([cell(entry.analyst)] if named else []),
            cell(seen_from_here(entry.request.dataset)),
            cell(json.loads(entry.request.question)["where"]),
            exact_text(entry.request.epsilon),
            answer,
        )
    console().print(table)
