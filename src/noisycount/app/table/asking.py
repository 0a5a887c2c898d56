"""A table on the command line: asked, told, drawn and written."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import click

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.table.asked import Asked
from noisycount.app.table.files import check_files, save_rows
from noisycount.app.table.pricing import RowGoal
from noisycount.app.table.question import Pay, Table, table_of
from noisycount.app.table.refusals import ONE_PRICE
from noisycount.app.table.trial import TableTrial
from noisycount.app.table.wire import table_object, table_trial_object
from noisycount.app.table.words import print_trial, print_whole
from noisycount.app.terminal.printing import print_json
from noisycount.app.terminal.status import status
from noisycount.release.ledger.entries import Analyst
from noisycount.release.slot import Slot

__all__ = ["ask_table", "pay_of", "try_table"]


def pay_of(
    asked: Asked,
    epsilon: Fraction | None,
    within: float | None,
    guess: float | None,
    confidence: float,
) -> Pay:
    """The price of a table that is given, or what each of its rows needs.

    Args:
        asked: What was typed of the table, ρ too.
        epsilon: The price in ε.
        within: Or how far off a row may be, as a share of the guess,
        guess: of about how many in it.
        confidence: With which errors are stated, in (0, 1).

    Raises:
        UsageError: It is neither, or both.
    """
    if within is None and guess is None and (epsilon is not None or asked.rho is not None):
        return Pay(epsilon, None, confidence)
    if epsilon is None and within is not None and guess is not None:
        return Pay(None, RowGoal(within, guess, confidence), confidence)
    raise click.UsageError(ONE_PRICE)


def ask_table(  # noqa: PLR0913, PLR0917 - what decides a table, and how it is told
    asked: Asked,
    dataset: DatasetConfig,
    configuration: Config,
    pay: Pay,
    analyst: Analyst,
    slot: Slot | None,
    *,
    purpose: str | None,
    as_json: bool,
) -> None:
    """A table, told on standard output and written where that was asked for.

    Raises:
        NoisyCountError: The question, the file, the budget or the ledger refuses it, or a file
            cannot be written.
    """
    check_files(asked)
    with status("counting"):
        table = table_of(asked, dataset, configuration, pay, analyst, slot, purpose=purpose)
    files: list[Path] = []
    try:
        files.extend(_written(asked, table))
    finally:  # what was paid for is told, whatever became of the files
        if as_json:
            print_json(table_object(table))
        else:
            print_whole(table, files)


def try_table(  # noqa: PLR0913 - what decides a table, and how it is told
    asked: Asked,
    dataset: DatasetConfig,
    configuration: Config,
    pay: Pay,
    analyst: Analyst,
    *,
    as_json: bool,
) -> None:
    """What a table would cost and give, told on standard output.

    Raises:
        NoisyCountError: The question, the file or the ledger refuses it.
    """
    trial = TableTrial.of(asked, dataset, configuration, pay, analyst)
    if as_json:
        print_json(table_trial_object(trial))
    else:
        print_trial(trial)


def _written(asked: Asked, table: Table) -> Iterator[Path]:
    """Each file that was asked for, once it is written."""
    if asked.output is not None:
        with status("writing"):
            save_rows(table, asked.output)
        yield asked.output
    if asked.plot is not None:
        from noisycount.app.table.picture import save_table_plot  # noqa: PLC0415  (loads Altair)

        with status("drawing"):
            save_table_plot(table.release, asked.plot)
        yield asked.plot
