"""Frames of pandas, which DuckDB reads where they are, but for columns of Python's objects."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from noisycount.errors import SourceError, extra_words
from noisycount.release.sources.duckdb.frames.column_names import require_names
from noisycount.release.sources.duckdb.frames.stream import Streamed

__all__ = ["PandasTable"]

_COPYING_ON_WRITE = 3  # pandas writes into no memory that another frame uses, from this version
_NUMPY_KINDS = "iufbM"
_MASKED = {"boolean", "Float32", "Float64"} | {
    f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)
}
_ARROW_ERRORS = (TypeError, ValueError, OverflowError, NotImplementedError)  # also of pyarrow


@dataclass(frozen=True, slots=True)
class PandasTable:
    """A frame of pandas as it is now: whoever writes into it from now on writes into a copy.

    Attributes:
        frame: Shares the memory of the frame that was given.
        arrow: Its columns that DuckDB would have to guess the type of, read by pyarrow.
    """

    frame: Any
    arrow: dict[str, Any]

    @classmethod
    def of(cls, frame: Any) -> "PandasTable":  # noqa: ANN401 - its library is not imported
        """The frame as it is now; a level of its index is a column if it has a name.

        Raises:
            SourceError: A column is not named by a text, or holds values of several types, or only
                pyarrow reads it and is not installed.
        """
        levels = [name for name in frame.index.names if name is not None]
        labels = [*frame.columns, *levels]
        strange = next((label for label in labels if not isinstance(label, str)), None)
        if strange is not None:
            raise SourceError(
                f"frame has a column that is named by {strange!r}, not by a text: "
                "use frame.rename(columns=str)"
            )
        require_names(labels)
        version = sys.modules["pandas"].__version__
        owned = frame.copy(deep=int(version.split(".")[0]) < _COPYING_ON_WRITE)
        unnamed = [n for n, name in enumerate(owned.index.names) if name is None]
        owned = owned.reset_index(level=unnamed, drop=True) if unnamed else owned
        owned = _typed(owned.reset_index() if levels else owned)
        arrow = {
            name: _read(name, owned[name])
            for name in owned.columns
            if not _is_of_known_type(owned[name].dtype)
        }
        return cls(owned, arrow)

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return tuple(self.frame.columns)

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """Its columns in groups, each of which DuckDB reads in one way."""
        by_arrow = tuple(name for name in self.names if name in self.arrow)
        rest = tuple(name for name in self.names if name not in self.arrow)
        return [part for part in (rest, by_arrow) if part]

    def scanned(self, names: Sequence[str]) -> object:
        """What DuckDB reads some columns from."""
        if not any(name in self.arrow for name in names):
            return self.frame[list(names)]
        columns = {
            name: self.arrow[name] if name in self.arrow else _read(name, self.frame[name])
            for name in names
        }
        return Streamed(import_module("pyarrow").table(columns))


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
