"""Columns of numbers in the containers of other libraries, none of which is imported here."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["AnswerColumn", "Contained", "Container", "column_in"]


class Contained(Protocol):
    """A column of another library: a Series of pandas or Polars, an array of Arrow."""

    def to_numpy(self) -> Any:  # noqa: ANN401  (of whatever type its numbers have)
        """Its numbers."""
        ...


Container = TypeVar("Container", bound=Contained)


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """The numbers of a column, and the way back.

    Attributes:
        values: The numbers, nan where one is missing.
        container: The column of the same kind, with the same labels, of other numbers; what was
            missing is missing there too.
    """

    values: NDArray[Any]
    container: Callable[[Reals], Any]


def column_in(container: object) -> AnswerColumn | None:
    """The column that another library holds; None: it is none of those that are known."""
    for kind in type(container).__mro__:
        library = kind.__module__.partition(".")[0]
        if (library, kind.__name__) in _READERS:
            return _READERS[library, kind.__name__](container)
    return None


def _of_pandas(series: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """A Series of pandas, with its index and its name."""
    is_number = series.dtype.kind in "iuf"
    kind = np.float64 if is_number else object

    def back(values: Reals) -> Any:  # noqa: ANN401
        found = type(series)(values, index=series.index, name=series.name)
        if not is_number or isinstance(series.dtype, np.dtype):
            return found
        return found.astype("double[pyarrow]" if "pyarrow" in str(series.dtype) else "Float64")

    return AnswerColumn(series.to_numpy(dtype=kind, na_value=np.nan), back)


def _of_polars(series: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """A Series of Polars, with its name."""

    def back(values: Reals) -> Any:  # noqa: ANN401
        found = type(series)(series.name, values)
        return found.set(series.is_null(), None) if series.null_count() else found

    return AnswerColumn(series.to_numpy(), back)


def _of_arrow(array: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """An array of Arrow."""

    def back(values: Reals) -> Any:  # noqa: ANN401
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return sys.modules["pyarrow"].array(values, mask=missing)

    return AnswerColumn(array.to_numpy(zero_copy_only=False), back)


def _of_chunks(chunked: Any) -> AnswerColumn:  # noqa: ANN401  (its library is not imported)
    """A chunked array of Arrow, with as long chunks."""

    def back(values: Reals) -> Any:  # noqa: ANN401
        arrow, parts, start = sys.modules["pyarrow"], [], 0
        for chunk in chunked.chunks:
            parts.append(_of_arrow(chunk).container(values[start : start + len(chunk)]))
            start += len(chunk)
        return arrow.chunked_array(parts, arrow.float64())

    return AnswerColumn(chunked.to_numpy(), back)


_READERS: dict[tuple[str, str], Callable[[Any], AnswerColumn]] = {
    ("pandas", "Series"): _of_pandas,
    ("polars", "Series"): _of_polars,
    ("pyarrow", "Array"): _of_arrow,
    ("pyarrow", "ChunkedArray"): _of_chunks,
}
