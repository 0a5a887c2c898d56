"""Typed values out of a TOML file; a refusal names file, table, key, value and remedy."""

import csv
import json
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, TypeGuard

from noisycount.display.texts import without_passwords
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.budget import PARTS, Budget, budget_from
from noisycount.ledger.entries import check_text
from noisycount.query.schema import KINDS, Stated

_SHOWN_LENGTH = 60
_LONGEST = 604_800  # seconds: a week


@frozen
class TomlTable:
    """One table of the TOML file at `path`."""

    path: Path  # the file, for the refusals
    name: str  # the table's dotted name; empty for the top of the file
    values: Mapping[str, Any]  # the keys of the table and what they hold

    @classmethod
    def read(cls, path: Path) -> Self:
        """The top table of the file at `path`."""
        try:
            values = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be read ({error.strerror}): name a readable file, "
                "or write a new one with `noisycount init`"
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(f"{path} is not UTF-8 text: save it as UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path} is not valid TOML: {error}; correct it there") from None
        except (ValueError, RecursionError):
            raise ConfigError(f"{path} holds a number too long or brackets too deep to read: shorten them") from None
        return cls(path, "", values)

    def refusal(self, key: str, problem: str) -> ConfigError:
        """The error that names file, table, key and value, then the problem."""
        place = f"[{self.name}] {key}" if self.name else key
        value = f" = {_shown(self.values[key])}" if key in self.values else ""
        return ConfigError(f"{self.path}: {place}{value}: {problem}")

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Let the refusal of a value, which names its key, name file and table too."""
        try:
            yield
        except ValueError as error:
            raise ConfigError(f"{self.path}: [{self.name}] {error}") from None

    def name_in_ledger(self, key: str, usual: str | None = None) -> str | None:
        """The text under `key` that the ledger can keep, or what is usual."""
        text = self.text(key) or usual
        with self.locating_errors():
            if text is not None:
                check_text(key, text)
        return text

    def require_known(self, known: Collection[str]) -> None:
        """Raise ConfigError for the first key that is not `known`."""
        for key, value in self.values.items():
            if key not in known:
                kind = "table" if isinstance(value, dict) else "key"
                place = f"[{self.name}] {key}" if self.name else key
                raise ConfigError(f"{self.path}: {place}: unknown {kind}; {suggestion(key, known)}")

    def table(self, key: str) -> "TomlTable":
        """The table under `key`, empty where it is left out."""
        name = f"{self.name}.{key}" if self.name else key
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.refusal(key, f"must be a table: write [{name}]")
        return TomlTable(self.path, name, value)

    def tables(self) -> Iterator[tuple[str, "TomlTable"]]:
        """Every key of this table with the table that it holds."""
        for key in self.values:
            yield key, self.table(key)

    def text(self, key: str) -> str | None:
        """The text under `key`, None where it is left out."""
        value = self.values.get(key)
        if value is None or _is_text(value):
            return value
        raise self.refusal(key, 'must be a text in quotes, such as "name"')

    def whole_number(self, key: str) -> int | None:
        """The whole number above 0 under `key`, None where it is left out."""
        value = self.values.get(key)
        if value is None or (type(value) is int and value > 0):
            return value
        raise self.refusal(key, "must be a whole number above 0, without quotes, or be left out")

    def seconds(self, key: str) -> float | None:
        """The number of seconds above 0 under `key`, None where it is left out."""
        value = self.values.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or (is_number and 0 < value <= _LONGEST):
            return None if value is None else float(value)
        raise self.refusal(key, f"must be a number of seconds above 0, at most {_LONGEST:,}")

    def boolean(self, key: str) -> bool | None:
        """Whether what `key` says holds, None where it is left out."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.refusal(key, "must be true or false, without quotes")

    def texts(self, key: str) -> tuple[str, ...] | None:
        """The list of different texts under `key`, None where it is left out."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(map(_is_text, value)):
            raise self.refusal(key, 'must be a list of texts, such as ["age", "health"]')
        if len(set(value)) < len(value):
            raise self.refusal(key, "names one twice: keep each once")
        return tuple(value)


def suggestion(name: str, known: Collection[str]) -> str:
    """The remedy for an unknown `name`: the closest known one, or all of them.

    >>> suggestion("budgte", ["source", "budget"])
    'did you mean budget?'
    >>> suggestion("colour", ["source", "budget"])
    'known: source, budget'
    """
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known) or 'none'}"


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.strip() != ""


def _shown(value: object) -> str:
    """A value as TOML would write it, on one line and not longer than a line."""
    text = without_passwords(json.dumps(value, default=str, ensure_ascii=False))
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."


def read_budget(table: TomlTable) -> Budget | None:
    """The budget of a table; None where it is left out."""
    value = table.values.get("budget")
    if value is None:
        return None
    parts = table
    if isinstance(value, dict):
        parts = table.table("budget")
        parts.require_known(PARTS)
    for key in parts.values if parts is not table else ["budget"]:
        if isinstance(parts.values[key], float):  # 0.3 would not be three tenths
            raise parts.refusal(key, f'is not exact: write it in quotes, {key} = "{parts.values[key]}"')
    with parts.locating_errors():
        return budget_from(value)


_TEXT = (str,), "a text in quotes"
_NUMBER = (int,), "a whole number, without quotes"
_TRUTH = (bool,), "true or false, without quotes"
_TEXTS = (str, list), 'a text or a list of texts, such as ["Total", "Source:"]'
_PARTS = {
    **dict.fromkeys(("encoding", "delimiter", "ragged"), _TEXT),
    **dict.fromkeys(("skip", "skip_rows_after_header"), _NUMBER),
    **dict.fromkeys(("header", "drop_empty_rows", "drop_rows_like_header"), _TRUTH),
    **dict.fromkeys(("comment", "footer"), _TEXTS),
    "names": ((list, dict), 'a list of texts, or texts by place, such as { 3 = "ward" }'),
}
FILE_KEYS = tuple(_PARTS)  # what is said of a file of texts


def read_kinds(table: TomlTable) -> dict[str, ColumnFormat] | None:
    """What the texts of each column stand for; None where nothing is stated."""
    if "kinds" not in table.values:
        return None
    stated = table.table("kinds")
    return {name: _column_form(stated, name) for name in stated.values}


def read_values(table: TomlTable) -> dict[str, Stated]:
    """What each column can have, as everybody may know: a range, a list, or the lines of a file."""
    stated = table.table("values")
    return {name: _values(stated, name) for name in stated.values}


def _values(stated: TomlTable, name: str) -> Stated:
    """The values of one column; what they mean is known once its kind is."""
    said = stated.values[name]
    if isinstance(said, dict):
        stated = stated.table(name)
        stated.require_known(["file"])
        file = stated.path.parent / (stated.text("file") or "")
        try:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                said = [row[0].strip() for row in csv.reader(lines) if row and row[0].strip()]
        except (OSError, ValueError, csv.Error):
            raise stated.refusal("file", "cannot be read: name a file in UTF-8 with one value a line") from None
        return said[1:] if said[:1] == [name] else said
    if isinstance(said, str) or (isinstance(said, list) and not any(isinstance(each, list | dict) for each in said)):
        return said
    raise stated.refusal(name, 'must be a list such as ["Bern", "Biel"], a range such as "0 to 120", or { file = "…" }')


def read_file_form(table: TomlTable) -> FileFormat:
    """How texts are found in the file."""
    return FileFormat.of_parts({key: _part(table, key) for key in FILE_KEYS if key in table.values})


def _column_form(stated: TomlTable, name: str) -> ColumnFormat:
    """What the texts of one column stand for: a kind, or a table that says more."""
    value = stated.values[name]
    if not isinstance(value, dict) and not (isinstance(value, str) and value in KINDS):
        raise stated.refusal(name, f"is no kind: write one of {', '.join(KINDS)}, in quotes, or a table of parts")
    try:
        return ColumnFormat.of_parts(value if isinstance(value, dict) else {"kind": value})
    except SourceError as error:
        raise stated.refusal(name, str(error)) from None


def _part(table: TomlTable, key: str) -> object:
    """What a key says of the file, once that is usable by itself."""
    value, (types, form) = table.values[key], _PARTS[key]
    if type(value) not in types:
        raise table.refusal(key, f"must be {form}")
    try:
        FileFormat.of_parts({key: value})
    except SourceError as error:
        raise table.refusal(key, str(error)) from None
    return value
