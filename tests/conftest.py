import gc

from hypothesis import settings

from tests.commands import here, refused, run
from tests.layers import (
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_xdist_auto_num_workers,
)
from tests.postgresql import postgresql, unguarded
from tests.sources import ledger_url, open_source
from tests.spark import spark_cluster, spark_connect, spark_url

__all__ = [
    "here",
    "ledger_url",
    "open_source",
    "postgresql",
    "pytest_addoption",
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
