"""`noisycount doctor`: whether the engine of a data set can be trusted."""

import click

from noisycount.app.config.config import Config
from noisycount.app.doctor.diagnosis import diagnosed
from noisycount.app.doctor.wire import diagnosis_object
from noisycount.app.doctor.words import (
    DIFFERENCE_HEADER,
    diagnosis_facts,
    difference_rows,
    verdict,
)
from noisycount.app.options.common import config_option, json_option
from noisycount.app.options.completion import source_names
from noisycount.app.terminal.printing import print_facts, print_json, print_table, print_text
from noisycount.app.terminal.progress import progress

__all__ = ["command"]

_WRONG = 1


@click.command(
    name="doctor", epilog="Example: noisycount doctor postgresql+psycopg://owner@db/clinic"
)
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
