# ruff: noqa: S608, as all SQL here is made of typed trees and of names that it quotes
"""Tables in memory, held as they are now, so that nobody changes what will be counted."""

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any

from noisycount.engines.duckdb.connection import Connection, quoted_name, without_engine_errors
from noisycount.engines.duckdb.dialect import condition_text
from noisycount.engines.duckdb.streams import Streamed
from noisycount.errors import SourceError, extra_words
from noisycount.frozen import frozen
from noisycount.query.predicate import And, Column, Comparison, Flag, Missing, Not, Or, Predicate, columns
from noisycount.query.schema import Kind

FRAME = "frame"  # what a connection calls the table
_LIBRARIES = ("pandas", "polars", "pyarrow")


@frozen
class Snapshot:
    """A table that does not change any more; this one a connection has as its table `frame`."""

    names: tuple[str, ...]

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """The columns in groups, each of which is read in one way."""
        return [self.names]

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of columns of categories stand for, where they can be had."""
        return {}

    def attach(self, connection: Connection, names: Sequence[str], numbered: Collection[str] = ()) -> None:
        """The table as `frame` on a connection, with these columns at least.

        Those that are numbered are there as the numbers of their categories.
        """


def snapshot_of(frame: Any, connection: Connection) -> Snapshot:  # noqa: ANN401 - any table
    """A table as it is now.

    `connection`: takes a copy of what can be read only once, or is computed when it is read.
    """
    library, kind = _origin(frame)
    snapshot: Snapshot
    match library, kind:
        case "pandas", "DataFrame":
            snapshot = _PandasTable.of(frame)
        case "polars", "DataFrame":
            snapshot = _ArrowTable.of(frame.columns, frame.clone())
        case "polars", "LazyFrame":
            raise SourceError("frame is a LazyFrame of Polars: collect() it")
        case "pyarrow", "Table" | "RecordBatch" | "RecordBatchReader":
            table = frame if kind == "Table" else import_module("pyarrow").table(frame)
            snapshot = _ArrowTable.of(table.schema.names, table)
        case _ if kind != "Series" and hasattr(frame, "__arrow_c_stream__"):
            snapshot = _copied(frame, connection)
        case _:
            raise SourceError(
                "frame must be a table that has __arrow_c_stream__, such as a DataFrame of "
                f"pandas or Polars, got {type(frame).__name__}: make it one"
            )
    _require_names(snapshot.names)
    return snapshot


def _origin(frame: object) -> tuple[str, str]:
    """The library of a table and the name of its class, also where it is a subclass."""
    for base in type(frame).__mro__:
        library = base.__module__.split(".")[0]
        if library in _LIBRARIES:
            return library, base.__name__
    return "", ""


def _copied(frame: object, connection: Connection) -> Snapshot:
    """A table that another library computes as it is read, or that can be read only once."""

    def copied() -> tuple[str, ...]:
        connection.register("given", Streamed(frame))
        connection.execute(f"CREATE TABLE {FRAME} AS FROM given")
        connection.unregister("given")
        return tuple(connection.table(FRAME).columns)

    names = without_engine_errors(
        copied,
        "frame cannot be read as a table: check that it can be read more than once, and is open",
        "frame needs more memory than there is: make some free",
    )
    return Snapshot(names)


def _require_names(names: Sequence[str]) -> None:
    """The refusal of columns without a name of their own."""
    if not names:
        raise SourceError("frame has no columns: give it one with the records")
    twice = [name for name, number in Counter(map(str.lower, names)).items() if number > 1]
    if twice:
        raise SourceError(
            f"frame has the name {twice[0]!r} twice, in whatever case: give each column a name of its own"
        )
    for name in names:
        if not name or "\0" in name:
            raise SourceError(f"frame has a column that is named by {name!r}: rename it")


_COPYING_ON_WRITE = 3  # pandas writes into no memory that another frame uses, from this version
_NUMPY_KINDS = "iufbM"
_MASKED = {"boolean", "Float32", "Float64"} | {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_ARROW_ERRORS = (TypeError, ValueError, OverflowError, NotImplementedError)  # also of pyarrow


@frozen
class _PandasTable(Snapshot):
    """A frame of pandas as it is now: whoever writes into it from now on writes into a copy."""

    frame: Any  # shares the memory of the frame that was given
    arrow: dict[str, Any]  # its columns that DuckDB would have to guess the type of, read by pyarrow

    @classmethod
    def of(cls, frame: Any) -> "_PandasTable":  # noqa: ANN401 - its library is not imported
        """The frame as it is now; a level of its index is a column if it has a name."""
        levels = [name for name in frame.index.names if name is not None]
        labels = [*frame.columns, *levels]
        strange = next((label for label in labels if not isinstance(label, str)), None)
        if strange is not None:
            raise SourceError(
                f"frame has a column that is named by {strange!r}, not by a text: use frame.rename(columns=str)"
            )
        _require_names(labels)
        version = sys.modules["pandas"].__version__
        owned = frame.copy(deep=int(version.split(".")[0]) < _COPYING_ON_WRITE)
        unnamed = [n for n, name in enumerate(owned.index.names) if name is None]
        owned = owned.reset_index(level=unnamed, drop=True) if unnamed else owned
        owned = _typed(owned.reset_index() if levels else owned)
        arrow = {name: _read(name, owned[name]) for name in owned.columns if not _is_of_known_type(owned[name].dtype)}
        return cls(tuple(owned.columns), owned, arrow)

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """Those that DuckDB reads where they are, and those that pyarrow read."""
        by_arrow = tuple(name for name in self.names if name in self.arrow)
        rest = tuple(name for name in self.names if name not in self.arrow)
        return [part for part in (rest, by_arrow) if part]

    def attach(
        self,
        connection: Connection,
        names: Sequence[str],
        numbered: Collection[str] = (),  # noqa: ARG002 - there are none
    ) -> None:
        """The frame; where a column is of Arrow, all are."""
        names = names or self.names[:1]
        if not any(name in self.arrow for name in names):
            connection.register(FRAME, self.frame[list(names)])
            return
        columns = {name: self.arrow[name] if name in self.arrow else _read(name, self.frame[name]) for name in names}
        connection.register(FRAME, Streamed(import_module("pyarrow").table(columns)))


def _typed(frame: Any) -> Any:  # noqa: ANN401 - its library is not imported
    """The frame with a type for what has categories but none, and for halves of floats."""
    types = {}
    for name, dtype in frame.dtypes.items():
        if getattr(dtype, "categories", None) is not None and not len(dtype.categories):
            types[name] = "str"
        elif dtype == "float16":
            types[name] = "float32"
    return frame.astype(types) if types else frame


def _is_of_known_type(dtype: Any) -> bool:  # noqa: ANN401 - its library is not imported
    """Whether a column has a type that does not depend on its cells."""
    types = sys.modules["pandas"].api.types
    if isinstance(dtype, types.CategoricalDtype):
        return bool(dtype.categories.inferred_type == "string")
    if isinstance(dtype, types.DatetimeTZDtype | sys.modules["pandas"].StringDtype):
        return True
    return getattr(dtype, "name", "") in _MASKED or (
        type(dtype).__module__.startswith("numpy") and dtype.kind in _NUMPY_KINDS
    )


def _read(name: str, series: Any) -> object:  # noqa: ANN401 - its library is not imported
    """A column as pyarrow reads it."""
    try:
        arrow = import_module("pyarrow")
    except ImportError:
        raise SourceError(
            f"column {name!r} of the frame has the type {series.dtype}, which only pyarrow reads: "
            f"{extra_words('frames')}; or give the column another type"
        ) from None
    try:
        return arrow.array(series, from_pandas=True)
    except _ARROW_ERRORS:
        pass  # what follows must not have that error as its context, as it quotes cells
    raise SourceError(
        f"column {name!r} of the frame holds values of several types: give it one, such as by "
        f"frame[{name!r}] = frame[{name!r}].astype('str')"
    )


@frozen
class _ArrowTable(Snapshot):
    """A table of Polars or Arrow, whose columns do not change when those of another do."""

    table: Any
    categories: dict[str, "_Categories"]

    @classmethod
    def of(cls, names: Sequence[str], table: Any) -> "_ArrowTable":  # noqa: ANN401
        """The table, and its columns that are stored as numbers of few texts."""
        found = _of_polars(table) if hasattr(table, "to_arrow") else _of_arrow(table)
        categories = {
            name: categories
            for name, categories in found
            if 0 < len(categories.texts) <= _MOST and None not in categories.texts
        }
        return cls(tuple(names), table, categories)

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of its columns of categories stand for."""
        return {name: found.texts for name, found in self.categories.items()}

    def attach(self, connection: Connection, names: Sequence[str], numbered: Collection[str] = ()) -> None:
        """The stream of the table, with numbers in the place of some categories."""
        chosen = self.table.select([*(names or self.names[:1])])
        for place, name in enumerate(names):
            if name in numbered:
                numbers = self.categories[name].numbers
                if hasattr(chosen, "to_arrow"):
                    chosen = chosen.with_columns(numbers)
                else:
                    chosen = chosen.set_column(place, name, numbers)
        connection.register(FRAME, Streamed(chosen))


_MOST = 62  # as many as a BIGINT has bits, but for its sign


@frozen
class _Categories:
    """A column of numbers, each of which stands for a text."""

    texts: tuple[str, ...]  # what the numbers stand for
    numbers: Any  # the column, in the library that it is of


def _of_polars(frame: Any) -> Iterator[tuple[str, _Categories]]:  # noqa: ANN401
    """The categories of a frame of Polars: fixed ones, or all that were met in this process."""
    for name, type_ in frame.schema.items():
        if str(type_).startswith(("Categorical", "Enum")):
            texts: Any = getattr(type_, "categories", None)
            if hasattr(texts, "to_series"):
                texts = texts.to_series()
            if texts is not None:
                few = tuple(texts[: _MOST + 1])
                yield name, _Categories(few, frame[name].to_physical())


def _of_arrow(table: Any) -> Iterator[tuple[str, _Categories]]:  # noqa: ANN401
    """The dictionaries of a table of Arrow that are the same in all of its parts."""
    for name, type_ in zip(table.schema.names, table.schema.types, strict=True):
        if not str(type_).startswith("dictionary<values=") or "string" not in str(type_):
            continue
        parts = table[name].chunks
        if parts and all(part.dictionary.equals(parts[0].dictionary) for part in parts):
            numbers = [part.indices for part in parts]
            yield name, _Categories(tuple(parts[0].dictionary[: _MOST + 1].to_pylist()), numbers)


def compared_columns(predicate: Predicate) -> set[str]:
    """The columns that are compared with another one somewhere."""
    match predicate:
        case Comparison(_, _, Column()):
            return {column.name for column in columns(predicate)}
        case Not(operand):
            return compared_columns(operand)
        case And(operands) | Or(operands):
            return set().union(*map(compared_columns, operands))
        case _:
            return set()


@frozen
class Decisions:
    """What is asked of categories, decided for each of them.

    A bit for each category takes the same time whichever of them satisfy a test: how long a count takes does not tell
    whether anybody has a category.
    """

    texts: Mapping[str, Sequence[str]]  # what the numbers of each column stand for
    connection: Connection  # decides which texts satisfy a test, as it would for records
    stem: str  # the beginning of names that no column has
    tests: dict[str, str] = field(default_factory=dict)  # the SQL of each test of the numbers of a column, by name

    def of(self, predicate: Predicate) -> Predicate:
        """The same predicate, with a flag for each test of categories."""
        match predicate:
            case Not(operand):
                return Not(self.of(operand))
            case And(operands) | Or(operands):
                return type(predicate)(tuple(map(self.of, operands)))
        column = next(columns(predicate), None)
        if column is None or column.name not in self.texts or isinstance(predicate, Missing):
            return predicate
        name = f"{self.stem}{len(self.tests)}"
        self.tests[name] = (
            f"(({self._bits(predicate, column.name)}::BIGINT >> {quoted_name(column.name)}::BIGINT)"
            f" & 1) = 1 AS {quoted_name(name)}"
        )
        return Flag(Column(name, Kind.BOOLEAN))

    def _bits(self, test: Predicate, name: str) -> int:
        """A number with a bit for each category that satisfies a test."""
        condition, values = condition_text(test)
        texts = f'unnest($texts::VARCHAR[]) COLLATE "binary" AS {quoted_name(name)}'
        numbers = "unnest(range($size)) AS number"
        rows = self.connection.execute(
            f"SELECT number FROM (SELECT {numbers}, {texts}) WHERE {condition}",
            {**values, "texts": [*self.texts[name]], "size": len(self.texts[name])},
        ).fetchall()
        return sum(1 << number for (number,) in rows)
