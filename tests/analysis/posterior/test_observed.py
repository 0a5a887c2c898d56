import math
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import noisycount as nc

LAW = nc.Binomial(100, 0.3)


@dataclass(frozen=True)
class Told:
    """An answer with its mechanism, as another package may have it."""

    answer: float
    mechanism: nc.Mechanism


def test_an_answer_may_bring_its_mechanism() -> None:
    """A single answer, several, and a mix with plain numbers give the posterior of named mechanisms."""
    wide, narrow = Told(35.2, nc.Laplace(10)), Told(31.0, nc.Gaussian(3))
    assert nc.posterior(wide, LAW).mean == nc.posterior(35.2, LAW, nc.Laplace(10)).mean
    both = nc.posterior([35.2, 31.0], LAW, [nc.Laplace(10), nc.Gaussian(3)])
    assert nc.posterior([wide, narrow], LAW).mean == both.mean
    assert nc.posterior([wide, 31.0], LAW, [nc.Laplace(10), nc.Gaussian(3)]).mean == both.mean


def test_a_column_of_answers_may_bring_one_mechanism() -> None:
    """Of several nobody could tell which a number has."""
    told = [Told(answer, nc.Laplace(10)) for answer in (35.2, 20.0)]
    expected = nc.refine([35.2, 20.0], LAW, nc.Laplace(10)).tolist()
    assert nc.refine(told, LAW).tolist() == expected
    assert nc.refine([told[0], 20.0], LAW, nc.Laplace(10)).tolist() == expected
    assert nc.refine(told[0], LAW) == expected[0]
    for mixed, several in (([*told, Told(3.0, nc.Laplace(5))], 2), ([told[0], 20.0], 1), (3, 0)):
        with pytest.raises(ValueError, match=rf"^mechanism must be given .*, got {several} diff"):
            nc.refine(mixed, LAW)


@pytest.mark.parametrize("answer", [35.2, [Told(35.2, nc.Laplace(10)), 3.5]])
def test_a_number_alone_is_refused(answer: float | list[float | Told]) -> None:
    """Without its mechanism it says nothing."""
    with pytest.raises(ValueError, match=r"^mechanism must be given, as the answer carries none"):
        nc.posterior(answer, LAW)


class Homemade(nc.Mechanism):
    """A mechanism by somebody who took `Mechanism` for a base of noises."""

    def likelihood(self, answer: float, size: int) -> Any:  # noqa: ANN401
        """A function in place of a factor."""
        return lambda count: math.exp(-abs(answer - count)) / size

    tail = likelihood

    def logpmf(self, answer: float, counts: Any, size: int | None = None) -> Any:  # noqa: ANN401
        """The density."""
        return -np.abs(answer - np.asarray(counts)) + (size or 0)

    def release(self, count: int) -> int:
        """No noise."""
        return count


def test_a_mechanism_from_elsewhere_is_refused_with_the_way() -> None:
    """Not with an error from deep inside."""
    message = r"^mechanism must be one of noisycount's mechanisms, got Homemade.*: derive a noise"
    for call in (nc.posterior, nc.refine):
        with pytest.raises(ValueError, match=message):
            call(3.0, LAW, Homemade())


NOISE = nc.Laplace(10)
ANSWERS = [35.0, 1e9, -3.0]
EXPECTED = nc.refine(ANSWERS, LAW, NOISE).tolist()
MISSING = [EXPECTED[0], None, EXPECTED[2]]


def refined(column: Any) -> Any:  # noqa: ANN401
    """The estimates of a column, of its own type."""
    found = nc.refine(column, LAW, NOISE)
    assert type(found) is type(column) or isinstance(column, pa.Array)
    return found


@pytest.mark.parametrize("kind", ["float64", "int64", "Float64", "Int64", "double[pyarrow]"])
def test_a_series_of_pandas_keeps_its_index_and_its_name(kind: str) -> None:
    """Of NumPy's types, of the nullable ones and of Arrow's."""
    labels = pd.Index(["a", "b", "a"], name="town")
    found = refined(pd.Series(ANSWERS, index=labels, name="answer").astype(kind))
    assert found.index.equals(labels)
    assert (found.name, found.index.name) == ("answer", "town")
    assert found.tolist() == EXPECTED


@pytest.mark.parametrize("kind", ["float64", "Float64", "Int64", "double[pyarrow]", "object"])
def test_what_is_missing_in_pandas_stays_missing(kind: str) -> None:
    """Whatever stands for it."""
    found = refined(pd.Series([35.0, None, -3.0]).astype(kind))
    assert found.isna().tolist() == [False, True, False]
    assert found.dropna().tolist() == [EXPECTED[0], EXPECTED[2]]
    assert nc.refine(pd.Series([None, None], dtype="float64"), LAW, NOISE).isna().all()


@pytest.mark.parametrize("kind", [pl.Float64, pl.Int64, pl.Float32, pl.UInt8])
def test_a_series_of_polars_keeps_its_name_and_its_nulls(kind: Any) -> None:  # noqa: ANN401
    """A nan is no null."""
    found = refined(pl.Series("answer", [35, None, 3], dtype=kind))
    assert (found.name, found.dtype) == ("answer", pl.Float64)
    assert found.to_list() == [EXPECTED[0], None, nc.refine(3.0, LAW, NOISE)]
    nans = refined(pl.Series([35.0, float("nan"), None]))
    assert nans.is_null().to_list() == [False, False, True]
    assert nans.is_nan().to_list() == [False, True, None]


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.float32()])
def test_an_array_of_arrow_keeps_its_nulls_and_its_chunks(kind: Any) -> None:  # noqa: ANN401
    """As one array and in several."""
    array = pa.array([35, None, -3], kind)
    found = refined(array)
    assert isinstance(found, pa.DoubleArray)
    assert found.to_pylist() == MISSING
    chunks = pa.chunked_array([array[:1], array[1:], array[:0]])
    parts = refined(chunks)
    assert [len(chunk) for chunk in parts.chunks] == [1, 2, 0]
    assert parts.to_pylist() == MISSING
    assert refined(pa.chunked_array([], kind)).to_pylist() == []


def test_lists_and_arrays_give_arrays() -> None:
    """As ever."""
    for answers in (ANSWERS, tuple(ANSWERS), np.array(ANSWERS)):
        found = nc.refine(answers, LAW, NOISE)
        assert isinstance(found, np.ndarray)
        assert found.tolist() == EXPECTED
    assert nc.refine(np.array([ANSWERS]), LAW, NOISE).shape == (1, 3)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["35", "1"]),
        pd.Series([True, False]),
        pd.Series(pd.to_datetime(["2026-01-02"])),
        pl.Series(["35"]),
        pl.Series([True]),
        pa.array(["35"]),
        pa.array([True]),
        pa.chunked_array([["35"]]),
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_a_column_of_no_numbers_is_refused(column: Any) -> None:  # noqa: ANN401
    """A text of digits is a text."""
    with pytest.raises(ValueError, match=r"^answers must be numbers in one array, with nan"):
        nc.refine(column, LAW, NOISE)


def test_no_other_library_is_loaded() -> None:
    """Lists and arrays are refined where none of them is installed."""
    code = (
        "import sys, noisycount as nc;"
        "nc.refine([35.0], nc.Binomial(100, 0.3), nc.Laplace(10));"
        "print(*set(sys.modules) & {'pandas', 'polars', 'pyarrow'})"
    )
    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.split() == []
