"""The meaning of NaN is part of the version of records, so no stored answer mixes two meanings."""

from dataclasses import replace
from math import nan
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.catalog.catalog import DatasetRecord
from noisycount.engines.formats import ColumnFormat
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Kind
from tests.catalog.conftest import EXACTLY, Asked, Opened

MISSING = {"age": ColumnFormat(Kind.REAL, nan="missing")}
VALUE = {"age": ColumnFormat(Kind.REAL)}
HIGH = "age > 65"


@pytest.fixture
def ages(tmp_path: Path) -> Path:
    """A file of Parquet without a word of pandas: two NaN, and one age above 65."""
    path = tmp_path / "ages.parquet"
    pq.write_table(pa.table({"age": [nan, nan, 30.0, 70.0]}), path)
    return path


@pytest.fixture
def pandas_ages(ages: Path) -> Path:
    """Return the same Parquet file with the metadata that pandas writes."""
    path = ages.with_name("pandas.parquet")
    metadata = pa.Schema.from_pandas(pd.DataFrame({"age": [1.0]})).metadata
    pq.write_table(pq.read_table(ages).replace_schema_metadata(metadata), path)
    return path


def test_another_meaning_of_nan_is_another_version(ages: Path, asked: Asked, ledger: Ledger) -> None:
    """A repeat and a top-up are charged anew, and are about the new count; the statement holds from then on."""
    first = asked(ages, unit="row").release(HIGH, EXACTLY)
    assert first.answer == 3
    again = asked(ages, kinds=MISSING).release(HIGH, EXACTLY)
    assert again.answer == 1
    assert ledger.spent("survey") == 2 * 40
    assert asked(ages, kinds=MISSING).release(HIGH, "60").answer == 1
    assert asked(ages).release(HIGH, "60").answer == 1  # as it is written down
    assert ledger.spent("survey") == 2 * 40 + 20
    back = asked(ages, kinds=VALUE).release(HIGH, EXACTLY)
    assert (back.answer, ledger.spent("survey")) == (3, 2 * 40 + 20)


def test_a_described_file_of_pandas_is_read_as_it_was(pandas_ages: Path, asked: Asked, ledger: Ledger) -> None:
    """A description by an older release stays valid: NaN is a value, and its answers stay free."""
    asked(pandas_ages, unit="row", kinds=VALUE).release(HIGH, EXACTLY)
    written = ledger.descriptions()["survey"]
    assert DatasetRecord.read(written).columns == VALUE
    assert asked(pandas_ages).release(HIGH, EXACTLY).answer == 3
    assert ledger.spent("survey") == 40
    assert asked(pandas_ages).release("age is null", EXACTLY).answer == 0
    assert ledger.descriptions()["survey"] == written


def test_a_new_file_of_pandas_is_described_with_its_meaning(pandas_ages: Path, asked: Asked, ledger: Ledger) -> None:
    """The description says that NaN is missing, so its version is none of an older release."""
    assert asked(pandas_ages, unit="row").release(HIGH, EXACTLY).answer == 1
    record = DatasetRecord.read(ledger.descriptions()["survey"])
    assert record.columns == MISSING
    assert record.version != replace(record, columns=VALUE).version


def test_answers_from_before_descriptions_are_not_about_missing_nan(
    pandas_ages: Path, ages: Path, opened: Opened
) -> None:
    """The size and the time of a file were a version in which NaN was a value."""
    missing, value = opened(pandas_ages, unit="row"), opened(ages, name="ages", unit="row")
    assert missing._source.former_versions == ()  # noqa: SLF001 - what asks the ledger
    assert len(value._source.former_versions) == 1  # noqa: SLF001 - as above
