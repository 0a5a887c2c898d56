import sys
from collections.abc import Callable

import altair as alt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import noisycount as nc
from noisycount.display.columns import Cells, Columns
from noisycount.errors import NoisyCountError

NOISE = nc.DiscreteLaplace(5)


class Counts(Columns):
    """Columns of every type, with gaps."""

    @property
    def columns(self) -> dict[str, Cells]:
        """Two rows."""
        return {"town": ["Bern", None], "answer": [12, -3], "mean": [11.5, None], "shown": [True, False]}


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_library_reads_columns(made: Callable[[object], object]) -> None:
    """The constructors of pandas, Polars and Arrow, and the methods that one finds by TAB, give the same rows."""
    frames = [made(Counts()), Counts().to_pandas(), Counts().to_polars(), Counts().to_arrow()]
    rows = [pl.DataFrame(frame).rows() for frame in frames]
    assert rows == [[("Bern", 12, 11.5, True), (None, -3, None, False)]] * len(frames)


def test_rows_are_told_one_by_one() -> None:
    """By the names of the columns."""
    assert [row["answer"] for row in Counts()] == [12, -3]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, with what to type."""
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(NoisyCountError, match=rf"^{name} is not installed: pip install {name}$"):
            getattr(Counts(), f"to_{name.replace('pyarrow', 'arrow')}")()


@pytest.mark.thorough
def test_results_have_their_chart() -> None:
    """The one that `nc.chart` draws, where one looks for it by TAB."""
    told = nc.table_posterior([52, 11], NOISE, nc.Tree.flat(["a", "b"]))
    for result in (
        nc.posterior(9, nc.Binomial(20, 0.5), NOISE),
        nc.privacy_curve(NOISE),
        nc.figure("naldi2015.1"),
        told,
    ):
        assert "chart" in dir(result)
        assert isinstance(result.chart(), alt.TopLevelMixin)
        assert result.chart().to_dict() == nc.chart(result).to_dict()
    assert [row["cell"] for row in told] == ["a", "b"]
