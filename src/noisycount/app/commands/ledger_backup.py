"""`noisycount ledger backup`: a copy of the ledger that can be put in its place."""

from pathlib import Path

import click

from noisycount.app.config.config import Config
from noisycount.app.ledger.backup import backed_up
from noisycount.app.ledger.backup_words import backup_object, backup_words, restoring
from noisycount.app.ledger.words import intact_words
from noisycount.app.options.common import config_option, json_option
from noisycount.app.terminal.printing import print_json, print_text

__all__ = ["backup"]


@click.command(
    name="backup",
    short_help="Copy the ledger into a new folder, and verify the copy.",
    epilog="Example: noisycount ledger backup ledger-2026-11-23",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--copies",
    "with_copies",
    is_flag=True,
    help="Take the copies of files of texts along, which are records; they can be made again.",
)
@config_option
@json_option
def backup(folder: Path, configuration: Config, *, with_copies: bool, as_json: bool) -> None:
    """Copy the ledger into a new folder, and verify the copy.

    DIR is made, whole or not at all, readable by its owner alone: the ledger as it is at one
    moment, whoever asks meanwhile, and keys and certificates from the folder beside it. The copy
    must hold the head of noisycount.toml. A ledger on PostgreSQL is backed up by pg_dump.
    """
    made = backed_up(configuration, folder, configuration.known_head, with_copies=with_copies)
    if as_json:
        print_json(backup_object(made))
        return
    print_text(backup_words(made))
    print_text(intact_words(made.found.head, configuration.known_head))
    click.echo(f"head: {made.found.head}")  # on one line, however narrow the terminal
    print_text(
        "To restore it, stop all that uses the ledger, give the old files other names, and type:"
    )
    for line in restoring(made):
        click.echo(line)
