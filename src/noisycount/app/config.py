"""The owner's `noisycount.toml`: the ledger, the data sets, their budgets."""

import os.path
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, unquote

import click

from noisycount.app.budget_table import budget_in
from noisycount.app.toml_table import TomlTable, suggestion
from noisycount.errors import ConfigError
from noisycount.release.accountant import Budget
from noisycount.release.chain import Head
from noisycount.release.entries import Analyst
from noisycount.release.schema import Kind

__all__ = [
    "DEFAULT_BUDGET",
    "FILE_NAME",
    "TEMPLATE",
    "Config",
    "DatasetConfig",
    "find",
    "load",
    "sqlite_url",
    "without_file",
]

FILE_NAME = "noisycount.toml"
DEFAULT_BUDGET = Fraction(2)
TEMPLATE = Path(__file__).with_name("template.toml").read_text(encoding="utf-8")

LEDGER_KEYS = ("url", "head")
ANALYST_KEYS = ("budget",)
DATASET_KEYS = ("source", "table", "unit", "size", "columns", "kinds", "budget")
SQLITE_FILE = re.compile(r"(?P<scheme>sqlite(\+\w+)?:///)(?P<file>[^?]*)(?P<options>\?.*)?")
SERVER = re.compile(r"postgresql(\+\w+)?://.+")


@dataclass(frozen=True, slots=True)
class DatasetConfig:
    """What the owner says about one data set.

    Args:
        name: The name that its spending is booked under.
        source: The file, an absolute path.
        unit: The column that names the person; None: every row is one unit.
        size: The number of units where it is public, else None.
        columns: What questions may use; None: all but the unit.
        table: The table of a DuckDB file; None: its only one.
        kinds: Of the columns of a CSV file; None: whatever its cells fit.
        budget: The most that all answers together may cost; a number is a budget in ε.

    Raises:
        ConfigError: The source is relative, or the size or the budget is not positive.
    """

    name: str
    source: Path
    unit: str | None = None
    size: int | None = None
    columns: tuple[str, ...] | None = None
    table: str | None = None
    kinds: Mapping[str, Kind] | None = None
    budget: Fraction | Budget = DEFAULT_BUDGET

    def __post_init__(self) -> None:
        """Refuse what no file could have said."""
        if not self.source.is_absolute():
            raise ConfigError(f"source must be an absolute path, got {self.source}: resolve it")
        if self.size is not None and self.size < 1:
            raise ConfigError(f"size must be above 0, got {self.size}: give None if not public")
        if isinstance(self.budget, Fraction) and self.budget <= 0:
            raise ConfigError(f"budget must be above 0, got {self.budget}: give more")


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that one `noisycount.toml` says, with absolute paths.

    Args:
        path: The file; None where there is none.
        ledger_url: The ledger's address, as SQLAlchemy reads it.
        datasets: The data sets by name.
        analysts: Who may ask, by name; where nobody is named, everybody is the same analyst.
        written: The ledger's head that the owner wrote down, if any.
    """

    path: Path | None
    ledger_url: str
    datasets: Mapping[str, DatasetConfig]
    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    written: Head | None = None

    def __post_init__(self) -> None:
        """Keep data sets and analysts from being changed through the arguments."""
        object.__setattr__(self, "datasets", MappingProxyType(dict(self.datasets)))
        object.__setattr__(self, "analysts", MappingProxyType(dict(self.analysts)))

    @property
    def ledger_file(self) -> Path | None:
        """Return the file of a SQLite ledger, None for a server."""
        match = SQLITE_FILE.fullmatch(self.ledger_url)
        return _sqlite_file(match) if match else None

    def make_ledger_folder(self) -> None:
        """Make the ledger's folder, readable by its owner alone, where nobody configured one.

        The folder of a configured ledger must exist: one that is missing may be a disk not
        mounted, and a new ledger in its place would give spent budget away again.

        Raises:
            ConfigError: The folder cannot be made.
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
        """Return the data set that `source` means: a name, or a path.

        A path to the very file of a configured data set is that data set, under its budget.
        Another file is a data set of its own, named by its resolved path, under `DEFAULT_BUDGET`.

        Raises:
            ConfigError: `source` is neither, or its file belongs to several data sets.
        """
        if source in self.datasets:
            return self.datasets[source]
        if not _is_file(source):
            remedy = (
                suggestion(source, self.datasets)
                if self.datasets
                else "check its path, or describe it in a file that `noisycount init` writes"
            )
            raise ConfigError(f"SOURCE {source!r} is neither a file nor a data set: {remedy}")
        owners = [owner for owner in self.datasets.values() if _same_file(owner.source, source)]
        if len(owners) > 1:
            names = ", ".join(owner.name for owner in owners)
            raise ConfigError(f"SOURCE {source!r} is the file of several data sets: name {names}")
        path = Path(source).resolve()
        return owners[0] if owners else DatasetConfig(name=str(path), source=path)

    def analyst(self, name: str | None) -> Analyst:
        """Return who asks: the analyst that is named, or the only one there is.

        Raises:
            ConfigError: Nobody of that name may ask, or a name is missing.
        """
        if name is not None and name in self.analysts:
            return self.analysts[name]
        if name is not None:
            remedy = (
                suggestion(name, self.analysts)
                if self.analysts
                else "leave --analyst out, as the configuration names no analysts"
            )
            raise ConfigError(f"--analyst {name!r} is not configured: {remedy}")
        if len(self.analysts) > 1:
            names = ", ".join(self.analysts)
            raise ConfigError(f"--analyst is missing: name who asks, one of {names}")
        return next(iter(self.analysts.values()), Analyst())


def find(start: Path) -> Path | None:
    """Return `noisycount.toml` in `start` or the nearest folder above it, None without one."""
    folder = start.resolve()
    candidates = (place / FILE_NAME for place in (folder, *folder.parents))
    return next((candidate for candidate in candidates if _is_file(candidate)), None)


def load(path: Path) -> Config:
    """Return what the file at `path` says; its relative paths are seen from its folder.

    Raises:
        ConfigError: Any mistake in the file, in one line.
    """
    path = path.resolve()
    top = TomlTable.read(path)
    top.require_known(("ledger", "datasets", "analysts"))
    datasets = {name: _dataset(name, table) for name, table in top.table("datasets").tables()}
    analysts = {name: _analyst(name, table) for name, table in top.table("analysts").tables()}
    ledger = top.table("ledger")
    return Config(path, _ledger_url(ledger), datasets, analysts, _written(ledger))


def without_file() -> Config:
    """Return the configuration where there is no file: a ledger of the user, no data sets."""
    ledger = Path(click.get_app_dir("noisycount")).absolute() / "ledger.db"
    return Config(None, sqlite_url(ledger), {})


def sqlite_url(file: Path) -> str:
    """Return the address of a SQLite file, whatever signs its path has.

    >>> sqlite_url(Path("/data/50% of all?/ledger.db"))
    'sqlite:////data/50%25%20of%20all%3F/ledger.db'
    """
    return f"sqlite:///{quote(str(file))}"


def _is_file(path: str | Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises on a name that is too long


def _same_file(left: Path, right: str) -> bool:
    return _is_file(left) and left.samefile(right)


def _ledger_url(table: TomlTable) -> str:
    """Return the ledger's address; a relative SQLite file lies beside the configuration."""
    table.require_known(LEDGER_KEYS)
    url = table.text("url") or "sqlite:///ledger.db"
    match = SQLITE_FILE.fullmatch(url)
    if match and match["file"] not in {"", ":memory:"}:
        file = quote(str(table.path.parent / _sqlite_file(match)))
        path = f"file:{quote(file)}" if _is_uri(match) else file
        return f"{match['scheme']}{path}{match['options'] or ''}"
    if SERVER.fullmatch(url):
        return url
    # The value is left out on purpose: an address may hold a password.
    raise ConfigError(
        f'{table.path}: [{table.name}] url: names no lasting ledger; write "sqlite:///ledger.db"'
    )


def _written(table: TomlTable) -> Head | None:
    """Return the head that the owner wrote down."""
    text = table.text("head")
    try:
        return None if text is None else Head.read(text)
    except ValueError as error:
        raise ConfigError(f"{table.path}: [{table.name}] {error}") from None


def _analyst(name: str, table: TomlTable) -> Analyst:
    _check_name(name, table)
    table.require_known(ANALYST_KEYS)
    return Analyst(name, budget_in(table))


def _check_name(name: str, table: TomlTable) -> None:
    """Refuse a name that could not be typed as it stands."""
    if not re.fullmatch(r"[\w-]+", name):
        place = f"{table.name.removesuffix(name)}{name!r}"
        raise ConfigError(f"{table.path}: [{place}]: a name is letters, digits, - and _: rename it")


def _sqlite_file(match: re.Match[str]) -> Path:
    """Return the file of a SQLite address; one that SQLite reads as a URI is quoted twice."""
    path = unquote(match["file"])
    return Path(unquote(path.removeprefix("file:")) if _is_uri(match) else path)


def _is_uri(match: re.Match[str]) -> bool:
    return "uri=true" in (match["options"] or "")


def _dataset(name: str, table: TomlTable) -> DatasetConfig:
    _check_name(name, table)
    table.require_known(DATASET_KEYS)
    source = table.text("source")
    if source is None:
        raise table.refusal("source", 'is missing: add the file, such as source = "data.csv"')
    return DatasetConfig(
        name=name,
        source=(table.path.parent / source).resolve(),
        unit=table.text("unit"),
        size=table.whole_number("size"),
        columns=table.texts("columns"),
        table=table.text("table"),
        kinds=_kinds(table),
        budget=budget_in(table) or DEFAULT_BUDGET,
    )


def _kinds(table: TomlTable) -> dict[str, Kind] | None:
    """Return the stated kind of each column, None where none is stated."""
    if "kinds" not in table.values:
        return None
    stated = table.table("kinds")
    known = {kind.value: kind for kind in Kind}
    kinds = {name: known.get(str(value)) for name, value in stated.values.items()}
    for name, kind in kinds.items():
        if kind is None:
            raise stated.refusal(name, f"is no kind: write one of {', '.join(known)}, in quotes")
    return {name: kind for name, kind in kinds.items() if kind is not None}
