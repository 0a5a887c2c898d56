"""The records of a data set, opened as its owner configured them."""

from dataclasses import replace

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.records import Records
from noisycount.release.register.register import Register, Statement

__all__ = ["as_configured", "records_of", "register_of", "statement_of"]


def register_of(ledger: Ledger | None, configuration: Config, *, makes: bool = False) -> Register:
    """What was written down of data sets; where no ledger is or comes to be, no folder does."""
    return Register.of(ledger, configuration.data_folder if ledger or makes else None)


def records_of(dataset: DatasetConfig, register: Register, *, renews: bool = False) -> Records:
    """The open records of a data set.

    Args:
        dataset: As its owner configured it.
        register: What was written down before.
        renews: Whether what was written down of its columns is to be forgotten.

    Raises:
        SourceError: They cannot be read, or hold no such column.
        ConfigError: Nobody said whose rows they are, or they have another name in this ledger.
    """
    return Records.open(dataset.source, statement_of(dataset, renews=renews), register)


def as_configured(
    dataset: DatasetConfig, configuration: Config, register: Register
) -> DatasetConfig:
    """The data set as its owner configured it, where a path holds the same records.

    A copy of a file is the data set that the ledger has by its content: what its owner configured
    of that (the columns, the budget, the size) holds for the copy too.

    Args:
        dataset: As it was asked for.
        configuration: What owners configured.
        register: What was written down before.

    Raises:
        SourceError: The records cannot be read.
        ConfigError: They have another name in this ledger.
    """
    if not dataset.is_path or dataset.account != dataset.name:
        return dataset
    account = Records.account_of(dataset.source, statement_of(dataset), register)
    owned = (each for each in configuration.datasets.values() if each.account == account)
    found = next(owned, None)
    if account == dataset.account or found is None:
        return replace(dataset, account=account)
    return replace(found, source=dataset.source, unit=dataset.unit or found.unit)


def statement_of(dataset: DatasetConfig, *, renews: bool = False) -> Statement:
    """What the owner of a data set says of its records."""
    return Statement(
        name=dataset.account,
        is_path=dataset.is_path and dataset.account == dataset.name,
        unit=dataset.unit,
        columns=dataset.columns,
        table=dataset.table,
        kinds=dataset.kinds,
        form=dataset.form,
        renews=renews,
    )
