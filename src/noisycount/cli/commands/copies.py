"""`noisycount copies`: what was kept of files of texts."""

import click

from noisycount.config.config import Config
from noisycount.display.output import print_json, print_table, print_text
from noisycount.readers.options import config_option, json_option, source_names
from noisycount.tasks.copies import COPY_HEADER, Shelf, copy_rows, shelf_object, shelf_words


@click.command(name="copies", epilog="Example: noisycount copies survey --remove")
@click.argument("source", required=False, shell_complete=source_names)
@click.option("--remove", "removes", is_flag=True, help="Remove them.")
@config_option
@json_option
def command(source: str | None, configuration: Config, *, removes: bool, as_json: bool) -> None:
    """Show or remove the copies of texts that were read once.

    A CSV file is read once; a copy of what its texts stand for lies beside the ledger, readable by
    its owner alone, and later questions count that. SOURCE is a file or a data set of
    noisycount.toml; left out: the copies of all. The next question makes again what it needs.
    """
    shelf = Shelf.of(source, configuration)
    removed = shelf.clear() if removes else None
    if as_json:
        print_json(shelf_object(shelf, removed))
        return
    print_text(shelf_words(shelf, removed))
    if shelf.copies and not removes:
        print_table(COPY_HEADER, copy_rows(shelf))
