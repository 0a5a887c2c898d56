"""Requests, refusals and changed databases for the tests of the ledger."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import Connection, event

from noisycount.errors import LedgerError
from noisycount.ledger import storage
from noisycount.ledger.chain import debit_columns
from noisycount.ledger.entries import Entry, Request
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import LATER_COLUMNS, execute
from noisycount.validation import exact_text

TENTH = Fraction(1, 10)


def asked(number: int, epsilon: Fraction = TENTH, dataset: str = "survey") -> Request:
    """Give one of many requests."""
    return Request(dataset, f"question {number}", epsilon)


def buy_again(ledger: Ledger, key: str, epsilon: Fraction, answer: int) -> None:
    """Answer a count once more, at another price and independently, as versions did that topped up no answer."""
    former = ledger.entry(key)
    assert former is not None
    question = json.dumps({**json.loads(former.request.question), "scale": exact_text(1 / epsilon)}, sort_keys=True)
    request = replace(former.request, question=question, epsilon=epsilon)
    name = f"{key} again at {epsilon}"

    def debited(_: Connection, state: LedgerState) -> Entry:
        spent = state.datasets[request.dataset] + request.price
        own = state.analysts[former.analyst] + request.price
        entry = Entry(name, request, spent, max(datetime.now(UTC), state.made), None, former.analyst, own)
        state.append(debit_columns(entry))
        return entry

    ledger.store(ledger.transactions.write(debited), answer)


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
    with Ledger.open(url) as ledger, ledger.transactions.writing.begin() as shell:
        for name in lacking:
            shell.exec_driver_sql(f"ALTER TABLE ledger DROP COLUMN {name}")


def change(ledger: Ledger, *statements: str) -> None:
    """Change a ledger as somebody does who may change everything in its database."""
    guard = "ledger_refuses_update", "ledger_refuses_delete"
    with ledger.transactions.reading.execution_options(writing=True).begin() as shell:
        server = shell.dialect.name == "postgresql"
        for name in guard:
            shell.exec_driver_sql(f"DROP TRIGGER {name}{' ON ledger' if server else ''}")
        for statement in statements:
            shell.exec_driver_sql(statement)


def watch_queries(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, watch: Callable[[Connection, str, Sequence[int]], None]
) -> None:
    """Call a function before each later query of a ledger, whether SQLAlchemy runs it or the driver of SQLite alone."""

    def by_driver(connection: Connection, query: str, values: Sequence[Any] = ()) -> Iterable[Sequence[Any]]:
        if connection.dialect.name == "sqlite":
            watch(connection, query.replace("{mark}", "?"), values)
        return execute(connection, query, values)

    def by_sqlalchemy(connection: Connection, _: object, query: str, values: Sequence[int], *__: object) -> None:
        watch(connection, query.lstrip(), values)

    monkeypatch.setattr(storage, "execute", by_driver)
    event.listen(ledger.transactions.reading, "before_cursor_execute", by_sqlalchemy)
