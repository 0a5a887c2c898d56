"""The parts of the address of a server or a cluster, read so that no password is left in them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qsl, unquote

from noisycount.errors import SourceError

__all__ = ["EXAMPLE", "SPARK", "Address"]

EXAMPLE = "postgresql+psycopg://user@host/database#schema.table"
"""How an address of a table is written."""

SPARK = ("spark", "sc")
"""The schemes of a cluster."""

_START = re.compile(r"(?P<engine>[A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9_]+)?://")
_USER = re.compile(r"(?P<user>[^:/@?#]*)(:(?P<password>[^@]*))?@")  # as SQLAlchemy reads it
_REST = re.compile(
    r"(?P<host>\[[^\]/?#]*\]|[^:/?#]*)(:(?P<port>[0-9]*))?(?P<path>/[^?#]*)?(\?(?P<query>[^#]*))?"
)
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


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, taken apart.

    Attributes:
        engine: What answers, without its driver: `postgresql`.
        user: Who asks; empty: nobody is named.
        host: As it is written; empty: this machine.
        port: As it is written; empty: the usual one.
        path: The database, with the slash before it.
        where: The options that say which server or database is meant.
        url: All of it, which may hold a password.
        table: What stands behind the #.
    """

    engine: str
    user: str
    host: str
    port: str
    path: str
    where: Mapping[str, str]
    url: str = field(repr=False)
    table: str = ""

    @classmethod
    def read(cls, text: str) -> Self:
        """The parts of an address.

        A password may hold anything but an @, as SQLAlchemy reads it.

        Raises:
            SourceError: It is no address, or nobody can tell where its password ends.
        """
        start = _START.match(text)
        engine = "" if start is None else start["engine"].lower()
        begin = 0 if start is None else start.end()
        who = None if engine in SPARK else _USER.match(text, begin)
        rest = _REST.match(text, begin if who is None else who.end())
        url, table = (text, "") if rest is None else (text[: rest.end()], text[rest.end() :])
        is_clear = engine in SPARK or "@" not in text[begin if who is None else who.end() :]
        if start is None or rest is None or table[:1] not in {"", "#"} or not is_clear:
            raise SourceError(
                f"the address of the server cannot be read: write it as {EXAMPLE}, with %40 for an "
                "@ in a password or a name"
            )
        options = dict(parse_qsl(rest["query"] or ""))
        return cls(
            engine=engine,
            user="" if who is None else unquote(who["user"]),
            host=rest["host"],
            port=rest["port"] or "",
            path=(rest["path"] or "").partition(";")[0].rstrip("/"),
            where={name: options[name] for name in sorted(options.keys() & _WHERE)},
            url=url,
            table=unquote(table[1:]),
        )

    @property
    def shown(self) -> str:
        """The address without user, password and options that say nothing of the place."""
        port = f":{self.port}" if self.port else ""
        where = "&".join(f"{name}={value}" for name, value in self.where.items())
        return f"{self.engine}://{self.host}{port}{self.path}{where and '?'}{where}"

    @property
    def canonical(self) -> tuple[str, ...]:
        """What is the same for two addresses of one table, as far as they tell.

        Names of one host are not looked up, and are taken for different hosts.
        """
        where = dict(self.where)
        engine = _SAME.get(self.engine, self.engine)
        host = where.pop("host", self.host).lower()
        port = where.pop("port", self.port) or _PORTS.get(engine, "")
        named = self.user if engine == "postgresql" else ""
        database = where.pop("dbname", unquote(self.path.strip("/"))) or named
        names = [self.table] if "/" in self.table else _names(self.table)
        schema = _SCHEMAS.get(engine)
        if len(names) == 1 and schema is not None:
            names.insert(0, schema)
        is_here = host in _HERE
        return (
            engine,
            "localhost" if is_here else host,
            port,
            database,
            *(f"{name}={value}" for name, value in where.items()),
            *names,
        )

    @property
    def without_password(self) -> str:
        """The address as a configuration holds it, for a password that comes from elsewhere."""
        start = self.url.index("://") + 3
        who = None if self.engine in SPARK else _USER.match(self.url, start)
        rest = self.url[start if who is None else who.end() :]
        rest = _SECRET_PARAMETER.sub("", _SECRET_OPTION.sub(r"\1", rest)).rstrip("?&")
        user = f"{who['user']}@" if who is not None and who["user"] else ""
        return f"{self.url[:start]}{user}{rest}"


def _names(table: str) -> list[str]:
    """What a table is in, and its own name; a name with a dot of its own stands in quotes."""
    return [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(table)]


_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_HIDDEN = r"[^=&;]*(?:pass(?:word)?|pwd|token|secret|odbc_connect|credentials?)[^=&;]*"
_SECRET_OPTION = re.compile(rf"([?&]){_HIDDEN}=[^&]*&?", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(rf";{_HIDDEN}=[^;]*", re.IGNORECASE)
