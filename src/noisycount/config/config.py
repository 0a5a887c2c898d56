"""What an owner configured: the ledger, the data sets, who may ask, and how to look them up."""

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from noisycount.catalog.catalog import ROW
from noisycount.config.places import Source, is_place, record_identities, served_table_at, sqlite_file
from noisycount.config.service import ServiceConfig
from noisycount.config.toml_table import suggestion
from noisycount.display.texts import without_passwords
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.places import ServedTable, is_lake, is_server
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import ConfigError
from noisycount.frozen import frozen
from noisycount.ledger.budget import Budget, PureBudget, budget_of
from noisycount.ledger.entries import Analyst, Head, check_text
from noisycount.query.schema import Stated
from noisycount.release.dataset import Dataset

DEFAULT_BUDGET = PureBudget(Fraction(2))


@frozen
class DatasetConfig:
    """What the owner says about one data set."""

    name: str  # what people call it
    source: Source  # the file, folder or pattern of files, an absolute path; or a table of a server
    # the column that names the person, `row` where every row is one unit; None: as it was said at the first count
    unit: str | None = None
    size: int | None = None  # the number of units where it is public, else None
    columns: tuple[str, ...] | None = None  # what questions may use; None: all but the unit
    table: str | None = None  # the table of a DuckDB file; None: its only one
    # what the texts of a file's columns stand for; None: nobody stated it of any
    kinds: Mapping[str, ColumnFormat] | None = None
    # what columns can have, as everybody may know: lists or ranges, by the name of the column
    values: Mapping[str, Stated] = field(default_factory=dict)
    form: FileFormat = FileFormat()  # how the texts are found in the file
    account: str = ""  # the name under which the ledger books its spending; empty: its own name
    budget: Budget = DEFAULT_BUDGET  # the most that all answers together may cost; a number is a budget in ε
    needs_purpose: bool = False  # whether a spend must say what its answer is for
    why: str | None = None  # the reason of the budget, in the owner's words; None: none was said
    public_tables: tuple[str, ...] = ()  # tables and views of the source that hold no private records
    vouched: str | None = None  # why each row of a view is of one unit; None: its definition must prove it

    def __post_init__(self) -> None:
        """The refusal of what no file could have said."""
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
        """Whether nobody configured it: its name is where it lies."""
        return self.name.startswith(str(self.source))

    @property
    def is_served(self) -> bool:
        """Whether its records are on a server."""
        return isinstance(self.source, ServedTable)

    @property
    def claim(self) -> UnitClaim:
        """What the owner states about the rows of a view."""
        unit = None if self.unit == ROW else self.unit
        return UnitClaim(unit, self.public_tables, self.vouched, is_stated=self.unit is not None)

    def for_desk(self, account: str) -> Dataset:
        """What a desk knows of the data set, under the name by which the ledger books it."""
        return Dataset(account, self.budget, self.size, self.needs_purpose)

    def is_at(self, place: str | Source) -> bool:
        """Whether the very records of the data set lie at a path, links included, or address."""
        mine = record_identities(self.source)
        return bool(mine) and mine == record_identities(place)

    def shares_files_at(self, place: str | Source) -> bool:
        """Whether some of its files lie at a path, or it is the table at an address."""
        return not record_identities(self.source).isdisjoint(record_identities(place))

    def overlaps(self, other: "DatasetConfig") -> bool:
        """Whether the records of `other` are some of these; a table left out may be any."""
        one_table = self.table is None or other.table is None or self.table == other.table
        return one_table and (self.source == other.source or self.shares_files_at(other.source))


@frozen
class Config:
    """Everything that one `noisycount.toml` says, with absolute paths."""

    path: Path | None  # the file; None where there is none
    ledger_url: str  # the ledger's address, as SQLAlchemy reads it
    datasets: Mapping[str, DatasetConfig]  # the data sets by name
    # who may ask, by name; where nobody is named, everybody is the same analyst
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    known_head: Head | None = None  # the ledger's head that the owner wrote down, if any
    service: ServiceConfig = ServiceConfig()  # how the service answers

    def __post_init__(self) -> None:
        """Keep data sets and analysts from being changed through the arguments."""
        object.__setattr__(self, "datasets", MappingProxyType(dict(self.datasets)))
        object.__setattr__(self, "analysts", MappingProxyType(dict(self.analysts)))

    @property
    def ledger_file(self) -> Path | None:
        """The file of a SQLite ledger, None for a server."""
        return sqlite_file(self.ledger_url)

    @property
    def data_folder(self) -> Path | None:
        """Where copies of texts lie: beside the ledger, or beside what configures one elsewhere."""
        file = self.ledger_file
        if file is not None:
            return file.with_name(f"{file.name}.data")
        return None if self.path is None else self.path.with_name(f"{self.path.stem}.data")

    def make_ledger_folder(self) -> None:
        """Make the ledger's folder, readable by its owner alone, where nobody configured one.

        The folder of a configured ledger must exist: one that is missing may be a disk not
        mounted, and a new ledger in its place would give spent budget away again.
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
        """The data set that `source` means: a name, a path, or an address of a table.

        A path to the very file of a configured data set is that data set, under its budget, and so
        is an address of its table. Another one is a data set of its own, named by its resolved path
        or by its address, under `DEFAULT_BUDGET`.
        """
        if source in self.datasets:
            return self.datasets[source]
        place = self._place(source)
        shown = repr(str(place) if isinstance(place, ServedTable) else source)
        owners = [owner for owner in self.datasets.values() if owner.is_at(place)]
        if len(owners) > 1:
            names = ", ".join(owner.name for owner in owners)
            what = "file" if isinstance(place, Path) else "table"
            raise ConfigError(f"SOURCE {shown} is the {what} of several data sets: name {names}")
        parts = [] if owners else [one for one in self.datasets.values() if one.shares_files_at(place)]
        if parts:
            raise ConfigError(
                f"SOURCE {shown} has files of data set {parts[0].name!r}, whose budget pays for "
                f"them: name {parts[0].name}"
            )
        return owners[0] if owners else DatasetConfig(name=str(place), source=place)

    def table_of(self, dataset: DatasetConfig, table: str | None, option: str = "--table") -> DatasetConfig:
        """A data set, or the table of its file that was named, which is a data set of its own."""
        if table is None or table == dataset.table:
            return dataset
        if dataset.is_served:
            raise ConfigError(
                f"{option} {table!r}: {str(dataset.source)!r} names its table behind the #: leave {option} out"
            )
        if dataset.name in self.datasets:
            chosen = "no table" if dataset.table is None else f"the table {dataset.table!r}"
            raise ConfigError(
                f"{option} {table!r}: data set {dataset.name!r} is of {chosen}, as its owner "
                f"configured it; leave {option} out"
            )
        name = f"{dataset.name}#{table}"
        return replace(dataset, name=name, account=name, table=table)

    def _place(self, source: str) -> Source:
        """Where the records are that nobody gave a name."""
        if is_server(source):
            return served_table_at(source)
        if is_lake(source):
            shown = without_passwords(source.partition("?")[0])
            raise ConfigError(
                f"SOURCE {shown!r} is on an object store, which is read only where its owner "
                "configured it: name a data set of noisycount.toml"
            )
        if is_place(source):
            return Path(source).resolve()
        remedy = (
            suggestion(source, self.datasets)
            if self.datasets
            else "check its path, or describe it in a file that `noisycount init` writes"
        )
        shown = without_passwords(source)
        raise ConfigError(f"SOURCE {shown!r} is neither a file nor a data set: {remedy}")

    def analyst(self, name: str | None, option: str = "--analyst") -> Analyst:
        """Who asks: the analyst that is named; nobody is charged for another's question."""
        if name is not None and name in self.analysts:
            return self.analysts[name]
        if name is not None:
            remedy = (
                suggestion(name, self.analysts)
                if self.analysts
                else f"leave {option} out, as the configuration names no analysts"
            )
            raise ConfigError(f"{option} {name!r} is not configured: {remedy}")
        if self.analysts:
            one = "" if len(self.analysts) == 1 else "one of "
            raise ConfigError(
                f"{option} is missing: name who asks, {one}{', '.join(self.analysts)}; anybody "
                "else, an owner too, is named in noisycount.toml first, by [analysts.NAME]"
            )
        return Analyst()
