"""What is said of records on opening them from Python, and the desk that comes of it."""

import os
from collections.abc import Sequence
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
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, Written, budget_from
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.records import desk_of_frame
from noisycount.tasks.opening import as_configured, dataset_asked, records_of


@frozen
class DeskSettings:
    """What is said of records on opening them; see ``open_desk``."""

    unit: str | None
    budget: Written
    ledger: str | Path | None
    name: str | None
    size: int | None
    columns: Sequence[str] | None
    table: str | None
    analyst: str | None

    def desk(self, source: Any) -> Desk:  # noqa: ANN401 - a table of any library
        """The desk of a file, of a configured data set, or of a table in memory."""
        found = find_config(Path.cwd())
        configuration = default_config() if found is None else load_config(found)
        is_place = isinstance(source, str | Path)
        asked = self._asked(str(source), configuration) if is_place else None
        analyst = configuration.analyst(self.analyst, "analyst")
        self._check_name(configuration, asked)
        configuration = self._with_ledger(configuration, asked)
        if self.ledger is None:
            configuration.make_ledger_folder()
        with ExitStack() as opened:
            ledger = opened.enter_context(_ledger(configuration))
            catalog = Catalog.of(ledger, configuration.data_folder)
            if asked is None:
                stated, paying = self._statement(), self._paying()
                desk = desk_of_frame(source, stated, paying, catalog, ledger)
                desk = replace(desk, analyst=analyst)
            else:
                asked = self._agreed(as_configured(asked, configuration, catalog))
                records = opened.enter_context(records_of(asked, catalog))
                desk = records.desk(ledger, asked.for_desk(records.name), analyst=analyst)
            opened.pop_all()
        return desk

    def _with_ledger(self, configuration: Config, asked: DatasetConfig | None) -> Config:
        """The configuration with the ledger that is named."""
        if self.ledger is None:
            return configuration
        text = str(self.ledger)
        url = text if "://" in text else sqlite_url(Path(text).absolute())
        if _place_of(url) == _place_of(configuration.ledger_url):
            return configuration  # with the head that its owner wrote down
        if asked is not None and not asked.is_path:
            raise ConfigError(
                f"ledger {without_passwords(text)!r}: data set {asked.name!r} has another, as its "
                "owner configured it: leave ledger out"
            )
        return replace(configuration, ledger_url=url, known_head=None)

    def _check_name(self, configuration: Config, asked: DatasetConfig | None) -> None:
        """The refusal of other records under the name, and so the budget, of a configured one."""
        if asked is not None and not asked.is_path:
            return
        owners = [each for each in configuration.datasets.values() if each.account == self.name]
        if owners:
            raise ConfigError(
                f"name {self.name!r} is that of data set {owners[0].name!r}, as its owner "
                f"configured it: open {owners[0].name!r}, or choose another name"
            )

    def _paying(self) -> Dataset:
        return Dataset(self.name or "frame", budget_from(self.budget), self.size)

    def _statement(self) -> DatasetSettings:
        if self.table is not None:
            raise ConfigError(f"table is {self.table!r}, but a frame has no tables: leave it out")
        return DatasetSettings(self.name or "", unit=self.unit, columns=self.columns)

    def _asked(self, source: str, configuration: Config) -> DatasetConfig:
        asked = dataset_asked(configuration, source, self.unit, "unit")
        asked = configuration.table_of(asked, self.table, "table")
        return replace(asked, account=self.name) if asked.is_path and self.name else asked

    def _agreed(self, asked: DatasetConfig) -> DatasetConfig:
        """The data set as it was configured, or with what is said of a path."""
        budget = budget_from(self.budget)
        if asked.is_path:
            return replace(asked, budget=budget, size=self.size, columns=_tuple(self.columns))
        said = {
            "budget": None if budget == DEFAULT_BUDGET else budget,
            "name": self.name,
            "size": self.size,
            "columns": _tuple(self.columns),
        }
        owned = {"budget": asked.budget, "name": asked.account, "size": asked.size, "columns": asked.columns}
        for what, value in said.items():
            if value not in {None, owned[what]}:
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


def _tuple(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if columns is None else tuple(columns)


def _ledger(configuration: Config) -> Ledger:
    known_head = configuration.known_head
    return Ledger.open(configuration.ledger_url, create=known_head is None, known_head=known_head)
