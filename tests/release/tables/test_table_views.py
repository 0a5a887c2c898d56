from fractions import Fraction
from math import log
from pathlib import Path

import polars as pl
import pytest

import noisycount as nc
from noisycount.model.concentrated import rho_within
from noisycount.release.budget.loss import Loss
from noisycount.release.tables.odds import odds_of
from noisycount.release.tables.table_release import TableRelease


@pytest.fixture
def table(tmp_path: Path) -> TableRelease:
    """A table with a margin and a key that looks like HTML."""
    frame = pl.DataFrame({"person": [1, 2, 3], "town": ["Bern", "Bern", "<Biel>"]})
    with nc.open_desk(frame, unit="person", ledger=tmp_path / "ledger.db") as desk:
        towns = {"town": ["Bern", "<Biel>", None]}
        return desk.release_table("town", towns, epsilon=1, margins="total", groups_per_unit=1)


def test_a_notebook_shows_its_rows(table: TableRelease) -> None:
    """With levels, ± and the price; keys are escaped."""
    told = table._repr_html_()
    assert told.count("<tr>") == 1 + 4
    assert "<td>&lt;Biel&gt;</td>" in told
    assert "<td>(missing)</td>" in told
    assert "<td>total</td><td>all</td>" in told
    assert "charged ε = 1; ε = 1 for the whole table: a 50:50 guess" in told


def test_a_notebook_shows_the_first_rows_of_many(tmp_path: Path) -> None:
    """And the number of the others."""
    frame = pl.DataFrame({"town": ["Bern", "Biel"]})
    with nc.open_desk(frame, unit="row", ledger=tmp_path / "ledger.db") as desk:
        towns = [f"town {number}" for number in range(100)]
        told = desk.release_table("town", {"town": towns}, epsilon=1)._repr_html_()
    assert "town 29" in told
    assert "town 30" not in told
    assert "… 70 more rows" in told


def test_table_libraries_read_it(table: TableRelease) -> None:
    """Its columns, cell by cell."""
    read = pl.DataFrame(table)
    assert read.to_dict(as_series=False) == table.columns


def test_it_has_one_line_and_plain_data(table: TableRelease) -> None:
    """As all results have."""
    assert "\n" not in repr(table)
    assert len(repr(table)) <= 100
    assert len(table.to_dict()["rows"]) == 4


def test_it_has_a_chart(table: TableRelease) -> None:
    """Of its cells."""
    assert nc.chart(table).to_dict()["title"]["text"] == "Persons by town"


def test_the_odds_of_gaussian_noise_hold_but_with_the_chance_that_they_tell() -> None:
    """The loss exceeds what 77:23 stand for less often; at the ε of 74:26 it does so more often."""
    rho = rho_within(1, 1e-6)
    told = odds_of(Loss.concentrated(rho), "row")
    assert told == "a 50:50 guess about one row becomes at most 77:23, but with probability 1e-06"
    noise = nc.DiscreteGaussian(1 / (2 * float(rho)) ** 0.5)

    def log_chance(epsilon: float) -> float:
        """Ln P[(2Z + 1)/(2σ²) > ε], the loss of a count that moves by one."""
        return noise.log_exceedance(float(noise.scale) ** 2 * epsilon - 0.5)

    assert log_chance(log(77 / 23)) < log(1e-6) < log_chance(log(74 / 26))
    with_keys = odds_of(Loss.concentrated(rho, Fraction(1, 10**6)), "person")
    assert with_keys.endswith("becomes at most 77:23, but with probability 2e-06")
    hidden = odds_of(Loss.of(Fraction(1), Fraction(1, 10**6)), "person")
    assert hidden.endswith("becomes at most 74:26, but with probability 1e-06")
