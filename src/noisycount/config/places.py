"""Places of records and ledgers: paths, patterns of files, and addresses of servers.

`record_identities` compares places, `read_served_table` reads one from the configuration, and `resolve_ledger_url`
reads the address of a ledger.
"""

import os.path
import re
import stat
from pathlib import Path
from shlex import quote as quote_word
from urllib.parse import quote, unquote

from noisycount.catalog.table_group import TableGroup
from noisycount.config.toml_table import FILE_KEYS, TomlTable
from noisycount.engines.places import SECONDS, LakePlace, ServedTable, ServerPlace, files_of, is_lake, is_server
from noisycount.errors import ConfigError, SourceError

Source = Path | ServedTable | TableGroup  # place of a data set's records


def is_file(path: str | Path) -> bool:
    """Return True if the path is a file. A name that the system does not allow is not an error."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises on a name that is too long


def is_place(path: str | Path) -> bool:
    """Return True if the path is a file or a folder, or a pattern that matches files.

    Example:
        >>> is_place("."), is_place("no*where/*.parquet"), is_place("a" * 5000)
        (True, False, False)
    """
    return os.path.isdir(path) or bool(_list_files(path))  # noqa: PTH112 - as above


def record_identities(place: str | Source) -> frozenset[tuple[object, ...]]:
    """Return identities of the records at a place, equal for all paths and addresses that lead to them.

    A file is identified by device and inode, a table by its canonical address. The set is empty if there is nothing.
    """
    if isinstance(place, str) and is_server(place):
        place = served_table_at(place)
    if isinstance(place, ServedTable):
        server, files = place.place, frozenset[tuple[object, ...]]()
        if isinstance(server, ServerPlace) and server.is_cluster and server.table.startswith("/"):
            files = record_identities(Path(server.table))  # a cluster may read files of this machine
        return files or frozenset([server.canonical])
    if isinstance(place, TableGroup):
        return frozenset(each for table in place.private_tables for each in record_identities(table.place))
    states = map(os.stat, _list_files(place))
    return frozenset((state.st_dev, state.st_ino) for state in states)


def served_table_at(address: str) -> ServedTable:
    """Return the table of a server at a typed address. Raises ConfigError for an invalid address."""
    try:
        return ServedTable(ServerPlace.read(address))
    except SourceError as error:
        raise ConfigError(f"SOURCE: {error}") from None


def _list_files(path: str | Path) -> tuple[str | Path, ...]:
    """Return the files at a path or pattern; empty if there are none."""
    if is_file(path):
        return (path,)
    if not str(path):  # pathlib would read it as the current folder
        return ()
    try:
        return files_of(Path(path).absolute())
    except SourceError:
        return ()


def other_readers_warning(place: Source) -> str | None:
    """Return a warning if other accounts of this machine can read the records, with the remedy; None if they cannot."""
    if isinstance(place, TableGroup):
        return next(filter(None, (other_readers_warning(table.place) for table in place.private_tables)), None)
    if os.name != "posix" or not isinstance(place, Path):
        return None
    readers = next(filter(None, map(_other_readers, map(os.path.realpath, _list_files(place)))), None)
    if readers is None:
        return None
    existing = next(path for path in (place, *place.parents) if path.exists())  # for a pattern, its folder
    return (
        f"{readers} can read {existing}, and count without a budget: chmod {'-R ' if existing.is_dir() else ''}go= "
        f"{quote_word(str(existing))} prevents that. A colleague can ask with a key to `noisycount serve`"
    )


def _other_readers(file: str) -> str | None:
    """Return words for the other accounts that may read a file by its permissions; None if no other account may."""
    from grp import getgrgid  # noqa: PLC0415 - exists on POSIX only
    from pwd import getpwuid  # noqa: PLC0415 - as `grp`

    state = Path(file).stat()
    if state.st_mode & stat.S_IROTH and all(folder.stat().st_mode & stat.S_IXOTH for folder in Path(file).parents):
        return "every account of this machine"
    if not state.st_mode & stat.S_IRGRP:
        return None
    try:
        group, owner = getgrgid(state.st_gid).gr_name, getpwuid(state.st_uid).pw_name
    except KeyError:  # the group or the owner has no name
        return f"group {state.st_gid}"
    return None if group == owner else f"the group {group}"  # a group with the name of its owner is usually private


PLAIN_NAME = re.compile(r"[\w-]+")  # a name that needs no quotes in a shell or in TOML


def suggest_name(place: Source) -> str:
    """Return a plain name for the records at a place, made from its last part.

    Example:
        >>> suggest_name(Path("Umfrage 2025 (final).csv")), suggest_name(Path("visits/**/*.parquet"))
        ('Umfrage-2025-final', 'visits')
    """
    if isinstance(place, TableGroup):
        return "-".join(PLAIN_NAME.findall(place.tables[0].name))
    if isinstance(place, ServedTable):
        table = str(place).rpartition("#")[2].rstrip("/").rpartition("/")[2]
        return "-".join(PLAIN_NAME.findall(table.rpartition(".")[2]) or ["data"])
    stem = place.name.removesuffix(".gz")
    stem = stem[: -len(Path(stem).suffix)] if Path(stem).suffix else stem
    names = map(PLAIN_NAME.findall, (stem, *(folder.name for folder in place.parents)))
    return "-".join(next(filter(None, names), ["data"]))


def source_text(place: Source, folder: Path) -> str:
    """Return the place as a configuration file in `folder` writes it, without a password."""
    if isinstance(place, ServedTable):
        address = place.place
        return address.without_password if isinstance(address, ServerPlace) else str(place)
    if isinstance(place, TableGroup):
        return str(place)
    is_inside = place.is_relative_to(folder)
    return (place.relative_to(folder) if is_inside else place).as_posix()


SERVER_KEYS = ("timeout", "indexes", "edition")  # keys that only a table of a server has

_INVALID_ON_SERVERS = {
    "table": "is named behind the # of a server's address",
    "kinds": "are those of the server's columns. Only nan can be stated, and ids are compared as they are",
    **dict.fromkeys(FILE_KEYS, "applies to files only"),
}

_INVALID_ON_LAKES = {
    "table": "applies to databases only",
    "kinds": "are those that the Parquet files state. Only nan can be stated",
    "indexes": "applies to servers only",
    **dict.fromkeys(("public_tables", "vouched"), "is about a view, which Parquet files are not"),
    **dict.fromkeys(FILE_KEYS, "applies to text files only"),
}


def read_served_table(table: TomlTable, source: str) -> ServedTable:
    """Read a data set on a server or an object store, with the settings for counting it.

    Raises ConfigError for keys that only files have.
    """
    is_on_lake = is_lake(source)
    for key, problem in (_INVALID_ON_LAKES if is_on_lake else _INVALID_ON_SERVERS).items():
        if key in table.values and not (key == "kinds" and _states_only_nan(table.values[key])):
            raise table.refusal(key, f"{problem}: leave {key} out")
    try:
        place = LakePlace.read(source) if is_on_lake else ServerPlace.read(source)
    except SourceError as error:
        raise ConfigError(f"{table.path}: [{table.name}] source: {error}") from None
    if "public_tables" in table.values and isinstance(place, ServerPlace) and place.engine != "postgresql":
        raise table.refusal(
            "public_tables", "is about the definition of a view, which only PostgreSQL shows: leave public_tables out"
        )
    return ServedTable(
        place,
        edition=table.name_in_ledger("edition"),
        seconds=table.seconds("timeout") or SECONDS,
        uses_indexes=table.boolean("indexes") or False,
    )


def _states_only_nan(kinds: object) -> bool:
    """Return True if the kinds state nothing except that NaN is a missing value."""
    return isinstance(kinds, dict) and all(isinstance(form, dict) and "nan" in form for form in kinds.values())


def require_no_server(table: TomlTable) -> None:
    """Raise ConfigError if the table of a file has a key that only tables of servers have."""
    for key in SERVER_KEYS:
        if key in table.values:
            raise table.refusal(key, f"applies to tables of servers only: leave {key} out")


_SQLITE = re.compile(r"(?P<scheme>sqlite(\+\w+)?:///)(?P<file>[^?]*)(?P<options>\?.*)?")
_SERVER = re.compile(r"postgresql(\+\w+)?://.+")


def sqlite_file(url: str) -> Path | None:
    """Return the file of a SQLite address, or None for another address.

    Example:
        >>> sqlite_file("sqlite:////data/ledger.db?timeout=5").as_posix()
        '/data/ledger.db'
    """
    match = _SQLITE.fullmatch(url)
    if match is None:
        return None
    path = unquote(match["file"])  # SQLite itself unquotes a URI once more
    return Path(unquote(path.removeprefix("file:")) if _is_uri(match) else path)


def sqlite_url(file: Path) -> str:
    """Return the address of a SQLite file. Special characters in its path are quoted.

    Example:
        >>> sqlite_url(Path("/data/50% of all?/ledger.db"))
        'sqlite:////data/50%25%20of%20all%3F/ledger.db'
    """
    try:
        return f"sqlite:///{quote(str(file))}"
    except UnicodeEncodeError:
        raise ConfigError(
            f"ledger {str(file)!r} has a path that is not UTF-8: rename its folder, or name a "
            "ledger elsewhere in a file that `noisycount init` writes"
        ) from None


def resolve_ledger_url(folder: Path, url: str) -> str | None:
    """Return the address of a ledger with an absolute file, or None if it names no lasting ledger.

    Example:
        >>> resolve_ledger_url(Path("/data"), "sqlite:///ledger.db")
        'sqlite:////data/ledger.db'
    """
    match, file = _SQLITE.fullmatch(url), sqlite_file(url)
    if match and file and match["file"] not in {"", ":memory:"}:
        quoted = sqlite_url(folder / file).removeprefix("sqlite:///")
        path = f"file:{quote(quoted)}" if _is_uri(match) else quoted
        return f"{match['scheme']}{path}{match['options'] or ''}"
    return url if _SERVER.fullmatch(url) else None


def _is_uri(match: re.Match[str]) -> bool:
    return "uri=true" in (match["options"] or "")
