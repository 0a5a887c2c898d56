"""Reading of the owner's `noisycount.toml` into a `Config`, and where the file is.

`find_config` finds the file and `load_config` reads it. `toml_table` has the values of a single table.
"""

import errno
import os.path
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import click

from noisycount.catalog.catalog import ROW
from noisycount.config import places
from noisycount.config.config import DEFAULT_BUDGET, Config, DatasetConfig
from noisycount.config.service import read_service
from noisycount.config.toml_table import FILE_KEYS, TomlTable, read_budget, read_file_form, read_kinds, read_values
from noisycount.engines.places import is_lake, is_server
from noisycount.errors import ConfigError
from noisycount.ledger.entries import Analyst, Head

FILE_NAME = "noisycount.toml"
TEMPLATE = Path(__file__).with_name("template.toml").read_text(encoding="utf-8")
_LEDGER_KEYS = ("url", "head")
_ANALYST_KEYS = ("budget",)
_REQUIRED = "required"
_LONGEST_REASON = 500  # characters

DATASET_KEYS = (
    *("source", "table", "unit", "size", "columns", "kinds", "values", "budget", "why", "account", "purpose"),
    *("public_tables", "vouched"),
    *FILE_KEYS,
    *places.SERVER_KEYS,
)


def find_config(start: Path) -> Path | None:
    """Return the `noisycount.toml` in a folder or the nearest parent folder, or None if there is none.

    Raises ConfigError if that path exists and is not a file.
    """
    folder = start.resolve()
    candidates = (parent / FILE_NAME for parent in (folder, *folder.parents))
    file = next(filter(os.path.lexists, candidates), None)
    if file is not None and not places.is_file(file):
        raise ConfigError(
            f"{file} is no file, but a folder, a pipe or a link that leads nowhere: restore the"
            " file, or remove it if nothing was configured by it"
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
    return Config(None, places.sqlite_url(ledger), {})


def _read_ledger_url(table: TomlTable) -> str:
    """Return the address of the ledger. The path of a SQLite file starts at the folder of the configuration."""
    table.require_known(_LEDGER_KEYS)
    url = places.resolve_ledger_url(table.path.parent, table.text("url") or "sqlite:///ledger.db")
    if url is not None:
        return url
    # The message leaves the value out, because an address may hold a password.
    raise ConfigError(f'{table.path}: [{table.name}] url: names no lasting ledger; write "sqlite:///ledger.db"')


def _read_analyst(name: str, table: TomlTable) -> Analyst:
    _check_name(name, table)
    table.require_known(_ANALYST_KEYS)
    return Analyst(name, read_budget(table))


def _check_name(name: str, table: TomlTable) -> None:
    """Raise ConfigError for a name that a shell or TOML would need quotes for."""
    if not places.PLAIN_NAME.fullmatch(name):
        place = f"{table.name.removesuffix(name)}{name!r}"
        raise ConfigError(f"{table.path}: [{place}]: a name is letters, digits, - and _: rename it")


def _read_dataset(name: str, table: TomlTable) -> DatasetConfig:
    _check_name(name, table)
    table.require_known(DATASET_KEYS)
    return DatasetConfig(
        name=name,
        source=_read_source(table),
        unit=table.text("unit") or ROW,
        size=table.whole_number("size"),
        columns=table.texts("columns"),
        table=table.text("table"),
        kinds=read_kinds(table),
        values=read_values(table),
        form=read_file_form(table),
        account=table.name_in_ledger("account", name) or name,
        budget=read_budget(table) or DEFAULT_BUDGET,
        needs_purpose=_needs_purpose(table),
        why=_read_sentence(table, "why", "the reason of the budget"),
        public_tables=table.texts("public_tables") or (),
        vouched=_read_sentence(table, "vouched", "why each row of a view is of one unit"),
    )


def _needs_purpose(table: TomlTable) -> bool:
    """Return True if the table requires a purpose for every query."""
    if table.text("purpose") not in {None, _REQUIRED}:
        raise table.refusal("purpose", f'must be "{_REQUIRED}", or be left out')
    return "purpose" in table.values


def _read_sentence(table: TomlTable, key: str, content: str) -> str | None:
    """Return the owner's statement under `key`, if any; it must be one line of at most 500 characters."""
    text = table.text(key)
    if text is not None and not (text.isprintable() and len(text) <= _LONGEST_REASON):
        raise table.refusal(key, f"must say {content} in 1 to {_LONGEST_REASON} printable characters, or be left out")
    return text


def _read_source(table: TomlTable) -> places.Source:
    """Return the absolute path of the records, which need not exist, or their table on a server."""
    source = table.text("source")
    if source is None:
        raise table.refusal("source", 'is missing: add the file, such as source = "data.csv"')
    if is_server(source) or is_lake(source):
        return places.read_served_table(table, source)
    places.require_no_server(table)
    place = table.path.parent / source
    try:
        place.stat()
    except ValueError:
        raise table.refusal("source", "is no path of a file: leave the NUL character out") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise table.refusal("source", "is a link that leads to itself: name the file that was meant") from None
    return place.resolve()


def _require_separate(path: Path, datasets: Iterable[DatasetConfig]) -> None:
    """Raise ConfigError if two data sets share records or an account: both of their budgets could be spent on these."""
    for first, second in combinations(datasets, 2):
        if first.overlaps(second):
            raise ConfigError(
                f"{path}: [datasets.{first.name}] and [datasets.{second.name}] are the same records, "
                f"{str(first.source)!r}, with a budget each: keep one of them"
            )
        if first.account == second.account:
            raise ConfigError(
                f"{path}: [datasets.{first.name}] and [datasets.{second.name}] have one account, "
                f"{first.account!r}, in the ledger: give each its own, or leave account out"
            )
