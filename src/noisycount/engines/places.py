"""Places of records: files, Parquet files on object stores, and tables of servers and clusters.

The text of a place that is shown contains no password.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, quote, unquote

from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.predicate import quoted_name
from noisycount.validation import stat_or_none

# An example of the address of a table.
EXAMPLE = "postgresql+psycopg://user@host/database#schema.table"
SPARK = ("spark", "sc")  # schemes of Spark clusters
_START = re.compile(r"(?P<engine>[A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9_]+)?://")
_USER = re.compile(r"(?P<user>[^:/@?#]*)(:(?P<password>[^@]*))?@")  # as SQLAlchemy reads it
_REST = re.compile(r"(?P<host>\[[^\]/?#]*\]|[^:/?#]*)(:(?P<port>[0-9]*))?(?P<path>/[^?#]*)?(\?(?P<query>[^#]*))?")
_WHERE = {"host", "hostaddr", "port", "dbname", "service", "service_name", "http_path", "catalog"}

_PORTS = {
    "postgresql": "5432",
    "redshift": "5439",
    "cockroachdb": "26257",
    "mysql": "3306",
    "mssql": "1433",
    "oracle": "1521",
    "trino": "8080",
    "spark": "7077",
    "sc": "15002",
}

_SCHEMAS = {"postgresql": "public", "mssql": "dbo"}
_SAME = {"mariadb": "mysql"}
_HERE = {"", "127.0.0.1", "::1", "[::1]"}


@frozen
class ServerPlace:
    """A table of a server or a cluster, or a server alone."""

    engine: str  # without its driver: `postgresql`, `spark`, `sc`
    user: str = field(repr=False)  # may be empty
    host: str  # as written; empty: this machine
    port: str  # as written; empty: the default port
    path: str  # the database, with the slash before it
    where: tuple[tuple[str, str], ...]  # options that identify the server or database
    url: str = field(repr=False)  # address of the server, which may contain a password: never shown
    table: str  # with its schema before a dot; or a folder or an address of Parquet files that a cluster reads

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the text of a place.

        Example:
            >>> ServerPlace.read("postgresql+psycopg://ward:secret@db:5433/clinic#visits").shown
            'postgresql://db:5433/clinic#visits'
        """
        place = cls.read_server(text)
        if not place.table:
            raise SourceError(f"{place.shown!r} names no table: write it after a #, as {EXAMPLE}")
        return place

    @classmethod
    def read_server(cls, text: str) -> Self:
        """Parse the address of a server. A password may contain any character except @, as in SQLAlchemy."""
        start = _START.match(text)
        engine = "" if start is None else start["engine"].lower()
        begin = 0 if start is None else start.end()
        user = None if engine in SPARK else _USER.match(text, begin)
        rest = _REST.match(text, begin if user is None else user.end())
        url, table = (text, "") if rest is None else (text[: rest.end()], text[rest.end() :])
        is_clear = engine in SPARK or "@" not in text[begin if user is None else user.end() :]
        if start is None or rest is None or table[:1] not in {"", "#"} or not is_clear:
            raise SourceError(
                f"the address of the server cannot be read: write it as {EXAMPLE}, with %40 for an "
                "@ in a password or a name"
            )
        options = dict(parse_qsl(rest["query"] or ""))
        return cls(
            engine=engine,
            user="" if user is None else unquote(user["user"]),
            host=rest["host"],
            port=rest["port"] or "",
            path=(rest["path"] or "").partition(";")[0].rstrip("/"),
            where=tuple((name, options[name]) for name in sorted(options.keys() & _WHERE)),
            url=url,
            table=unquote(table[1:]),
        )

    def with_table(self, name: str) -> Self:
        """Return the place of a table of the server, in the schema of the account."""
        return type(self).read(f"{self.url}#{quote(quoted_name(name))}")

    @property
    def is_cluster(self) -> bool:
        """True for a Spark cluster."""
        return self.engine in SPARK

    @property
    def shown(self) -> str:
        """Address in messages and the ledger, without user, password, and options that do not identify the place."""
        port = f":{self.port}" if self.port else ""
        where = "&".join(f"{name}={value}" for name, value in self.where)
        return f"{self.engine}://{self.host}{port}{self.path}{where and '?'}{where}{self.table and '#'}{self.table}"

    @property
    def canonical(self) -> tuple[str, ...]:
        """Parts of the address that are equal for two addresses of the same table, as far as addresses show that.

        Host names are not resolved: different names count as different hosts.

        Example:
            >>> short, whole = "postgresql://ward@db/clinic#visits", "db:5432/clinic#public.visits"
            >>> whole = ServerPlace.read(f"postgresql+psycopg://{whole}")
            >>> ServerPlace.read(short).canonical == whole.canonical
            True
        """
        where = dict(self.where)
        engine = _SAME.get(self.engine, self.engine)
        host = where.pop("host", self.host).lower()
        port = where.pop("port", self.port) or _PORTS.get(engine, "")
        named = self.user if engine == "postgresql" else ""
        database = where.pop("dbname", unquote(self.path.strip("/"))) or named
        names = [self.table] if "/" in self.table else _split_name(self.table)
        schema = _SCHEMAS.get(engine)
        if len(names) == 1 and schema is not None:
            names.insert(0, schema)
        is_local = host in _HERE
        return (
            engine,
            "localhost" if is_local else host,
            port,
            database,
            *(f"{name}={value}" for name, value in where.items()),
            *names,
        )

    @property
    def without_password(self) -> str:
        """Address without password, for a configuration that reads the password from elsewhere.

        Example:
            >>> place = ServerPlace.read("postgresql://ward:secret@db/clinic?sslmode=require#visits")
            >>> place.without_password
            'postgresql://ward@db/clinic?sslmode=require#visits'
        """
        start = self.url.index("://") + 3
        login = None if self.engine in SPARK else _USER.match(self.url, start)
        rest = self.url[start if login is None else login.end() :]
        rest = _SECRET_PARAMETER.sub("", _SECRET_OPTION.sub(r"\1", rest)).rstrip("?&")
        user = f"{login['user']}@" if login is not None and login["user"] else ""
        return f"{self.url[:start]}{user}{rest}#{quote(self.table, safe='/.:')}"


def _split_name(table: str) -> list[str]:
    """Split the name of a table at its dots. A part with a dot stands in quotation marks."""
    return [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(table)]


_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_HIDDEN = r"[^=&;]*(?:pass(?:word)?|pwd|token|secret|odbc_connect|credentials?)[^=&;]*"
_SECRET_OPTION = re.compile(rf"([?&]){_HIDDEN}=[^&]*&?", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(rf";{_HIDDEN}=[^;]*", re.IGNORECASE)
COLUMNAR = (".parquet", ".pq")


_LOGS = (".wal", "-wal", "-journal")  # endings of the log of DuckDB, and of those of SQLite


def pending_logs(database: Path) -> tuple[Path, ...]:
    """Return the logs of a database file that contain changes not yet written to the file.

    DuckDB and SQLite write a log beside the file that a symbolic link leads to, never beside the link.
    """
    file = os.path.realpath(database) if os.path.islink(database) else str(database)  # noqa: PTH114 - as below
    return tuple(Path(file + ending) for ending in _LOGS if _holds_bytes(file + ending))


def _holds_bytes(path: str) -> bool:
    """Return True if a path leads to a file that is not empty."""
    try:
        state = os.stat(path)  # noqa: PTH116 - before and after every count: a Path takes five times as long
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size > 0


def files_of(place: Path) -> tuple[Path, ...]:
    """Return the files with the records of a place, including logs of a database with unsaved changes.

    Args:
        place: A file, taken literally; a folder, with all Parquet files below it; or a pattern such as
            `data/*.parquet`.

    Raises:
        SourceError: If there is no such file, or a folder may not be read.
    """
    try:
        if place.is_file():
            return (place,) if place.suffix.lower() in COLUMNAR else (place, *pending_logs(place))
        if place.is_dir():
            paths = [file for file in files_below(place) if file.name.lower().endswith(COLUMNAR)]
        else:
            paths = list(Path(place.anchor).glob(str(place.relative_to(place.anchor))))
        files = tuple(sorted(path for path in paths if path.is_file()))
    except PermissionError as error:
        raise SourceError(
            f"{str(place)!r} cannot be read completely: this account may not read {error.filename!r}"
        ) from None
    except (OSError, ValueError, NotImplementedError):
        files = ()
    if not files:
        raise SourceError(f"{str(place)!r} does not exist, or contains no Parquet file: check its path")
    return files


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files in and below a folder. Links to folders are not followed."""
    for parent, _, names in os.walk(folder, onerror=_raise_folder_error):
        yield from (Path(parent, name) for name in names)


def _raise_folder_error(error: OSError) -> None:
    """Raise the error of a folder that cannot be read: `os.walk` would skip it."""
    raise error


def is_several(place: Path) -> bool:
    """Return True if a path means several files: a folder, or a pattern that is not the name of a file.

    Example:
        >>> is_several(Path("data/*.parquet")), is_several(Path("data.parquet"))
        (True, False)
    """
    try:
        is_pattern = re.search(r"[*?\[]", str(place)) is not None
        return place.is_dir() or (is_pattern and stat_or_none(place) is None)
    except (OSError, ValueError):
        return False


Keys = tuple[tuple[str, str], ...]  # columns named by the folders around a file, each with its value as written


def hive_keys(place: Path, files: tuple[Path, ...]) -> tuple[Keys, ...]:
    """Return the columns that the names of the files' folders state, such as `year=2024`; () if there are none.

    Folders of the place itself do not count, up to the first pattern in it.

    Example:
        >>> hive_keys(Path("/visits"), (Path("/visits/year=2024/town=Bern/0.parquet"),))
        ((('year', '2024'), ('town', 'Bern')),)
        >>> hive_keys(Path("/visits/year=2024"), (Path("/visits/year=2024/0.parquet"),))
        ()
    """
    fixed = next((n for n, part in enumerate(place.parts) if re.search(r"[*?\[]", part)), len(place.parts))
    all_keys = tuple(_keys_around(file.parts[fixed:-1]) for file in files)
    if not any(all_keys):
        return ()
    names = {tuple(name for name, _ in keys) for keys in all_keys}
    if len(names) > 1:
        different = " and ".join(sorted("/".join(each) or "none" for each in names)[:2])
        raise SourceError(
            f"{str(place)!r} has files in folders of different keys ({different}): use the same keys in all of them"
        )
    return all_keys


def _keys_around(folders: tuple[str, ...]) -> Keys:
    """Return the partition keys of the innermost folders: (name, value) for each folder called name=value."""
    keys: list[tuple[str, str]] = []
    for folder in reversed(folders):
        name, mark, value = folder.partition("=")
        if not (name and mark):
            break
        keys.insert(0, (name, value))
    return tuple(keys)


def state_of(files: tuple[Path, ...]) -> tuple[tuple[int, ...], ...]:
    """Return numbers that change when one of the files is written, replaced or touched."""
    try:
        states = [file.stat() for file in files]
    except OSError:
        raise SourceError(f"{files[0].name!r} cannot be read any more: open it again") from None
    return tuple((each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino, each.st_dev) for each in states)


_SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https")
_SAME_LAKES = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z0-9]+)://(?P<rest>[^?#]+)(\?[^#]*)?")


def is_lake(text: str) -> bool:
    """Return True if a text is an address of files on an object store or a file server.

    Example:
        >>> is_lake("s3://bucket/visits/*.parquet"), is_lake("visits/*.parquet")
        (True, False)
    """
    return text.partition("://")[0].lower() in _SCHEMES and "://" in text


@frozen
class LakePlace:
    """Parquet files on an object store."""

    url: str = field(repr=False)  # address, which may contain a signature: never shown
    shown: str  # address in messages and the ledger, without login and signature

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse the text of a place.

        Example:
            >>> LakePlace.read("https://files.example.org/visits.parquet?signature=x").shown
            'https://files.example.org/visits.parquet'
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or not match["rest"].strip("/"):
            raise SourceError("the address of the files cannot be read: write it as s3://bucket/visits/*.parquet")
        scheme, rest = match["scheme"].lower(), match["rest"]
        if scheme in {"http", "https"}:
            rest = rest.rpartition("@")[2]
        return cls(text, f"{scheme}://{rest}")

    @property
    def canonical(self) -> tuple[str, ...]:
        """Parts of the address that are equal for two addresses of the same files, as far as addresses show that."""
        scheme, _, rest = self.shown.partition("://")
        folder = re.sub(r"(/\*\*)?(/\*\.(parquet|pq))?/*$", "", rest)
        return (_SAME_LAKES.get(scheme, scheme), folder if folder.strip("/") else rest)


_FILES = ("s3", "s3a", "gs", "gcs", "r2", "az", "abfss", "http", "https", "file", "sqlite")


def is_server(text: str) -> bool:
    """Return True if a text is the address of a server or a cluster.

    Example:
        >>> is_server("postgresql+psycopg://ward@db/clinic#visits"), is_server("visits.csv")
        (True, False)
    """
    match = _START.match(text)
    return match is not None and match["engine"].lower() not in _FILES


SECONDS = 600.0  # default time-out of a count


@frozen
class ServedTable:
    """A table of a server or a cluster, or Parquet files on an object store."""

    place: ServerPlace | LakePlace
    # The owner's name for the present records; None: no name. A live table has no digest: an answer is valid until the
    # owner states another edition.
    edition: str | None = None
    seconds: float = SECONDS  # time-out of a count
    uses_indexes: bool = False  # True if a count may use indexes: faster, but the time reveals the number of matches

    def __str__(self) -> str:
        return self.place.shown

    @property
    def digest(self) -> str:
        """SHA-256 of the place, in hexadecimal digits; equal for two addresses of one table."""
        return hashlib.sha256(json.dumps(self.place.canonical).encode("ascii")).hexdigest()
