# ruff: noqa: PLC0415 - the command imports only what it needs
"""`noisycount check`: show the owner what is in the records, and faults to correct."""

from typing import TYPE_CHECKING

import click

from noisycount.catalog.table_group import TableGroup
from noisycount.cli.main import STATUSES
from noisycount.config.config import Config, DatasetConfig
from noisycount.display import output
from noisycount.display.texts import escape_unencodable
from noisycount.errors import SourceError
from noisycount.readers.options import common_options, complete_sources, flag, table_option, unit_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noisycount.engines.finding import Finding
    from noisycount.tasks.check import Inspection


@click.command(name="check", epilog="Example: noisycount check survey.parquet --unit person")
@click.argument("source", shell_complete=complete_sources)
@unit_option
@table_option
@flag("--renew renews", "Replace the columns in the ledger by the present ones.")
@common_options
@click.pass_context
def check(  # noqa: PLR0913 - one argument per option
    ctx: click.Context,
    source: str,
    unit: str | None,
    table: str | None,
    configuration: Config,
    *,
    renews: bool,
    as_json: bool,
) -> None:
    """Show the owner what is in the records, and faults to correct.

    For owners only, because it shows cells and true counts. It shows the kind of each column, missing and unreadable
    cells, and findings with the lines of noisycount.toml that correct them (`noisycount init SOURCE --accept` writes
    all of these lines). If all cells fit and the privacy unit is stated, the ledger stores the columns. If no query
    can be answered, the exit status is 4.
    """
    from noisycount.tasks.opening import dataset_of_source

    dataset = configuration.choose_table(dataset_of_source(configuration, source, unit), table)
    check_source = _check_tables if isinstance(dataset.source, TableGroup) else _check_records
    if not check_source(dataset, configuration, renews=renews, as_json=as_json):
        ctx.exit(STATUSES[SourceError])


def _check_records(dataset: DatasetConfig, configuration: Config, *, renews: bool, as_json: bool) -> bool:
    """Check one file or table, and show its content. Return True if queries are answered."""
    from noisycount.tasks import check_display as display
    from noisycount.tasks.check import examine
    from noisycount.tasks.findings import findings_of

    with output.status("reading"):
        inspection = examine(dataset, configuration, renews=renews)
    if as_json:
        output.print_json(display.inspection_json(inspection))
        return inspection.fits
    findings = findings_of(inspection)
    _print_verdict(display.verdict(findings, is_unit_stated=inspection.is_unit_stated))
    _print_records(inspection, findings)
    _print_public_values([inspection])
    return inspection.fits


def _check_tables(dataset: DatasetConfig, configuration: Config, *, renews: bool, as_json: bool) -> bool:
    """Check several tables. Show findings about all of them, then each table. Return True if queries are answered."""
    from noisycount.tasks import check_display as display
    from noisycount.tasks.check import examine_tables
    from noisycount.tasks.findings import findings_of, findings_of_tables

    with output.status("reading"):
        inspection = examine_tables(dataset, configuration, renews=renews)
    if as_json:
        output.print_json(display.group_json(inspection))
        return inspection.fits
    _print_verdict(display.verdict(findings_of_tables(inspection), is_unit_stated=True))
    output.print_facts(display.group_facts(inspection))
    output.print_table(*display.table_of_tables(inspection))
    header, rows = display.joint_finding_table(inspection)
    if rows:
        output.print_table(header, rows)
    for name, table in inspection.tables.items():
        findings = findings_of(table)
        output.print_text()
        output.print_text(f"Table {name}. {display.verdict(findings, is_unit_stated=False)}", bold=True)
        output.print_text()
        _print_records(table, findings)
    _print_public_values([*inspection.tables.values()])
    return inspection.fits


def _print_verdict(words: str) -> None:
    """Print the warning that the screen is for the owner only, and the verdict."""
    from noisycount.tasks.check_display import FOR_OWNERS

    output.print_text(FOR_OWNERS)
    output.print_text()
    output.print_text(words, bold=True)
    output.print_text()


def _print_records(inspection: "Inspection", findings: "Sequence[Finding]") -> None:
    """Print the facts, the columns, the findings and the proposed lines of one file or table."""
    from noisycount.tasks import check_display as display
    from noisycount.tasks.findings import proposal_lines

    output.print_facts(display.inspection_facts(inspection))
    output.print_table(*display.column_table(inspection, findings))
    header, rows = display.finding_table(inspection, findings)
    if rows:
        output.print_table(header, rows)
    _print_lines(display.proposal_words(inspection), proposal_lines(inspection))


def _print_public_values(tables: "Sequence[Inspection]") -> None:
    """Print lines that state the values of columns with few values, for the tables of a data set."""
    from noisycount.tasks.check_display import PUBLIC_VALUES
    from noisycount.tasks.findings import value_lines

    blocks = [lines for table in tables if (lines := value_lines(table))]
    words = PUBLIC_VALUES
    if any(table.block is not None for table in tables):
        output.print_text()
        words += " A table in braces on one line takes no further lines: write it as a block of its own first."
    _print_lines(words, [line for lines in blocks for line in ("", *lines)][1:])


def _print_lines(words: str, lines: "Sequence[str]") -> None:
    """Print a text and lines for noisycount.toml; nothing if there are no lines."""
    if lines:
        output.print_text(f"{words}\n")
        output.print_drawing(escape_unencodable(line, output.output_encoding()) for line in lines)
