"""Samples that say little of a record: δ is far smaller than what its laws are summed from."""

import numpy as np
import pytest

import noisycount as nc
from tests.analysis.privacy.checks import assert_exact
from tests.oracles.pairs import (
    Pair,
    beta_binomial_pairs,
    binomial_pairs,
    binomial_sample_pairs,
    sampled,
    tabulated_pairs,
)

RARE = 5e-10
BELL = np.exp(-0.5 * ((np.arange(201) - 80) / 7) ** 2)
TABLES = {
    "rare counts": [0, 1 - 5 * RARE, RARE, RARE, RARE, 0, RARE, 0, RARE, 1e-21 * RARE],
    "one in a thousand million": [1 - 1e-9, 1e-9 - 1e-30, 0, 1e-30],
    "nearly certain": [1e-12, 1 - 2e-12, 1e-12],
    "two lumps": [0.25, 0.25, 0, 0, 0.5],
    "a bell": (BELL / BELL.sum()).tolist(),
}


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("size", "rate", "drawn", "noise"),
    [
        (10**6, 0.3, 1000, nc.Gaussian(9.0)),
        (10**9, 0.5, 1, None),
        (10**9, 0.5, 1, nc.Laplace(2.0)),
        (10**7, 0.3, 50, nc.Laplace(2.0)),
        (10**6, 0.01, 100, nc.Gaussian(9.0)),
        (3000, 0.5, 2000, None),
    ],
    ids=str,
)
def test_samples_of_groups_of_one_rate_are_binomial(
    size: int, rate: float, drawn: int, noise: nc.Laplace | nc.Gaussian | None
) -> None:
    """From large databases, by the closed form, though groups are summed over every count."""
    population = nc.Strata([1, size // 2, size - size // 2 - 1], [rate, rate, rate])
    assert_exact(
        nc.privacy_curve(nc.Subsample(drawn, noise), population),
        noise or nc.Exact(),
        binomial_sample_pairs(size, rate, drawn, last=min(drawn, 1500)),
        [0.0, 1e-6, 1e-4],
    )


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("drawn", [1, 2])
def test_small_samples_of_tables_are_exact(name: str, drawn: int) -> None:
    """Where one count is all but certain, the laws of the sample differ by as little as 1e-12."""
    table = TABLES[name]
    pairs = [sampled(pair, drawn) for pair in tabulated_pairs(table)]
    curve = nc.privacy_curve(nc.Subsample(drawn), nc.Tabulated(table))
    assert_exact(curve, nc.Exact(), pairs, [0.0, 1e-10, 1e-3, 1.0])


@pytest.mark.parametrize("drawn", [1, 40, 299])
@pytest.mark.parametrize(("known", "positives"), [(20, 5), (299, 100)])
def test_samples_are_exact_for_somebody_who_holds_records(
    drawn: int, known: int, positives: int
) -> None:
    """From one record drawn to all but one."""
    cases: list[tuple[nc.Population, list[Pair]]] = [
        (
            nc.Binomial(300, 0.3).given(known, positives),
            [one.moved(known, positives) for one in binomial_pairs(300 - known, 0.3)],
        ),
        (
            nc.BetaBinomial(300, 3e9, 5e9).given(known, positives),
            beta_binomial_pairs(300, 3e9, 5e9, known, positives),
        ),
    ]
    for population, pairs in cases:
        curve = nc.privacy_curve(nc.Subsample(drawn), population)
        drawn_pairs = [sampled(pair, drawn) for pair in pairs]
        assert_exact(curve, nc.Exact(), drawn_pairs, [0.0, 1e-3, 0.1, 1.0])


@pytest.mark.parametrize(
    ("size", "rate", "drawn"),
    [(10**6, 1e-300, 1), (10**9, 1e-250, 7), (100, 1e-210, 99), (10**6, 1 - 2**-53, 10)],
)
def test_samples_of_records_that_are_all_but_certain_are_exact(
    size: int, rate: float, drawn: int
) -> None:
    """δ(0) is the share that is drawn."""
    curve = nc.privacy_curve(nc.Subsample(drawn), nc.Binomial(size, rate))
    pairs = binomial_sample_pairs(size, rate, drawn)
    assert_exact(curve, nc.Exact(), pairs, [0.0, 1e-10, 1e-3, 1.0])


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "rate"), [(10**10, 0.5), (10**10, 0.99)])
def test_brackets_of_very_wide_groups_meet_those_of_one_rate(size: int, rate: float) -> None:
    """The mean of that many records is itself rounded."""
    unit = 1 / (size * rate * (1 - rate)) ** 0.5
    epsilons = [0.0, unit, 10 * unit]
    groups = nc.Strata([size // 2, size // 2], [rate, rate])
    low, high = nc.privacy_curve(nc.Exact(), groups).bracket(epsilons)
    lower, upper = nc.privacy_curve(nc.Exact(), nc.Binomial(size, rate)).bracket(epsilons)
    assert (low <= upper).all()
    assert (lower <= high).all()
