"""`noisycount ledger`: show, verify, export, report on and back up the ledger.

The texts and JSON of these commands are in `noisycount.tasks.ledger`, `noisycount.tasks.report` and
`noisycount.tasks.backup`.
"""

from pathlib import Path

import click

from noisycount.cli.main import STATUSES, CommandGroup
from noisycount.config.config import Config
from noisycount.display.output import json_text, new_file, output_encoding, print_json, print_table, print_text
from noisycount.display.texts import replace_unencodable
from noisycount.errors import LedgerError
from noisycount.ledger.entries import Head
from noisycount.ledger.storage import RESTORE
from noisycount.ledger.verification import verification
from noisycount.readers.options import common_options, flag, value_option
from noisycount.tasks import ledger as task
from noisycount.tasks.backup import back_up, backup_json, backup_words, restore_commands, with_ledger_at
from noisycount.tasks.opening import existing_ledger
from noisycount.tasks.report.forms import FORMS, report_text
from noisycount.tasks.report.report import report_of, unproven_in, unproven_words

_BROKEN = STATUSES[LedgerError]

_out_option = click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to a new file. Default: standard output."
)
_head_option = value_option(
    "--head known_head",
    Head.read,
    "NUMBER:HASH",
    "Compare with the head that an earlier `verify` printed. Default: the head in noisycount.toml.",
)


@click.group(name="ledger", cls=CommandGroup, epilog="Example: noisycount ledger show")
def ledger() -> None:
    """Show, verify, back up and export past queries and their prices."""


@ledger.command(
    name="show", short_help="Show past queries and remaining budgets.", epilog="Example: noisycount ledger show --json"
)
@common_options
def show(configuration: Config, *, as_json: bool) -> None:
    """Show all past queries, and the remaining part of each budget."""
    entries = task.debits(configuration)
    if as_json:
        print_json(task.ledger_json(configuration, entries))
        return
    header, rows = task.entry_table(entries)  # may raise, so it comes before the first output
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
    short_help="Check that no row was changed, removed or added.",
    epilog="Example: noisycount ledger verify --head 12:0f3a...",
)
@_head_option
@value_option(
    "--ledger place",
    str,
    "URL|FILE",
    "Verify another ledger, such as a copy. It is only read. Default: the ledger of noisycount.toml.",
)
@common_options
@click.pass_context
def verify(
    context: click.Context, known_head: Head | None, place: str | None, configuration: Config, *, as_json: bool
) -> None:
    """Check that no row of the ledger was changed, removed or added outside noisycount.

    The head, the hash of the last row, identifies all rows. Keep the head where a person who can write to the ledger
    cannot change it: comparing with the head detects an older copy.
    """
    known_head = known_head or configuration.known_head
    if place is not None:
        configuration = with_ledger_at(configuration, place)
    result = task.verification(configuration, known_head)
    unproven = [] if result is None else unproven_in(configuration, result.head.number)
    if as_json:
        document = task.verification_json(configuration, result, known_head)
        print_json({**document, "unproven_top_ups": [top_up.json for top_up in unproven]})
        context.exit(0 if result is None or result.broken is None else _BROKEN)
    if result is None:
        print_text(task.absent_words(configuration))
        return
    if result.broken is not None:
        raise LedgerError(f"row {result.broken} of the ledger {result.why}; {RESTORE}")
    print_text(f"ledger: {task.place_words(configuration)}")
    print_text(task.intact_words(result, known_head))
    for line in unproven_words(unproven):
        print_text(line)
    click.echo(f"head: {result.head}")  # on one line, however narrow the terminal
    if known_head is None:
        print_text("Write the head down: with --head, `verify` detects an older copy later.")


@ledger.command(
    name="export",
    short_help="Write every row with its hash, as JSON.",
    epilog="Example: noisycount ledger export --out ledger.jsonl",
)
@_out_option
@common_options
def export(out: Path | None, configuration: Config, *, as_json: bool) -> None:
    """Write every row with its hash: one JSON object per line, or one for all rows (--json).

    Anybody who has the rows can check the hashes, as the page “Contributing” describes. Protect the export like the
    ledger itself. If a row was changed, a warning names the first one, and the exit status is 5.
    """
    with existing_ledger(configuration) as ledger:
        rows = ledger.rows() if ledger else []
    if as_json:
        text = json_text(task.rows_json([dict(row) for row in rows]), indent=2) + "\n"
    else:
        text = "".join(f"{json_text(row)}\n" for row in rows)
    _write(text, out, f"{len(rows)} rows to ")
    result = verification(rows, configuration.known_head)
    if result.broken is not None:
        raise LedgerError(
            f"row {result.broken} of the ledger {result.why}: what was written proves nothing;"
            " restore the ledger from a copy that holds every debit"
        )


def _write(text: str, out: Path | None, content: str = "") -> None:
    """Write a text to standard output, or to a new file, and print its name after the words for its content."""
    if out is None:
        click.echo(replace_unencodable(text, output_encoding()), nl=False)
        return
    with new_file(out, "--out") as file:
        file.write(text)
    print_text(f"wrote {content}{out}")


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
    help="Choose a page to print, a spreadsheet, text, JSON, or entries for the registry of deployments.",
)
@_out_option
@_head_option
@common_options
@click.pass_context
def report(  # noqa: PLR0913 - one argument per option
    context: click.Context,
    form: str,
    out: Path | None,
    known_head: Head | None,
    configuration: Config,
    *,
    as_json: bool,
) -> None:
    """Report each data set with its privacy unit, releases, spent and remaining budget.

    Spending is rounded up, and remaining budgets down; JSON has the exact numbers. If a row of the ledger was
    changed, the report ends before it, and the exit status is 5. Rows deleted from the end are detected only with
    --head.
    """
    result = report_of(configuration, known_head)
    text = report_text(result, configuration, "json" if as_json else form)
    _write(text, out)
    context.exit(0 if result.is_verified else _BROKEN)


@ledger.command(
    name="backup",
    short_help="Copy the ledger into a new folder, and verify the copy.",
    epilog="Example: noisycount ledger backup ledger-2026-11-23",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@flag("--copies with_copies", "Back up the copies of text files too, which contain records.")
@common_options
def backup(folder: Path, configuration: Config, *, with_copies: bool, as_json: bool) -> None:
    """Copy the ledger into a new folder, and verify the copy.

    DIR is created complete or not at all, and only its owner can read it. It holds the ledger as it was at one
    moment, with its keys and certificates. Back up a ledger on PostgreSQL by pg_dump.
    """
    copy = back_up(configuration, folder, configuration.known_head, with_copies=with_copies)
    if as_json:
        print_json(backup_json(copy))
        return
    print_text(backup_words(copy))
    print_text(task.intact_words(copy.verification, configuration.known_head))
    click.echo(f"head: {copy.verification.head}")  # on one line, however narrow the terminal
    print_text("To restore it, stop all that uses the ledger, give the old files other names, and type:")
    for line in restore_commands(copy):
        click.echo(line)
