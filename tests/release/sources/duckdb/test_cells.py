"""What cells of CSV files stand for, and that none changes what another does."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.release.question.parser import parse
from noisycount.release.question.schema import Kind
from noisycount.release.sources.duckdb.source import DuckDBSource
from tests.release.sources.duckdb.test_source import counts, write_csv


@pytest.mark.parametrize(
    ("kind", "cells", "question", "count"),
    [
        (Kind.INTEGER, ["2", "1.5", "2.5", "2_0", "0x2", "1e1", " +7 ", "-0"], "true", 8),
        (Kind.INTEGER, ["2", "1.5", "2.5", "2_0", "0x2", "1e1", " +7 ", "-0"], "x is null", 5),
        (Kind.INTEGER, ["2", "1.5", "2.5", "2_0", "0x2", "1e1", " +7 ", "-0"], "x = 7", 1),
        (Kind.REAL, ["1_0.5", "0x1p3", "2.5 m", ".5", "5.", "-inf", "NaN"], "x is null", 3),
        (Kind.DATE, ["2020-1-5", "epoch", "infinity", "2020-01-05 10:00"], "x is null", 4),
        (Kind.TIMESTAMP, ["2020-01-05 10:00:00+02", "2020-01-05T10:00", "now"], "x is null", 2),
        (Kind.BOOLEAN, ["true", "F", "2", "on"], "x is null", 2),
    ],
)
def test_a_cell_that_does_not_fit_its_stated_kind_is_missing(
    tmp_path: Path, kind: Kind, cells: list[str], question: str, count: int
) -> None:
    """It is neither rounded, nor read without its zone, nor as a day without its hour."""
    path = write_csv(tmp_path, "x\n" + "".join(f'"{cell}"\n' for cell in cells))
    assert counts(path, question, kinds={"x": kind}) == [count]


CELLS = st.sampled_from(
    [
        *("1", "-3", "007", "+1", "2.5", "1e3", "9007199254740993", "900719925474099", "0.1"),
        *("true", "false", "t", "2020-01-05", "2020-1-5", "2020-01-05 10:00:00", "unknown", ""),
        *("nan", "inf", "1_0", "99999999999999999999", "2020-13-01", "1.0", "-0"),
    ]
)
ASKED = [
    *("x = 1", "x > 0", "x = 9007199254740993", "x <> 900719925474099.0", "x in (1, 2.5)", "x"),
    *("not x", "x = '2020-01-05'", "x < '2020-01-06'", "x between '2019-01-01' and '2021-01-01'"),
    *("x is null", "x like '%0%'", "x = 'true'", "x >= '2020-01-05 09:00:00'", "x = '1'"),
]


@given(st.lists(CELLS, min_size=1, max_size=3), CELLS)
def test_one_cell_of_a_csv_file_moves_a_count_by_one_at_most(cells: list[str], odd: str) -> None:
    """Or has a question refused, which the docs warn of: others stand for what they did."""
    found = []
    for rows in (cells * 20, [*cells * 20, odd]):
        with TemporaryDirectory() as folder:
            path = Path(folder, "x.csv")
            path.write_text("x,y\n" + "".join(f"{cell},1\n" for cell in rows))
            with DuckDBSource.open(path) as source:
                counted = {}
                for text in ASKED:
                    with suppress(PredicateError):
                        counted[text] = source.count([parse(text, source.schema)])[0]
                found.append(counted)
    without, with_odd = found
    assert without.keys() | with_odd.keys()
    for text in without.keys() & with_odd.keys():
        assert 0 <= with_odd[text] - without[text] <= 1, text
