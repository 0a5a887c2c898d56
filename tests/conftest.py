"""Fixtures and hooks of all tests. A fixture imports what it needs itself, so that one file starts fast."""

import gc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.helpers.commands import here, refused, run
from tests.helpers.postgresql import postgresql, unguarded
from tests.helpers.spark import spark_cluster, spark_connect, spark_url
from tests.layers import (
    pytest_addoption,
    pytest_collection,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_xdist_auto_num_workers,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from noisycount.engines.interface import Source
    from noisycount.query.schema import Kind
    from tests.helpers.postgresql import Server
    from tests.helpers.sources import OpenSource, Record

__all__ = [
    "here",
    "postgresql",
    "pytest_addoption",
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_xdist_auto_num_workers",
    "refused",
    "run",
    "spark_cluster",
    "spark_connect",
    "spark_url",
    "unguarded",
]

settings.load_profile("fast")

gc.disable()  # what collecting makes stays: to look for garbage in it takes a fifth of its time


def pytest_collection_finish() -> None:
    """Collect the garbage of the tests alone."""
    gc.freeze()
    gc.enable()


@pytest.fixture(params=["memory", "duckdb", "arrow", "polars", "postgresql"])
def open_source(request: pytest.FixtureRequest, tmp_path: Path) -> "OpenSource":
    """Open records as one kind of source; options are the unit and the columns."""
    from noisycount.engines.duckdb.source import DuckDBSource
    from noisycount.engines.memory import MemorySource
    from tests.helpers.frames import FRAMES
    from tests.helpers.sources import opened_frame, opened_table, write_parquet

    if request.param == "memory":
        return MemorySource
    if request.param == "postgresql":
        return partial(opened_table, request.getfixturevalue("postgresql"))
    if request.param in FRAMES:
        return partial(opened_frame, FRAMES[request.param])

    def opened(records: "Sequence[Record]", schema: "Mapping[str, Kind]", **options: object) -> "Source":
        path = tmp_path / "records.parquet"
        write_parquet(path, records, schema)
        return DuckDBSource.open(path, **options)

    return opened


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a ledger that is not made yet, in each database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    server: Server = request.getfixturevalue("postgresql")
    return server.new_url()
