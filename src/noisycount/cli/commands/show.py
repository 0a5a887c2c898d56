"""`noisycount show`: what may be asked of a data set, and what was."""

import click

from noisycount.config.config import Config
from noisycount.display.output import print_facts, print_json, print_table, print_text
from noisycount.readers.options import config_option, json_option, source_names, table_option
from noisycount.tasks.show import (
    COLUMN_HEADER,
    View,
    column_rows,
    entry_header,
    entry_rows,
    table_hint,
    view_facts,
    view_object,
)


@click.command(name="show", epilog="Example: noisycount show survey")
@click.argument("source", shell_complete=source_names)
@table_option
@config_option
@json_option
def command(source: str, table: str | None, configuration: Config, *, as_json: bool) -> None:
    """Show what may be asked of a data set, and what was.

    SOURCE is a file or a data set of noisycount.toml. Tells its columns with their kinds, what is
    counted, what is left of the budget, and every answer so far. No record is counted, nothing is
    charged.
    """
    dataset = configuration.table_of(configuration.dataset(source), table)
    view = View.of(dataset, configuration)
    if as_json:
        print_json(view_object(view, configuration))
        return
    asked = entry_rows(view)  # refused before anything is shown
    print_facts(view_facts(view, configuration))
    print_table(COLUMN_HEADER, column_rows(view))
    if asked:
        print_table(entry_header(view), asked)
        print_facts(table_hint(view))
    else:
        print_text("nothing was asked yet")
