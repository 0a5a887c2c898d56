# ruff: noqa: PLC0415 - engines, the ledger and Click are loaded at the first call
"""`open_desk`, which opens records from Python. It loads engines and the ledger at its first call."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisycount.config.places import sqlite_file, sqlite_url
from noisycount.display.texts import without_passwords
from noisycount.errors import ConfigError
from noisycount.ledger.budget import Budget, budget_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noisycount.config.config import Config, DatasetConfig
    from noisycount.ledger.budget import Written
    from noisycount.query.schema import Stated
    from noisycount.release.desk import Desk


def open_desk(  # noqa: PLR0913 - all that is said once of records
    source: Any,  # noqa: ANN401 - a table of any library
    *,
    unit: str | None = None,
    budget: Written = "2",
    ledger: str | Path | None = None,
    name: str | None = None,
    size: int | None = None,
    columns: Sequence[str] | None = None,
    values: Mapping[str, Stated] | None = None,
    table: str | None = None,
    analyst: str | None = None,
) -> Desk:
    """Open records with a ledger, and return the desk that answers queries about them.

    Args:
        source: A file, folder or pattern of files; a table of pandas, Polars, Arrow or DuckDB, or any other with
            `__arrow_c_stream__`; or the name of a data set of `noisycount.toml`, which states the other arguments.
        unit: The privacy unit: the column that identifies a person, or `row` if each row is another person. It is
            stated once: the ledger stores it and refuses another unit for these records. None: as `noisycount.toml`
            states it, or as it was stated before.
        budget: The largest sum of all prices, in ε; or {"rho": "0.1"}, or {"epsilon": "2", "delta": "1e-6"}, which
            pays for Gaussian noise and hidden keys too.
        ledger: The file of the ledger, or its address, such as `postgresql+psycopg://user@host/name`. None: the
            ledger of `noisycount.toml` in this folder or above it, else one in the folder of the user. A data set of
            `noisycount.toml` has a ledger, and no other can be given.
        name: The name of the records in the ledger. None: their path, or a number for a table in memory.
        size: The number of units if it is public, else None.
        columns: The columns that queries may use. None: all except the unit.
        values: Public values of columns, never looked up in the records: {"town": ["Bern", "Biel"], "age": "0 to
            120"}. Tables by these columns need no keys, and a query for another value is refused before the charge.
        table: The table of a DuckDB file.
        analyst: The name of the analyst who asks. Required if `noisycount.toml` has `[analysts]`, whose budgets must
            pay too.

    Returns:
        A desk. As a context manager it closes the records and the ledger.

    Raises:
        ValueError: The budget, the name or the size is out of range.
        ConfigError: `noisycount.toml` cannot be used or contradicts an argument; the unit is missing, or another one
            was stated before; or the analyst is missing or not configured.
        SourceError: The records cannot be read.
        LedgerError: The ledger cannot be used.

    Example:
        >>> import tempfile
        >>> import noisycount as nc
        >>> import polars as pl
        >>> frame = pl.DataFrame({"person": range(600), "age": [20 + n % 60 for n in range(600)]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with nc.open_desk(frame, unit="person", ledger=f"{folder}/ledger.db") as desk:
        ...         answer = desk.release("age >= 50", "1/2")
        >>> answer.unit, answer.charged, answer.remaining
        ('person', Fraction(1, 2), Fraction(3, 2))
    """
    from noisycount.catalog.catalog import Catalog, DatasetSettings
    from noisycount.config.config import default_config, find_config, load_config
    from noisycount.ledger.ledger import Ledger
    from noisycount.release.dataset import Dataset
    from noisycount.release.records import open_frame_desk
    from noisycount.tasks.opening import configured_dataset, dataset_of_source, records_of

    public = {column: stated if isinstance(stated, str) else list(stated) for column, stated in (values or {}).items()}
    path = find_config(Path.cwd())
    configuration = default_config() if path is None else load_config(path)
    dataset = None
    if isinstance(source, str | Path):
        dataset = configuration.choose_table(
            dataset_of_source(configuration, str(source), unit, "unit"), table, "table"
        )
        dataset = replace(dataset, account=name) if dataset.is_path and name else dataset
    asking_analyst = configuration.analyst(analyst, "analyst")
    _check_name(name, configuration, dataset)
    configuration = _with_ledger(configuration, ledger, dataset)
    if ledger is None:
        configuration.make_ledger_folder()
    head = configuration.known_head
    with ExitStack() as resources:
        opened = resources.enter_context(Ledger.open(configuration.ledger_url, create=head is None, known_head=head))
        catalog = Catalog.from_ledger(opened, configuration.data_folder)
        if dataset is None:
            if table is not None:
                raise ConfigError(f"table is {table!r}, but a frame has no tables: leave it out")
            settings = DatasetSettings(name or "", unit=unit, columns=columns, values=public)
            paying = Dataset(name or "frame", budget_from(budget), size)
            desk = replace(open_frame_desk(source, settings, paying, catalog, opened), analyst=asking_analyst)
        else:
            chosen = None if columns is None else tuple(columns)
            stated = {"budget": budget_from(budget), "name": name, "size": size, "columns": chosen, "values": public}
            dataset = _with_arguments(configured_dataset(dataset, configuration, catalog), stated)
            records = resources.enter_context(records_of(dataset, catalog))
            desk = records.desk(opened, dataset.for_desk(records.name), analyst=asking_analyst)
        resources.pop_all()
    return desk


def _with_ledger(configuration: Config, ledger: str | Path | None, dataset: DatasetConfig | None) -> Config:
    """Return the configuration with the ledger of an argument. Raises ConfigError if the data set has another."""
    if ledger is None:
        return configuration
    text = str(ledger)
    url = text if "://" in text else sqlite_url(Path(text).absolute())
    if _ledger_location(url) == _ledger_location(configuration.ledger_url):
        return configuration  # with the head that its owner wrote down
    if dataset is not None and not dataset.is_path:
        raise ConfigError(
            f"ledger {without_passwords(text)!r}: data set {dataset.name!r} has another, as its "
            "owner configured it: leave ledger out"
        )
    return replace(configuration, ledger_url=url, known_head=None)


def _check_name(name: str | None, configuration: Config, dataset: DatasetConfig | None) -> None:
    """Raise ConfigError if other records would have the name, and so the budget, of a configured data set."""
    if dataset is not None and not dataset.is_path:
        return
    for configured in configuration.datasets.values():
        if configured.account == name:
            raise ConfigError(
                f"name {name!r} is that of data set {configured.name!r}, as its owner "
                f"configured it: open {configured.name!r}, or choose another name"
            )


def _with_arguments(dataset: DatasetConfig, stated: dict[str, Any]) -> DatasetConfig:
    """Return a data set with the arguments of a path. Raises ConfigError if they contradict a configured data set."""
    from noisycount.config.config import DEFAULT_BUDGET

    if dataset.is_path:
        return replace(dataset, **{name: value for name, value in stated.items() if name != "name"})
    configured = {name: getattr(dataset, name) for name in ("budget", "size", "columns", "values")}
    configured["name"] = dataset.account
    defaults: dict[str, Any] = {"budget": DEFAULT_BUDGET, "values": {}, **dict.fromkeys(("name", "size", "columns"))}
    for name, value in stated.items():
        if value not in (defaults[name], configured[name]):
            raise ConfigError(
                f"{name} {_argument_text(value)}: data set {dataset.name!r} has {_argument_text(configured[name])}, "
                f"as its owner configured it: leave {name} out"
            )
    return dataset


def _argument_text(value: object) -> str:
    if isinstance(value, Budget):
        return repr(value.written)
    return repr(list(value) if isinstance(value, tuple) else value)


def _ledger_location(url: str) -> str:
    """Return the path of the file of a ledger with links resolved, or the address of a server."""
    file = sqlite_file(url)
    return url if file is None else os.path.realpath(file)
