"""What people type to choose the records of a file."""

from dataclasses import replace

import click

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.options.common import Command
from noisycount.errors import ConfigError

__all__ = ["dataset_of", "table_option"]


def table_option(command: Command) -> Command:
    """The command with `--table`, which gives it a text named `table`."""
    return click.option(
        "--table", metavar="NAME", help="Which table or view, where a DuckDB file has several."
    )(command)


def dataset_of(source: str, table: str | None, configuration: Config) -> DatasetConfig:
    """The data set that SOURCE means, and the table of it that was named.

    All tables of a file that nobody configured are one data set, with one budget: they may hold the
    same persons.

    Raises:
        ConfigError: SOURCE is unknown, or its owner configured another table.
    """
    dataset = configuration.dataset(source)
    if table is None or table == dataset.table:
        return dataset
    if dataset.name in configuration.datasets:
        chosen = "no table" if dataset.table is None else f"the table {dataset.table!r}"
        raise ConfigError(
            f"--table {table!r}: data set {dataset.name!r} is of {chosen}, as its owner configured "
            "it; leave --table out"
        )
    return replace(dataset, table=table)
