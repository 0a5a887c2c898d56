import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.snapshot import Cells, column_facts
from noisycount.query.schema import KINDS
from tests.engines.test_sources import CELLS, DIRTY_SCHEMA, RECORDS
from tests.helpers.cases import examples
from tests.helpers.frames import arrow_table, pandas_frame, polars_frame

SURVEY = {"age": [31, None, 29], "name": ["é", "", None], "bmi": [20.5, -0.0, 1e300]}
SCHEMA = {name: kind for name, kind in DIRTY_SCHEMA.items() if not name.endswith("2")}
ODD = {"flag": [True, None, False], "big": [2**63 - 1, -(2**63), 0]}


def version(frame: object) -> str:
    """The version of a frame."""
    with FrameSource.open(frame, unit=None) as source:
        return source.version


def without_nan(records: list[Mapping[str, object]]) -> list[dict[str, object]]:
    """The records without what is a value for all but pandas."""
    return [{n: v for n, v in record.items() if v == v} for record in records]  # noqa: PLR0124 - NaN


@pytest.mark.thorough
@given(RECORDS, st.integers(0, 12))
@examples(25)
def test_the_same_records_have_the_same_version_in_every_library(records: list[Mapping[str, object]], cut: int) -> None:
    """In however many parts they are, and in whichever order their columns stand."""
    known = without_nan(records)
    table = arrow_table(known, SCHEMA)
    parts = pa.concat_tables([table[:cut], table[cut:]])
    frames = [
        parts,
        parts.select(sorted(table.column_names)),
        parts.to_reader(),
        pl.concat([polars_frame(known, SCHEMA)[:cut], pl.DataFrame(table)[cut:]]),
        pandas_frame(known, SCHEMA),
    ]
    assert {version(frame) for frame in frames} == {version(table)}


@pytest.mark.thorough
@given(RECORDS)
@examples(15)
def test_records_that_were_saved_and_read_again_have_the_same_version(records: list[Mapping[str, object]]) -> None:
    """Through Parquet, written and read by any library; with categories, too."""
    table = arrow_table(without_nan(records), SCHEMA)
    categories = pl.DataFrame(table).cast({pl.String: pl.Categorical})
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.parquet")
        for write in (
            lambda: pq.write_table(table, path, row_group_size=5, use_dictionary=False),
            lambda: categories.write_parquet(path),
        ):
            write()
            with duckdb.connect() as connection:
                frames = (
                    pq.read_table(path),
                    pd.read_parquet(path, dtype_backend="pyarrow"),
                    pl.read_parquet(path),
                    connection.read_parquet(str(path)),
                )
                assert {version(frame) for frame in frames} == {version(table)}


@pytest.mark.thorough
@given(st.data())
@examples(40)
def test_every_changed_cell_changes_the_version(data: st.DataObject) -> None:
    """Also one that becomes missing, and one that was."""
    records = data.draw(RECORDS)
    number = data.draw(st.integers(0, len(records) - 1))
    name = data.draw(st.sampled_from(sorted(DIRTY_SCHEMA)))
    cell = data.draw(CELLS[DIRTY_SCHEMA[name]] | st.none())
    old = records[number].get(name)
    assume(repr(cell) != repr(old))  # which tells the signs of zeros
    assume(not (isinstance(cell, float) and isinstance(old, float) and math.isnan(cell + old)))
    changed = [*records]
    changed[number] = {**records[number], name: cell}
    old_version, new_version = (version(arrow_table(each, DIRTY_SCHEMA)) for each in (records, changed))
    assert old_version != new_version


@pytest.mark.parametrize(
    "other",
    [
        {"age": [1, 2], "b": ["x", "y"]},
        {"a": [2, 1], "b": ["x", "y"]},
        {"a": [1, 2], "b": ["xy", ""]},
        {"a": [1, 2], "b": ["", "xy"]},
        {"a": [1.0, 2.0], "b": ["x", "y"]},
        {"a": ["1", "2"], "b": ["x", "y"]},
        {"b": [1, 2], "a": ["x", "y"]},
        {"a": [1], "b": ["x"]},
        {"a": [1, 2, None], "b": ["x", "y", None]},
        {"a": [1, 2], "b": ["x", "y"], "c": [None, None]},
        {"a": [1, 2]},
    ],
)
def test_other_records_have_another_version(other: dict[str, list[object]]) -> None:
    """Other names, kinds, orders, lengths, and texts that are the same when joined."""
    schema = {"c": pl.String} if "c" in other else {}
    assert version(pl.DataFrame(other, schema_overrides=schema)) != version(
        pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    )


MOMENTS = [datetime(1969, 12, 31, 23, 59, 59, 999999), None, datetime(2026, 1, 31, 12)]  # noqa: DTZ001
KEPT: dict[str, tuple[Callable[[], object], str]] = {
    "numbers": (lambda: pl.DataFrame(SURVEY | ODD), "11ad0c121775bfc3e1a89b9760e0b7389b92cd401beb0cc79720200ae8fb604c"),
    "days": (
        lambda: pl.DataFrame(
            {
                "visit": [date(1, 1, 1), None, date(9999, 12, 31)],
                "seen": MOMENTS,
                "town": ["Zürich", None, ""],
                "ok": [None, True, False],
                "cost": [0.1, -0.0, None],
            }
        ),
        "e4a53a4dfb145dd54a3f06eab2595c88f8ad178571bf032155036095adf0a415",
    ),
    "categories": (
        lambda: pl.DataFrame(
            {"town": ["Bern", None, "Zug"], "sex": ["f", "m", "f"]},
            schema={"town": pl.Categorical, "sex": pl.Enum(["m", "f"])},
        ),
        "8cb7b5e4f758f12439944764555e0bf14e6b180fe472158b6db4dbfdd44ed974",
    ),
    "moments": (
        lambda: pa.table(
            {
                "zoned": pa.array(MOMENTS, pa.timestamp("us", "Europe/Zurich")),
                "fine": pa.array([-1, None, 1999], pa.timestamp("ns")),
                "coarse": pa.array([-1, None, 7], pa.timestamp("s")),
            }
        ),
        "575103322693636692ea0cf798fffed8de60979c6db49e14898cf59cef51b6d9",
    ),
    "widths": (
        lambda: pa.table(
            {
                "small": pa.array([1, None, -1], pa.int8()),
                "large": pa.array([2**64 - 1, None, 0], pa.uint64()),
                "single": pa.array([0.1, None, -0.0], pa.float32()),
                "exact": pa.array([Decimal("1.10"), None, Decimal("-2.00")], pa.decimal128(9, 2)),
            }
        ),
        "3d5007b1e0cd4095392c40ca1dd0b907a3e249771a11d4fb694b86dbd1e2f9d1",
    ),
    "dictionaries": (
        lambda: pa.table(
            {
                "town": pa.array(["Bern", None, "Bern"]).dictionary_encode(),
                "clock": pa.array([time(8, 30), None, time(0)], pa.time64("us")),
            }
        ),
        "21b07be07d92bac255956d50fd2a7071afc9557949bb167295a098a16581468a",
    ),
    "pandas": (
        lambda: pd.DataFrame(
            {
                "age": pd.array([31, None, 29], "Int64"),
                "cost": [0.5, math.nan, math.inf],
                "seen": pd.to_datetime(["2026-01-31 12:00", "1969-12-31 23:59", None]),
                "town": ["Bern", None, "é"],
            }
        ),
        "20b652246004a99c352cc13e233b2faaf87552a0c5fba0165bbf1b51a520e2a3",
    ),
    "nothing": (
        lambda: pl.DataFrame({"age": [], "town": []}, schema={"age": pl.Int64, "town": pl.String}),
        "aab68825e7e5862d9238563174248b88946e5c11641aeecdf86ef8f7f8fbf160",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_version_stays_the_same_for_ever(name: str) -> None:
    """Whatever versions of libraries made it: ledgers hold it for years, as 0.2 wrote it."""
    frame, kept = KEPT[name]
    assert version(frame()) == kept


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [0, 1, 131_071, 131_072, 131_073, 300_000])
def test_many_records_are_hashed_as_few_are(rows: int) -> None:
    """Over the ends of what DuckDB hands over at once, with missing cells on both sides."""
    cells = [None if n % 5 == 0 else n for n in range(rows)]
    frame = pl.DataFrame(
        {"a": cells, "b": [None if n is None else str(n) for n in cells]}, schema={"a": pl.Int64, "b": pl.String}
    ).with_columns(c=pl.col("a") % 2 == 0)
    parts = pl.concat([frame[: rows // 3], frame[rows // 3 :]], rechunk=False)
    assert version(frame) == version(parts) == version(frame.to_arrow())
    if rows:
        changed = frame.with_columns(c=pl.Series([*frame["c"][:-1], not frame["c"][-1]]))
        assert version(changed) != version(frame)


def test_what_no_question_can_use_does_not_count() -> None:
    """Such a cell changes no answer."""
    one, other = (pa.table({"a": [1, 2], "n": [[1], [n]]}) for n in (1, 2))
    assert version(one) == version(other)


def test_the_choice_of_columns_and_unit_is_no_part_of_the_content() -> None:
    """Equal data have an equal version, whatever columns and unit the owner chooses."""
    frame = pl.DataFrame(SURVEY | {"person": [1, 2, 3]})
    chosen = [
        FrameSource.open(frame, unit=unit, columns=columns)
        for unit, columns in ((None, None), ("person", None), ("person", ["age"]))
    ]
    assert len({source.version for source in chosen}) == 1


def test_kinds_are_those_of_the_contract() -> None:
    """Every kind of the random records above is hashed."""
    assert set(DIRTY_SCHEMA.values()) == {*KINDS.values()}


def test_a_missing_cell_has_its_place_in_the_whole_column() -> None:
    """Also where a column is read in several batches: else a missing cell could move to another batch."""
    missing = Cells("l", np.array([True]), np.array([0]))
    given = Cells("l", None, np.array([0]))
    first, second = column_facts([missing, given]), column_facts([given, missing])
    assert first != second
    assert column_facts([Cells("l", np.array([True, False]), np.array([5, 0]))]) == first
