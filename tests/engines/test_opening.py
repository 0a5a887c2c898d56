"""Which engine opens a file, and that nothing is loaded before."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from noisycount.engines.opening import files
from noisycount.errors import SourceError
from noisycount.query.language import parse


def test_a_file_is_opened_with_what_its_owner_says(tmp_path: Path) -> None:
    """The unit and the columns reach the engine."""
    path = tmp_path / "records.csv"
    path.write_text("person,age,note\n1,31,x\n1,32,y\n2,29,z\n")
    with files().found(path, unit="person", columns=["age"]) as source:
        assert [*source.schema] == ["age"]
        assert source.count([parse("age > 30", source.schema)]) == [1]


def test_a_file_of_no_engine_is_refused(tmp_path: Path) -> None:
    """The message lists the endings that can be read."""
    with pytest.raises(SourceError, match=r"unknown extension '.xls': use .csv, .tsv, .csv.gz, "):
        files().found(tmp_path / "records.xls")


def test_a_packed_file_is_known_by_both_its_endings(tmp_path: Path) -> None:
    """In whatever case; a packed file of another kind is refused by name."""
    path = tmp_path / "records.of.2020.CSV.GZ"
    path.write_bytes(gzip.compress(b"age\n31\n"))
    with files().found(path) as source:
        assert source.count([parse("age = 31", source.schema)]) == [1]
    with pytest.raises(SourceError, match=r"unknown extension '.parquet.gz': use .csv, .tsv"):
        files().found(tmp_path / "records.parquet.gz")


@pytest.mark.thorough
def test_an_engine_is_imported_when_it_opens_something() -> None:
    """Who only knows of desks loads no engine."""
    code = "import sys, noisycount.release.records; print('duckdb' in sys.modules)"
    loaded = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.split() == ["False"]
