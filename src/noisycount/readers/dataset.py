"""What people type to choose the records of a file.

What people type to `noisycount plan`, and the value that it stands for.
"""

import re
from dataclasses import replace
from fractions import Fraction

import click

from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import ConfigError
from noisycount.ledger.exact import exact_epsilon
from noisycount.readers.common import Command, ungrouped
from noisycount.validation import LARGEST_WHOLE

__all__ = ["as_budget", "as_error", "as_queries", "of_table", "table_option", "unit_option"]


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


_ERROR = re.compile(r"[±+]?\s*([0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})")


_WHOLE = re.compile(r"[0-9]{1,20}")


def as_error(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """A positive number of records such as `15`, `15.5` or `±15`."""
    if text is None:
        return None
    match = _ERROR.fullmatch(ungrouped(text).strip())
    error = Fraction(match[1]) if match else Fraction(0)
    if 0 < error <= LARGEST_WHOLE:
        return error
    remedy = ": for a share use --within" if "%" in text else ""
    raise click.BadParameter(
        f"must be a number of records above 0, such as 15, got {text!r}{remedy}"
    )


def as_queries(_: click.Context, __: click.Parameter, text: str) -> int:
    """A number of answers, at least 1."""
    digits = ungrouped(text)
    if _WHOLE.fullmatch(digits) and 0 < int(digits) <= LARGEST_WHOLE:
        return int(digits)
    raise click.BadParameter(f"must be a whole number from 1 to 2**53, such as 10, got {text!r}")


def as_budget(_: click.Context, __: click.Parameter, text: str | None) -> Fraction | None:
    """An exact budget such as `2` or `1/3`."""
    try:
        return None if text is None else exact_epsilon(text, "budget")
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
