import os

from hypothesis import settings

from tests.layers import pytest_collection_modifyitems, pytest_report_header
from tests.postgresql import postgresql, roomy_folder

__all__ = ["postgresql", "pytest_collection_modifyitems", "pytest_report_header"]

# no deadline: shared machines pause; speed is benchmarked
settings.register_profile("fast", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile("fast")

if folder := roomy_folder():  # a ledger waits for the disk at every row; no power is cut here
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)
