from collections.abc import Iterator

import pytest

from noisycount.ledger.ledger import Ledger


@pytest.fixture
def ledger(ledger_url: str) -> Iterator[Ledger]:
    """Give a new ledger in each database."""
    with Ledger.open(ledger_url) as ledger:
        yield ledger
