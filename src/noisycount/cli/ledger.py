"""`noisycount ledger`: what was asked, what is left, and whether the ledger is whole."""

from collections.abc import Sequence
from pathlib import Path

import click

from noisycount.cli.main import STATUSES, CommandGroup
from noisycount.config.config import Config
from noisycount.display.output import json_text, new_file, output_encoding, print_json, print_table, print_text
from noisycount.display.texts import writable
from noisycount.errors import LedgerError
from noisycount.ledger.entries import Head
from noisycount.ledger.storage import RESTORE, Row
from noisycount.ledger.verification import verification as checked
from noisycount.readers.options import common_options, flag, typed
from noisycount.tasks import ledger as task
from noisycount.tasks.backup import at_copy, backed_up, backup_json, backup_words, restoring
from noisycount.tasks.opening import debits, existing_ledger, verification
from noisycount.tasks.report.forms import FORMS, written_report
from noisycount.tasks.report.report import report_of
from noisycount.tasks.unproven import unproven_in, unproven_words

_BROKEN = STATUSES[LedgerError]

_head_option = typed(
    "--head known_head",
    Head.read,
    "NUMBER:HASH",
    "What an earlier `verify` printed; left out: the head in noisycount.toml.",
)


@click.group(name="ledger", cls=CommandGroup, epilog="Example: noisycount ledger show")
def ledger() -> None:
    """Show, verify, back up and export what was asked and what it cost."""


@ledger.command(
    name="show", short_help="Show what was asked, and what is left.", epilog="Example: noisycount ledger show --json"
)
@common_options
def show(configuration: Config, *, as_json: bool) -> None:
    """Show what was asked, and what is left of each budget."""
    entries = debits(configuration)
    if as_json:
        print_json(task.ledger_json(configuration, entries))
        return
    header, rows = task.entry_table(entries)  # refused before anything is shown
    print_text(f"ledger: {task.place_words(configuration)}")
    if datasets := task.accounts_of_datasets(configuration, entries):
        print_table(*task.account_table("data set", datasets))
    if configuration.analysts:
        analysts = task.accounts_of_analysts(configuration, entries)
        print_table(*task.account_table("analyst", analysts))
    if entries:
        print_table(header, rows)
    else:
        print_text("nothing was asked yet")


@ledger.command(
    name="verify",
    short_help="Check that every row is as it was written.",
    epilog="Example: noisycount ledger verify --head 12:0f3a...",
)
@_head_option
@typed(
    "--ledger place",
    str,
    "URL|FILE",
    "Another ledger, such as a copy, which is only read; left out: that of noisycount.toml.",
)
@common_options
@click.pass_context
def verify(
    context: click.Context, known_head: Head | None, place: str | None, configuration: Config, *, as_json: bool
) -> None:
    """Check that no row was changed, removed or added behind the ledger's back.

    Each row carries the hash of the one before, so the last hash stands for all rows. Write it down where whoever may
    touch the ledger cannot: with it, an older copy is told from the ledger. Where there is no ledger yet, that is said:
    nothing was verified, and it is no error unless a head was written down.
    """
    known_head = known_head or configuration.known_head
    if place is not None:
        configuration = at_copy(configuration, place)
    found = verification(configuration, known_head)
    unproven = [] if found is None else unproven_in(configuration, found.head.number)
    if as_json:
        told = task.verification_json(configuration, found, known_head)
        print_json({**told, "unproven_top_ups": [each.json for each in unproven]})
        context.exit(0 if found is None or found.broken is None else _BROKEN)
    if found is None:
        print_text(task.absent_words(configuration))
        return
    if found.broken is not None:
        raise LedgerError(f"row {found.broken} of the ledger {found.why}; {RESTORE}")
    print_text(f"ledger: {task.place_words(configuration)}")
    print_text(task.intact_words(found, known_head))
    for line in unproven_words(unproven):
        print_text(line)
    click.echo(f"head: {found.head}")  # on one line, however narrow the terminal
    if known_head is None:
        print_text("Write the head down: with --head it tells this ledger from an older copy.")


@ledger.command(
    name="export",
    short_help="Write every row with its hash, as JSON.",
    epilog="Example: noisycount ledger export --out ledger.jsonl",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="A new file; left out: standard output.")
@common_options
def export(out: Path | None, configuration: Config, *, as_json: bool) -> None:
    """Write every row with its hash: one JSON object a line, or one for all (--json).

    Whoever has the rows can check the hashes; the page “What is promised” tells how. The questions name the
    version of the records, the size and the time of the file in clear: treat the export as the
    ledger itself. Where a row is not as it was written, all rows are written as they are, a
    warning names the first on standard error, and the exit status is 5.
    """
    with existing_ledger(configuration) as ledger:
        rows = ledger.rows() if ledger else []
    _write_rows(rows, out, as_json=as_json)
    found = checked(rows, configuration.known_head)
    if found.broken is not None:
        raise LedgerError(
            f"row {found.broken} of the ledger {found.why}: what was written proves nothing;"
            " restore the ledger from a copy that holds every debit"
        )


def _write_rows(rows: Sequence[Row], out: Path | None, *, as_json: bool) -> None:
    """Rows as they are, to a new file or to standard output."""
    text = (
        json_text(task.rows_json([dict(row) for row in rows]), indent=2) if as_json else "\n".join(map(json_text, rows))
    )
    if out is None:
        click.echo(text, nl=bool(text))
        return
    with new_file(out, "--out") as file:
        file.write(f"{text}\n" if text else "")
    print_text(f"wrote {len(rows)} rows to {out}")


@ledger.command(
    name="report",
    short_help="Write a report for an officer for data protection.",
    epilog="Example: noisycount ledger report --format html --out report.html",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="md",
    show_default=True,
    help="A page to print, a sheet, text, JSON, or entries for the registry of deployments.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="A new file; left out: standard output.")
@_head_option
@common_options
@click.pass_context
def report(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    form: str,
    out: Path | None,
    known_head: Head | None,
    configuration: Config,
    *,
    as_json: bool,
) -> None:
    """Tell each data set with its unit, its releases, what was spent and what is left.

    Numbers are rounded, to the side of more spending; JSON has them exactly. The report ends
    before a row that is not as it was written, says so, and the exit status is 5. Rows that were
    cut off at the end are missed only with a head that was written down.
    """
    found = report_of(configuration, known_head)
    text = written_report(found, configuration, "json" if as_json else form)
    if out is None:
        click.echo(writable(text, output_encoding()), nl=False)
    else:
        with new_file(out, "--out") as file:
            file.write(text)
        print_text(f"wrote {out}")
    context.exit(0 if found.is_verified else _BROKEN)


@ledger.command(
    name="backup",
    short_help="Copy the ledger into a new folder, and verify the copy.",
    epilog="Example: noisycount ledger backup ledger-2026-11-23",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@flag("--copies with_copies", "Take the copies of files of texts along, which are records; they can be made again.")
@common_options
def backup(folder: Path, configuration: Config, *, with_copies: bool, as_json: bool) -> None:
    """Copy the ledger into a new folder, and verify the copy.

    DIR is made, whole or not at all, readable by its owner alone: the ledger as it is at one
    moment, whoever asks meanwhile, and keys and certificates from the folder beside it. The copy
    must hold the head of noisycount.toml. A ledger on PostgreSQL is backed up by pg_dump.
    """
    made = backed_up(configuration, folder, configuration.known_head, with_copies=with_copies)
    if as_json:
        print_json(backup_json(made))
        return
    print_text(backup_words(made))
    print_text(task.intact_words(made.found, configuration.known_head))
    click.echo(f"head: {made.found.head}")  # on one line, however narrow the terminal
    print_text("To restore it, stop all that uses the ledger, give the old files other names, and type:")
    for line in restoring(made):
        click.echo(line)
