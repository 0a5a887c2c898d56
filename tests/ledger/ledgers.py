"""What the tests of the ledger share."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from noisycount.errors import LedgerError
from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.storage import LATER_COLUMNS

TENTH = Fraction(1, 10)


def asked(number: int, epsilon: Fraction = TENTH, dataset: str = "survey") -> Request:
    """Give one of many requests."""
    return Request(dataset, f"question {number}", epsilon)


def refusal(action: Callable[[], object]) -> str:
    """Give the text of a refusal; it is one line of ours that shows nothing of the engine's."""
    with pytest.raises(LedgerError) as raised:
        action()
    message = str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert "\n" not in message
    assert not re.search(r"sqlite3|sqlalche\.me|psycopg\.|INSERT|SELECT|PRAGMA|BEGIN", message)
    return message


def narrow(url: str, lacking: Sequence[str] = LATER_COLUMNS) -> None:
    """Make a ledger of an older form, by default that before prices in ρ: without some columns."""
    with Ledger.open(url) as ledger, ledger.writing.begin() as shell:
        for name in lacking:
            shell.exec_driver_sql(f"ALTER TABLE ledger DROP COLUMN {name}")


def change(ledger: Ledger, *statements: str) -> None:
    """Change a ledger as somebody does who may change everything in its database."""
    guard = "ledger_refuses_update", "ledger_refuses_delete"
    with ledger.reading.execution_options(writing=True).begin() as shell:
        server = shell.dialect.name == "postgresql"
        for name in guard:
            shell.exec_driver_sql(f"DROP TRIGGER {name}{' ON ledger' if server else ''}")
        for statement in statements:
            shell.exec_driver_sql(statement)
