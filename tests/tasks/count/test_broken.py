"""Nothing is charged to a ledger whose chain is broken."""

from pathlib import Path

import pytest

from noisycount.ledger.ledger import Ledger
from tests.commands import Refused, Run, configure
from tests.ledger.ledgers import change

QUESTION = ("count", "survey", "--epsilon", "0.1", "--where")
REMEDY = "restore it from a copy that holds every debit"


@pytest.mark.parametrize(
    ("statements", "row"),
    [
        (["UPDATE ledger SET epsilon = '0.01' WHERE number = 2"], 2),
        (["UPDATE ledger SET answer = '5' WHERE number = 3"], 3),
        (["DELETE FROM ledger WHERE number = 2"], 2),
        (["UPDATE ledger SET spent = '0' WHERE number = 4"], 4),
    ],
)
def test_a_count_stops_on_a_broken_chain(
    run: Run, here: Path, refused: Refused, statements: list[str], row: int
) -> None:
    """A new question and an old one: the row and the remedy are told, and nothing is written."""
    configure(here)
    for year in (1, 2):
        assert run(*QUESTION, f"year = {year}").status == 0
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        change(ledger, *statements)
        rows = ledger.rows()
    for asked in ("year = 1", "year = 9"):
        assert refused(*QUESTION, asked) == (
            f"error: row {row} of the ledger is damaged; {REMEDY}; `noisycount ledger verify` tells"
            " what is wrong with it, and nothing is charged until then\n"
        )
    with Ledger.open(f"sqlite:///{here}/ledger.db") as ledger:
        assert ledger.rows() == rows
