"""The configuration: the ledger, the data sets, the analysts, and look-up by name or place.

`DatasetConfig` describes one data set, and `Config` all of them. `find_config` finds the owner's `noisycount.toml`, and
`load_config` reads it; `toml_table` has the values of a single table.
"""

import errno
import os.path
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from types import MappingProxyType

import click

from noisycount.catalog.catalog import ROW
from noisycount.catalog.table_group import TableGroup
from noisycount.config.places import (
    PLAIN_NAME,
    SERVER_KEYS,
    Source,
    is_file,
    is_place,
    read_served_table,
    record_identities,
    require_no_server,
    resolve_ledger_url,
    served_table_at,
    sqlite_file,
    sqlite_url,
)
from noisycount.config.service import ServiceConfig, read_service
from noisycount.config.tables import GROUP_KEYS, read_group
from noisycount.config.toml_table import (
    FILE_KEYS,
    TomlTable,
    name_suggestion,
    read_budget,
    read_file_form,
    read_kinds,
    read_values,
)
from noisycount.display.texts import without_passwords
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.places import ServedTable, is_lake, is_server
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, PureBudget, budget_of
from noisycount.ledger.entries import Analyst, Head, check_text
from noisycount.query.schema import Stated
from noisycount.release.dataset import Dataset

DEFAULT_BUDGET = PureBudget(Fraction(2))


@frozen
class DatasetConfig:
    """Configuration of one data set."""

    name: str  # name that commands accept
    source: Source  # absolute path of a file, folder or pattern of files; or a table of a server; or several tables
    # privacy unit: the column that identifies a person, or `row`; None: as stated at the first count, in the ledger
    unit: str | None = None
    size: int | None = None  # number of units if it is public, else None
    columns: tuple[str, ...] | None = None  # columns that queries may use; None: all except the unit
    table: str | None = None  # table of a DuckDB file; None: its only table
    # format of each column of texts: its kind, missing values and so on; None: no format is stated
    kinds: Mapping[str, ColumnFormat] | None = None
    # public values by column: a list or a range
    values: Mapping[str, Stated] = field(default_factory=dict)
    form: FileFormat = FileFormat()  # how a file is divided into cells: encoding, delimiter and so on
    account: str = ""  # name under which the ledger books its spending; empty: `name`
    budget: Budget = DEFAULT_BUDGET  # privacy budget for all answers together; a number is a budget in ε
    needs_purpose: bool = False  # True if every query must state the purpose of its answer
    why: str | None = None  # reason for the budget in the owner's words, if stated
    public_tables: tuple[str, ...] = ()  # tables and views of the source without private records
    # owner's reason why each row of a view belongs to one unit; None: the definition of the view must prove it
    vouched: str | None = None

    def __post_init__(self) -> None:
        """Check the source, size, account and budget. Raises ConfigError for an invalid one."""
        if isinstance(self.source, Path) and not self.source.is_absolute():
            raise ConfigError(f"source must be an absolute path, got {self.source}: resolve it")
        if self.size is not None and self.size < 1:
            raise ConfigError(f"size must be above 0, got {self.size}: give None if not public")
        object.__setattr__(self, "account", self.account or self.name)
        try:
            check_text("account", self.account)
            object.__setattr__(self, "budget", budget_of(self.budget))
        except ValueError as error:
            raise ConfigError(str(error)) from None

    @property
    def is_path(self) -> bool:
        """True if the data set is not configured, so that its name is its path or address."""
        return self.name.startswith(str(self.source))

    @property
    def is_served(self) -> bool:
        """True if records are on a server or an object store."""
        places = [table.place for table in self.source.tables] if isinstance(self.source, TableGroup) else [self.source]
        return any(isinstance(place, ServedTable) for place in places)

    @property
    def claim(self) -> UnitClaim:
        """Statement of the owner about the privacy unit of a view's rows."""
        unit = None if self.unit == ROW else self.unit
        return UnitClaim(unit, self.public_tables, self.vouched, is_stated=self.unit is not None)

    def for_desk(self, account: str) -> Dataset:
        """Return the data set as a `Desk` needs it, under its name in the ledger."""
        return Dataset(account, self.budget, self.size, self.needs_purpose)

    def shares_files_at(self, place: str | Source) -> bool:
        """Return True if a path leads to some of these files, or an address to this table."""
        return not record_identities(self.source).isdisjoint(record_identities(place))

    @property
    def places(self) -> list[tuple[Path | ServedTable, str | None]]:
        """Places of the records of persons, each with the chosen table of its file or None.

        Several tables have one place each.
        """
        if isinstance(self.source, TableGroup):
            return [(table.place, table.settings.table) for table in self.source.private_tables]
        return [(self.source, self.table)]


def _may_share(one: tuple[Path | ServedTable, str | None], other: tuple[Path | ServedTable, str | None]) -> bool:
    """Return True if two places may have records in common. A place without a table may be any table of its file."""
    may_share_table = one[1] is None or other[1] is None or one[1] == other[1]
    is_same = one[0] == other[0] or not record_identities(one[0]).isdisjoint(record_identities(other[0]))
    return may_share_table and is_same


@frozen
class Config:
    """Configuration in one `noisycount.toml`, with absolute paths."""

    path: Path | None  # the file, or None without one
    ledger_url: str  # address of the ledger, in the form of SQLAlchemy
    datasets: Mapping[str, DatasetConfig]  # data sets by name
    # analysts by name; if there are none, all queries come from one analyst without a name
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    known_head: Head | None = None  # head of the ledger that the owner recorded, to detect deleted entries
    service: ServiceConfig = ServiceConfig()  # settings of `noisycount serve`

    def __post_init__(self) -> None:
        """Copy the mappings of data sets and analysts, so that a caller cannot change them."""
        object.__setattr__(self, "datasets", MappingProxyType(dict(self.datasets)))
        object.__setattr__(self, "analysts", MappingProxyType(dict(self.analysts)))

    @property
    def ledger_file(self) -> Path | None:
        """File of a SQLite ledger, or None for a ledger on a server."""
        return sqlite_file(self.ledger_url)

    @property
    def data_folder(self) -> Path | None:
        """Folder of the copies of text files: next to the ledger file, or next to the configuration.

        None if the ledger is on a server and there is no configuration file.
        """
        file = self.ledger_file
        if file is not None:
            return file.with_name(f"{file.name}.data")
        return None if self.path is None else self.path.with_name(f"{self.path.stem}.data")

    def make_ledger_folder(self) -> None:
        """Create the folder of the default ledger, readable by its owner alone.

        The folder of a configured ledger must exist already. If it is missing, its disk may not be mounted, and a new
        ledger in its place would allow the budget to be spent twice.
        """
        if self.path is not None or self.ledger_file is None:
            return
        folder = self.ledger_file.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"ledger folder {folder} cannot be made ({error.strerror}): "
                "name another ledger in a file that `noisycount init` writes"
            ) from None

    def dataset(self, source: str) -> DatasetConfig:
        """Return the data set for a name, a path, or the address of a table.

        The path of the file of a configured data set, or the address of its table, also names that data set and its
        budget. Any other path or address is a data set of its own, named by its resolved path or its address, with the
        budget `DEFAULT_BUDGET`. Raises ConfigError if the source is unknown or ambiguous, or shares only some files
        with a configured data set.
        """
        if source in self.datasets:
            return self.datasets[source]
        place = self._unconfigured_place(source)
        label = repr(str(place) if isinstance(place, ServedTable) else source)
        identities = record_identities(place) if self.datasets else frozenset()
        others = [(dataset, record_identities(dataset.source)) for dataset in self.datasets.values()]
        overlapping = [dataset for dataset, other in others if not identities.isdisjoint(other)]
        owners = [dataset for dataset, other in others if identities and identities == other]
        if len(owners) > 1:
            names = ", ".join(owner.name for owner in owners)
            kind = "file" if isinstance(place, Path) else "table"
            raise ConfigError(f"SOURCE {label} is the {kind} of several data sets: name {names}")
        if overlapping and not owners:
            raise ConfigError(
                f"SOURCE {label} has files of data set {overlapping[0].name!r}, whose budget pays for "
                f"them: name {overlapping[0].name}"
            )
        return owners[0] if owners else DatasetConfig(name=str(place), source=place)

    def choose_table(self, dataset: DatasetConfig, table: str | None, option: str = "--table") -> DatasetConfig:
        """Return the data set, or the chosen table of its file as a data set of its own.

        Raises ConfigError if the owner fixed the table, or if an address names it.
        """
        if table is None or table == dataset.table:
            return dataset
        if dataset.is_served:
            raise ConfigError(
                f"{option} {table!r}: {str(dataset.source)!r} names its table behind the #: leave {option} out"
            )
        if dataset.name in self.datasets:
            configured = "no table" if dataset.table is None else f"the table {dataset.table!r}"
            raise ConfigError(
                f"{option} {table!r}: data set {dataset.name!r} is of {configured}, as its owner "
                f"configured it; leave {option} out"
            )
        name = f"{dataset.name}#{table}"
        return replace(dataset, name=name, account=name, table=table)

    def _unconfigured_place(self, source: str) -> Source:
        """Return the place of records that are not configured. Raises ConfigError if there are none."""
        if is_server(source):
            return served_table_at(source)
        if is_lake(source):
            label = without_passwords(source.partition("?")[0])
            raise ConfigError(
                f"SOURCE {label!r} is on an object store, which is read only where its owner "
                "configured it: name a data set of noisycount.toml"
            )
        if is_place(source):
            return Path(source).resolve()
        remedy = "check its path, or describe it in a file that `noisycount init` writes"
        if self.datasets:
            remedy = name_suggestion(source, self.datasets)
        label = without_passwords(source)
        raise ConfigError(f"SOURCE {label!r} is neither a file nor a data set: {remedy}")

    def analyst(self, name: str | None, option: str = "--analyst") -> Analyst:
        """Return the analyst with this name.

        Raises ConfigError if the name is unknown, or if there is no name although analysts are configured: the price
        must be charged to the analyst who asks.
        """
        if name is not None and name in self.analysts:
            return self.analysts[name]
        if name is not None:
            remedy = f"leave {option} out, as the configuration names no analysts"
            if self.analysts:
                remedy = name_suggestion(name, self.analysts)
            raise ConfigError(f"{option} {name!r} is not configured: {remedy}")
        if self.analysts:
            quantifier = "" if len(self.analysts) == 1 else "one of "
            raise ConfigError(
                f"{option} is missing: name the analyst who asks, {quantifier}{', '.join(self.analysts)}; to "
                "add an analyst, also an owner who asks, write [analysts.NAME] in noisycount.toml"
            )
        return Analyst()


FILE_NAME = "noisycount.toml"
TEMPLATE = Path(__file__).with_name("template.toml").read_text(encoding="utf-8")
_LEDGER_KEYS = ("url", "head")
_ANALYST_KEYS = ("budget",)
_REQUIRED = "required"
_LONGEST_REASON = 500  # characters

DATASET_KEYS = (
    *("source", "table", "unit", "size", "columns", "kinds", "values", "budget", "why", "account", "purpose"),
    *("public_tables", "vouched"),
    *GROUP_KEYS,
    *FILE_KEYS,
    *SERVER_KEYS,
)


def find_config(start: Path) -> Path | None:
    """Return the `noisycount.toml` in a folder or the nearest parent folder, or None if there is none.

    Raises ConfigError if that path exists and is not a file.
    """
    folder = start.resolve()
    candidates = (parent / FILE_NAME for parent in (folder, *folder.parents))
    file = next(filter(os.path.lexists, candidates), None)
    if file is not None and not is_file(file):
        raise ConfigError(
            f"{file} is a folder, a pipe or a broken link, not a file: restore the file, or remove it if"
            " nothing was configured by it"
        )
    return file


def load_config(path: Path) -> Config:
    """Read the configuration file. Its relative paths start at its folder. Raises ConfigError for any fault in it."""
    path = Path(os.path.realpath(path))  # Path.resolve raises an error for circular links
    top = TomlTable.read(path)
    top.require_known(("ledger", "datasets", "analysts", "server"))
    datasets = {name: _read_dataset(name, table) for name, table in top.table("datasets").tables()}
    _require_separate(path, datasets.values())
    analysts = {name: _read_analyst(name, table) for name, table in top.table("analysts").tables()}
    ledger = top.table("ledger")
    url, head = _read_ledger_url(ledger), ledger.text("head")
    with ledger.locating_errors():
        known_head = None if head is None else Head.read(head)
    return Config(path, url, datasets, analysts, known_head, read_service(top.table("server")))


def default_config() -> Config:
    """Return the configuration without a file: the user's own ledger, no data sets."""
    ledger = Path(click.get_app_dir("noisycount")).absolute() / "ledger.db"
    return Config(None, sqlite_url(ledger), {})


def _read_ledger_url(table: TomlTable) -> str:
    """Return the address of the ledger. The path of a SQLite file starts at the folder of the configuration."""
    table.require_known(_LEDGER_KEYS)
    url = resolve_ledger_url(table.path.parent, table.text("url") or "sqlite:///ledger.db")
    if url is not None:
        return url
    # The message leaves the value out, because an address may hold a password.
    raise ConfigError(
        f'{table.path}: [{table.name}] url: is no address of a lasting ledger: write "sqlite:///ledger.db"'
    )


def _read_analyst(name: str, table: TomlTable) -> Analyst:
    _check_name(name, table)
    table.require_known(_ANALYST_KEYS)
    return Analyst(name, read_budget(table))


def _check_name(name: str, table: TomlTable) -> None:
    """Raise ConfigError for a name that a shell or TOML would need quotes for."""
    if not PLAIN_NAME.fullmatch(name):
        place = f"{table.name.removesuffix(name)}{name!r}"
        raise ConfigError(f"{table.path}: [{place}]: a name consists of letters, digits, - and _: rename it")


def _read_dataset(name: str, table: TomlTable) -> DatasetConfig:
    _check_name(name, table)
    table.require_known(DATASET_KEYS)
    source: Source
    if "tables" in table.values:
        source = read_group(table, table.text("unit"), _read_source)
    elif "persons" in table.values:
        raise table.refusal("persons", "belongs to a data set of several tables: leave persons out")
    else:
        source = _read_source(table)
    return DatasetConfig(
        name=name,
        source=source,
        unit=table.text("unit") or ROW,
        size=table.whole_number("size"),
        columns=table.texts("columns"),
        table=table.text("table"),
        kinds=read_kinds(table),
        values=read_values(table),
        form=read_file_form(table),
        account=table.name_in_ledger("account", name) or name,
        budget=read_budget(table) or DEFAULT_BUDGET,
        needs_purpose=_reads_needs_purpose(table),
        why=_read_sentence(table, "why", "the reason of the budget"),
        public_tables=table.texts("public_tables") or (),
        vouched=_read_sentence(table, "vouched", "why each row of a view is of one unit"),
    )


def _reads_needs_purpose(table: TomlTable) -> bool:
    """Return True if the table requires a purpose for every query."""
    if table.text("purpose") not in {None, _REQUIRED}:
        raise table.refusal("purpose", f'must be "{_REQUIRED}", or be left out')
    return "purpose" in table.values


def _read_sentence(table: TomlTable, key: str, content: str) -> str | None:
    """Return the owner's statement under `key`, if any; it must be one line of at most 500 characters."""
    text = table.text(key)
    if text is not None and not (text.isprintable() and len(text) <= _LONGEST_REASON):
        raise table.refusal(key, f"must state {content} in 1 to {_LONGEST_REASON} printable characters, or be left out")
    return text


def _read_source(table: TomlTable) -> Path | ServedTable:
    """Return the absolute path of the records, which need not exist, or their table on a server."""
    source = table.text("source")
    if source is None:
        raise table.refusal("source", 'is missing: add the file, such as source = "data.csv"')
    if is_server(source) or is_lake(source):
        return read_served_table(table, source)
    require_no_server(table)
    place = table.path.parent / source
    try:
        place.stat()
    except ValueError:
        raise table.refusal("source", "is no path of a file: leave the NUL character out") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise table.refusal("source", "is a link to itself: name the file") from None
    return place.resolve()


def _require_separate(path: Path, datasets: Iterable[DatasetConfig]) -> None:
    """Raise ConfigError if two data sets share records or an account: both of their budgets could be spent on these."""
    for first, second in combinations(datasets, 2):
        if any(_may_share(one, other) for one, other in product(first.places, second.places)):
            raise ConfigError(
                f"{path}: [datasets.{first.name}] and [datasets.{second.name}] are the same records, "
                f"{str(first.source)!r}, with a budget each: keep one of them"
            )
        if first.account == second.account:
            raise ConfigError(
                f"{path}: [datasets.{first.name}] and [datasets.{second.name}] have one account, "
                f"{first.account!r}, in the ledger: give each its own, or leave account out"
            )
