"""Keys in a public file: one row a cell, or the keys of one column."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from noisycount.app.table.keys import Value, Word, values_of_part
from noisycount.errors import NoisyCountError
from noisycount.release.question.grouping import Part
from noisycount.release.question.keys import MOST_CELLS
from noisycount.release.sources.duckdb.public_table import PublicTable

__all__ = ["keys_of_file"]


def keys_of_file(
    path: Path, parts: Sequence[Part]
) -> Mapping[str, list[Value]] | list[tuple[Value, ...]]:
    """The keys of one column by its name, or those of each cell in the order of the parts.

    Args:
        path: A CSV or Parquet file whose columns are those of the table, or one of them.
        parts: What the table is grouped by.

    Raises:
        NoisyCountError: It cannot be read, has other columns, or has too many rows.
    """
    with PublicTable.open(path) as table:
        named = [_part(name, path, parts, table.columns) for name in table.columns]
        if len(named) not in {1, len(parts)}:
            raise _other_columns(path, parts, table.columns)
        if table.length > MOST_CELLS:
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has {table.length:,} rows, more than {MOST_CELLS:,}: "
                "list fewer keys"
            )
        rows = table.texts()
    columns = [
        _values(part, cells)
        for part, cells in zip(named, zip(*rows, strict=True) if rows else [()] * len(named))  # noqa: B905 - alike
    ]
    if len(parts) > 1 and len(named) == 1:
        return {named[0].column.name: columns[0]}
    order = [named.index(part) for part in parts]
    return list(zip(*(columns[place] for place in order), strict=True))


def _part(name: str, path: Path, parts: Sequence[Part], columns: Sequence[str]) -> Part:
    """What the table is grouped by that a column of the file names."""
    found = next((part for part in parts if name in {part.column.name, part.text}), None)
    if found is None:
        raise _other_columns(path, parts, columns)
    return found


def _values(part: Part, cells: Sequence[str | None]) -> list[Value]:
    """The keys that the cells of one column stand for."""
    different = list(dict.fromkeys(cells))
    values = values_of_part(part, [Word(cell, is_quoted=True) for cell in different])
    known = dict(zip(different, values, strict=True))
    return [known[cell] for cell in cells]


def _other_columns(path: Path, parts: Sequence[Part], columns: Sequence[str]) -> NoisyCountError:
    names = ", ".join(part.column.name for part in parts)
    one = "" if len(parts) == 1 else ", or one of them"
    return NoisyCountError(
        f"--keys-from {str(path)!r} has the columns {', '.join(columns)}: name those of --by, "
        f"{names}{one}"
    )
