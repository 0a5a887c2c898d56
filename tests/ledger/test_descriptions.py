import json
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from noisycount.errors import LedgerError
from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger

PERSONS = json.dumps({"unit": "person", "columns": {}})
MORE = json.dumps({"unit": "person", "columns": {"age": {"kind": "integer"}}})
ROWS = json.dumps({"unit": None, "columns": {}})


def test_a_description_is_kept(ledger_url: str) -> None:
    """The next opening reads the latest description of each data set."""
    with Ledger.open(ledger_url) as ledger:
        assert ledger.descriptions() == {}
        assert ledger.describe("survey", PERSONS) == PERSONS
        assert ledger.describe("rows", ROWS) == ROWS
        assert ledger.describe("survey", MORE, PERSONS) == MORE
    with Ledger.open(ledger_url, create=False) as ledger:
        assert ledger.descriptions() == {"survey": MORE, "rows": ROWS}
        assert ledger.verify().head.number == 3


def test_the_first_description_wins(ledger_url: str) -> None:
    """Of two who describe the same data set at once the second gets what the first wrote."""
    with Ledger.open(ledger_url) as ledger:
        ledger.describe("survey", PERSONS)
        assert ledger.describe("survey", MORE) == PERSONS
        assert ledger.describe("survey", MORE, ROWS) == PERSONS
        assert ledger.describe("survey", PERSONS, PERSONS) == PERSONS
        assert ledger.verify().head.number == 1


def test_the_unit_is_fixed(ledger_url: str) -> None:
    """Rows and persons never share a budget."""
    with Ledger.open(ledger_url) as ledger:
        ledger.describe("survey", PERSONS)
        with pytest.raises(LedgerError, match="has another unit in the ledger"):
            ledger.describe("survey", ROWS, PERSONS)
        assert ledger.descriptions() == {"survey": PERSONS}


def test_descriptions_pay_nothing(ledger_url: str) -> None:
    """They stand between debits and answers, and are none of them."""
    with Ledger.open(ledger_url) as ledger:
        ledger.describe("survey", PERSONS)
        entry, _ = ledger.reserve("mine", Request("survey", "age > 40", Fraction(1)), Fraction(1))
        ledger.describe("survey", MORE, PERSONS)
        ledger.store(entry, 7)
        assert [entry.answer for entry in ledger.entries()] == [7]
        assert ledger.spent("survey") == 1
        assert [row["kind"] for row in ledger.rows()] == [*("description", "debit", "description", "answer")]
        assert ledger.verify().broken is None


@pytest.mark.parametrize("text", ["", "no", "[]", "{}", '{"unit": 3}', '{"unit": "\n"}'])
def test_what_describes_nothing_is_refused(text: str, tmp_path: Path) -> None:
    """A description is a JSON object that says whose records they are."""
    with (
        Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger,
        pytest.raises(ValueError, match="description must be"),
    ):
        ledger.describe("survey", text)


def test_a_changed_description_is_found(tmp_path: Path) -> None:
    """Its row is as much a part of the chain as any other."""
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.describe("survey", PERSONS)
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER ledger_refuses_update")
        connection.exec_driver_sql("UPDATE ledger SET question = ?", (ROWS,))
    engine.dispose()
    with Ledger.open(f"sqlite:///{path}") as ledger:
        assert ledger.verify().broken == 1
        with pytest.raises(LedgerError, match="damaged"):
            ledger.descriptions()
