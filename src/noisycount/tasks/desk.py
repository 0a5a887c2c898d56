"""What is said of records on opening them from Python, and the desk that comes of it."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from noisycount.catalog.catalog import Catalog, DatasetSettings
from noisycount.config.config import DEFAULT_BUDGET, Config, DatasetConfig
from noisycount.config.file import default_config, find_config, load_config
from noisycount.config.places import sqlite_file, sqlite_url
from noisycount.display.texts import without_passwords
from noisycount.errors import ConfigError
from noisycount.ledger.budget import Budget, Written, budget_from
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Stated
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.records import desk_of_frame
from noisycount.tasks.opening import as_configured, dataset_asked, records_of


def desk_of(  # noqa: PLR0913, PLR0917 - all that is said once of records
    source: Any,  # noqa: ANN401 - a table of any library
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
    """The desk of a file, of a configured data set, or of a table in memory; see ``open_desk``."""
    public = {column: said if isinstance(said, str) else list(said) for column, said in (values or {}).items()}
    found = find_config(Path.cwd())
    configuration = default_config() if found is None else load_config(found)
    asked = None
    if isinstance(source, str | Path):
        asked = configuration.table_of(dataset_asked(configuration, str(source), unit, "unit"), table, "table")
        asked = replace(asked, account=name) if asked.is_path and name else asked
    who = configuration.analyst(analyst, "analyst")
    _check_name(name, configuration, asked)
    configuration = _with_ledger(configuration, ledger, asked)
    if ledger is None:
        configuration.make_ledger_folder()
    head = configuration.known_head
    with ExitStack() as opened:
        book = opened.enter_context(Ledger.open(configuration.ledger_url, create=head is None, known_head=head))
        catalog = Catalog.of(book, configuration.data_folder)
        if asked is None:
            if table is not None:
                raise ConfigError(f"table is {table!r}, but a frame has no tables: leave it out")
            stated = DatasetSettings(name or "", unit=unit, columns=columns, values=public)
            paying = Dataset(name or "frame", budget_from(budget), size)
            desk = replace(desk_of_frame(source, stated, paying, catalog, book), analyst=who)
        else:
            chosen = None if columns is None else tuple(columns)
            said = {"budget": budget_from(budget), "name": name, "size": size, "columns": chosen, "values": public}
            asked = _agreed(as_configured(asked, configuration, catalog), said)
            records = opened.enter_context(records_of(asked, catalog))
            desk = records.desk(book, asked.for_desk(records.name), analyst=who)
        opened.pop_all()
    return desk


def _with_ledger(configuration: Config, ledger: str | Path | None, asked: DatasetConfig | None) -> Config:
    """The configuration with the ledger that is named."""
    if ledger is None:
        return configuration
    text = str(ledger)
    url = text if "://" in text else sqlite_url(Path(text).absolute())
    if _place_of(url) == _place_of(configuration.ledger_url):
        return configuration  # with the head that its owner wrote down
    if asked is not None and not asked.is_path:
        raise ConfigError(
            f"ledger {without_passwords(text)!r}: data set {asked.name!r} has another, as its "
            "owner configured it: leave ledger out"
        )
    return replace(configuration, ledger_url=url, known_head=None)


def _check_name(name: str | None, configuration: Config, asked: DatasetConfig | None) -> None:
    """The refusal of other records under the name, and so the budget, of a configured one."""
    if asked is not None and not asked.is_path:
        return
    owners = [each for each in configuration.datasets.values() if each.account == name]
    if owners:
        raise ConfigError(
            f"name {name!r} is that of data set {owners[0].name!r}, as its owner "
            f"configured it: open {owners[0].name!r}, or choose another name"
        )


def _agreed(asked: DatasetConfig, said: dict[str, Any]) -> DatasetConfig:
    """The data set as it was configured, or with what is said of a path."""
    if asked.is_path:
        return replace(asked, **{name: value for name, value in said.items() if name != "name"})
    owned = {"name": asked.account, **{name: getattr(asked, name) for name in ("budget", "size", "columns", "values")}}
    usual: dict[str, Any] = {"budget": DEFAULT_BUDGET, "values": {}, **dict.fromkeys(("name", "size", "columns"))}
    for what, value in said.items():
        if value not in (usual[what], owned[what]):
            raise ConfigError(
                f"{what} {_shown(value)}: data set {asked.name!r} has {_shown(owned[what])}, "
                f"as its owner configured it: leave {what} out"
            )
    return asked


def _shown(value: object) -> str:
    if isinstance(value, Budget):
        return repr(value.written)
    return repr(list(value) if isinstance(value, tuple) else value)


def _place_of(url: str) -> str:
    """Where a ledger is: the file itself, links followed, or the address of a server."""
    file = sqlite_file(url)
    return url if file is None else os.path.realpath(file)
