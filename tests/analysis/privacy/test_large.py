from collections.abc import Callable, Sequence

import pytest

import noisycount as nc
from tests.helpers.cases import case_name
from tests.helpers.curve_checks import assert_exact
from tests.oracles.pairs import Outsider, Pair, binomial_pairs, binomial_sample_pairs, known_pairs
from tests.oracles.privacy import delta

Pairs = Callable[[], list[Pair]]
Setting = tuple[nc.Mechanism, nc.Binomial, Pairs, Sequence[float]]
LARGE: list[Setting] = [
    (m, nc.Binomial(size, rate), pairs, epsilons)
    for size, rate, pairs, epsilons in [
        *((1000, rate, lambda rate=rate: binomial_pairs(1000, rate), [0.0, 0.01]) for rate in (0.01, 0.1, 0.5)),
        (10**4, 0.3, lambda: binomial_pairs(10**4, 0.3, 2300, 3700), [0.01]),
        (10**5, 1e-4, lambda: binomial_pairs(10**5, 1e-4, 0, 700), [0.2]),
        (10**6, 1e-5, lambda: binomial_pairs(10**6, 1e-5, 0, 700), [0.2]),
        (10**9, 1e-8, lambda: binomial_pairs(10**9, 1e-8, 0, 700), [0.2]),
        (10**9, 1e-7, lambda: binomial_pairs(10**9, 1e-7, 0, 1200), [0.01]),
    ]
    for m in (nc.Exact(), nc.Laplace(3.0), nc.Gaussian(3.0), nc.DiscreteLaplace(3))
]


@pytest.mark.thorough
@pytest.mark.parametrize(("mechanism", "population", "pairs", "epsilons"), LARGE, ids=case_name)
def test_large_databases_are_exact(
    mechanism: nc.Mechanism, population: nc.Binomial, pairs: Pairs, epsilons: Sequence[float]
) -> None:
    """Counts of the others that are left out have a mass below 1e-45."""
    assert_exact(nc.privacy_curve(mechanism, population), pairs(), epsilons)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [nc.Gaussian(17_000.0), nc.DiscreteGaussian(900)], ids=str)
def test_noise_much_wider_than_the_count_is_exact(mechanism: nc.Mechanism) -> None:
    """Its sums run over points between the counts, also where w passes 0."""
    pairs = binomial_pairs(26_020, 0.78, 19_500, 21_100)
    curve = nc.privacy_curve(mechanism, nc.Binomial(26_020, 0.78))
    assert_exact(curve, pairs, [0.0, 0.00077])


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [nc.Exact(), nc.Gaussian(3.0)], ids=str)
def test_a_billion_records_of_an_even_rate_are_exact(mechanism: nc.Mechanism) -> None:
    """The others' counts within 9 deviations: 1e-19 is left out."""
    half, reach = 5 * 10**8, 145_000
    pairs = binomial_pairs(10**9, 0.5, half - reach, half + reach)
    curve = nc.privacy_curve(mechanism, nc.Binomial(10**9, 0.5))
    assert_exact(curve, pairs, [1e-4])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("size", "rate", "sample_size", "first", "last", "epsilons"),
    [
        (1000, 0.1, 100, 0, 100, [0.0, 0.01, 0.3]),
        (10**4, 0.5, 10**4 - 1, 4350, 5650, [0.01]),
        (10**6, 1e-4, 10**5, 0, 600, [0.001, 0.05]),
        (10**9, 1e-5, 10**6, 0, 600, [1e-5, 1e-3]),
        (10**9, 0.25, 10**5, 23_500, 26_500, [1e-6]),
    ],
)
def test_large_samples_are_exact(  # noqa: PLR0913, PLR0917  (a row of the table)
    size: int, rate: float, sample_size: int, first: int, last: int, epsilons: Sequence[float]
) -> None:
    """Samples to a million, alone and under noise."""
    pairs = binomial_sample_pairs(size, rate, sample_size, first, last)
    for noise in (None, nc.Laplace(3.0), nc.Gaussian(2.0)):
        curve = nc.privacy_curve(nc.Subsample(sample_size, noise), nc.Binomial(size, rate))
        assert_exact(curve, pairs, epsilons)


MECHANISMS = [nc.Exact(), nc.Laplace(2.5), nc.DiscreteLaplace(2.5), nc.Gaussian(1.0), nc.DiscreteGaussian(2)]
EPSILONS = [0.0, 0.1, 2.0]


RARE = [
    *(
        Outsider(nc.BetaBinomial(*shape))
        for shape in [
            (9, 1e-59, 1.0),
            (9, 1e-57, 1e-3),
            (1, 1e-61, 1.0),
            (2, 1e-61, 1.0),
            (2, 1e-240, 1.0),
            (3, 1e12, 1e-8),
            (1, 1.0, 1e-18),
            (3, 1.0, 1e-90),
            (1000, 1e-200, 3.0),
        ]
    ),
    *map(
        Outsider.of_table,
        [
            [1.0, 1e-61],
            [1.0, 1e-70, 1e-75],
            [1.0, 1e-200, 1e-210],
            [1e-210, 1e-200, 1.0],
            [1e-200, 1.0],
            [1e-100, 1e-30, 1.0, 1e-90],
        ],
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("outsider", RARE, ids=str)
def test_rates_and_counts_that_are_next_to_impossible_are_exact(outsider: Outsider) -> None:
    """The crossing lies as near to an integer as the expected count to 0; rare counts lie on both sides."""
    for mechanism in MECHANISMS:
        assert_exact(outsider.curve(mechanism), outsider.pairs(), EPSILONS)


FAR_OUT = [
    (nc.Subsample(409_277, nc.Gaussian(2089.058161554934)), nc.Binomial(1_351_656, 5.255545723643745e-8), 0.03065),
    (nc.Gaussian(417.53898302327343), nc.Binomial(31, 0.999942638482924), 0.05191883133339736),
    (
        nc.Subsample(525_135, nc.DiscreteLaplace(0.276392)),
        nc.Binomial(676_656_561, 0.13917154371793913),
        1.024e-4,
    ),
]


@pytest.mark.parametrize(("mechanism", "population", "epsilon"), FAR_OUT)
def test_brackets_are_narrow_where_terms_underflow(
    mechanism: nc.Mechanism, population: nc.Population, epsilon: float
) -> None:
    """None is told by the δ of a smaller ε, or refused, as no threshold is found among terms that underflow."""
    low, high = nc.privacy_curve(mechanism, population).bracket(epsilon)
    assert high - low <= 1e-8 * high + 1e-200


WIDE_SUMS: dict[str, Callable[[float], list[nc.Mechanism]]] = {
    "twice discrete Laplace": lambda scale: [nc.DiscreteLaplace(scale)] * 2,
    "twice Laplace": lambda scale: [nc.Laplace(scale)] * 2,
    "two Laplaces": lambda scale: [nc.Laplace(scale), nc.Laplace(scale / 3)],
    "Laplace and Gaussian": lambda scale: [nc.Laplace(scale), nc.Gaussian(scale)],
}


@pytest.mark.few(0)
@pytest.mark.parametrize("scale", [3.0, 1e9])
@pytest.mark.parametrize("name", WIDE_SUMS)
def test_the_worst_case_of_a_wide_sum_is_exact(name: str, scale: float) -> None:
    """δ to 1e-10, in a bracket of 1e-8, up to a twentieth below the ε at which it ends."""
    noise = nc.NoiseSum(WIDE_SUMS[name](scale))
    curve = nc.privacy_curve(noise)
    for share in (0.0, 0.3, 0.8, 0.95):
        exact = delta(noise, known_pairs(1), share / scale)
        low, high = curve.bracket(share / scale)
        assert low <= exact <= high
        assert high - low < 1e-8 * low
        assert abs(curve.delta(share / scale) / exact - 1) < 1e-10
