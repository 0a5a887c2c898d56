"""The owner's `noisycount.toml`: where it lies, and what it says."""

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
_LONGEST_REASON = 500  # characters: a sentence or two

DATASET_KEYS = (
    *("source", "table", "unit", "size", "columns", "kinds", "values", "budget", "why", "account", "purpose"),
    *("public_tables", "vouched"),
    *FILE_KEYS,
    *places.SERVER_KEYS,
)


def find_config(start: Path) -> Path | None:
    """The `noisycount.toml` in a folder or in the nearest above it; None where there is none."""
    folder = start.resolve()
    candidates = (place / FILE_NAME for place in (folder, *folder.parents))
    found = next(filter(os.path.lexists, candidates), None)
    if found is not None and not places.is_file(found):
        raise ConfigError(
            f"{found} is no file, but a folder, a pipe or a link that leads nowhere: restore the"
            " file, or remove it if nothing was configured by it"
        )
    return found


def load_config(path: Path) -> Config:
    """What the file at `path` says; its relative paths are seen from its folder."""
    path = Path(os.path.realpath(path))  # Path.resolve raises where links lead in a circle
    top = TomlTable.read(path)
    top.require_known(("ledger", "datasets", "analysts", "server"))
    datasets = {name: _dataset(name, table) for name, table in top.table("datasets").tables()}
    _require_apart(path, datasets.values())
    analysts = {name: _analyst(name, table) for name, table in top.table("analysts").tables()}
    ledger = top.table("ledger")
    url, head = _ledger_url(ledger), ledger.text("head")
    with ledger.locating_errors():
        known_head = None if head is None else Head.read(head)
    return Config(path, url, datasets, analysts, known_head, read_service(top.table("server")))


def default_config() -> Config:
    """The configuration where there is no file: a ledger of the user, no data sets."""
    ledger = Path(click.get_app_dir("noisycount")).absolute() / "ledger.db"
    return Config(None, places.sqlite_url(ledger), {})


def _ledger_url(table: TomlTable) -> str:
    """The ledger's address; a relative SQLite file lies beside the configuration."""
    table.require_known(_LEDGER_KEYS)
    url = places.resolve_ledger_url(table.path.parent, table.text("url") or "sqlite:///ledger.db")
    if url is not None:
        return url
    # The value is left out on purpose: an address may hold a password.
    raise ConfigError(f'{table.path}: [{table.name}] url: names no lasting ledger; write "sqlite:///ledger.db"')


def _analyst(name: str, table: TomlTable) -> Analyst:
    _check_name(name, table)
    table.require_known(_ANALYST_KEYS)
    return Analyst(name, read_budget(table))


def _check_name(name: str, table: TomlTable) -> None:
    """The refusal of a name that could not be typed as it stands."""
    if not places.PLAIN_NAME.fullmatch(name):
        place = f"{table.name.removesuffix(name)}{name!r}"
        raise ConfigError(f"{table.path}: [{place}]: a name is letters, digits, - and _: rename it")


def _dataset(name: str, table: TomlTable) -> DatasetConfig:
    _check_name(name, table)
    table.require_known(DATASET_KEYS)
    return DatasetConfig(
        name=name,
        source=_source(table),
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
        why=_sentence(table, "why", "the reason of the budget"),
        public_tables=table.texts("public_tables") or (),
        vouched=_sentence(table, "vouched", "why each row of a view is of one unit"),
    )


def _needs_purpose(table: TomlTable) -> bool:
    """Whether a spend must say what its answer is for."""
    if table.text("purpose") not in {None, _REQUIRED}:
        raise table.refusal("purpose", f'must be "{_REQUIRED}", or be left out')
    return "purpose" in table.values


def _sentence(table: TomlTable, key: str, content: str) -> str | None:
    """Return what the owner states in one line, if anything."""
    text = table.text(key)
    if text is not None and not (text.isprintable() and len(text) <= _LONGEST_REASON):
        raise table.refusal(key, f"must say {content} in 1 to {_LONGEST_REASON} printable characters, or be left out")
    return text


def _source(table: TomlTable) -> places.Source:
    """The absolute path of the records, which need not be there; or their table on a server."""
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


def _require_apart(path: Path, datasets: Iterable[DatasetConfig]) -> None:
    """The refusal of two data sets of the same records: their budgets would add up."""
    for one, other in combinations(datasets, 2):
        if one.overlaps(other):
            raise ConfigError(
                f"{path}: [datasets.{one.name}] and [datasets.{other.name}] are the same records, "
                f"{str(one.source)!r}, with a budget each: keep one of them"
            )
        if one.account == other.account:
            raise ConfigError(
                f"{path}: [datasets.{one.name}] and [datasets.{other.name}] have one account, "
                f"{one.account!r}, in the ledger: give each its own, or leave account out"
            )
