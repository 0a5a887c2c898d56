import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from noisycount.ledger.price import TablePrice
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import cell_level, margin_levels
from noisycount.release.plan import TablePlan, table_plan
from noisycount.tasks.answer import one_group_words

NAMES = ("town", "sex")
CODES = np.array(list(product(range(6), range(2))), np.int32)
PRICE = Fraction(1, 2)


def plan_of(
    noise: type[DiscreteNoise], price: Fraction, groups: int | None, *, is_replacement: bool
) -> TablePlan:
    """A table of towns and sexes with all their sums, at a price."""
    levels = [
        cell_level(CODES, NAMES),
        *margin_levels(CODES, NAMES, [("town",), ("sex",), ()]),
    ]
    prices: dict[str, Any] = {"epsilon": price, "rho": None}
    if noise is DiscreteGaussian:
        prices = {"epsilon": None, "rho": price}
    paid = TablePrice.of(noise, **prices, delta=None, is_hidden=False)
    return table_plan(levels, paid, groups, is_replacement=is_replacement)


@pytest.mark.parametrize("noise", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("is_replacement", [False, True])
def test_no_error_is_larger_for_the_part_of_the_price(
    noise: type[DiscreteNoise], *, is_replacement: bool
) -> None:
    """And for one per cent less one would be: the scales tell."""
    now = plan_of(noise, PRICE, None, is_replacement=is_replacement)
    words = one_group_words(now)
    found = re.search(r"for ([0-9]+) % of (ρ|the price) no error is larger than now", words)
    assert found is not None
    assert (found[2] == "ρ") is (noise is DiscreteGaussian)

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
    price = TablePrice.of(DiscreteLaplace, PRICE, None, None, is_hidden=False)
    plan = table_plan([cell_level(CODES, NAMES)], price, None, is_replacement=False)
    assert one_group_words(plan) == ", and the same error costs 1/12 of the price"
