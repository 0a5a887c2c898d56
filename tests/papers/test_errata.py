import math
import re
from collections.abc import Callable

import pytest
from scipy.stats import binom, laplace, norm

import noisycount as nc
from noisycount.papers.ours import printed_bound
from tests.analysis.privacy.test_paper import curve, normal_approximation, theorem, thresholds
from tests.papers.claim_tables import PAGE, rows

TEXT = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
ROWS = {int(number): row for number, row in re.findall(r"^\| (\d+) \| (.*)\|$", TEXT, re.MULTILINE)}
CHECKS: dict[int, Callable[[], list[str]]] = {}
CLAIM_CHECKS: list[tuple[str, Callable[[], list[str]]]] = []

pytestmark = pytest.mark.skipif(not TEXT, reason="the tests run outside the project's folder")

Check = Callable[[], list[str]]


def row(number: int) -> Callable[[Check], Check]:
    """Register what evaluates a row: it asserts both forms, and gives the numbers of the page."""

    def registered(check: Check) -> Check:
        assert number not in CHECKS
        CHECKS[number] = check
        return check

    return registered


def claim(key: str) -> Callable[[Check], Check]:
    """Register the check of a claim of a figure that does not hold everywhere."""

    def registered(check: Check) -> Check:
        CLAIM_CHECKS.append((key, check))
        return check

    return registered


def delta(mechanism: nc.Mechanism, rate: float, size: int = 1000, epsilon: float = 0.01) -> float:
    """δ against an adversary who knows only the rate."""
    return nc.privacy_curve(mechanism, nc.Binomial(size, rate)).delta(epsilon)


@row(1)
def parameter() -> list[str]:
    """Only b = 1/ε keeps ε."""
    printed, right = nc.Laplace(0.1), nc.Laplace.for_epsilon(0.1)
    assert right.scale == 10
    assert nc.privacy_curve(right).delta(0.1) == 0.0
    assert nc.privacy_curve(printed).delta(0.1) > 0.98
    assert nc.privacy_curve(printed).epsilon(0.0) == pytest.approx(10)
    return ["a privacy loss of 10"]


@row(2)
def least_out_of_range() -> list[str]:
    """Eq. (6) is exact for odd n; for even n it is cosh(ε/2) times the smallest value."""

    def printed(size: int) -> float:
        return (math.exp(-(size - 1) / 2) + math.exp(-(size + 1) / 2)) / 2

    for size in (3, 99):
        assert nc.out_of_range_bounds(size, nc.Laplace(1))[0] == pytest.approx(printed(size))
    for size in (2, 100):
        every = [nc.out_of_range_probability(k, size, nc.Laplace(1)) for k in range(size + 1)]
        assert min(every) == every[size // 2] == pytest.approx(math.exp(-size / 2))
        assert printed(size) == pytest.approx(math.cosh(0.5) * min(every))
    return [f"{printed(100):.4e} printed", f"{nc.out_of_range_bounds(100, nc.Laplace(1))[0]:.4e}"]


@claim("ours.sums")
def additive_bound() -> list[str]:
    """The printed bound breaks; the bound with constants does not."""

    def reached(noises: int, beta: float) -> float:
        """Return the probability of reaching the printed bound, from the gamma mixture of equal scales."""
        alpha, tail = printed_bound(noises, beta), 0.0
        for j in range(noises):
            within = math.fsum(alpha**i / math.factorial(i) for i in range(noises - j))
            ways = math.comb(noises + j - 1, j) / 2 ** (noises + j)
            tail += 2 * ways * math.exp(-alpha) * within
        return tail

    for noises, beta in ((2, 0.3), (20, 0.5), (2, 0.05)):
        total = nc.NoiseSum([nc.Laplace(1)] * noises)
        alpha = printed_bound(noises, beta)
        assert nc.failure_probability(total, alpha) == pytest.approx(reached(noises, beta))
        assert nc.failure_probability(total, nc.chan_bound([1] * noises, beta)) <= beta
    low, high = 0.05, 0.3
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(2, middle) <= middle else (low, middle)
    signed = reached(2, 0.3) / 2, reached(20, 0.5) / 2
    assert signed[0] < 0.3
    assert signed[1] < 0.5
    return [f"up to β = {low:.4f}", f"is {reached(2, 0.3):.4f}", f"is {reached(20, 0.5):.3f}", "half as large"]


@claim("ours.sums")
def disjoint_parts() -> list[str]:
    """A replaced record moves both parts."""

    def pair_loss(first: tuple[int, int], second: tuple[int, int]) -> float:
        """The largest privacy loss of both answers together: each moves by a number of records."""
        return 0.1 * sum(abs(a - b) for a, b in zip(first, second, strict=True))

    added, replaced = pair_loss((5, 5), (6, 5)), pair_loss((5, 5), (6, 4))
    assert float(nc.epsilon_of_group(0.1, 2, disjoint=True)) == added
    assert float(nc.epsilon_of_group(0.1, 2, disjoint=True, replaced=True)) == replaced
    return [f"together {added:g} if", f"{replaced:g} if the size is public"]


@row(3)
def confidence() -> list[str]:
    """The upper end is wc."""
    printed = laplace.cdf(0.2 + 100, scale=20) - laplace.cdf(-20, scale=20)
    right = laplace.cdf(20, scale=20) - laplace.cdf(-20, scale=20)
    assert nc.relative_confidence(100, 0.2, 0.05) == pytest.approx(right)
    return [f"{printed:.4f} printed", f"{right:.4f} right"]


@claim("naldi2015.1")
def example() -> list[str]:
    """Only the minus sign gives a probability of 0.8."""
    printed = math.log(1 - 0.8) / (0.2 * 100)
    right = nc.epsilon_for_relative_error(100, 0.2, 0.8)
    assert laplace.cdf(20, scale=1 / right) - laplace.cdf(-20, scale=1 / right) == pytest.approx(0.8)
    return [f"gives −{-printed:.4f}", f"λ = {right:.4f}"]


@claim("naldi2015.2")
def revealed_count() -> list[str]:
    """The count can be computed from its ε."""
    told = {c: nc.epsilon_for_relative_error(c, 0.2, 0.8) for c in (99, 100)}
    for count, epsilon in told.items():
        assert -math.log(0.2) / (0.2 * epsilon) == pytest.approx(count)
    return [f"give ε = {told[99]:.5f}, {told[100]:.5f}, "]


@row(4)
def density_ratio() -> list[str]:
    """Below 0 the ratio turns round."""

    def ratio(w: float) -> float:
        return float(laplace.pdf(w, scale=100) / laplace.pdf(w + 1, scale=100))

    assert ratio(2) == pytest.approx(math.exp(0.01))
    assert ratio(-2) == pytest.approx(math.exp(-0.01))
    assert math.exp(-0.01) < ratio(-0.3) < math.exp(0.01)
    return [f"{ratio(2):.5f} printed", f"{ratio(-2):.5f} right"]


@row(5)
def scale_parameter() -> list[str]:
    """The deviation is √2/λ."""
    right, printed = nc.Laplace.for_epsilon(0.1), nc.Laplace(0.1)
    assert right.scale == 10
    deviations = math.sqrt(right.variance), math.sqrt(printed.variance)
    return [f"{deviations[0]:.3f}, not {deviations[1]:.4f}"]


@row(6)
def sample_theorem() -> list[str]:
    """The printed sums lose a seventh of δ."""
    above, below = thresholds(1000, 100, 0.1, 0.01)
    printed = theorem((1000, 100, 0.1, 0.01), 10, math.ceil(below))
    right = theorem((1000, 100, 0.1, 0.01), math.ceil(above), math.floor(below))
    found = curve(1000, 100, 0.1).directions(0.01)
    assert found == pytest.approx(tuple(map(float, right)), rel=1e-9)
    return [f"{float(printed[0]):.6f} and {float(printed[1]):.6f} printed", f"{found[0]:.6f} and {found[1]:.6f} right"]


@row(7)
def pure_theorem() -> list[str]:
    """The likelihood ratio is e^ε at the right thresholds."""
    odds, mean = 0.1 / 0.9, 100.0
    printed = [1 + math.expm1(sign * 0.01) / (1 + math.exp(sign * 0.01) * odds) * mean for sign in (1, -1)]
    right = [float(each) for each in thresholds(1000, 1000, 0.1, 0.01)]
    for place, sign in zip(right, (1, -1), strict=True):
        ratio = place * 0.9 / (1000 - place) / 0.1  # Q₊ of a pure count
        assert ratio == pytest.approx(math.exp(sign * 0.01))
    return [f"{printed[0]:.1f} and {printed[1]:.1f} printed", f"{right[0]:.1f} and {right[1]:.1f} right"]


@row(8)
def variance() -> list[str]:
    """Compare the variance of a single unknown entry with the printed one."""
    others = nc.Binomial(2, 0.5).given(1, 0).law()
    assert others.variance == pytest.approx(0.25)
    return [f"{0.5 * 0.5 * 2} printed", f"{others.variance:.2f} right"]


@row(9)
def normal_law() -> list[str]:
    """The approximation promises too much."""
    printed, right = (normal_approximation(1000, 0.01, 1.0, 1.0), delta(nc.Gaussian(1.0), 0.01, 1000, 1))
    assert right > 20 * printed
    return [f"{printed:.3e} printed", f"{right:.3e} right"]


@row(10)
def threshold() -> list[str]:
    """The privacy loss is ε at the right threshold."""
    n, rate, scale, epsilon = 1000, 0.5, 3 / 1000, 0.01
    variance = scale**2 + rate * (1 - rate) * (n - 1) / n**2
    printed = epsilon * n * scale**2 + 1 / (2 * n)
    right = rate + epsilon * n * variance + (0.5 - rate) / n
    mean = rate * (1 - 1 / n) + 1 / n

    def loss(x: float) -> float:
        """The privacy loss of an answer x in the normal approximation."""
        return float(norm.logpdf(x, mean, variance**0.5) - norm.logpdf(x, mean - 1 / n, variance**0.5))

    assert loss(right) == pytest.approx(epsilon)
    assert abs(loss(printed) - epsilon) > 1
    beyond = [float(norm.sf(x, mean, variance**0.5)) for x in (printed, right)]
    return [f"{beyond[0]:.4f} printed", f"{beyond[1]:.4f} right"]


def printed_sum(n: int, m: int, rate: float) -> float:
    """The expression for δ of a sample in section 4.4, at ε = √(2λ/(π(1−π)(n−m)))."""
    share, odds, root = m / n, rate / (1 - rate), math.sqrt(n - m)
    below = root + math.sqrt(2 * odds * share) + 2 * share / root
    first = min(m * rate * math.sqrt(2 / share / odds) / below, m - rate)
    total = 0.0
    for j in range(math.ceil(first), m + 1):
        chance = float(binom.pmf(j, m, rate)) * (1 + share * (j / m / rate - 1))
        mixed = (m - j) / root * math.sqrt(2) / (1 - rate) - 2 * m
        square = 2 * share / (1 - rate**2) * (m - j) / (n - m)
        above = share * (j + (m - j) * odds + square + math.sqrt(share * odds) * mixed)
        total += chance * above / (share * j - (1 - share) * m * rate)
    return total


@row(11)
def long_sum() -> list[str]:
    """Show that the printed sum is not a probability."""
    epsilon = math.sqrt(2 * 0.1 / 0.25 / 900)
    assert nc.scale_for_utility_loss(
        nc.Laplace, nc.utility_loss(nc.Subsample(100), nc.Binomial(1000, 0.5)), size=1000
    ) == pytest.approx(1 / epsilon)
    right = curve(1000, 100, 0.5).delta(epsilon)
    return [f"−{-printed_sum(1000, 100, 0.5):.4f} printed", f"{right:.6f} right"]


@row(12)
def selection() -> list[str]:
    """The share of samples that hold a record."""
    n, m = 1000, 100
    drawn = math.comb(n - 1, m - 1) / math.comb(n, m)  # samples that hold one record
    return [f"{n / m:g} printed", f"{drawn:.1f} right"]


@row(13)
def better_estimates() -> list[str]:
    """The median has the least error."""
    law, noise = nc.Binomial(100, 0.3), nc.Laplace(1)
    mean, median, rounded = (nc.mean_absolute_error(law, noise, by) for by in ("mean", "median", "rounded"))
    assert median < rounded < mean < nc.mean_absolute_error(law, noise, "answer")
    assert math.exp(-0.5) / (1 - math.exp(-1)) == pytest.approx(rounded, abs=1e-9)
    nearer = [nc.improvement_probability(law, noise, by) for by in ("mean", "median")]
    return [
        f"mean {mean:.5f}, median {median:.5f}, rounded answer {rounded:.5f}",
        f"{nearer[0]:.5f} (mean), {nearer[1]:.5f} (median)",
    ]


@claim("ours.assumed")
def wrong_rate() -> list[str]:
    """A wrong rate costs more than no rate."""
    law, noise = nc.Binomial(1000, 0.3), nc.Laplace(10)
    wrong, unsure = nc.Binomial(1000, 0.35), nc.BetaBinomial.from_rate(1000, 0.35, 0.03)
    known = nc.mean_absolute_error(law, noise, "mean")
    certain = nc.mean_absolute_error(law, noise, "mean", wrong)
    careful = nc.mean_absolute_error(law, noise, "mean", unsure)
    assert known < nc.mean_absolute_error(law, noise, "answer") < careful < certain
    return ["near the true 30 %"]


@row(14)
def widths() -> list[str]:
    """Both numbers are cut off."""
    count = 2 * math.sqrt(nc.Binomial(10_000, 0.3).law().variance)
    noise = 2 * math.sqrt(nc.Laplace.for_epsilon(0.1).variance)
    assert (round(count, 1), round(noise, 1)) == (91.7, 28.3)
    assert (math.floor(10 * count) / 10, math.floor(10 * noise) / 10) == (91.6, 28.2)
    return [f"{count:.3f} and {noise:.3f}"]


@claim("naldi2014.6")
def gaps() -> list[str]:
    """Little noise, more noise, much noise: high, low, higher."""
    law = nc.Binomial(1000, 0.3)
    little, more, much = (nc.improvement_probability(law, nc.Laplace(1 / epsilon), "mean") for epsilon in (2, 1, 0.1))
    assert little > more < much
    return [f"n = 1,000: from {little:.3g} at ε = 2"]


@claim("breutigam.2")
def rare_ratio() -> list[str]:
    """Twice for a common property, a twentieth more for a rare one."""
    noise = nc.Gaussian(10.0)
    worst = nc.privacy_curve(noise).delta(0.01)
    ratios = [worst / delta(noise, rate) for rate in (0.5, 0.1, 0.01)]
    assert ratios[0] > 2
    assert ratios[2] < 1.1
    return [f"{ratios[0]:.3g} at π = 0.5, {ratios[1]:.3g} at π = 0.1, {ratios[2]:.3g} at π = 0.01"]


@claim("breutigam.3")
def better_suited() -> list[str]:
    """Better at the same ν, worse at the same variance."""
    found = [delta(noise, 0.1) for noise in (nc.Laplace(3.0), nc.Gaussian(3.0), nc.Gaussian(3 * math.sqrt(2)))]
    assert found[2] < found[0] < found[1]
    return ["at the same ν", "at the same variance"]


@claim("breutigam.6")
def small_database() -> list[str]:
    """More than twice the δ."""
    noise = nc.Gaussian(1.0)
    grown = [delta(noise, rate, 100) / delta(noise, rate, 1000) for rate in (0.5, 0.1, 0.01)]
    assert min(grown) > 2
    return [f"{grown[0]:.3g} (π = 0.5), {grown[1]:.3g} (π = 0.1), {grown[2]:.3g} (π = 0.01) at ν = 1"]


@claim("breutigam.5")
def equal_loss() -> list[str]:
    """More than 30 % worse for every rate."""
    extra = []
    for rate in (0.5, 0.1, 0.01):
        deviation = 1000 * math.sqrt(rate * (1 - rate) * (1 / 100 - 1 / 1000))
        noises = nc.Laplace(deviation / math.sqrt(2)), nc.Gaussian(deviation)
        extra.append(100 * (delta(noises[0], rate) / delta(noises[1], rate) - 1))
    assert min(extra) > 30
    return [f"{extra[0]:.0f} % (π = 0.5), {extra[1]:.0f} % (π = 0.1), {extra[2]:.0f} % (π = 0.01) above"]


@claim("breutigam.8")
def small_samples() -> list[str]:
    """Below the λ at which Laplace noise is free, it beats the two others."""
    ends = []
    for rate, free, beyond in ((0.5, 12, 13), (0.1, 4, 5)):
        for drawn, is_free in ((free, True), (beyond, False)):
            loss = rate * (1 - rate) * (1 / drawn - 1 / 1000)
            found = delta(nc.Laplace(1000 * math.sqrt(loss / 2)), rate)
            assert (found == 0) is is_free
            assert delta(nc.Gaussian(1000 * math.sqrt(loss)), rate) > 0
            assert delta(nc.Subsample(drawn), rate) > 0
        odds = 0.01**2 * rate * (1 - rate) * 1000 / 2
        ends.append(odds / (1 + odds))
    return [f"up to λ = {ends[0]:.3g} (π = 0.5) and {ends[1]:.3g} (π = 0.1)"]


@claim("breutigam.7")
def conjecture() -> list[str]:
    """The conjecture holds, so the page has no row of it: the proved bound lies between."""
    exact, proved = delta(nc.Subsample(100), 0.1), nc.amplified_delta(1000, 100, 0.1, 0.01)
    larger = math.log1p(10 * math.expm1(0.01))
    said = 0.1 * delta(nc.Exact(), 0.1, 100, larger)
    assert exact < proved < said
    return []


@pytest.mark.parametrize("number", ROWS)
def test_every_erratum_is_evaluated_in_both_forms(number: int) -> None:
    """The check of a row asserts what is printed and what is right; the page has its numbers."""
    for words in CHECKS[number]():
        assert words in ROWS[number]


@pytest.mark.parametrize(("key", "check"), CLAIM_CHECKS)
def test_claims_that_do_not_hold_everywhere_are_evaluated(key: str, check: Check) -> None:
    """The rows of the figure have the numbers of the check."""
    text = " ".join(line for each, line in rows(TEXT) if each == key)
    for words in check():
        assert words in text


def test_no_check_is_without_a_row() -> None:
    """Rows are numbered in order, and each has a check."""
    assert list(ROWS) == sorted(CHECKS) == list(range(1, len(ROWS) + 1))
