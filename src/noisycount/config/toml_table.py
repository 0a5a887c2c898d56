"""Typed values of a TOML file. Each error names file, table, key, value and remedy.

`TomlTable` reads the usual types; the functions below it read budgets and the formats of columns and files.
"""

import csv
import json
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from noisycount.display.texts import without_passwords
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.budget import PARTS, Budget, budget_from
from noisycount.ledger.entries import check_text
from noisycount.query.schema import KINDS, Stated

_MAX_SHOWN_LENGTH = 60  # characters of a value in an error
_MAX_SECONDS = 604_800  # a week


@frozen
class TomlTable:
    """Table of a TOML file, with its place for error messages."""

    path: Path  # the file, for error messages
    name: str  # dotted name of the table; empty for the top of the file
    values: Mapping[str, Any]  # values by key

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the top table of a file. Raises ConfigError if the file is unreadable or not valid TOML."""
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
            raise ConfigError(
                f"{path} has a number that is too long, or brackets that are nested too deeply: shorten them"
            ) from None
        return cls(path, "", values)

    def refusal(self, key: str, problem: str) -> ConfigError:
        """Return a ConfigError that names file, table, key and value before the problem."""
        place = f"[{self.name}] {key}" if self.name else key
        value = f" = {_value_text(self.values[key])}" if key in self.values else ""
        return ConfigError(f"{self.path}: {place}{value}: {problem}")

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Replace a ValueError in the block, which names the key, by a ConfigError that also names file and table."""
        try:
            yield
        except ValueError as error:
            raise ConfigError(f"{self.path}: [{self.name}] {error}") from None

    def name_in_ledger(self, key: str, default: str | None = None) -> str | None:
        """Return the text under `key`, or else `default`. Raises ConfigError if the ledger cannot store it."""
        text = self.text(key) or default
        with self.locating_errors():
            if text is not None:
                check_text(key, text)
        return text

    def require_known(self, known: Collection[str]) -> None:
        """Raise ConfigError for the first key that is not in `known`."""
        for key, value in self.values.items():
            if key not in known:
                kind = "table" if isinstance(value, dict) else "key"
                place = f"[{self.name}] {key}" if self.name else key
                raise ConfigError(f"{self.path}: {place}: unknown {kind}; {name_suggestion(key, known)}")

    def table(self, key: str) -> "TomlTable":
        """Return the table under `key`; it is empty if the key is left out."""
        name = f"{self.name}.{key}" if self.name else key
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.refusal(key, f"must be a table: write [{name}]")
        return TomlTable(self.path, name, value)

    def tables(self) -> Iterator[tuple[str, "TomlTable"]]:
        """Yield each key of this table with the table under it."""
        for key in self.values:
            yield key, self.table(key)

    def text(self, key: str) -> str | None:
        """Return the text under `key`, or None if it is left out."""
        text: str | None = self._valid_value(key, _is_text, 'must be a text in quotes, such as "name"')
        return text

    def whole_number(self, key: str) -> int | None:
        """Return the whole number above 0 under `key`, or None if it is left out."""
        problem = "must be a whole number above 0, without quotes, or be left out"
        number: int | None = self._valid_value(key, lambda value: type(value) is int and value > 0, problem)
        return number

    def seconds(self, key: str) -> float | None:
        """Return the number of seconds under `key`, above 0 and at most a week, or None if it is left out."""
        problem = f"must be a number of seconds above 0, at most {_MAX_SECONDS:,}"
        number = self._valid_value(
            key, lambda value: type(value) in {int, float} and 0 < value <= _MAX_SECONDS, problem
        )
        return None if number is None else float(number)

    def boolean(self, key: str) -> bool | None:
        """Return the boolean under `key`, or None if it is left out."""
        problem = "must be true or false, without quotes"
        value: bool | None = self._valid_value(key, lambda value: isinstance(value, bool), problem)
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return the list of distinct texts under `key`, or None if it is left out."""
        values = self._valid_value(key, _is_text_list, 'must be a list of texts, such as ["age", "health"]')
        if values is not None and len(set(values)) < len(values):
            raise self.refusal(key, "repeats an entry: list each once")
        return None if values is None else tuple(values)

    def _valid_value(self, key: str, is_valid: Callable[[Any], bool], problem: str) -> Any:  # noqa: ANN401 - TOML values
        """Return the value under `key`, or None if it is left out. Raises ConfigError if it is not valid."""
        value = self.values.get(key)
        if value is None or is_valid(value):
            return value
        raise self.refusal(key, problem)


def name_suggestion(name: str, known: Collection[str]) -> str:
    """Return the remedy for an unknown name: the closest known name, or all of them.

    >>> name_suggestion("budgte", ["source", "budget"])
    'did you mean budget?'
    >>> name_suggestion("colour", ["source", "budget"])
    'known: source, budget'
    """
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known) or 'none'}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _value_text(value: object) -> str:
    """Return a value as JSON on one line, without passwords, cut to 60 characters."""
    text = without_passwords(json.dumps(value, default=str, ensure_ascii=False))
    return text if len(text) <= _MAX_SHOWN_LENGTH else f"{text[:_MAX_SHOWN_LENGTH]}..."


def read_budget(table: TomlTable) -> Budget | None:
    """Return the budget of a table, or None if it is left out."""
    value = table.values.get("budget")
    if value is None:
        return None
    source = table
    if isinstance(value, dict):
        source = table.table("budget")
        source.require_known(PARTS)
    for key in source.values if source is not table else ["budget"]:
        if isinstance(source.values[key], float):  # a binary float is not exactly 0.3
            raise source.refusal(key, f'is not exact: write it in quotes, {key} = "{source.values[key]}"')
    with source.locating_errors():
        return budget_from(value)


_TEXT = (str,), "a text in quotes"
_NUMBER = (int,), "a whole number, without quotes"
_TRUTH = (bool,), "true or false, without quotes"
_TEXTS = (str, list), 'a text or a list of texts, such as ["Total", "Source:"]'
_FORM_TYPES = {
    **dict.fromkeys(("encoding", "delimiter", "quote"), _TEXT),
    **dict.fromkeys(("skip", "skip_rows_after_header"), _NUMBER),
    **dict.fromkeys(("header", "drop_empty_rows", "drop_rows_like_header"), _TRUTH),
    **dict.fromkeys(("comment", "footer"), _TEXTS),
    "names": ((list, dict), 'a list of texts, or texts by place, such as { 3 = "ward" }'),
    "drop_rows_where": ((dict,), 'a text or a list of texts by column, such as { sex = "Both sexes" }'),
    "ragged": _TEXT,
}
FILE_KEYS = tuple(_FORM_TYPES)  # keys that only a text file has


def read_kinds(table: TomlTable) -> dict[str, ColumnFormat] | None:
    """Return the format of each column of texts, or None if no formats are stated."""
    if "kinds" not in table.values:
        return None
    section = table.table("kinds")
    return {name: _read_column_format(section, name) for name in section.values}


def read_values(table: TomlTable) -> dict[str, Stated]:
    """Return the public values of each column: a range, or a list, which may be the lines of a file."""
    section = table.table("values")
    return {name: _read_column_values(section, name) for name in section.values}


def _read_column_values(section: TomlTable, name: str) -> Stated:
    """Return the public values of one column, as text. Their meaning depends on the kind of the column."""
    values = section.values[name]
    if isinstance(values, dict):
        section = section.table(name)
        section.require_known(["file"])
        file = section.path.parent / (section.text("file") or "")
        try:
            with file.open(encoding="utf-8-sig", newline="") as stream:
                lines = [row[0].strip() for row in csv.reader(stream) if row and row[0].strip()]
        except (OSError, ValueError, csv.Error):
            raise section.refusal("file", "cannot be read: name a file in UTF-8 with one value a line") from None
        return lines[1:] if lines[:1] == [name] else lines  # the first line may be a header
    if isinstance(values, str):
        return values
    if isinstance(values, list) and not any(isinstance(value, list | dict) for value in values):
        return values
    raise section.refusal(
        name, 'must be a list such as ["Bern", "Biel"], a range such as "0 to 120", or { file = "…" }'
    )


def read_file_form(table: TomlTable) -> FileFormat:
    """Return the layout of a text file: encoding, delimiter, header and so on."""
    return FileFormat.from_parts({key: _read_form_part(table, key) for key in FILE_KEYS if key in table.values})


def _read_column_format(section: TomlTable, name: str) -> ColumnFormat:
    """Return the format of one column: a kind, or a table with more parts."""
    value = section.values[name]
    if not isinstance(value, dict) and not (isinstance(value, str) and value in KINDS):
        raise section.refusal(name, f"is no kind: write one of {', '.join(KINDS)}, in quotes, or a table of parts")
    try:
        return ColumnFormat.from_parts(value if isinstance(value, dict) else {"kind": value})
    except SourceError as error:
        raise section.refusal(name, str(error)) from None


def _read_form_part(table: TomlTable, key: str) -> object:
    """Return the value of one key of the file's format. Raises ConfigError if it is invalid by itself."""
    value, (types, expected) = table.values[key], _FORM_TYPES[key]
    if type(value) not in types:
        raise table.refusal(key, f"must be {expected}")
    try:
        FileFormat.from_parts({key: value})
    except SourceError as error:
        raise table.refusal(key, str(error)) from None
    return value
