"""Parquet files as one relation: a file, or those of a folder or a pattern."""
# ruff: noqa: S608, as all SQL here is made of paths that it quotes

from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.sources.duckdb.lake import Lake
from noisycount.release.sources.duckdb.paths import Connection, path_pattern
from noisycount.release.sources.duckdb.quoting import quoted_text
from noisycount.release.sources.places import files_of, is_several

__all__ = ["allow", "parquet_relation"]


def allow(connection: Connection, *files: Path) -> None:
    """The only files that may be read behind the locks."""
    paths = [name for file in files for name in (file.as_posix(), path_pattern(file))]
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, paths))}]")


def parquet_relation(connection: Connection, place: Path | Lake) -> str:
    """The relation of all records, in which columns of one name are one column.

    Args:
        connection: Where.
        place: A file, a folder or a pattern; or the files of a lake.

    Raises:
        SourceError: A column has several types, or folders hold one in their names.
    """
    if isinstance(place, Lake):
        names = place.names(connection)
        connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, names))}]")
        _require_one_type(connection, str(place), names)
        return _read(names)
    if not is_several(place):
        allow(connection, place)
        return _read([path_pattern(place)])
    files = [file.resolve() for file in files_of(place)]
    partition = next((file.parent.name for file in files if "=" in file.parent.name), None)
    if partition is not None:
        raise SourceError(
            f"{str(place)!r} has folders such as {partition!r}, whose names hold a column: "
            "write that column into the files"
        )
    allow(connection, *files)
    patterns = [path_pattern(file) for file in files]
    _require_one_type(connection, str(place), patterns)
    return _read(patterns)


def _read(names: list[str]) -> str:
    """The relation of some files."""
    patterns = ", ".join(map(quoted_text, names))
    return f"read_parquet([{patterns}], union_by_name=true, hive_partitioning=false)"


def _require_one_type(connection: Connection, place: str, names: list[str]) -> None:
    """The refusal of a column that is not of one type in all files.

    Raises:
        SourceError: There is one, or one is named in several cases.
    """
    known: dict[str, tuple[str, str]] = {}
    for file in names:
        found = connection.sql(f"SELECT * FROM {_read([file])}")
        for name, type_ in zip(found.columns, map(str, found.types), strict=True):
            first = known.setdefault(name.lower(), (name, type_))
            if first[0] != name:
                raise SourceError(
                    f"{place!r} names a column {first[0]!r} in one file and {name!r} in "
                    "another: name it the same in all"
                )
            if first[1] != type_:
                raise SourceError(
                    f"{place!r} has files whose column {name!r} is not of one type: "
                    f"make it {first[1]} in all"
                )
