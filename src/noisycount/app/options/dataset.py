"""What people type to choose the records of a file."""

from dataclasses import replace

import click

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.options.common import Command
from noisycount.errors import ConfigError

__all__ = ["of_table", "table_option", "unit_option"]


def unit_option(command: Command) -> Command:
    """The command with `--unit`, which gives it a text named `unit`."""
    return click.option(
        "--unit",
        metavar="COLUMN|row",
        help="The column that says whose row it is, or row: each row is another person. It must be "
        "said once; the ledger keeps it.",
    )(command)


def table_option(command: Command) -> Command:
    """The command with `--table`, which gives it a text named `table`."""
    return click.option(
        "--table", metavar="NAME", help="Which table, view or sheet, where a file has several."
    )(command)


def of_table(
    dataset: DatasetConfig, table: str | None, configuration: Config, option: str = "--table"
) -> DatasetConfig:
    """A data set, or the table of its file that was named, which is a data set of its own.

    Args:
        dataset: As its owner configured it.
        table: The name, where one was said.
        configuration: Which data sets there are.
        option: By what the table is said, for a refusal.

    Raises:
        ConfigError: The owner of the data set configured another table, or it is on a server.
    """
    if table is None or table == dataset.table:
        return dataset
    if dataset.is_served:
        raise ConfigError(
            f"{option} {table!r}: {str(dataset.source)!r} names its table behind the #: leave "
            f"{option} out"
        )
    if dataset.name in configuration.datasets:
        chosen = "no table" if dataset.table is None else f"the table {dataset.table!r}"
        raise ConfigError(
            f"{option} {table!r}: data set {dataset.name!r} is of {chosen}, as its owner "
            f"configured it; leave {option} out"
        )
    name = f"{dataset.name}#{table}"
    return replace(dataset, name=name, account=name, table=table)
