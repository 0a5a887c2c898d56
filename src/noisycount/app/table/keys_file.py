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
        path: A CSV or Parquet file with the columns of the table, or one of them; others are
            left out.
        parts: What the table is grouped by.

    Raises:
        NoisyCountError: It cannot be read, has none of the columns, or has too many rows.
    """
    with PublicTable.open(path) as table:
        named = {
            place: part
            for place, name in enumerate(table.columns)
            for part in parts
            if name in {part.column.name, part.text}
        }
        if len(set(named.values())) != len(named) or len(named) not in {1, len(parts)}:
            raise _other_columns(path, parts, table.columns)
        if table.length > MOST_CELLS:
            raise NoisyCountError(
                f"--keys-from {str(path)!r} has {table.length:,} rows, more than {MOST_CELLS:,}: "
                "list fewer keys"
            )
        rows = table.texts()
    keys = {part: _values(part, [row[place] for row in rows]) for place, part in named.items()}
    if len(keys) < len(parts):
        return {part.column.name: values for part, values in keys.items()}
    return list(zip(*(keys[part] for part in parts), strict=True))


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
        f"--keys-from {str(path)!r} has the columns {', '.join(columns)}: it must have those of "
        f"--by, {names}{one}"
    )
