"""Where records lie: a file, a folder, a pattern of files, or a table of a server; and the address of a ledger."""

import os.path
import re
import stat
from pathlib import Path
from shlex import quote as quote_word
from urllib.parse import quote, unquote

from noisycount.config.toml_table import FILE_KEYS, TomlTable
from noisycount.engines.places import SECONDS, LakePlace, ServedTable, ServerPlace, files_of, is_lake, is_server
from noisycount.errors import ConfigError, SourceError

Source = Path | ServedTable  # where the records of a data set are


def is_file(path: str | Path) -> bool:
    """Whether a path leads to a file; no name of whatever length or characters is an error."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises on a name that is too long


def is_place(path: str | Path) -> bool:
    """Whether a path is that of a file or a folder, or a pattern of which there are files.

    Example:
        >>> is_place("."), is_place("no*where/*.parquet"), is_place("a" * 5000)
        (True, False, False)
    """
    return os.path.isdir(path) or bool(_files(path))  # noqa: PTH112 - as above


def record_identities(place: str | Source) -> frozenset[tuple[object, ...]]:
    """What tells the records at a place from all others, by whatever path or address."""
    if isinstance(place, str) and is_server(place):
        place = served_table_at(place)
    if isinstance(place, ServedTable):
        return _records_of(place.place)
    states = map(os.stat, _files(place))
    return frozenset((state.st_dev, state.st_ino) for state in states)


def served_table_at(address: str) -> ServedTable:
    """The table of a server at an address that was typed."""
    try:
        return ServedTable(ServerPlace.read(address))
    except SourceError as error:
        raise ConfigError(f"SOURCE: {error}") from None


def _records_of(place: ServerPlace | LakePlace) -> frozenset[tuple[object, ...]]:
    """A table of a server; of a cluster the files themselves, where they lie on this machine."""
    if isinstance(place, ServerPlace) and place.is_cluster and place.table.startswith("/"):
        return record_identities(Path(place.table)) or frozenset([place.canonical])
    return frozenset([place.canonical])


def _files(path: str | Path) -> tuple[str | Path, ...]:
    """The files at a place; none where there is nothing."""
    if is_file(path):
        return (path,)
    if not str(path):  # what pathlib takes for the current folder
        return ()
    try:
        return files_of(Path(path).absolute())
    except SourceError:
        return ()


def readers_words(place: Source) -> str | None:
    """What an owner is told of files that other accounts of this machine can read; None: nothing."""
    if os.name != "posix" or not isinstance(place, Path):
        return None
    readers = next(filter(None, map(_readers, map(os.path.realpath, _files(place)))), None)
    if readers is None:
        return None
    there = next(each for each in (place, *place.parents) if each.exists())  # of a pattern, the folder
    return (
        f"{readers} can read {there}, and so count without a budget: chmod {'-R ' if there.is_dir() else ''}go= "
        f"{quote_word(str(there))} ends that; a key to `noisycount serve` lets a colleague ask without reading"
    )


def _readers(file: str) -> str | None:
    """Which other accounts can read a file, as the permissions of it and its folders say; None: none."""
    from grp import getgrgid  # noqa: PLC0415 - of this system alone
    from pwd import getpwuid  # noqa: PLC0415 - as above

    state = Path(file).stat()
    if state.st_mode & stat.S_IROTH and all(folder.stat().st_mode & stat.S_IXOTH for folder in Path(file).parents):
        return "every account of this machine"
    if not state.st_mode & stat.S_IRGRP:
        return None
    try:
        group, owner = getgrgid(state.st_gid).gr_name, getpwuid(state.st_uid).pw_name
    except KeyError:  # one that has no name
        return f"group {state.st_gid}"
    return None if group == owner else f"the group {group}"  # many an account has a group of its own name


PLAIN_NAME = re.compile(r"[\w-]+")  # a name that can be typed as it stands


def name_for(place: Source) -> str:
    """A name for the records at a place.

    Example:
        >>> name_for(Path("Umfrage 2025 (final).csv")), name_for(Path("visits/**/*.parquet"))
        ('Umfrage-2025-final', 'visits')
    """
    if isinstance(place, ServedTable):
        table = str(place).rpartition("#")[2].rstrip("/").rpartition("/")[2]
        return "-".join(PLAIN_NAME.findall(table.rpartition(".")[2]) or ["data"])
    stem = place.name.removesuffix(".gz")
    stem = stem[: -len(Path(stem).suffix)] if Path(stem).suffix else stem
    names = map(PLAIN_NAME.findall, (stem, *(folder.name for folder in place.parents)))
    return "-".join(next(filter(None, names), ["data"]))


def source_text(place: Source, folder: Path) -> str:
    """The path or the address of records as a configuration in a folder writes it: no password."""
    if isinstance(place, ServedTable):
        address = place.place
        return address.without_password if isinstance(address, ServerPlace) else str(place)
    below = place.is_relative_to(folder)
    return (place.relative_to(folder) if below else place).as_posix()


SERVER_KEYS = ("timeout", "indexes", "edition")  # what is said of a table of a server alone

_OF_FILES = {
    "table": "of a server stands behind the # of its address",
    "kinds": "are those of the server's columns, of which only nan can be stated, and ids are compared as they stand",
    **dict.fromkeys(FILE_KEYS, "is of a file"),
}

_NOT_OF_LAKES = {
    "table": "is of a database, and Parquet files are one",
    "kinds": "are those that Parquet files state, of which only nan can be stated",
    "indexes": "are of servers, and Parquet files have none",
    **dict.fromkeys(("public_tables", "vouched"), "is about a view, and Parquet files are none"),
    **dict.fromkeys(FILE_KEYS, "is of a file of texts"),
}


def read_served_table(table: TomlTable, source: str) -> ServedTable:
    """The table of a server, or the lake, that a data set is, with what is said of counting it."""
    is_of_lake = is_lake(source)
    for key, why in (_NOT_OF_LAKES if is_of_lake else _OF_FILES).items():
        if key in table.values and not (key == "kinds" and _states_only_nan(table.values[key])):
            raise table.refusal(key, f"{why}: leave {key} out")
    try:
        place = LakePlace.read(source) if is_of_lake else ServerPlace.read(source)
    except SourceError as error:
        raise ConfigError(f"{table.path}: [{table.name}] source: {error}") from None
    if "public_tables" in table.values and isinstance(place, ServerPlace) and place.engine != "postgresql":
        raise table.refusal("public_tables", "is about the definition of a view, which PostgreSQL alone shows")
    return ServedTable(
        place,
        edition=table.name_in_ledger("edition"),
        seconds=table.seconds("timeout") or SECONDS,
        uses_indexes=table.boolean("indexes") or False,
    )


def _states_only_nan(kinds: object) -> bool:
    """Return True if a table of kinds states nothing but that NaN is missing in columns of reals."""
    return isinstance(kinds, dict) and all(isinstance(form, dict) and "nan" in form for form in kinds.values())


def require_no_server(table: TomlTable) -> None:
    """The refusal of what is said of a file, and fits a server alone."""
    for key in SERVER_KEYS:
        if key in table.values:
            raise table.refusal(key, f"is of a table of a server: leave {key} out")


_SQLITE = re.compile(r"(?P<scheme>sqlite(\+\w+)?:///)(?P<file>[^?]*)(?P<options>\?.*)?")
_SERVER = re.compile(r"postgresql(\+\w+)?://.+")


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite address; None for a server.

    Example:
        >>> sqlite_file("sqlite:////data/ledger.db?timeout=5").as_posix()
        '/data/ledger.db'
    """
    match = _SQLITE.fullmatch(url)
    return _file(match) if match else None


def sqlite_url(file: Path) -> str:
    """The address of a SQLite file, whatever characters its path has.

    Example:
        >>> sqlite_url(Path("/data/50% of all?/ledger.db"))
        'sqlite:////data/50%25%20of%20all%3F/ledger.db'
    """
    return f"sqlite:///{_quoted(file)}"


def resolve_ledger_url(folder: Path, url: str) -> str | None:
    """An address with its relative SQLite file in a folder; None where no lasting ledger is named.

    Example:
        >>> resolve_ledger_url(Path("/data"), "sqlite:///ledger.db")
        'sqlite:////data/ledger.db'
    """
    match = _SQLITE.fullmatch(url)
    if match and match["file"] not in {"", ":memory:"}:
        file = _quoted(folder / _file(match))
        path = f"file:{quote(file)}" if _is_uri(match) else file
        return f"{match['scheme']}{path}{match['options'] or ''}"
    return url if _SERVER.fullmatch(url) else None


def _file(match: re.Match[str]) -> Path:
    """The file of a SQLite address; one that SQLite reads as a URI is quoted twice."""
    path = unquote(match["file"])
    return Path(unquote(path.removeprefix("file:")) if _is_uri(match) else path)


def _is_uri(match: re.Match[str]) -> bool:
    return "uri=true" in (match["options"] or "")


def _quoted(file: Path) -> str:
    try:
        return quote(str(file))
    except UnicodeEncodeError:
        raise ConfigError(
            f"ledger {str(file)!r} has a path that is not UTF-8: rename its folder, or name a "
            "ledger elsewhere in a file that `noisycount init` writes"
        ) from None
