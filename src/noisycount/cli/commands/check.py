"""`noisycount check`: what is in private records, for whoever owns them."""

import click

from noisycount.cli.main import STATUSES
from noisycount.config.config import Config
from noisycount.display.output import (
    output_encoding,
    print_drawing,
    print_facts,
    print_json,
    print_table,
    print_text,
    status,
)
from noisycount.display.texts import pasteable
from noisycount.errors import SourceError
from noisycount.readers.options import config_option, json_option, source_names, table_option, unit_option
from noisycount.tasks.check import Inspection, examined
from noisycount.tasks.check_display import (
    FOR_OWNERS,
    column_header,
    column_rows,
    inspection_facts,
    inspection_object,
    mending_words,
    problems,
    value_header,
    value_rows,
)
from noisycount.tasks.init import mending
from noisycount.tasks.question import dataset_asked


@click.command(name="check", epilog="Example: noisycount check survey.csv --unit person")
@click.argument("source", shell_complete=source_names)
@unit_option
@table_option
@click.option(
    "--renew",
    "renews",
    is_flag=True,
    help="Forget what the ledger keeps of the columns, and write down what they are now.",
)
@config_option
@json_option
@click.pass_context
def command(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    source: str,
    unit: str | None,
    table: str | None,
    configuration: Config,
    *,
    renews: bool,
    as_json: bool,
) -> None:
    """Show the owner what is in the records, and what does not fit.

    It shows facts about the data, cells and true counts. SOURCE is a file or a data set of
    noisycount.toml. For every column: its kind and why, how many cells are missing, how many do not
    fit the kind, three of them with their lines, and whether questions may use it; the texts of
    columns that have few of them; then what to write into noisycount.toml so that questions are
    answered. Where all fits and the unit is known, the ledger keeps what the columns are; the exit
    status is 4 where no question is answered.
    """
    with status("reading"):
        dataset = configuration.table_of(dataset_asked(configuration, source, unit), table)
        inspection = examined(dataset, configuration, renews=renews)
    if as_json:
        print_json(inspection_object(inspection))
    else:
        _print(inspection)
    if not inspection.fits:
        ctx.exit(STATUSES[SourceError])


def _print(inspection: Inspection) -> None:
    """All that was found."""
    print_text(FOR_OWNERS)
    print_facts(inspection_facts(inspection))
    print_table(column_header(inspection), column_rows(inspection))
    if values := value_rows(inspection):
        print_table(value_header(), values)
    for problem in problems(inspection):
        print_text(problem)
    if lines := mending(inspection):
        print_text(mending_words(inspection))
        print_text()
        print_drawing(pasteable(line, output_encoding()) for line in lines)
