import pytest

import noisycount as nc
from noisycount.analysis.evaluation.evaluation import ESTIMATES
from noisycount.papers.monte_carlo import Simulated, simulated

RUNS = 10**6
POPULATIONS = [
    nc.Binomial(100, 0.3),
    nc.BetaBinomial(50, 0.5, 2),
    nc.Strata([30, 40], [0.1, 0.6]),
    nc.Tabulated([0.25, 0, 0, 0.5, 0.25]),
    nc.Binomial(100, 0.3).given(40, 10),
]
NOISES = [
    nc.Laplace(1),
    nc.Gaussian(2),
    nc.DiscreteLaplace(3),
    nc.DiscreteGaussian(5),
    nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteLaplace(2)]),
]


def assert_agrees(
    found: Simulated, population: nc.Population, noise: nc.Mechanism, by: str, assumed: nc.Population | None
) -> None:
    """All three averages within five standard errors, or five runs where nothing happened."""
    least = 5 / found.runs
    error = nc.mean_absolute_error(population, noise, by, assumed)
    away = abs(found.mean_absolute_error - error)
    assert away <= 5 * found.mean_absolute_error_standard_error
    improved = nc.improvement_probability(population, noise, by, assumed)
    away = abs(found.improvement_probability - improved)
    assert away <= 5 * found.improvement_probability_standard_error + least
    tied = nc.tie_probability(population, noise, by, assumed)
    assert abs(found.tie_probability - tied) <= 5 * found.tie_probability_standard_error + least


@pytest.mark.few(2)
@pytest.mark.parametrize("by", ["rounded", "mean"])
@pytest.mark.parametrize("noise", [nc.Laplace(10), nc.DiscreteLaplace(10)])
@pytest.mark.parametrize("assumed", [None, nc.Binomial(1000, 0.31)])
def test_a_million_runs_agree_with_the_exact_figures(
    by: str, noise: nc.Mechanism, assumed: nc.Population | None
) -> None:
    """N = 1000, p = 0.3, ε = 0.1; a false alarm has a chance of 2e-6 a figure."""
    population = nc.Binomial(1000, 0.3)
    found = simulated(population, noise, by, RUNS, 1, assumed)
    assert_agrees(found, population, noise, by, assumed)


@pytest.mark.few(0)
@pytest.mark.parametrize("by", ESTIMATES)
@pytest.mark.parametrize(("population", "noise"), list(zip(POPULATIONS, NOISES, strict=True)))
def test_every_population_and_noise_is_drawn_right(by: str, population: nc.Population, noise: nc.Mechanism) -> None:
    """Fewer runs, at 5 standard errors."""
    found = simulated(population, noise, by, 30_000, 2)
    assert_agrees(found, population, noise, by, None)


def test_the_seed_alone_decides() -> None:
    """One worker, two or five: the same digits; another seed: others."""
    arguments = (nc.Binomial(100, 0.3), nc.Laplace(1), "mean", 400_000)
    found = [simulated(*arguments, seed=7, workers=workers) for workers in (1, 2, 5)]
    assert found[0] == found[1] == found[2]
    assert simulated(*arguments, seed=8) != found[0]


def test_standard_errors_shrink_with_the_root_of_the_runs() -> None:
    """Four times the runs, half the standard error."""
    few, many = (simulated(nc.Binomial(100, 0.3), nc.Laplace(1), "mean", runs, 1) for runs in (100_000, 400_000))
    ratio = few.mean_absolute_error_standard_error / many.mean_absolute_error_standard_error
    assert ratio == pytest.approx(2, rel=0.02)


def test_progress_is_told_to_the_end() -> None:
    """In rising shares, the last of which is 1."""
    shares: list[float] = []
    simulated(nc.Binomial(9, 0.3), nc.Laplace(1), "answer", 400_000, 1, progress=shares.append)
    assert shares == sorted(shares)
    assert len(shares) > 1
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"by": "best"}, "by must be one of"),
        ({"runs": 1}, "runs must be"),
        ({"seed": -1}, "seed must be"),
        ({"workers": 0}, "workers must be"),
        ({"mechanism": nc.Subsample(3)}, "noise that is added"),
        ({"population": nc.Known(9, 3)}, "population must give the count a law"),
    ],
)
def test_refusals_name_what_is_wrong(changed: dict[str, object], message: str) -> None:
    """One line with the value."""
    arguments: dict[str, object] = {
        "population": nc.Binomial(9, 0.3),
        "mechanism": nc.Laplace(1),
        "by": "mean",
        "runs": 100,
        "seed": 1,
    }
    with pytest.raises(ValueError, match=message):
        simulated(**(arguments | changed))  # type: ignore[arg-type]
