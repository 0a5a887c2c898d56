import doctest
import re
from pathlib import Path

import pytest

import noisycount as nc
from tests.analysis.privacy.checks import assert_exact
from tests.oracles.pairs import beta_binomial_pairs, tabulated_pairs

PAGE = Path(__file__).parents[3] / "docs" / "dependent-records.md"
NOISE = nc.DiscreteLaplace(10)
SURVEY = nc.BetaBinomial.from_rate(1000, 0.017, 0.006)
ALIKE = [0.5, *99 * [0.0], 0.5]


def rows(columns: int) -> list[list[float]]:
    """The numbers of the page's table of so many columns."""
    lines = re.findall(r"^\| ([\d.| ]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    table = [[float(cell) for cell in line.split("|")] for line in lines]
    return [row for row in table if len(row) == columns]


def test_an_outsider_can_see_more_of_an_uncertain_rate_than_the_worst_case() -> None:
    """A survey of 1.7 % ± 0.6 %, a thousand people, noise that is 0.1-differentially private."""
    pairs = beta_binomial_pairs(1000, SURVEY.alpha, SURVEY.beta)
    outsider, worst = nc.privacy_curve(NOISE, SURVEY), nc.privacy_curve(NOISE)
    assert_exact(outsider, NOISE, pairs, [0.0, 0.1, 0.3])
    for epsilon in (0.0, 0.05, 0.1, 0.2, 0.3):
        assert outsider.delta(epsilon) > 1.5 * worst.delta(epsilon)


@pytest.mark.parametrize(
    "noise", [nc.Laplace(10.0), nc.Gaussian(10.0), nc.DiscreteGaussian(10)], ids=str
)
def test_every_noise_for_one_record_is_too_little_for_records_that_follow_it(
    noise: nc.Mechanism,
) -> None:
    """Whatever its law: a record moves three."""
    outsider, worst = nc.privacy_curve(noise, SURVEY), nc.privacy_curve(noise)
    for epsilon in (0.0, 0.05, 0.09):
        assert outsider.delta(epsilon) > 1.5 * worst.delta(epsilon)


def test_records_that_are_all_alike_are_given_away_by_their_count() -> None:
    """A hundred records at once are moved by one: far more than the worst case has it."""
    curve = nc.privacy_curve(NOISE, nc.Tabulated(ALIKE))
    assert_exact(curve, NOISE, tabulated_pairs(ALIKE), [0.0, 0.1, 1.0, 5.0])
    assert curve.delta(0.1) > 0.99
    assert nc.privacy_curve(NOISE).delta(0.1) == 0.0


def test_a_table_of_two_possible_rates_shows_more_than_the_worst_case() -> None:
    """An outbreak or none: 1 % or 20 % of a hundred records."""
    calm, wild = nc.Binomial(100, 0.01).law(), nc.Binomial(100, 0.2).law()
    table = [(calm.probability(k, k) + wild.probability(k, k)) / 2 for k in range(101)]
    total = sum(table)
    mixed = nc.Tabulated([chance / total for chance in table])
    assert nc.privacy_curve(NOISE, mixed).delta(0.1) == pytest.approx(0.29699, rel=1e-4)
    assert nc.privacy_curve(NOISE, mixed.given(30, 3)).delta(0.1) < 0.03


def test_whoever_knows_more_dependent_records_can_see_less() -> None:
    """They tell the rate, so that one more record tells less about it."""
    seen = [
        nc.privacy_curve(NOISE, SURVEY.given(known, positives)).delta(0.1)
        for known, positives in ((0, 0), (100, 2), (400, 7), (800, 14), (998, 17))
    ]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] > 0.0


def test_the_page_on_dependent_records_gives_the_numbers_of_the_curves() -> None:
    """Every cell of its two tables, as rounded there."""
    known_rate = nc.privacy_curve(NOISE, nc.Binomial(1000, 0.017))
    curves = [nc.privacy_curve(NOISE), known_rate, nc.privacy_curve(NOISE, SURVEY)]
    by_epsilon, by_knowledge = rows(4), rows(3)
    assert (len(by_epsilon), len(by_knowledge)) == (5, 4)
    for epsilon, *stated in by_epsilon:
        assert [round(curve.delta(epsilon), 6) for curve in curves] == stated
    for known, positives, stated in by_knowledge:
        found = nc.privacy_curve(NOISE, SURVEY.given(int(known), int(positives))).delta(0.1)
        assert round(found, 6) == stated


def test_the_words_of_the_page_on_dependent_records_are_true() -> None:
    """Standard deviations, expected counts and the ε that an outsider needs."""
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    ((positive, negative),) = SURVEY.neighbours()
    means = positive.law().mean, negative.law().mean
    spreads = [who.law().variance ** 0.5 for who in (SURVEY, nc.Binomial(1000, 0.017))]
    more = means[0] - means[1]
    needed = nc.privacy_curve(NOISE, SURVEY).epsilon(0.0)
    for words in (
        f"{means[0]:.2f} positive records are expected if this one is positive, {means[1]:.2f}",
        f"moves the answer by {more:.2f} records: 1 by itself, and {more - 1:.2f}",
        f"a standard deviation of {spreads[0]:.1f} in place of {spreads[1]:.1f}",
        f"needs ε = {needed:.4f}, not 0.1",
    ):
        assert words in text


def test_the_examples_of_the_page_on_dependent_records_run() -> None:
    """As typed."""
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted >= 9
    assert results.failed == 0
