"""Views of a database are judged at every count, also where a copy of what they showed exists."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.ledger.ledger import Ledger
from tests.catalog.conftest import EXACTLY, Asked
from tests.catalog.test_shared_records import duck, sqlite
from tests.helpers.commands import Run

MADE = (
    "CREATE TABLE seen (person INTEGER, town TEXT, role TEXT)",
    "INSERT INTO seen VALUES (1, 'Bern', 'ill'), (2, 'Bern', 'well'), (3, 'Bern', 'well')",
    "CREATE TABLE paid (person INTEGER, town TEXT, cost INTEGER)",
    "CREATE TABLE towns (town TEXT, region TEXT)",
    "CREATE VIEW shared AS SELECT a.person, b.role FROM seen a JOIN seen b ON a.town = b.town",
    "CREATE VIEW placed AS SELECT person, region FROM seen JOIN towns ON seen.town = towns.town",
    "CREATE VIEW priced AS SELECT person, region FROM paid JOIN towns ON paid.town = towns.town",
)
PUBLIC = UnitClaim(public_tables=("towns",))


@pytest.fixture(params=[sqlite, duck])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give a file of each engine."""
    path: Path = request.param(tmp_path / "clinic.db", MADE)
    return path


def test_a_view_is_refused_before_any_charge(database: Path, asked: Asked, ledger: Ledger) -> None:
    """Also if it was counted before, when its owner vouched for it, and a copy of its rows is kept."""
    vouched = {"unit": "person", "table": "shared", "claim": UnitClaim(vouched="nobody shares a town")}
    assert asked(database, **vouched).release("role = 'ill'", EXACTLY).answer == 3
    spent = len(ledger.entries())
    with pytest.raises(SourceError, match="it joins a with b other than by their units"):
        asked(database, table="shared").release("role = 'well'", EXACTLY)
    assert len(ledger.entries()) == spent
    assert asked(database, table="shared").release("role = 'ill'", EXACTLY).answer == 3  # which was paid for
    assert len(ledger.entries()) == spent


def test_a_public_table_belongs_to_no_budget(database: Path, asked: Asked) -> None:
    """Two views that join it with records of their own are two data sets."""
    asked(database, "first", unit="person", table="placed", claim=PUBLIC)
    asked(database, "second", unit="person", table="priced", claim=PUBLIC)


def test_an_owner_states_in_the_configuration_what_holds(run: Run, tmp_path: Path) -> None:
    """The refusal names both keys; with one of them the view is counted, and checked."""
    with closing(sqlite3.connect(tmp_path / "clinic.sqlite")) as connection:
        connection.executescript(";".join(MADE))

    def configure(*lines: str) -> None:
        stated = ('source = "clinic.sqlite"', 'table = "placed"', 'unit = "person"', *lines)
        (tmp_path / "noisycount.toml").write_text("[datasets.clinic]\n" + "\n".join(stated), encoding="utf-8")

    words = ("--where", "region = 'Mittelland'", "--epsilon", "0.5")
    configure()
    for command in (("check", "clinic"), ("count", "clinic", *words)):
        told = run(*command)
        assert told.status == 4
        assert "'placed' is a view whose definition does not prove that each of its rows comes from one" in told.errors
        assert 'list public_tables in noisycount.toml, or state there why it holds: vouched = "…"' in told.errors
    for line in ('public_tables = ["towns"]', 'vouched = "towns has one row a town"'):
        configure(line)
        assert run("check", "clinic").status == 0
        assert run("count", "clinic", *words).status == 0
    configure(f'vouched = "{"a" * 501}"')
    assert "must state why each row of a view is of one unit in 1 to 500" in run("check", "clinic").errors
