"""Answers in a ledger that are none to their questions: forged by whoever can compute hashes."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import noisycount as nc
from noisycount.engines.memory import MemorySource
from noisycount.errors import LedgerError
from noisycount.ledger.budget import ApproximateBudget, Loss
from noisycount.ledger.entries import TableAnswer
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.price import TablePrice, odds_of
from noisycount.model.tables.levels import cell_level, margin_levels
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.query_plan import table_plan
from noisycount.release.table_release import TableRelease

_CELLS = cell_level(np.arange(3, dtype=np.int32)[:, np.newaxis], ("town",))


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
    assert "<td>total</td><td>all of Bern, &lt;Biel&gt;, (missing)</td>" in told
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


def test_it_has_a_chart(table: TableRelease) -> None:
    """Of its cells."""
    assert nc.chart(table).to_dict()["title"]["text"] == "Persons by town"


def test_the_odds_of_gaussian_noise_are_those_of_the_epsilon_that_was_asked() -> None:
    """Noise for ε = 1 at δ = 1e-6 has the odds of ε = 1, not those of a looser bound."""
    given_away = ", or the person is given away with probability 1e-06"
    for is_hidden in (False, True):
        price = TablePrice.from_amounts(nc.DiscreteGaussian, 1, None, "1e-6", is_hidden=is_hidden)
        plan = table_plan([_CELLS], price, 1, is_replacement=True)
        assert plan.odds("person") == (f"a 50:50 guess about one person becomes at most 74:26{given_away}")


def test_the_odds_of_a_rho_are_those_of_the_least_epsilon_that_it_implies() -> None:
    """At the δ that is named, or at 1e-6: 66:34 for ρ = 0.01, and 87:13 for ρ = 0.0777."""
    told = odds_of(Loss.concentrated(Fraction("0.01")), "row")
    assert told == (
        "a 50:50 guess about one row becomes at most 66:34, or the row is given away with probability 1e-06"
    )
    assert "at most 87:13," in odds_of(Loss.concentrated(Fraction("0.0777")), "person")
    spent = Loss.concentrated(Fraction("0.0777"), Fraction(1, 10**7))
    told = odds_of(spent, "person", delta=Fraction(9, 10**7))
    assert told.endswith("at most 87:13, or the person is given away with probability 1e-06")


def test_the_odds_of_an_epsilon_with_a_delta_say_what_the_delta_is() -> None:
    """And those of many cheap answers are of what their ρ implies, where that is less."""
    hidden = odds_of(Loss.from_epsilon(Fraction(1), Fraction(1, 10**6)), "person")
    assert hidden.endswith("at most 74:26, or the person is given away with probability 1e-06")
    cheap = Loss(Fraction(8), Fraction("0.05"))
    assert "99.967:0.033" in odds_of(cheap, "person")
    assert "at most 82:18, or" in odds_of(cheap, "person", delta=Fraction(1, 10**6))
    one = odds_of(Loss.from_epsilon(Fraction(1)), "person", delta=Fraction(1, 10**6))
    assert one == "a 50:50 guess about one person becomes at most 74:26"


@pytest.mark.parametrize(
    ("unit", "groups", "levels", "known"),
    [
        ("person", 1, 3, "74:26"),  # both groups of a person who moves from one to another
        ("row", 1, 3, "74:26"),
        ("person", 2, 3, "68:32"),  # of three counts, 3 move in place of 2: ε = 0.75
        ("person", 2, 4, "74:26"),
        ("person", None, 3, None),  # all counts move anyway
        ("person", 1, 1, None),
    ],
)
def test_the_odds_of_a_table_name_the_secret(unit: str, groups: int | None, levels: int, known: str | None) -> None:
    """With add/remove neighbours, the group of a person known to be present is less safe."""
    cells = cell_level(np.arange(levels, dtype=np.int32)[:, np.newaxis], ("town",))
    price = TablePrice.from_amounts(nc.DiscreteLaplace, "0.5", None, None, is_hidden=False)
    plan = table_plan([cells], price, groups, is_replacement=False)
    plain = f"a 50:50 guess about one {unit} becomes at most 63:37"
    whether = (
        f"a 50:50 guess whether one {unit} is in the records becomes at most 63:37; a guess about the "
        f"group of a {unit} known to be in them, at most {known}"
    )
    assert plan.odds(unit) == (plain if known is None else whether)
    public = table_plan([cells], price, groups, is_replacement=True)
    assert public.odds(unit) == plain


def test_a_total_tells_nothing_of_the_group_of_a_known_person() -> None:
    """Its share of the price is not paid twice."""
    (total,) = margin_levels(np.arange(3, dtype=np.int32)[:, np.newaxis], ("town",), [()])
    laplace = TablePrice.from_amounts(nc.DiscreteLaplace, 1, None, None, is_hidden=False)
    gaussian = TablePrice.from_amounts(nc.DiscreteGaussian, None, "0.5", None, is_hidden=False)
    for paid in (laplace, gaussian):
        plan = table_plan([_CELLS, total], paid, 1, is_replacement=False)
        twice = 1 + plan.levels[0].share
        lost, charged = plan.replacement_loss, plan.loss
        if charged.epsilon is not None:
            assert lost.epsilon == charged.epsilon * twice
        else:
            assert 0 <= charged.rho * twice - lost.rho < Fraction(1, 10**5)


def test_a_table_is_refined_as_a_whole(table: TableRelease) -> None:
    """`refine` and `posterior` of a table name the function for tables."""
    for given in ((), (nc.DiscreteLaplace(1),)):
        with pytest.raises(ValueError, match=r"use noisycount\.table_posterior\(table\)$"):
            nc.refine(table, nc.Binomial(9, 0.3), *given)  # type: ignore[arg-type]  # on purpose
        with pytest.raises(ValueError, match=r"use noisycount\.table_posterior\(table\)$"):
            nc.posterior(table, nc.Binomial(9, 0.3), *given)  # type: ignore[arg-type]  # on purpose


SURVEY = Dataset("survey", ApproximateBudget("2", "1e-3", "5e-4"))  # type: ignore[arg-type]
SCHEMA = {"age": Kind.INTEGER, "seen": Kind.DATE}
Ask = Callable[[Desk], object]


def count(desk: Desk) -> object:
    """Ask for one count."""
    return desk.release("age > 3", "0.1").answer


def cells(desk: Desk) -> object:
    """Ask for a table with a margin."""
    return desk.release_table("age:0,5", epsilon="0.1", margins="total").rows


def questions(desk: Desk) -> object:
    """Ask two questions at once."""
    return desk.release_many(["age > 3", "age > 4"], "0.1").rows


def hidden(desk: Desk) -> object:
    """Ask for hidden keys."""
    return desk.release_table("seen", epsilon="0.1", delta="1e-4").rows


def desk(ledger: Ledger) -> Desk:
    """Give a desk of a few records."""
    return Desk(MemorySource([{"age": age, "seen": None} for age in range(9)], SCHEMA), ledger, SURVEY)


@pytest.mark.parametrize("ask", [count, cells, questions, hidden])
@pytest.mark.parametrize(
    ("answer", "fitting"),
    [
        (5, {count}),
        (TableAnswer.from_levels([[1, 2]]), {questions}),
        (TableAnswer.from_levels([[1, 2], [3]]), {cells}),
        (TableAnswer.from_levels([[1, 2], [3]], [["a"], ["b"]]), set()),
        (TableAnswer.from_levels([[1, 2]], [["2026-01-01"], [None]]), {hidden}),
        (TableAnswer.from_levels([[1, 2]], [["2026-01-01"], ["today"]]), set()),
        (TableAnswer.from_levels([[1]], [["2026-01-01", "2026-01-02"]]), set()),
        (TableAnswer.from_levels([[], []]), set()),
    ],
)
def test_an_answer_of_another_form_is_refused(
    ask: Ask, answer: int | TableAnswer, fitting: set[Ask], tmp_path: Path
) -> None:
    """In one line that shows nothing of it; an answer of the right form is given as it is."""
    with Ledger.open(f"sqlite:///{tmp_path}/honest.db") as ledger:
        ask(desk(ledger))
        (honest,) = ledger.entries()
    with Ledger.open(f"sqlite:///{tmp_path}/forged.db") as ledger:
        entry, _ = ledger.reserve("forged", honest.request, SURVEY.budget)
        ledger.store(entry, answer)
        if ask in fitting:
            assert ask(desk(ledger))
            return
        with pytest.raises(LedgerError) as refused:
            ask(desk(ledger))
    assert str(refused.value) == (
        "key 'forged' of the ledger has an answer that does not fit its question; restore it from a"
        " copy that holds every debit"
        " (Back up, restore, monitor: noisycount docs how-to/backup)"
    )
