"""The desk of records from Python: what `open_desk` does, in modules that it loads at its first call."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from noisycount.catalog.catalog import Catalog, DatasetSettings
from noisycount.config.config import DEFAULT_BUDGET, Config, DatasetConfig, default_config, find_config, load_config
from noisycount.config.places import sqlite_file, sqlite_url
from noisycount.display.texts import without_passwords
from noisycount.errors import ConfigError
from noisycount.ledger.budget import Budget, Written, budget_from
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Stated
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.records import desk_of_frame
from noisycount.tasks.opening import configured_dataset, dataset_of_source, records_of


def desk_of(  # noqa: PLR0913 - the arguments of `open_desk`
    source: Any,  # noqa: ANN401 - a table of any library
    *,
    unit: str | None,
    budget: Written,
    ledger: str | Path | None,
    name: str | None,
    size: int | None,
    columns: Sequence[str] | None,
    values: Mapping[str, Stated] | None,
    table: str | None,
    analyst: str | None,
) -> Desk:
    """Open records with a ledger, and return their desk; see `open_desk`."""
    public = {column: stated if isinstance(stated, str) else list(stated) for column, stated in (values or {}).items()}
    path = find_config(Path.cwd())
    configuration = default_config() if path is None else load_config(path)
    dataset = None
    if isinstance(source, str | Path):
        dataset = configuration.table_of(dataset_of_source(configuration, str(source), unit, "unit"), table, "table")
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
            desk = replace(desk_of_frame(source, settings, paying, catalog, opened), analyst=asking_analyst)
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
