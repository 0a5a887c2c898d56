from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from mpmath import erfc, exp, log, mp, mpf, sqrt

import noisycount as nc
from tests.analysis.privacy.checks import assert_exact
from tests.layers import case_name
from tests.oracles.pairs import Pair, beta_binomial_pairs, binomial_pairs, binomial_sample_pairs, tabulated_pairs

Pairs = Callable[[], list[Pair]]
Setting = tuple[nc.Mechanism, nc.Binomial, Pairs, Sequence[float]]
LARGE: list[Setting] = [
    (m, nc.Binomial(size, rate), pairs, epsilons)
    for size, rate, pairs, epsilons in [
        (1000, 0.1, lambda: binomial_pairs(1000, 0.1), [0.0, 0.01]),
        (10**4, 0.3, lambda: binomial_pairs(10**4, 0.3, 2300, 3700), [0.01]),
        (10**5, 1e-4, lambda: binomial_pairs(10**5, 1e-4, 0, 700), [0.2]),
        (10**6, 1e-5, lambda: binomial_pairs(10**6, 1e-5, 0, 700), [0.2]),
        (10**9, 1e-8, lambda: binomial_pairs(10**9, 1e-8, 0, 700), [0.2]),
        (10**9, 1e-7, lambda: binomial_pairs(10**9, 1e-7, 0, 1200), [0.01]),
    ]
    for m in (nc.Exact(), nc.Laplace(3.0), nc.Gaussian(3.0), nc.DiscreteLaplace(3))
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("mechanism", "population", "pairs", "epsilons"), LARGE, ids=case_name)
def test_large_databases_are_exact(
    mechanism: nc.Mechanism, population: nc.Binomial, pairs: Pairs, epsilons: Sequence[float]
) -> None:
    """Counts of the others that are left out have a mass below 1e-45."""
    assert_exact(nc.privacy_curve(mechanism, population), mechanism, pairs(), epsilons)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [nc.Gaussian(17_000.0), nc.DiscreteGaussian(900)], ids=str)
def test_noise_much_wider_than_the_count_is_exact(mechanism: nc.Mechanism) -> None:
    """Its sums run over points between the counts, also where w passes 0."""
    pairs = binomial_pairs(26_020, 0.78, 19_500, 21_100)
    curve = nc.privacy_curve(mechanism, nc.Binomial(26_020, 0.78))
    assert_exact(curve, mechanism, pairs, [0.0, 0.00077])


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [nc.Exact(), nc.Gaussian(3.0)], ids=str)
def test_a_billion_records_of_an_even_rate_are_exact(mechanism: nc.Mechanism) -> None:
    """The others' counts within 9 deviations: 1e-19 is left out."""
    half, reach = 5 * 10**8, 145_000
    pairs = binomial_pairs(10**9, 0.5, half - reach, half + reach)
    curve = nc.privacy_curve(mechanism, nc.Binomial(10**9, 0.5))
    assert_exact(curve, mechanism, pairs, [1e-4])


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
        mechanism = nc.Subsample(sample_size, noise)
        curve = nc.privacy_curve(mechanism, nc.Binomial(size, rate))
        assert_exact(curve, noise or nc.Exact(), pairs, epsilons)


MECHANISMS = [nc.Exact(), nc.Laplace(2.5), nc.DiscreteLaplace(2.5), nc.Gaussian(1.0), nc.DiscreteGaussian(2)]
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


SHARES = [0.0, 0.3, 0.8, 0.95]
"""ε in units of the largest rate of the noise."""


@dataclass(frozen=True)
class Law:
    """A law of noise: its density or probability, and P[Z >= z], at z > −10."""

    density: Callable[[mpf], mpf]
    tail: Callable[[mpf], mpf]
    reach: mpf
    is_discrete: bool = False

    def delta(self, epsilon: float) -> mpf:
        """P[Z >= t − 1] − e^ε·P[Z >= t] at the t from which on the densities' ratio exceeds e^ε."""
        low, high = mpf(-10), mpf(int(self.reach))

        def is_passed(t: mpf) -> bool:
            return bool(log(self.density(t - 1)) - log(self.density(t)) >= mpf(epsilon))

        assert is_passed(high)
        while high - low > (1 if self.is_discrete else mpf(10) ** -35):
            middle = (low + high) // 2 if self.is_discrete else (low + high) / 2
            low, high = (low, middle) if is_passed(middle) else (middle, high)
        return self.tail(high - 1) - exp(mpf(epsilon)) * self.tail(high)


def mirrored(tail: Callable[[mpf], mpf], first: int = 0) -> Callable[[mpf], mpf]:
    """The tail on both sides of 0."""
    return lambda z: tail(z) if z >= first else 1 - tail(first - z)


def twice_discrete_laplace(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Two equal discrete Laplace noises."""
    q = exp(-1 / mpf(scale))
    share, constant = ((1 - q) / (1 + q)) ** 2, (1 + q * q) / (1 - q * q)
    law = Law(
        lambda z: share * q ** abs(z) * (abs(z) + constant),
        mirrored(lambda z: share * q**z * ((z + constant) / (1 - q) + q / (1 - q) ** 2), 1),
        10**4 * mpf(scale),
        is_discrete=True,
    )
    return nc.NoiseSum([nc.DiscreteLaplace(scale)] * 2), law


def twice_laplace(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Two equal Laplace noises."""
    b = mpf(scale)
    law = Law(
        lambda z: (1 + abs(z) / b) * exp(-abs(z) / b) / (4 * b),
        mirrored(lambda z: (2 + z / b) * exp(-z / b) / 4),
        10**4 * b,
    )
    return nc.NoiseSum([nc.Laplace(scale)] * 2), law


def two_laplaces(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Two Laplace noises, of which one is a third as wide."""
    scales = [mpf(scale), mpf(scale / 3)]
    squares = [one * one for one in scales]
    shares = [squares[0] / (squares[0] - squares[1]), squares[1] / (squares[1] - squares[0])]
    parts = list(zip(shares, scales, strict=True))
    law = Law(
        lambda z: sum(share * exp(-abs(z) / b) / (2 * b) for share, b in parts),
        mirrored(lambda z: sum(share * exp(-z / b) / 2 for share, b in parts)),
        10**3 * scales[0],
    )
    return nc.NoiseSum([nc.Laplace(scale), nc.Laplace(scale / 3)]), law


def laplace_and_gaussian(scale: float) -> tuple[nc.NoiseSum, Law]:
    """Laplace and Gaussian noise of one scale."""
    b = mpf(scale)

    def beyond(x: mpf) -> mpf:
        return erfc(x / sqrt(2)) / 2

    def parts(z: mpf) -> tuple[mpf, mpf]:
        u = z / b
        return exp(mpf(1) / 2 - u) * beyond(1 - u), exp(mpf(1) / 2 + u) * beyond(1 + u)

    law = Law(lambda z: sum(parts(z)) / (2 * b), lambda z: beyond(z / b) + parts(z)[0] / 2 - parts(z)[1] / 2, 60 * b)
    return nc.NoiseSum([nc.Laplace(scale), nc.Gaussian(scale)]), law


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [3.0, 1e3, 1e7, 1e9])
@pytest.mark.parametrize("made", [twice_discrete_laplace, twice_laplace, two_laplaces, laplace_and_gaussian])
def test_the_worst_case_of_a_wide_sum_is_exact(made: Callable[[float], tuple[nc.NoiseSum, Law]], scale: float) -> None:
    """δ to 1e-10, in a bracket of 1e-8, up to a twentieth below the ε at which it ends."""
    with mp.workdps(60):
        noise, law = made(scale)
        curve = nc.privacy_curve(noise)
        for share in SHARES:
            epsilon = share / scale
            delta = law.delta(epsilon)
            low, high = curve.bracket(epsilon)
            assert mpf(low) <= delta <= mpf(high)
            assert high - low < 1e-8 * low
            assert abs(curve.delta(epsilon) / delta - 1) < 1e-10
