"""Dependent records that are rarer than any others, down to the rates that floats can hold."""

import pytest

import noisycount as nc
from tests.analysis.privacy.checks import assert_exact
from tests.oracles.pairs import beta_binomial_pairs, tabulated_pairs

MECHANISMS = [
    nc.Exact(),
    nc.Laplace(2.5),
    nc.DiscreteLaplace(2.5),
    nc.Gaussian(1.0),
    nc.DiscreteGaussian(2),
]
EPSILONS = [0.0, 0.1, 2.0]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("size", "alpha", "beta"),
    [
        (9, 1e-59, 1.0),
        (9, 1e-57, 1e-3),
        (1, 1e-61, 1.0),
        (2, 1e-61, 1.0),
        (2, 1e-240, 1.0),
        (3, 1e12, 1e-8),
        (1, 1.0, 1e-18),
        (3, 1.0, 1e-90),
        (1000, 1e-200, 3.0),
    ],
)
def test_uncertain_rates_near_0_and_1_are_exact(size: int, alpha: float, beta: float) -> None:
    """The crossing lies as near to an integer as the expected count to 0."""
    for mechanism in MECHANISMS:
        curve = nc.privacy_curve(mechanism, nc.BetaBinomial(size, alpha, beta))
        assert_exact(curve, mechanism, beta_binomial_pairs(size, alpha, beta), EPSILONS)


@pytest.mark.parametrize(
    "table",
    [
        [1.0, 1e-61],
        [1.0, 1e-70, 1e-75],
        [1.0, 1e-200, 1e-210],
        [1e-210, 1e-200, 1.0],
        [1e-200, 1.0],
        [1e-100, 1e-30, 1.0, 1e-90],
    ],
    ids=str,
)
def test_tables_of_rare_counts_are_exact(table: list[float]) -> None:
    """On both sides of the likeliest count."""
    for mechanism in MECHANISMS:
        curve = nc.privacy_curve(mechanism, nc.Tabulated(table))
        assert_exact(curve, mechanism, tabulated_pairs(table), EPSILONS)


@pytest.mark.parametrize(
    ("population", "words"),
    [
        (nc.Tabulated([1.0, 0.0]), "population must leave the property uncertain"),
        (nc.Tabulated([0.0, 0.0, 1.0]), "population must leave the property uncertain"),
        (nc.Tabulated([1.0, 1e-260]), "population must expect a share of at least 1e-250"),
        (nc.BetaBinomial(2, 5e-324, 1.0), "population must expect a share of at least 1e-250"),
        (nc.BetaBinomial(2, 1.0, 1e-255), "population must expect a share of at least 1e-250"),
    ],
    ids=str,
)
def test_certain_and_nearly_certain_properties_are_refused(
    population: nc.Population, words: str
) -> None:
    """Ratios of dependent records that are rarer would overflow."""
    with pytest.raises(ValueError, match=f"^{words}"):
        nc.privacy_curve(nc.Exact(), population)
