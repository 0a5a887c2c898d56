"""The address of a ledger as a configuration writes it, without what opens one."""

import re
from pathlib import Path
from urllib.parse import quote, unquote

from noisycount.errors import ConfigError

__all__ = ["sqlite_file", "sqlite_url", "url_seen_from"]

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

    Raises:
        ConfigError: The path is not UTF-8.

    Example:
        >>> sqlite_url(Path("/data/50% of all?/ledger.db"))
        'sqlite:////data/50%25%20of%20all%3F/ledger.db'
    """
    return f"sqlite:///{_quoted(file)}"


def url_seen_from(folder: Path, url: str) -> str | None:
    """An address with its relative SQLite file in a folder; None where no lasting ledger is named.

    Raises:
        ConfigError: The path of the file is not UTF-8.

    Example:
        >>> url_seen_from(Path("/data"), "sqlite:///ledger.db")
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
