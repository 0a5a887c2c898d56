"""Sums and tables of smooth functions of integers, beside the function at every integer."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from noisycount.model.laws.integer_series import SHORTEST, SmoothTable, integer_series, sum_of_smooth

Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FUNCTIONS: dict[str, Function] = {
    "bell": lambda n: np.exp(-(((n - 40_000) / 900) ** 2) / 2),
    "decay": lambda n: np.exp(-n / 5_000),
    "wave": lambda n: 2 + np.cos(n / 700),
    "narrow": lambda n: np.exp(-(((n - 70_123) / 3) ** 2) / 2),
}


@pytest.mark.parametrize(
    ("name", "edges"),
    [
        *((name, (0, 100_000)) for name in ("bell", "decay", "wave")),
        *((name, (0, 40_000, 40_001, 100_000)) for name in ("bell", "decay", "wave")),
        *((name, (5, 5 + SHORTEST - 1)) for name in FUNCTIONS),
        ("narrow", (0, 70_060, 70_190, 100_000)),  # edges around what is narrow, as the function states
    ],
)
def test_sums_are_those_over_every_integer(name: str, edges: tuple[int, ...]) -> None:
    """To 1e-12 of the sum, if the function is smooth between two edges."""
    function = FUNCTIONS[name]
    direct = math.fsum(function(np.arange(edges[0], edges[-1], dtype=np.float64)))
    found = sum_of_smooth(function, np.array(edges, dtype=np.float64))
    assert found == pytest.approx(direct, rel=1e-12, abs=1e-12)


def test_values_of_a_table_are_those_of_the_functions() -> None:
    """At every integer, for several functions at once."""

    def functions(integers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([FUNCTIONS[name](integers) for name in ("bell", "decay")], axis=1)

    table = SmoothTable.between(functions, (0, 99_999), 7, lambda *_: 1e-13)
    integers = np.arange(100_000, dtype=np.float64)
    assert np.abs(table.at(integers) - functions(integers)).max() < 1e-11
    assert np.abs(table.at(integers[33_000:34_000]) - functions(integers[33_000:34_000])).max() < 1e-11


@pytest.mark.parametrize("length", [SHORTEST, 1_000, 10**6])
def test_weights_of_a_sum_add_up_to_the_number_of_integers(length: int) -> None:
    """A constant, and the integers themselves, are summed exactly."""
    series = integer_series(length)
    assert series.sum_weights.sum() == pytest.approx(length, rel=1e-13)
    assert series.sum_weights @ series.nodes == pytest.approx(length * (length - 1) / 2, rel=1e-12)
