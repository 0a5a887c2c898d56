import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import noisycount as nc
from tests.helpers.cases import examples
from tests.oracles.noises import noise_of
from tests.oracles.pairs import Pair, binomial_pairs, hypergeometric

FEW = examples(40)
ROUNDING = 4e-9  # two curves, each within 1e-9 of the truth, and the digits of their comparison
DEEP = 1e-49
UNDECIDED = 1e-11

RATES = st.integers(1, 63).map(lambda k: k / 64)
SIZES = st.integers(1, 40)
EPSILONS = st.one_of(st.just(0.0), st.floats(1e-6, 4.0))
SCALES = st.floats(0.05, 40.0)
FRACTIONS = st.builds(Fraction, st.integers(1, 60), st.integers(1, 8))

binomials = st.builds(nc.Binomial, SIZES, RATES)
strata = st.lists(st.tuples(st.integers(1, 12), RATES), min_size=1, max_size=3).map(
    lambda groups: nc.Strata(*zip(*groups, strict=True))
)
beta_binomials = st.builds(nc.BetaBinomial, SIZES, st.floats(0.1, 50.0), st.floats(0.1, 50.0))
tables = (
    st.lists(st.integers(0, 9), min_size=2, max_size=12)
    .filter(lambda weights: any(weights[:-1]) and any(weights[1:]))
    .filter(lambda weights: any(weights[1:-1]) or min(weights[0], weights[-1]) > 0)
    .map(lambda weights: nc.Tabulated([w / sum(weights) for w in weights]))
)
populations = st.one_of(binomials, strata, beta_binomials, tables)
continuous = st.one_of(st.builds(nc.Laplace, SCALES), st.builds(nc.Gaussian, SCALES))
discrete = st.one_of(st.builds(nc.DiscreteLaplace, FRACTIONS), st.builds(nc.DiscreteGaussian, FRACTIONS))
noises = st.one_of(continuous, discrete)


@st.composite
def sampled(draw: st.DrawFn) -> tuple[nc.Subsample, nc.Population]:
    """A sample of a population, with noise on top or without."""
    population = draw(populations)
    noise = draw(st.one_of(st.none(), noises))
    return nc.Subsample(draw(st.integers(1, population.records)), noise), population


settings_of_all = st.one_of(
    st.tuples(st.just(nc.Exact()), populations), st.tuples(noises, st.one_of(st.none(), populations)), sampled()
)


def never_more(small: tuple[float, float], large: tuple[float, float]) -> bool:
    """Return True if both directions of `small` are at most those of `large`, up to rounding."""
    return all(a <= b * (1 + ROUNDING) + DEEP for a, b in zip(small, large, strict=True))


@FEW
@given(setting=settings_of_all, epsilons=st.tuples(EPSILONS, EPSILONS))
def test_delta_falls_in_epsilon(
    setting: tuple[nc.Mechanism, nc.Population | None], epsilons: tuple[float, float]
) -> None:
    """A supremum of functions that fall; and never faster than P₊[S]·(1 − e^(ε − ε')) allows."""
    low, high = sorted(epsilons)
    curve = nc.privacy_curve(*setting)
    more, less = curve.directions(low), curve.directions(high)
    assert never_more(less, more)
    assert never_more(more, tuple(d + math.expm1(high - low) for d in less))


@FEW
@given(
    law=st.sampled_from([nc.Laplace, nc.Gaussian, nc.DiscreteLaplace]),
    scales=st.tuples(FRACTIONS, FRACTIONS),
    population=st.one_of(st.none(), populations),
    epsilon=EPSILONS,
)
def test_delta_falls_in_the_scale_of_laplace_and_gaussian_noise(
    law: type[nc.Laplace], scales: tuple[Fraction, Fraction], population: nc.Population | None, epsilon: float
) -> None:
    """The wider law is the narrower one plus independent noise.

    For the Laplace laws that noise is 0 or of the wider law itself:
    (1 + b²t²)/(1 + c²t²) = b²/c² + (1 − b²/c²)/(1 + c²t²), and the like on the integers.
    """
    narrow, wide = (nc.privacy_curve(law(s), population) for s in sorted(scales))
    assert never_more(wide.directions(epsilon), narrow.directions(epsilon))


@examples(20)
@given(
    pair=st.one_of(st.tuples(continuous, continuous), st.tuples(discrete, discrete)),
    population=st.one_of(st.none(), populations),
    epsilon=EPSILONS,
)
def test_added_independent_noise_never_raises_delta(
    pair: tuple[nc.Mechanism, nc.Mechanism], population: nc.Population | None, epsilon: float
) -> None:
    """Post-processing; where δ is exactly 0 its bracket tells what is known of a sum of noises."""
    both = nc.privacy_curve(nc.NoiseSum(pair), population)
    for noise in pair:
        single = nc.privacy_curve(noise, population)
        assert both.bracket(epsilon)[0] <= single.bracket(epsilon)[1]
        if single.delta(epsilon) > UNDECIDED:
            assert never_more(both.directions(epsilon), single.directions(epsilon))


def post_processed(noise: nc.Mechanism, pair: Pair, epsilon: float) -> tuple[arb, arb]:
    """δ of the answer rounded to an integer and clamped to the possible counts."""
    tail = noise_of(noise).exceedance
    first, last = pair.first, pair.last
    factor, found = arb(epsilon).exp(), [arb(0), arb(0)]
    half = arb(0) if isinstance(noise, nc.DiscreteLaplace | nc.DiscreteGaussian) else arb(0.5)
    for answer in range(first, last + 1):
        up, down = (
            sum(
                (
                    w
                    * (
                        (tail(answer - half - k) if answer > first else 1)
                        - (tail(answer + 1 - half - k) if answer < last else 0)
                    )
                    for k, w in zip(pair.counts, side, strict=True)
                ),
                arb(0),
            )
            for side in (pair.positive, pair.negative)
        )
        found[0] += (up - factor * down).max(arb(0))
        found[1] += (down - factor * up).max(arb(0))
    return found[0], found[1]


@FEW
@given(noise=noises, size=st.integers(1, 8), rate=RATES, epsilon=EPSILONS)
def test_rounding_and_clamping_never_raise_delta(noise: nc.Mechanism, size: int, rate: float, epsilon: float) -> None:
    """Post-processing, summed cell by cell."""
    (pair,) = binomial_pairs(size, rate)
    after = tuple(float(side) for side in post_processed(noise, pair, epsilon))
    assert never_more(after, nc.privacy_curve(noise, nc.Binomial(size, rate)).directions(epsilon))


@FEW
@given(population=populations, shares=st.tuples(st.floats(0, 1), st.floats(0, 1)), epsilon=EPSILONS)
def test_without_noise_a_smaller_sample_never_raises_delta(
    population: nc.Population, shares: tuple[float, float], epsilon: float
) -> None:
    """It is a sample of the larger sample, in dependent records too."""
    few, many = (max(1, round(share * population.records)) for share in sorted(shares))
    small, large, all_of_them = (
        nc.privacy_curve(mechanism, population).directions(epsilon)
        for mechanism in (nc.Subsample(few), nc.Subsample(many), nc.Exact())
    )
    assert never_more(small, large)
    assert never_more(large, all_of_them)


@FEW
@given(size=SIZES, rate=RATES, noise=noises, drawn=st.floats(0, 1), epsilon=EPSILONS)
def test_rates_and_their_complements_mirror_plus_and_minus(
    size: int, rate: float, noise: nc.Mechanism, drawn: float, epsilon: float
) -> None:
    """Negative records are counted in place of positive ones."""
    sample = max(1, round(drawn * size))
    for mechanism in (nc.Exact(), noise, nc.Subsample(sample), nc.Subsample(sample, noise)):
        plus, minus = nc.privacy_curve(mechanism, nc.Binomial(size, rate)).directions(epsilon)
        other = nc.privacy_curve(mechanism, nc.Binomial(size, 1 - rate)).directions(epsilon)
        assert other == pytest.approx((minus, plus), rel=ROUNDING, abs=DEEP)


@FEW
@given(size=SIZES, shapes=st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)), noise=noises, epsilon=EPSILONS)
def test_swapped_shapes_of_an_uncertain_rate_mirror_plus_and_minus(
    size: int, shapes: tuple[float, float], noise: nc.Mechanism, epsilon: float
) -> None:
    """Beta(α, β) for the positive records is Beta(β, α) for the negative ones."""
    plus, minus = nc.privacy_curve(noise, nc.BetaBinomial(size, *shapes)).directions(epsilon)
    other = nc.privacy_curve(noise, nc.BetaBinomial(size, *shapes[::-1])).directions(epsilon)
    assert other == pytest.approx((minus, plus), rel=ROUNDING, abs=DEEP)


@FEW
@given(setting=settings_of_all)
def test_at_0_both_directions_are_the_total_variation_distance(
    setting: tuple[nc.Mechanism, nc.Population | None],
) -> None:
    """P₊[S] − P₋[S] is P₋ − P₊ of the complement."""
    mechanism, population = setting
    plus, minus = nc.privacy_curve(mechanism, population).directions(0.0)
    assert plus == pytest.approx(minus, rel=ROUNDING, abs=DEEP)
    assert 0 <= plus <= 1


@FEW
@given(size=SIZES, rate=RATES, drawn=st.floats(0, 1))
def test_at_0_a_sample_has_half_the_sum_of_differences(size: int, rate: float, drawn: float) -> None:
    """½·Σ |P₊ − P₋| over the answers, all records being drawn or some."""
    sample = max(1, round(drawn * size))
    (pair,) = binomial_pairs(size, rate)
    rows = [hypergeometric(k, sample, size) for k in pair.counts]
    gaps = [p - q for p, q in zip(pair.positive, pair.negative, strict=True)]
    total = mp.fsum(abs(mp.fdot(gaps, [row[s] for row in rows])) for s in range(sample + 1))
    found = nc.privacy_curve(nc.Subsample(sample), nc.Binomial(size, rate)).delta(0.0)
    assert found == pytest.approx(float(total / 2), rel=1e-9)


@FEW
@given(
    size=st.integers(2, 40),
    rate=RATES,
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    noise=st.one_of(st.just(nc.Exact()), noises),
    epsilon=EPSILONS,
)
def test_whoever_knows_more_independent_records_never_sees_a_smaller_delta(
    size: int, rate: float, shares: tuple[float, float], noise: nc.Mechanism, epsilon: float
) -> None:
    """The records that are not known are noise; nobody sees more than the worst case."""
    known = round(shares[0] * (size - 1))
    population = nc.Binomial(size, rate)
    more = population.given(known, round(shares[1] * known))
    outsider, informed, worst = (
        nc.privacy_curve(noise, who).directions(epsilon) for who in (population, more, nc.Known(size))
    )
    assert never_more(outsider, informed)
    assert never_more(informed, worst)
    assert never_more(nc.privacy_curve(noise).directions(epsilon), worst)


@FEW
@given(
    groups=st.lists(st.tuples(st.integers(1, 12), RATES, st.floats(0, 1)), min_size=1, max_size=3),
    noise=st.one_of(st.just(nc.Exact()), noises),
    epsilon=EPSILONS,
)
def test_whoever_knows_more_records_of_groups_never_sees_a_smaller_delta(
    groups: list[tuple[int, float, float]], noise: nc.Mechanism, epsilon: float
) -> None:
    """Even where a whole group is known and its records drop out of the maximum."""
    sizes, rates, shares = zip(*groups, strict=True)
    known = [round(share * size) for size, share in zip(sizes, shares, strict=True)]
    if known == list(sizes):
        known[0] -= 1
    population = nc.Strata(sizes, rates)
    more = population.given(known, [k // 2 for k in known])
    outsider, informed, worst = (nc.privacy_curve(noise, who).directions(epsilon) for who in (population, more, None))
    assert never_more(outsider, informed)
    assert never_more(informed, worst)


@examples(25)
@given(
    size=st.integers(2, 16),
    rate=RATES,
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    noise=st.one_of(st.none(), noises),
    epsilon=EPSILONS,
)
def test_of_a_sample_the_informed_see_no_smaller_delta_on_average(
    size: int, rate: float, shares: tuple[float, float], noise: nc.Mechanism | None, epsilon: float
) -> None:
    """A sample is not additive: some known records hide better than the average of all.

    δ of a mixture is at most the mixture of the δ; each is at most the worst case.
    """
    known = round(shares[0] * (size - 1))
    mechanism = nc.Subsample(max(1, round(shares[1] * size)), noise)
    population = nc.Binomial(size, rate)
    outsider = nc.privacy_curve(mechanism, population).directions(epsilon)
    worst = nc.privacy_curve(mechanism, nc.Known(size)).directions(epsilon)
    average = [0.0, 0.0]
    for positives in range(known + 1):
        weight = math.comb(known, positives) * rate**positives * (1 - rate) ** (known - positives)
        sides = nc.privacy_curve(mechanism, population.given(known, positives)).directions(epsilon)
        assert never_more(sides, worst)
        average = [a + weight * side for a, side in zip(average, sides, strict=True)]
    assert never_more(outsider, (average[0], average[1]))


def test_known_records_of_an_unlikely_kind_hide_better_in_a_sample() -> None:
    """Half of 99 known records positive at a rate of 1 %: the draw varies more than it did."""
    mechanism, population = nc.Subsample(10), nc.Binomial(100, 0.01)
    outsider = nc.privacy_curve(mechanism, population).delta(0.01)
    unlikely = nc.privacy_curve(mechanism, population.given(99, 49)).delta(0.01)
    assert unlikely < outsider / 2
