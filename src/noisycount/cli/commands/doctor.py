"""`noisycount doctor`: whether the engine of a data set can be trusted."""

import click

from noisycount.config.config import Config
from noisycount.display.output import print_facts, print_json, print_table, print_text, progress
from noisycount.readers.options import config_option, json_option, source_names
from noisycount.tasks.doctor import (
    DIFFERENCE_HEADER,
    diagnosed,
    diagnosis_facts,
    diagnosis_object,
    difference_rows,
    verdict,
)

_WRONG = 1


@click.command(name="doctor", epilog="Example: noisycount doctor postgresql+psycopg://owner@db/clinic")
@click.argument("source", shell_complete=source_names)
@config_option
@json_option
@click.pass_context
def command(ctx: click.Context, source: str, configuration: Config, *, as_json: bool) -> None:
    """Test whether the engine that records are on counts as it should.

    SOURCE is the address of a server, with or without a table behind a #; a data set of
    noisycount.toml; or a file, whose engine is DuckDB. Made-up records go into temporary tables,
    which needs the right to make such tables (TEMPORARY of the database) and no other; no record
    of yours is read. Some thirty thousand answers are compared with what they are by definition.
    Where all are right, a certificate is kept beside the ledger, and data sets on such an engine
    can be counted; the exit status is 1 where one is wrong.
    """
    with progress("testing") as done:
        diagnosis = diagnosed(source, configuration, lambda asked, of: done(asked / of))
    if as_json:
        print_json(diagnosis_object(diagnosis))
    else:
        print_text(verdict(diagnosis))
        print_text()
        print_facts(diagnosis_facts(diagnosis))
        if rows := difference_rows(diagnosis):
            print_table(DIFFERENCE_HEADER, rows)
    if diagnosis.certificate is None:
        ctx.exit(_WRONG)
