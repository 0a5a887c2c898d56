"""Charges in the currency of the budget: in ρ where the budget is in ρ, by every door."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import noisycount as nc
from noisycount.ledger.budget import ApproximateBudget, ConcentratedBudget, Loss, PureBudget
from noisycount.release.desk import Desk
from tests.helpers.commands import Run
from tests.helpers.service_callers import calling, configured, serving

SURVEY = pl.DataFrame({"town": ["Bern"] * 300 + ["Chur"] * 200})
WHERE = "town = 'Bern'"


def desk_of(folder: Path, budget: object) -> Desk:
    """Return a desk of the survey."""
    return nc.open_desk(SURVEY, unit="row", budget=budget, ledger=folder / "ledger.db")


def test_a_count_is_charged_in_the_currency_of_the_budget(tmp_path: Path) -> None:
    """The charge is the ledger's: a top-up to ε = 0.25 adds 0.25²/2 to a sum of ρ, not 0.15."""
    with desk_of(tmp_path, {"rho": "10"}) as desk:
        first, finer, again = (desk.release(WHERE, price) for price in ("0.1", "0.25", "0.2"))
        taken = desk.ledger.paid(desk.ledger.entries()[0].request.dataset).rho
    assert [each.charged for each in (first, finer, again)] == [Fraction(1, 200), Fraction(1, 32), 0]
    assert first.charged + finer.charged == taken
    assert (finer.charge, finer.charge_text, again.repeated) == (
        Loss.concentrated(Fraction(1, 32)),
        "ρ = 0.03125",
        True,
    )
    assert "charged ρ = 0.03125" in finer._repr_html_()


@pytest.mark.parametrize("budget", ["10", {"epsilon": "10", "delta": "1e-6"}])
def test_a_budget_with_an_epsilon_is_charged_in_it(tmp_path: Path, budget: object) -> None:
    """The difference in ε, as an exact number and in words."""
    with desk_of(tmp_path, budget) as desk:
        desk.release(WHERE, "0.1")
        finer = desk.release(WHERE, "0.25")
    assert (finer.charged, finer.charge_text) == (Fraction(3, 20), "0.15")


def test_a_goal_keeps_the_most_of_its_rho(tmp_path: Path) -> None:
    """Of a reserve in ρ nothing is given back, and that is what is told."""
    with desk_of(tmp_path, {"rho": "10"}) as desk:
        near = desk.release(WHERE, within="20%", at_most="0.5")
    assert (near.charged, near.epsilon < Fraction(1, 2)) == (Fraction(1, 8), True)


def test_a_table_names_the_currency_of_the_budget(tmp_path: Path) -> None:
    """Its charge has all sums; in words stands the one that the budget counts."""
    with desk_of(tmp_path, {"rho": "10"}) as desk:
        table = desk.release_table("town", {"town": ["Bern", "Chur"]}, epsilon="0.25")
        assert (table.charged, table.charge_text) == (Loss.from_epsilon(Fraction(1, 4)), "ρ = 0.03125")
        assert not desk.release_table("town", {"town": ["Bern", "Chur"]}, epsilon="0.25").charged


def test_no_charge_is_no_charge_in_any_currency() -> None:
    """A loss of nothing stays one."""
    for budget in (
        PureBudget(Fraction(1)),
        ConcentratedBudget(Fraction(1)),
        ApproximateBudget(Fraction(1), Fraction(1, 10**6)),
    ):
        assert not budget.charge(Loss())


def test_the_command_charges_in_the_currency_of_the_budget(run: Run, here: Path) -> None:
    """In words, in a dry run and as JSON, for counts and for tables."""
    (here / "noisycount.toml").write_text(
        '[datasets.survey]\nsource = "survey.parquet"\nunit = "person"\nbudget = { rho = "1" }\n'
    )
    words = ("count", "survey", "--where", "age >= 40")
    run(*words, "--epsilon", "0.1")
    assert "ρ = 0.03125 would be charged: you have" in run(*words, "--epsilon", "0.25", "--dry-run").words
    assert run(*words, "--epsilon", "0.25", "--dry-run", "--json").object["cost"] == "0.03125"
    assert "charged ρ = 0.03125: it tops up an earlier answer to ε = 0.25" in run(*words, "--epsilon", "0.25").words
    assert run(*words, "--epsilon", "0.3", "--json").object["charged"] == "0.045"
    table = ("count", "survey", "--where", "age >= 40", "--where", "age < 20", "--epsilon", "0.2")
    assert "charged ρ = 0.02" in run(*table).words


def test_a_service_charges_in_the_currency_of_the_budget(tmp_path: Path) -> None:
    """In its reply, in its plan and on the page of the answer."""
    configuration = configured(tmp_path)
    stay = replace(configuration.datasets["stay"], budget=ConcentratedBudget(Fraction(1)))
    with serving(replace(configuration, datasets={"stay": stay})) as state:
        caller, body = calling(state), {"where": "age >= 65", "epsilon": "0.1"}
        assert caller.ask(body, "one").json()["charged"] == "0.005"
        finer = {**body, "epsilon": "0.25"}
        assert caller.post("/v1/datasets/stay/plan", finer).json()["cost"] == "0.03125"
        reply = caller.ask(finer, "two")
        assert reply.json()["charged"] == "0.03125"
        page = caller.get(f"/releases/{reply.json()['key']}").text
    assert "ρ = 0.03125 charged" in page
