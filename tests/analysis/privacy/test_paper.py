import math
from functools import cache

import pytest
from mpmath import mp, mpf

import noisycount as nc
from tests.oracles.pairs import binomial_sample_pairs
from tests.oracles.privacy import directions

Setting = tuple[int, int, float, float]  # records, drawn records, rate, epsilon
SAMPLES: list[Setting] = [
    (1000, 100, 0.1, 0.01),
    (1000, 500, 0.01, 0.1),
    (200, 20, 0.5, 0.3),
    (50, 49, 0.9, 0.05),
    (1000, 1000, 0.1, 0.01),
    (1000, 1000, 0.5, 0.5),
]


def thresholds(size: int, drawn: int, rate: float, epsilon: float) -> tuple[mpf, mpf]:
    """Return the real counts at which the likelihood ratio of a sample's answer is e^ε and e^−ε."""
    share, odds = mpf(drawn) / size, mpf(rate) / (1 - mpf(rate))
    up, down = mp.exp(mpf(epsilon)), mp.exp(-mpf(epsilon))
    scaled = size * mpf(rate)
    return ((share + (up - 1) / (1 + up * odds)) * scaled, (share + (down - 1) / (1 + down * odds)) * scaled)


def term(size: int, drawn: int, rate: float, epsilon: float, answer: int) -> tuple[mpf, mpf]:
    """The summands of δ₊ and δ₋ in Theorem 4.1 with C(m−1, j)/(m−j) = C(m, j)/m, so for j = m too.

    With λ = 1 they are those of Theorem 4.2.
    """
    share, p, up = mpf(drawn) / size, mpf(rate), mp.exp(mpf(epsilon))
    weight = p ** (answer - 1) * (1 - p) ** (drawn - answer - 1)
    whole = math.comb(drawn, answer) * (1 - p)
    positive, negative = whole * answer / drawn, math.comb(drawn - 1, answer) * p
    missed = (1 - share) * (1 - up) * whole * p
    plus = weight * (share * (positive - up * negative) + missed)
    return plus, weight * (share * (negative - up * positive) + missed)


def theorem(setting: Setting, first: int, last: int) -> tuple[mpf, mpf]:
    """δ₊ summed from an answer on, δ₋ summed to an answer."""
    plus, minus = zip(*terms(setting), strict=True)
    return mp.fsum(plus[first:]), mp.fsum(minus[: max(0, last + 1)])


@cache
def terms(setting: Setting) -> list[tuple[mpf, mpf]]:
    """The summands of every answer, computed once."""
    return [term(*setting, answer) for answer in range(setting[1] + 1)]


def curve(size: int, drawn: int, rate: float) -> nc.PrivacyCurve:
    """The curve of the sample, or of the count where all records are drawn."""
    mechanism = nc.Exact() if drawn == size else nc.Subsample(drawn)
    return nc.privacy_curve(mechanism, nc.Binomial(size, rate))


@pytest.mark.parametrize(("size", "drawn", "rate", "epsilon"), SAMPLES)
def test_theorems_4_1_and_4_2_hold_with_thresholds_rounded_inwards(
    size: int, drawn: int, rate: float, epsilon: float
) -> None:
    """From ⌈j₊⌉ and to ⌊j₋⌋ with j₊ = (λ + (e^ε−1)/(1+e^ε·π/(1−π)))·nπ, and nothing clamped."""
    above, below = thresholds(size, drawn, rate, epsilon)
    exact = theorem((size, drawn, rate, epsilon), math.ceil(above), math.floor(below))
    found = curve(size, drawn, rate).directions(epsilon)
    assert found == pytest.approx(tuple(float(side) for side in exact), rel=1e-9)
    summed = directions(nc.Exact(), binomial_sample_pairs(size, rate, drawn), epsilon)
    assert all(abs(a - b) < mpf("1e-40") for a, b in zip(exact, summed, strict=True))


@pytest.mark.parametrize(("size", "drawn", "rate", "epsilon"), SAMPLES)
def test_the_printed_thresholds_of_theorem_4_1_lose_privacy_loss(
    size: int, drawn: int, rate: float, epsilon: float
) -> None:
    """Printed: j₊ = min{λ, ...}·nπ, always the mean, and a sum to ⌈max{0, j₋}⌉: negative terms."""
    above, below = thresholds(size, drawn, rate, epsilon)
    mean = math.ceil(mpf(drawn) * mpf(rate))
    printed = theorem((size, drawn, rate, epsilon), mean, math.ceil(max(0, below)))
    plus, minus = curve(size, drawn, rate).directions(epsilon)
    if mean < math.ceil(above):
        assert printed[0] < plus
    assert printed[1] < minus


@pytest.mark.parametrize(("rate", "epsilon"), [(0.1, 0.9), (0.5, 0.3), (0.9, 0.2)])
def test_a_clamped_threshold_sums_a_negative_term_where_no_answer_reaches_epsilon(rate: float, epsilon: float) -> None:
    """From ε = ln(1 + λ/((1−λ)π)) on δ₊ is 0, but min{λ/π, ...}·nπ = m keeps the last answer.

    δ₋ is 0 from ln(1 + λ/((1−λ)(1−π))) on, but max{0, ...} keeps the answer 0.
    """
    size, drawn = 100, 10
    share = drawn / size
    clamped = theorem((size, drawn, rate, epsilon), drawn, 0)
    sides = zip(clamped, curve(size, drawn, rate).directions(epsilon), (rate, 1 - rate), strict=True)
    ends = []
    for kept, true, part in sides:
        ends.append(epsilon > math.log(1 + share / ((1 - share) * part)))
        if ends[-1]:
            assert kept < 0
            assert true == 0.0
    assert any(ends)


def normal_approximation(size: int, rate: float, scale: float, epsilon: float) -> float:
    """Lemma 6: the analytic Gaussian mechanism of σ² = scale² + π(1−π)(n−1), in records."""
    deviation = mp.sqrt(mpf(scale) ** 2 + mpf(rate) * (1 - mpf(rate)) * (size - 1))
    half, shift = 1 / (2 * deviation), mpf(epsilon) * deviation
    return float(mp.ncdf(half - shift) - mp.exp(mpf(epsilon)) * mp.ncdf(-half - shift))


@pytest.mark.parametrize(
    ("rate", "plus", "minus"),
    [
        (0.5, 0.000293476, 0.000293476),
        (0.1, 0.00291186, -0.00302168),
        (0.01, -0.00080391, -0.00697544),
        (0.001, -0.0197054, -0.022958),
        (0.0001, -0.00758694, -0.00804615),
    ],
)
def test_the_normal_approximation_of_lemma_6_is_off_where_few_records_are_positive(
    rate: float, plus: float, minus: float
) -> None:
    """Its relative errors for 1,000 records, Gaussian noise of one record and ε = 0.01."""
    claimed = normal_approximation(1000, rate, 1.0, 0.01)
    sides = nc.privacy_curve(nc.Gaussian(1.0), nc.Binomial(1000, rate)).directions(0.01)
    errors = [claimed / side - 1 for side in sides]
    assert errors == pytest.approx([plus, minus], rel=1e-4)


@pytest.mark.parametrize(("epsilon", "scale", "factor"), [(0.3, 1.0, 1.288), (1.0, 3.0, 15.32), (1.0, 1.0, 21.74)])
def test_the_normal_approximation_of_lemma_6_promises_too_much(epsilon: float, scale: float, factor: float) -> None:
    """10 of 1,000 records are expected to be positive: the true δ is so many times as large."""
    claimed = normal_approximation(1000, 0.01, scale, epsilon)
    true = nc.privacy_curve(nc.Gaussian(scale), nc.Binomial(1000, 0.01)).delta(epsilon)
    assert true / claimed == pytest.approx(factor, rel=1e-3)
