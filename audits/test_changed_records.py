"""The black-box audit of records that change between two prices: the charge, the coverage, and the loss."""

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import duckdb
import numpy as np
import pandas as pd
import pytest
from tests.helpers.black_box import FALSE_ALARM, log_ratio
from tests.helpers.postgresql import Server, postgresql
from tests.helpers.spark import LOCAL

import noisycount as nc
from noisycount.catalog.served import ServerSource
from noisycount.errors import SourceError
from noisycount.release.desk import Desk

__all__ = ["postgresql"]

Tell = Callable[[str], None]
COARSE, FINE = Fraction(1, 2), Fraction(3, 5)
FIRST, SECOND = 20, 12  # records of Bern at the first price and at the second, without the one person
QUESTIONS = 800
LISTS = {"PostgreSQL": 20, "Spark": 1}  # of so many questions; a cluster takes long
COVERED = 60
RICH = "1000000"


class Place(Protocol):
    """A place whose records of Bern can be changed to so many."""

    def become(self, bern: int) -> None:
        """Change the records."""

    def open(self, ledger: Path, budget: str | dict[str, str]) -> Desk:
        """Return a desk of a budget."""


class PostgresqlTable:
    """A table of a server, without an edition."""

    def __init__(self, server: Server, _: Path) -> None:
        self.server, self.database = server, server.database()
        self.run("CREATE TABLE visits (town text)")

    def run(self, statement: str) -> None:
        """Run a statement."""
        with self.server.shell(self.database) as shell:
            shell.execute(statement.encode())

    def become(self, bern: int) -> None:
        """Change the records."""
        self.run(f"TRUNCATE visits; INSERT INTO visits SELECT 'Bern' FROM generate_series(1, {bern})")  # noqa: S608

    def open(self, ledger: Path, budget: str | dict[str, str]) -> Desk:
        """Return a desk of the table."""
        address = f"postgresql+psycopg://owner@/{self.database}?host={self.server.folder}#visits"
        return nc.open_desk(address, unit="row", budget=budget, ledger=ledger)


class SparkFolder:
    """Parquet files that Spark reads."""

    def __init__(self, _: Server, folder: Path) -> None:
        self.folder = folder / "visits"
        self.folder.mkdir()
        self.become(FIRST)

    def become(self, bern: int) -> None:
        """Change the records."""
        frame = pd.DataFrame({"town": ["Bern"] * bern + ["Chur"]})
        frame.to_parquet(self.folder / "visits.parquet")

    def open(self, ledger: Path, budget: str | dict[str, str]) -> Desk:
        """Return a desk of the folder."""
        return nc.open_desk(f"{LOCAL}#{self.folder}", unit="row", budget=budget, ledger=ledger)


class Frame:
    """A table of pandas that reads the memory of an array, which is written to."""

    def __init__(self, _: Server, __: Path) -> None:
        self.ages = np.zeros(10_000, dtype=np.int64)

    def become(self, bern: int) -> None:
        """Change the records."""
        self.ages[:] = np.arange(len(self.ages)) < bern

    def open(self, ledger: Path, budget: str | dict[str, str]) -> Desk:
        """Return a desk of the frame."""
        frame = pd.DataFrame({"town": self.ages}, copy=False)
        return nc.open_desk(frame, unit="row", budget=budget, ledger=ledger)


LIVE = {"PostgreSQL": PostgresqlTable, "Spark": SparkFolder}


@pytest.fixture(params=LIVE)
def kind(request: pytest.FixtureRequest) -> str:
    """Give the name of each kind of place."""
    name: str = request.param
    return name


@pytest.fixture
def place(kind: str, postgresql: Server, tmp_path: Path) -> Place:
    """Give a place of each kind."""
    made: Place = LIVE[kind](postgresql, tmp_path)
    return made


def pairs(place: Place, ledger: Path, counts: tuple[int, int], lists: int) -> np.ndarray:
    """Give both answers to many questions about all of Bern, between which the records change: shape (questions, 2)."""
    found = []
    with place.open(ledger, RICH) as desk:
        for bern, price in zip(counts, (COARSE, FINE), strict=True):
            place.become(bern)
            for part in range(lists):
                wheres = [f"town = 'Bern' and town <> '{part} {number}'" for number in range(QUESTIONS)]
                found.append(desk.release_many(wheres, QUESTIONS * price).answers[0])
        spent = desk.ledger.spent(desk.ledger.entries()[0].request.dataset)
    charged.append(spent / QUESTIONS / lists)
    return np.concatenate(found).reshape(2, -1).T


charged: list[Fraction] = []  # by each pair of answers


@pytest.mark.parametrize("mutant", ["", "tops up"])
def test_two_prices_lose_what_was_charged(kind: str, place: Place, tmp_path: Path, tell: Tell, mutant: str) -> None:
    """With a person more in both records or in the later ones, the loss is within the charge.

    A top-up across the change loses up to 2·ε₁ + ε₂ = 1.6 and ε₁ + ε₂ = 1.1, where ε₂ = 0.6 is charged: it is found.
    """
    if mutant and kind == "Spark":
        pytest.skip("so few answers show no loss beyond the charge")
    with pytest.MonkeyPatch.context() as patch:
        if mutant:
            patch.setattr(ServerSource, "has_exact_version", True)
        fewer = pairs(place, tmp_path / "fewer.db", (FIRST, SECOND), LISTS[kind])
        both = pairs(place, tmp_path / "both.db", (FIRST + 1, SECOND + 1), LISTS[kind])
        newcomer = pairs(place, tmp_path / "newcomer.db", (FIRST, SECOND + 1), LISTS[kind])
    assert set(charged[-3:]) == {FINE if mutant else COARSE + FINE}
    for name, more, bound in (("in both", both, charged[-1]), ("in the second", newcomer, FINE)):
        shown = shown_loss(fewer, more)
        tell(
            f"{kind} {mutant}: one person {name}: a loss of at least {shown:.3f}, where {float(bound):.3f} was charged"
        )
        assert (shown > bound) is bool(mutant)


def shown_loss(fewer: np.ndarray, more: np.ndarray) -> float:
    """Return the loss that events of both answers show with a confidence of 1 - 1e-6."""

    def events(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        coarse, fine = answers.T
        return (coarse > SECOND) & (coarse <= FIRST) & (fine <= SECOND), (coarse > FIRST) & (fine > SECOND)

    (apart, up), (apart_more, up_more) = events(fewer), events(more)
    level = FALSE_ALARM / 4
    return max(log_ratio(apart, apart_more, level), log_ratio(up_more, up, level))


def test_intervals_cover_the_records_of_their_moment(kind: str, place: Place, tmp_path: Path, tell: Tell) -> None:
    """100 rows at ε = 0.1, then 1,000 rows at 0.11: intervals at 95 % miss as often as they may."""
    wheres = [f"town = 'Bern' and town <> '{number}'" for number in range(COVERED)]
    with place.open(tmp_path / "ledger.db", RICH) as desk:
        for bern, price in ((100, Fraction(1, 10)), (1000, Fraction(11, 100))):
            place.become(bern)
            found = desk.release_many(wheres, COVERED * price)
    missed = int((abs(found.answers[0] - 1000) > found.errors[0]).sum())
    tell(f"{kind}: {missed} of {COVERED} intervals at 95 % miss the count")
    assert missed <= 15  # a chance of 1e-7


def test_gaussian_answers_are_about_one_count(place: Place, tmp_path: Path) -> None:
    """100 rows, then 1,000: the second answer is no mean of both."""
    ask = {"by": "town", "keys": {"town": ["Bern"]}, "noise": nc.DiscreteGaussian}
    with place.open(tmp_path / "ledger.db", {"rho": "1000"}) as desk:
        for bern, rho in ((100, 50), (1000, 60)):
            place.become(bern)
            release = desk.release_table(**ask, rho=rho)
    assert (abs(int(release.answers[0][0]) - 1000) < 5, release.parts, release.charged.rho) == (True, (), 60)


def test_a_goal_starts_afresh(place: Place, tmp_path: Path) -> None:
    """It counts the records of now, and is charged all of its price."""
    with place.open(tmp_path / "ledger.db", RICH) as desk:
        place.become(5000)
        coarse = desk.release("town = 'Bern'", within="20%", at_most=2)
        place.become(500)
        near = desk.release("town = 'Bern'", within="1%", at_most=2)
        spent = desk.ledger.spent(desk.ledger.entries()[0].request.dataset)
    assert (near.charged, near.replaces, spent) == (near.epsilon, (), coarse.epsilon + near.epsilon)
    assert abs(near.answer - 500) <= 40


def test_a_frame_that_is_written_to_is_refused(postgresql: Server, tmp_path: Path) -> None:
    """Nothing is published about other records than those that were there at opening."""
    place = Frame(postgresql, tmp_path)
    place.become(100)
    with place.open(tmp_path / "ledger.db", RICH) as desk:
        desk.release("town = 1", COARSE)
        place.become(1000)
        with pytest.raises(SourceError):
            desk.release("town = 1", FINE)
    with place.open(tmp_path / "ledger.db", RICH) as desk:
        anew = desk.release("town = 1", FINE)
    assert (anew.charged, anew.replaces) == (FINE, ())


@pytest.mark.parametrize("expression", ["random() < 0.5", "seen <= now()"])
def test_a_view_that_shows_other_records_each_time_is_refused(expression: str, tmp_path: Path) -> None:
    """Of DuckDB: its file stays as it is, and its records do not."""
    file = tmp_path / "visits.duckdb"
    with closing(duckdb.connect(str(file))) as database:
        database.execute(
            "CREATE TABLE visits AS SELECT 'Bern' AS town, TIMESTAMPTZ '2026-01-01' AS seen FROM range(100)"
        )
        database.execute(f"CREATE VIEW recent AS SELECT town FROM visits WHERE {expression}")  # noqa: S608
    with pytest.raises(SourceError), nc.open_desk(file, unit="row", table="recent", ledger=tmp_path / "l.db") as desk:
        desk.release("town = 'Bern'", COARSE)
