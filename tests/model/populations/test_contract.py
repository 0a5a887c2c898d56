import pytest

import noisycount as nc
from tests.model.populations.contract import PopulationCase, PopulationContract
from tests.oracles.balls import ball
from tests.oracles.pairs import beta_binomial_pairs, binomial_pairs, exchangeable, strata_pairs, tabulated_pairs
from tests.oracles.posterior import Law, beta_binomial_law, binomial_law, strata_law

TABLE = [0.125, 0.0, 0.25, 0.0625, 0.5, 0.0625]
GROUPS = ([3, 0, 2, 1], [0.2, 0.4, 0.7, 0.7])


def informed(law: Law, positives: int) -> Law:
    """The law of the count beside known positives."""
    return Law(law.first + positives, law.weights)


PUBLIC = [value for name in nc.__all__ if isinstance(value := getattr(nc, name), type)]
POPULATIONS = [one for one in PUBLIC if issubclass(one, nc.Population) and one is not nc.Population]
CASES = [
    PopulationCase(nc.Binomial(6, 0.3), binomial_law(6, 0.3), binomial_pairs(6, 0.3)),
    PopulationCase(nc.BetaBinomial(6, 0.7, 2.5), beta_binomial_law(6, 0.7, 2.5), beta_binomial_pairs(6, 0.7, 2.5)),
    PopulationCase(nc.Tabulated(TABLE), Law(0, list(map(ball, TABLE))), tabulated_pairs(TABLE)),
    PopulationCase(nc.Strata(*GROUPS), strata_law(*GROUPS), [strata_pairs(*GROUPS)[group] for group in (0, 1)]),
    PopulationCase(
        nc.Binomial(7, 0.3).given(3, 2),
        informed(binomial_law(4, 0.3), 2),
        [pair.moved(3, 2) for pair in binomial_pairs(4, 0.3)],
    ),
    PopulationCase(
        nc.BetaBinomial(7, 0.7, 2.5).given(3, 2),
        informed(beta_binomial_law(4, 2.7, 3.5), 2),
        [pair.moved(3, 2) for pair in [exchangeable(beta_binomial_law(4, 2.7, 3.5))]],
    ),
]


class TestBuiltIn(PopulationContract):
    """The populations of this package."""

    cases = CASES


def test_every_population_is_under_contract() -> None:
    """Each public population has a case, except `Known`, which has no distribution of the count."""
    tested = {type(case.population) for case in CASES}
    assert set(POPULATIONS) - tested == {nc.Known}


@pytest.mark.parametrize("population", POPULATIONS)
def test_a_population_states_everything(population: type[nc.Population]) -> None:
    """No population has an abstract member left."""
    assert not population.__abstractmethods__


def test_the_worst_neighbours_are_the_worst() -> None:
    """Of a sample of any known count, those beside none and beside all are easiest to tell."""
    worst = nc.privacy_curve(nc.Subsample(2, nc.Laplace(1)), nc.Known(5))
    every = [nc.privacy_curve(nc.Subsample(2, nc.Laplace(1)), nc.Known(5, c)) for c in range(5)]
    for epsilon in (0.0, 0.1, 0.5):
        sides = zip(*(curve.directions(epsilon) for curve in every), strict=True)
        assert worst.directions(epsilon) == pytest.approx([max(side) for side in sides], rel=1e-12)
