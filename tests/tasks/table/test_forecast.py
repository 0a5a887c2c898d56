"""Tests of `tasks/forecast.py`."""

import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisycount as nc
from noisycount.ledger.price import TablePrice
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.tables.levels import cell_level, margin_levels
from noisycount.release.noise_plan import TablePlan
from noisycount.release.query_plan import table_plan
from noisycount.tasks.answer import one_group_price_words
from tests.helpers.commands import Refused, Run

SHAPE = ("--cells", "town=16,sex=2", "--margins", "total,town")


def test_a_table_is_planned_without_data(run: Run) -> None:
    """± of every level under both noises at the same ε and δ; the cheaper one is named first."""
    told = run("plan", *SHAPE, "--epsilon", "1", "--delta", "1e-6", "--json").object
    laplace, gaussian = told["plans"]
    assert (laplace["mechanism"], told["better"]) == ("discrete Laplace", "discrete Laplace")
    assert gaussian["price"]["epsilon"] is None
    assert [level["level"] for level in laplace["levels"]] == ["town,sex", "town", "total"]
    assert [level["counts"] for level in laplace["levels"]] == [32, 16, 1]
    assert 0 < told["gain"] < 1
    assert laplace["levels"][0]["error"] < gaussian["levels"][0]["error"]


def test_many_groups_a_person_make_gaussian_noise_cheaper(run: Run) -> None:
    """Its scale grows with the root of their number."""
    words = ("--cells", "town=100", "--groups-per-unit", "100")
    told = run("plan", *words, "--epsilon", "1", "--delta", "1e-6", "--json").object
    assert told["better"] == "discrete Gaussian"
    assert told["plans"][1]["levels"][0]["sensitivity"] == 100
    words_told = run("plan", *words, "--epsilon", "1", "--delta", "1e-6").words
    assert "cheaper discrete Gaussian: its squared errors are" in words_told


def test_replacement_costs_twice(run: Run) -> None:
    """As where the size is public."""
    scales = [
        run("plan", "--cells", "town=16", *more, "--epsilon", "1", "--json").object["plans"][0]["levels"][0]["scale"]
        for more in ((), ("--size-public",), ("--groups-per-unit", "3"))
    ]
    assert scales == ["1", "2", "3"]


def test_hidden_keys_have_a_threshold(run: Run) -> None:
    """The limit is stated before anything is spent."""
    words = ("--cells", "town=100", "--hidden", "--epsilon", "1", "--delta", "1e-6")
    plan, _ = run("plan", *words, "--json").object["plans"]
    assert plan["threshold"] < plan["surely_shown"]
    assert f"from a noisy count of {plan['threshold']} on" in run("plan", *words).output


def test_ranges_are_planned(run: Run) -> None:
    """A level for each power of two."""
    words = ("--cells", "day=365", "--cumulative", "--rho", "0.1")
    (plan,) = run("plan", *words, "--json").object["plans"]
    assert len(plan["levels"]) == 10
    assert "over 10 levels" in run("plan", *words).output


def test_the_plan_is_that_of_the_table(run: Run) -> None:
    """The planned levels, shares and scales are those of a dry run of the real table."""
    price = ("--epsilon", "0.5", "--groups-per-unit", "1", "--json", "--margins", "all")
    planned = run("plan", "--cells", "site=6,female=2", *price).object
    real = run(
        *("count", "survey.parquet", "--unit", "person", "--by", "site,female"),
        *("--keys", "site=1..6", *price, "--dry-run"),
    ).object
    assert planned["plans"][0]["levels"] == real["levels"]


def test_a_plan_is_drawn(run: Run, here: Path) -> None:
    """With a bar a level and noise."""
    told = run("plan", *SHAPE, "--epsilon", "1", "--delta", "1e-6", "--plot", "plan.svg")
    assert told.output.splitlines()[-1].split() == ["file", "plan.svg"]
    drawn = (here / "plan.svg").read_text("utf-8")
    assert "How far off would each count be?" in drawn
    assert "town,sex" in drawn


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--cells", "town"), "such as town=16,sex=2"),
        (("--cells", "town=0", "--epsilon", "1"), "such as town=16,sex=2"),
        (("--cells", "town=2,town=3", "--epsilon", "1"), "such as town=16,sex=2"),
        (("--cells", "town=2"), "needs a price"),
        (("--cells", "town=2", "--epsilon", "1", "--rho", "1"), "rho"),
        (("--cells", "town=2", "--epsilon", "1", "--margins", "twon"), "use 'town'"),
        (("--cells", "town=2", "--epsilon", "1", "--hidden"), "delta"),
        (("--cells", "a=2000,b=2000", "--epsilon", "1"), "4,000,000 cells"),
        (("--cells", "town=2", "--epsilon", "1", "--queries", "2"), "no other goal"),
        (("--cells", "town=2", "--error", "5"), "no other goal"),
        (("--margins", "total", "--epsilon", "1"), "give the cells of a table too"),
        (("--rho", "1"), "give the cells of a table too"),
    ],
)
def test_what_cannot_be_planned_is_refused(refused: Refused, words: tuple[str, ...], why: str) -> None:
    """In one line."""
    assert why in refused("plan", *words)


NAMES = ("town", "sex")
CODES = np.array(list(product(range(6), range(2))), np.int32)
PRICE = Fraction(1, 2)


def plan_of(noise: type[DiscreteNoise], price: Fraction, groups: int | None, *, is_replacement: bool) -> TablePlan:
    """A table of towns and sexes with all their sums, at a price."""
    levels = [cell_level(CODES, NAMES), *margin_levels(CODES, NAMES, [("town",), ("sex",), ()])]
    prices: dict[str, Any] = {"epsilon": price, "rho": None}
    if noise is nc.DiscreteGaussian:
        prices = {"epsilon": None, "rho": price}
    paid = TablePrice.from_amounts(noise, **prices, delta=None, is_hidden=False)
    return table_plan(levels, paid, groups, is_replacement=is_replacement)


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace, nc.DiscreteGaussian])
@pytest.mark.parametrize("is_replacement", [False, True])
def test_no_error_is_larger_for_the_part_of_the_price(noise: type[DiscreteNoise], *, is_replacement: bool) -> None:
    """And for one per cent less one would be: the scales tell."""
    now = plan_of(noise, PRICE, None, is_replacement=is_replacement)
    words = one_group_price_words(now)
    found = re.search(r"for ([0-9]+) % of (ρ|the price) no error is larger than now", words)
    assert found is not None
    assert (found[2] == "ρ") is (noise is nc.DiscreteGaussian)

    def is_near(percent: int) -> bool:
        price = PRICE * percent / 100
        then = plan_of(noise, price, 1, is_replacement=is_replacement)
        return all(
            new.mechanism.exact_scale <= old.mechanism.exact_scale
            for new, old in zip(then.levels, now.levels, strict=True)
        )

    assert is_near(int(found[1]))
    assert not is_near(int(found[1]) - 1)


def test_cells_alone_cost_their_share() -> None:
    """Of twelve cells one in each is a twelfth."""
    price = TablePrice.from_amounts(nc.DiscreteLaplace, PRICE, None, None, is_hidden=False)
    plan = table_plan([cell_level(CODES, NAMES)], price, None, is_replacement=False)
    assert one_group_price_words(plan) == ", and the same error costs 1/12 of the price"
