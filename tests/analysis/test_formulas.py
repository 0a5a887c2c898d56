"""Formulas and numbers of the pages of mathematics, computed from their text: `posterior`, `privacy_curve`."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

import noisycount as nc
from noisycount.analysis.privacy.bounds import pure_dp_delta
from noisycount.ledger.budget import Loss
from noisycount.model.concentrated import delta_of_rho, epsilon_of_rho, l1_sensitivity, rho_within
from noisycount.model.tables.threshold import threshold

PAGES = Path(__file__).parents[2] / "docs/mathematics"


def page_words(name: str) -> str:
    """Return the text of a page in one line; skip the test outside the project's folder."""
    page = PAGES / f"{name}.md"
    if not page.is_file():
        pytest.skip("the test runs outside the project's folder")
    return " ".join(page.read_text(encoding="utf-8").split())


def test_neighbours_of_exchangeable_records_follow_bayes_rule() -> None:
    """`counts.md`: P₊(k) = k·P(k)/μ, and the means of binomial neighbours differ by one record."""
    population = nc.BetaBinomial(50, 3, 7)
    counts, prior = np.arange(51), population.law()
    ((positive, _),) = population.neighbours()
    expected = counts * prior.pmf(counts) / prior.mean
    np.testing.assert_allclose(positive.law().pmf(counts), expected, rtol=1e-12)
    ((positive, negative),) = nc.Binomial(50, 0.3).neighbours()
    assert positive.law().mean - negative.law().mean == pytest.approx(1)


def test_the_posterior_mean_is_a_ratio_of_binomial_tails() -> None:
    """Proposition 2.1: two pieces of binomial distributions with changed rates."""
    n, p, b, y = 100, 0.3, 10, 35.2
    pieces = []
    for side, tail in ((1, binom.cdf), (-1, binom.sf)):
        growth = 1 - p + p * math.exp(side / b)
        pieces.append((math.exp(-side * y / b) * growth**n, p * math.exp(side / b) / growth, tail))
    mass = sum(factor * tail(math.floor(y), n, rate) for factor, rate, tail in pieces)
    first = sum(factor * n * rate * tail(math.floor(y) - 1, n - 1, rate) for factor, rate, tail in pieces)
    assert nc.posterior(y, nc.Binomial(n, p), nc.Laplace(b)).mean == pytest.approx(first / mass, rel=1e-12)


def test_one_cell_and_its_complement_are_one_count() -> None:
    """`posteriors.md`: the two passes over a tree of two cells give the posterior of one count."""
    noise = nc.DiscreteLaplace(10)
    one = nc.posterior(41, nc.BetaBinomial(120, 1, 1), noise)
    tree = nc.Tree.flat(["in", "out"])
    two = nc.table_posterior([41, math.nan], noise, tree, total=120, prior=nc.Splits(1)).node(("in",))
    assert one.mean == pytest.approx(two.mean, abs=1e-9)
    assert one.interval(0.95) == two.interval(0.95)


@pytest.mark.thorough
def test_three_formulas_give_one_privacy_curve() -> None:
    """Theorem 4.1: the threshold for neighbours moved by one record, the posterior, and `privacy_curve`."""
    n, rate, scale, epsilon = 1000, 0.1, 3, 0.01
    others = np.arange(n)
    chances = binom.pmf(others, n - 1, rate)

    def tail(t: float) -> float:
        return float(chances @ norm.sf((t - others) / scale))

    by_threshold = max(tail(t - 1) - tail(t) - math.expm1(epsilon) * tail(t) for t in np.linspace(100, 103, 301))
    counts, mean = np.arange(n + 1), n * rate
    steepness = 1 / mean + math.exp(epsilon) / (n - mean)
    middle = mean + math.expm1(epsilon) / steepness
    answers = np.linspace(60, 170, 2_751)
    joint = binom.pmf(counts, n, rate) * norm.pdf((answers[:, None] - counts) / scale) / scale
    by_posterior = steepness * np.trapezoid(np.maximum(joint @ (counts - middle), 0), answers)
    exact = nc.privacy_curve(nc.Gaussian(scale), nc.Binomial(n, rate)).directions(epsilon)[0]
    assert [f"{value:.6f}" for value in (by_threshold, by_posterior, exact)] == ["0.035378"] * 3


def test_the_numbers_of_accounting() -> None:
    """`accounting.md` and `papers.md`: exact sums, ρ of a budget, sensitivities, thresholds, pure answers."""
    assert sum([Loss.from_epsilon(Fraction("0.1"))] * 3, Loss()).epsilon == Fraction("0.3")
    assert float(rho_within(2, 1e-6)) == 0.0881526
    assert delta_of_rho(rho_within(2, 1e-6), 2) <= 1e-6
    assert round(epsilon_of_rho(0.5, 1e-6), 4) == 5.2215
    assert [l1_sensitivity(6, m, replaced=is_replaced) for m in (1, 2) for is_replaced in (False, True)] == [1, 2, 2, 4]
    wider = [(nc.DiscreteLaplace.for_epsilon(1, sensitivity=groups), groups) for groups in (1, 3, 10)]
    first, second, third = (threshold(noise, Fraction(1, 10**6), groups) for noise, groups in wider)
    assert f"the threshold is {first}, {second}, {third}." in page_words("accounting")
    assert pure_dp_delta(1.0, 0.5) == pytest.approx((math.exp(1) - math.exp(0.5)) / (1 + math.exp(1)))


@pytest.mark.thorough
def test_the_rule_for_a_list_is_between_the_list_and_the_worst_case() -> None:
    """Theorem 5.7: a list with a small atom has the worst case; another list has less."""
    clinic = nc.Atoms(2000, [0.04, 0.06, 0.4, 0.5])
    risk = nc.list_risk([nc.DiscreteGaussian(4)] * 2, clinic, [{0, 1}, {0, 2}])
    assert [f"{value:.4f}" for value in (risk.delta(0.1), risk.adaptive(0.1), risk.worst(0.1))] == [
        *("0.0055", "0.0223", "0.1011")
    ]
    but_one = nc.Atoms(2000, [0.1, 0.8995, 0.0005])
    risk = nc.list_risk([nc.DiscreteGaussian(4)] * 2, but_one, [{0, 2}, {0}])
    assert risk.delta(0.1) == risk.worst(0.1)


@pytest.mark.thorough
def test_parts_reveal_what_one_sample_reveals() -> None:
    """Theorem 5.5 (d), and (b), which is larger."""
    records, parts = nc.Binomial(1000, 0.1), [nc.Subsample(100)] * 4
    curves = (
        nc.parts_curve(parts, records),
        nc.privacy_curve(nc.Subsample(400), records),
        nc.parts_curve(parts, records, adaptive=True),
    )
    assert [f"{curve.delta(0.1):.5f}" for curve in curves] == ["0.00211", "0.00211", "0.03875"]


@pytest.mark.thorough
def test_the_brackets_of_tables() -> None:
    """Theorems 5.3 and 5.4: a hundred equal cells, without noise and with two noises."""
    table = nc.Atoms.disjoint(1000, [0.01] * 100)
    brackets = [nc.privacy_curve(mechanism, table).bracket(0.1) for mechanism in (nc.Exact(), nc.Gaussian(3))]
    assert [f"{low:.4f} {high:.4f}" for low, high in brackets] == ["0.1394 0.1394", "0.0896 0.0897"]


def test_answers_to_one_question() -> None:
    """Theorem 5.1: δ of statistical privacy stays below that of the count; the worst case goes to 1."""
    noise, records = nc.Gaussian(3), nc.Binomial(1000, 0.1)
    found = [
        f"{nc.privacy_curve([noise] * q, records).delta(0.1):.4f} {nc.privacy_curve([noise] * q).delta(0.1):.3f}"
        for q in (1, 16, 256)
    ]
    assert found == ["0.0095 0.093", "0.0109 0.470", "0.0110 0.992"]
