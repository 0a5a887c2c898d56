"""What a data set's owner writes of a file of texts, and of its columns."""

from typing import Any

from noisycount.app.config.toml_table import TomlTable
from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind
from noisycount.release.sources.forms import ColumnForm, FileForm

__all__ = ["FILE_KEYS", "file_form_in", "kinds_in"]

_TEXT = (str, "a text in quotes")
_PARTS = {"encoding": _TEXT, "delimiter": _TEXT, "skip": (int, "a whole number, without quotes")}
FILE_KEYS = tuple(_PARTS)
"""What is said of a file of texts."""


def kinds_in(table: TomlTable) -> dict[str, ColumnForm] | None:
    """What the texts of each column stand for; None where nothing is stated.

    Raises:
        ConfigError: A kind, or a part of a column's description, is unusable.
    """
    if "kinds" not in table.values:
        return None
    stated = table.table("kinds")
    return {name: _column_form(stated, name) for name in stated.values}


def file_form_in(table: TomlTable) -> FileForm:
    """How texts are found in the file.

    Raises:
        ConfigError: A part is unusable.
    """
    parts: dict[str, Any] = {key: _part(table, key) for key in FILE_KEYS if key in table.values}
    return FileForm(**parts)


def _column_form(stated: TomlTable, name: str) -> ColumnForm:
    """What the texts of one column stand for: a kind, or a table that says more."""
    value = stated.values[name]
    kinds = [kind.value for kind in Kind]
    if not isinstance(value, dict) and value not in kinds:
        raise stated.refusal(
            name, f"is no kind: write one of {', '.join(kinds)}, in quotes, or a table of parts"
        )
    try:
        return ColumnForm.of_parts(value if isinstance(value, dict) else {"kind": value})
    except SourceError as error:
        raise stated.refusal(name, str(error)) from None


def _part(table: TomlTable, key: str) -> object:
    """What a key says of the file, once that is usable by itself."""
    value, (kind, form) = table.values[key], _PARTS[key]
    if type(value) is not kind:
        raise table.refusal(key, f"must be {form}")
    part: dict[str, Any] = {key: value}
    try:
        FileForm(**part)
    except SourceError as error:
        raise table.refusal(key, str(error)) from None
    return value
