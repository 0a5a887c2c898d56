"""A file of JSON objects, one a line, as a table of texts."""
# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import duckdb

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.names import require_single_names
from noisycount.release.sources.duckdb.paths import Connection, path_pattern
from noisycount.release.sources.duckdb.quoting import quoted_name, quoted_text

__all__ = ["JsonLines"]

_LONGEST = 1 << 26  # bytes of an object
_SPARSE = "a line must be one JSON object: mend it there, and put no array around the lines"


@dataclass(frozen=True, slots=True)
class JsonLines:
    """The objects of a file, held by a connection as the table `loaded` of texts.

    A key that no object or only a late one has is a column all the same; null and no entry are
    missing values; what is within arrays and objects stays a text.

    Attributes:
        names: The keys, in the order in which they come first.
        types: How many values of a kind each of them has.
    """

    names: tuple[str, ...]
    types: Mapping[str, Counter[Kind]]

    @classmethod
    def load(cls, place: Path, connection: Connection) -> Self:
        """The making of the table.

        Args:
            place: The file, which may be compressed by gzip.
            connection: Where.

        Raises:
            SourceError: A line is no object, or has a key twice.
        """
        if not _are_objects(place, connection):
            raise SourceError(f"{str(place)!r} cannot be read as JSON: {_fault(place)}")
        names = _keys(connection)
        require_single_names(names, f"{str(place)!r} has")
        shape = quoted_text(json.dumps(dict.fromkeys(names, "JSON"), ensure_ascii=False))
        connection.execute(
            f"CREATE TABLE cells AS SELECT unnest(json_transform(object, {shape})) FROM objects"
        )
        connection.execute("DROP TABLE objects")
        types = {name: _types(connection, name) for name in names}
        texts = ", ".join(f"{_text(quoted_name(name))} AS {quoted_name(name)}" for name in names)
        connection.execute(f"CREATE TABLE loaded AS SELECT {texts} FROM cells")
        connection.execute("DROP TABLE cells")
        return cls(names, types)


def _are_objects(place: Path, connection: Connection) -> bool:
    """Whether a table `objects` could be made of the lines, with no key twice in one."""
    try:
        connection.execute(
            "CREATE TABLE objects AS SELECT json AS object FROM read_json_objects("
            f"{quoted_text(path_pattern(place))}, format='newline_delimited', "
            f"maximum_object_size={_LONGEST}, hive_partitioning=false)"
        )
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return False
    odd = (
        "json_type(object) <> 'OBJECT' "
        "OR len(json_keys(object)) <> len(list_distinct(json_keys(object)))"
    )
    query = f"SELECT count(*), count(CASE WHEN {odd} THEN 1 END) FROM objects"
    objects, wrong = connection.execute(query).fetchall()[0]
    return bool(objects) and not wrong


def _keys(connection: Connection) -> tuple[str, ...]:
    """The keys of all objects, in the order in which they come first."""
    rows = connection.execute(
        "SELECT key FROM (SELECT rowid AS line, unnest(json_keys(object)) AS key, "
        "generate_subscripts(json_keys(object), 1) AS place FROM objects) "
        "GROUP BY key ORDER BY min((line, place))"
    ).fetchall()
    return tuple(key for (key,) in rows)


def _types(connection: Connection, name: str) -> Counter[Kind]:
    """How many values of a kind a column of JSON has; arrays and objects count as texts."""
    text = f"CAST({quoted_name(name)} AS VARCHAR)"
    kind = (
        f"CASE WHEN {text} IN ('true', 'false') THEN 'boolean' "
        f"WHEN ascii({text}) BETWEEN 45 AND 57 THEN "
        f"CASE WHEN TRY_CAST({text} AS BIGINT) IS NOT NULL AND NOT contains({text}, '.') "
        f"AND NOT contains({text}, 'e') AND NOT contains({text}, 'E') "
        "THEN 'integer' ELSE 'real' END ELSE 'text' END"
    )
    query = f"SELECT {kind}, count(*) FROM cells WHERE {quoted_name(name)} IS NOT NULL GROUP BY 1"
    return Counter({Kind(kind): number for kind, number in connection.execute(query).fetchall()})


def _text(value: str) -> str:
    """The SQL of a JSON value as a text, a string without its quotation marks."""
    text = f"CAST({value} AS VARCHAR)"
    return f"nullif(CASE WHEN ascii({text}) = 34 THEN {value} ->> '$' ELSE {text} END, '')"


def _fault(place: Path) -> str:
    """What is wrong with the first line that is no object; none of it is quoted."""
    opened = gzip.open if place.suffix.lower() == ".gz" else open
    number = 0
    try:
        with opened(place, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip() and (wrong := _wrong(line)):
                    return f"line {number:,} {wrong}"
    except (OSError, EOFError, zlib.error):
        return f"what follows line {number:,} is damaged"
    return _SPARSE


def _wrong(line: bytes) -> str | None:
    """What is wrong with one line."""
    try:
        pairs = json.loads(line.decode("utf-8"), object_pairs_hook=_Pairs)
    except UnicodeError:
        return "is not in utf-8: write it so"
    except (ValueError, RecursionError):
        return f"is no JSON: {_SPARSE}"
    if not isinstance(pairs, _Pairs):
        return f"is no object: {_SPARSE}"
    return None if len(dict(pairs)) == len(pairs) else "has a key twice: mend it there"


class _Pairs(list[tuple[str, object]]):
    """The entries of an object, one that stands there twice too."""
