from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.public import has_measurements, measured_places, measurements
from noisycount.errors import SourceError

ROWS = """
    FROM (VALUES ('50', 'total', [7], 6.1), ('1', 'sex', [-3, 5], 4.0), ('1', 'total', [2], 6.1))
    AS t(geocode, query_name, value, variance)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of two places."""
    file = tmp_path / "m.parquet"
    duckdb.sql(ROWS).write_parquet(str(file))
    return file


def test_a_place_has_its_own_measurements(path: Path) -> None:
    """Lists of whole numbers in their order, with the variance of each query."""
    found = sorted(measurements(path, "1"), key=lambda each: each.query)
    assert [(each.query, each.values.tolist(), each.variance) for each in found] == [
        ("sex", [-3, 5], 4.0),
        ("total", [2], 6.1),
    ]
    assert measurements(path, "5") == []


def test_places_are_listed_in_order(path: Path) -> None:
    """As many as are asked for."""
    assert measured_places(path, 8) == ["1", "50"]
    assert measured_places(path, 1) == ["1"]


def test_columns_tell_whether_it_is_such_a_file(path: Path, tmp_path: Path) -> None:
    """Another Parquet file has others; what is none at all is refused."""
    duckdb.sql("SELECT 1 AS geocode").write_parquet(str(tmp_path / "o.parquet"))
    (tmp_path / "b.parquet").write_text("no")
    assert has_measurements(path)
    assert not has_measurements(tmp_path / "o.parquet")
    with pytest.raises(SourceError, match="cannot be read as noisy measurements"):
        has_measurements(tmp_path / "b.parquet")
