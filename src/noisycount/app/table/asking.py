"""A table on the command line: asked, told, drawn and written."""

from collections.abc import Iterator
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.table.asked import Asked
from noisycount.app.table.files import check_files, save_rows
from noisycount.app.table.question import Pay, Table, table_of
from noisycount.app.table.trial import TableTrial
from noisycount.app.table.wire import table_object, table_trial_object
from noisycount.app.table.words import print_trial, print_whole
from noisycount.app.terminal.printing import print_json
from noisycount.app.terminal.status import status
from noisycount.release.ledger.entries import Analyst
from noisycount.release.slot import Slot

__all__ = ["ask_table", "try_table"]


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
