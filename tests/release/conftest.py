from collections.abc import Iterator
from pathlib import Path

import pytest

from noisycount.ledger.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a new ledger."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        yield ledger
