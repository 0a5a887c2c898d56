"""Privacy curves of a count, their inverses and their brackets.

Tests of `analysis/privacy/answer_sums.py`, `analysis/privacy/hockey_stick.py`, `analysis/privacy/many_epsilons.py` and
`analysis/privacy/pairs.py`.
"""

import doctest
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.privacy.bounds import Bounded, MonotoneBounds
from tests.helpers.curve_checks import assert_exact
from tests.oracles.enclosed import delta
from tests.oracles.pairs import Outsider, beta_binomial_pairs, strata_pairs, tabulated_pairs
from tests.oracles.privacy import directions


def test_a_group_of_certain_records_only_moves_the_count() -> None:
    """Records that can only be positive, or negative, are known to all and hide nobody."""
    open_records = nc.Binomial(5, 0.3)
    for noise in (nc.Exact(), nc.Laplace(3.0), nc.Gaussian(2.0)):
        alone = nc.privacy_curve(noise, open_records).directions(0.05)
        mixed = nc.Strata([5, 4, 3], [0.3, 1.0, 0.0])
        assert nc.privacy_curve(noise, mixed).directions(0.05) == pytest.approx(alone, rel=1e-9)


def test_the_curve_is_the_largest_over_the_groups() -> None:
    """A lone rare record among few is worse off than the many."""
    sizes, rates = [1, 400], [1e-3, 0.5]
    kinds = strata_pairs(sizes, rates)
    curve = nc.privacy_curve(nc.Gaussian(0.5), nc.Strata(sizes, rates))
    each = [directions(nc.Gaussian(0.5), [kind], 0.05) for kind in kinds]
    assert each[0] != each[1]
    for side, value in enumerate(curve.directions(0.05)):
        assert value == pytest.approx(float(max(kind[side] for kind in each)), rel=1e-9)


@pytest.mark.parametrize(
    "noise",
    [nc.Laplace(3), nc.Gaussian(3), nc.Gaussian(300), nc.DiscreteLaplace(3), nc.DiscreteGaussian(Fraction(1, 5))],
    ids=str,
)
@pytest.mark.parametrize(
    "sizes", [[1], pytest.param([60, 20], marks=pytest.mark.thorough)], ids=["one record", "strata"]
)
def test_many_epsilons_have_the_delta_of_each_one(noise: nc.Mechanism, sizes: list[int]) -> None:
    """An array of ε is computed at once; each δ is that of its ε alone, and within the bracket of it."""
    rates = [0.3, 0.1][: len(sizes)]
    population = nc.Strata(sizes, rates) if len(sizes) > 1 else None
    epsilons = np.unique(np.concatenate([np.linspace(0, 0.6, 20), np.geomspace(1e-5, 8, 15)]))
    curve, kinds = nc.privacy_curve(noise, population), strata_pairs(sizes, rates)
    lower, upper = curve.bracket(epsilons)
    assert (upper - lower <= 1e-9 * upper)[upper > 1e-50].all()
    for place in range(0, epsilons.size, 6):
        epsilon = float(epsilons[place])
        exact = float(max(side for kind in kinds for side in directions(noise, [kind], epsilon)))
        assert lower[place] <= exact * (1 + 1e-12)
        assert exact * (1 - 1e-12) <= upper[place]
        alone = nc.privacy_curve(noise, population).delta(epsilon)
        assert curve.delta(epsilons)[place] == pytest.approx(alone, rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.Gaussian(60), nc.Laplace(60), nc.DiscreteGaussian(2)], ids=str)
def test_many_epsilons_leave_out_no_count_that_matters(noise: nc.Mechanism) -> None:
    """Of many counts the sums keep those around the answer, also at thresholds that are far apart."""
    deviation = math.sqrt(1500 * 0.2 * 0.8)
    epsilons = np.unique(np.concatenate([np.linspace(0, 5 / deviation, 30), np.geomspace(1e-6, 1, 30)]))
    lower, upper = nc.privacy_curve(noise, nc.Binomial(1500, 0.2)).bracket(epsilons)
    assert (upper - lower <= 1e-9 * upper)[upper > 1e-50].all()
    for place in range(0, epsilons.size, 12):
        exact = float(max(directions(noise, strata_pairs([1500], [0.2]), float(epsilons[place]))))
        assert lower[place] * (1 - 1e-12) <= exact <= upper[place] * (1 + 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noise",
    [nc.Gaussian(10), nc.Gaussian(1000), nc.DiscreteGaussian(300), nc.NoiseSum([nc.Laplace(10), nc.Gaussian(10)])],
    ids=str,
)
@pytest.mark.parametrize("population", [nc.Binomial(10**6, 0.1), nc.BetaBinomial(10**6, 3, 7)], ids=str)
def test_many_epsilons_of_large_populations_have_the_bracket_of_each_one(
    noise: nc.Mechanism, population: nc.Population
) -> None:
    """Thresholds far from 0, and densities from a table: brackets overlap and are about as narrow."""
    epsilons = np.linspace(0, 5 / math.sqrt(population.law().variance), 30)
    lower, upper = nc.privacy_curve(noise, population).bracket(epsilons)
    for place in (0, 7, 29):
        low, high = nc.privacy_curve(noise, population).bracket(float(epsilons[place]))
        assert lower[place] <= high
        assert low <= upper[place]
        assert upper[place] - lower[place] <= 2 * (high - low) + 5e-11 * high


INVERTED: list[tuple[nc.Mechanism, nc.Population | None, Sequence[float]]] = [
    (nc.Gaussian(1.0), None, [0.3, 1e-3, 1e-9, 1e-30, 1e-200]),
    (nc.Gaussian(1e6), None, [1e-7, 1e-12, 1e-30]),
    (nc.DiscreteGaussian(3), None, [0.1, 1e-9, 1e-30]),
    (nc.Laplace(3.0), None, [0.1, 1e-3, 1e-9, 1e-15]),
    (nc.DiscreteLaplace(3), None, [0.1, 1e-3, 1e-9, 1e-15]),
    (nc.Exact(), nc.Binomial(1000, 0.5), [0.01, 1e-6, 1e-30, 1e-200]),
    (nc.Laplace(3.0), nc.Binomial(1000, 0.1), [0.03, 1e-2, 1e-6, 1e-30]),
    (nc.Gaussian(3.0), nc.Binomial(1000, 0.1), [0.03, 1e-2, 1e-6, 1e-30]),
    (nc.Subsample(100), nc.Binomial(1000, 0.1), [0.01, 1e-3, 1e-9]),
    (nc.Subsample(20, nc.Laplace(2.0)), nc.Binomial(200, 0.1), [0.01, 1e-3, 1e-6]),
    (nc.Gaussian(3.0), nc.BetaBinomial(50, 2.0, 3.0), [0.2, 1e-3, 1e-9]),
    (nc.Laplace(3.0), nc.Strata([10, 30], [0.1, 0.5]), [0.05, 1e-3, 1e-9]),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("mechanism", "population", "deltas"), INVERTED, ids=str)
def test_epsilon_is_the_smallest_that_keeps_delta(
    mechanism: nc.Mechanism, population: nc.Population | None, deltas: Sequence[float]
) -> None:
    """Never more than δ, to 1e-9 in ε."""
    curve = nc.privacy_curve(mechanism, population)
    for goal in deltas:
        epsilon = curve.epsilon(goal)
        assert 0 < epsilon < math.inf, (goal, epsilon)
        assert curve.delta(epsilon) <= goal, (goal, epsilon)
        assert curve.delta(epsilon * (1 - 1e-9)) >= goal * (1 - 1e-8), (goal, epsilon)


def test_epsilon_is_0_where_the_total_variation_is_small_enough() -> None:
    """And where anything is allowed."""
    curve = nc.privacy_curve(nc.Gaussian(3.0), nc.Binomial(1000, 0.1))
    assert curve.epsilon(1.0) == 0.0
    assert curve.epsilon(curve.delta(0.0) * (1 + 1e-8)) == 0.0
    assert curve.epsilon(curve.delta(0.0) * (1 - 1e-6)) > 0.0


def test_epsilon_is_infinite_where_an_answer_gives_a_record_away() -> None:
    """If all are positive so is this one: P₊[K = n] = p^(n−1) bounds δ₊ from below for every ε."""
    curve = nc.privacy_curve(nc.Exact(), nc.Binomial(10, 0.25))
    floor = 0.75**9
    assert curve.epsilon(floor * (1 - 1e-6)) == math.inf
    assert curve.epsilon(floor * (1 + 1e-3)) < math.inf
    assert curve.delta(5000.0) == pytest.approx(floor, rel=1e-12)
    assert curve.directions(5000.0)[0] == pytest.approx(0.25**9, rel=1e-12)


def test_a_delta_of_0_needs_the_bound_of_laplace_noise() -> None:
    """1/scale for Laplace noise, on the safe side; nothing is enough for Gaussian noise."""
    for population in (None, nc.Binomial(1000, 0.1)):
        epsilon = nc.privacy_curve(nc.Laplace(3.0), population).epsilon(0.0)
        assert Fraction(epsilon) >= Fraction(1, 3)
        assert epsilon == pytest.approx(1 / 3, rel=1e-9)
        assert nc.privacy_curve(nc.Gaussian(3.0), population).epsilon(0.0) == math.inf


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "population"),
    [
        (nc.Gaussian(3.0), None),
        (nc.Laplace(3.0), nc.Binomial(1000, 0.1)),
        (nc.Gaussian(3.0), nc.Binomial(1000, 0.1)),
        (nc.Exact(), nc.Strata([10, 20], [0.1, 0.4])),
        (nc.Subsample(10, nc.Gaussian(2.0)), nc.BetaBinomial(50, 2.0, 3.0)),
    ],
    ids=str,
)
def test_arrays_give_what_their_elements_give(mechanism: nc.Mechanism, population: nc.Population | None) -> None:
    """In the same shape; numbers give floats."""
    curve = nc.privacy_curve(mechanism, population)
    epsilons = np.array([[0.3, 0.0, 0.01], [2.0, 0.1, 1e-6]])
    deltas, both, brackets = (curve.delta(epsilons), curve.directions(epsilons), curve.bracket(epsilons))
    inverse = curve.epsilon(np.array([[0.01, 1e-4]]))
    assert inverse.shape == (1, 2)
    for place, epsilon in np.ndenumerate(epsilons):
        one = float(epsilon)
        assert deltas[place] == pytest.approx(curve.delta(one), rel=1e-11)
        sides = both[0][place], both[1][place]
        assert sides == pytest.approx(curve.directions(one), rel=1e-11)
        ends = brackets[0][place], brackets[1][place]
        assert ends == pytest.approx(curve.bracket(one), rel=1e-8)
    assert inverse[0].tolist() == pytest.approx([curve.epsilon(0.01), curve.epsilon(1e-4)])
    assert isinstance(curve.delta(0.1), float)
    assert isinstance(curve.epsilon(0.01), float)
    assert curve.delta(np.array([])).shape == (0,)
    pair = np.asarray(curve.delta([0.1, 0.2])).tolist()
    assert pair == pytest.approx([curve.delta(0.1), curve.delta(0.2)], rel=1e-11)


@pytest.mark.parametrize(
    "population",
    [
        nc.Binomial(10, 0.0),
        nc.Binomial(10, 1.0),
        nc.Binomial(0, 0.5),
        nc.Binomial(10, 0.5).given(10, 4),
        nc.Tabulated([1.0, 0.0, 0.0]),
        nc.Tabulated([0.0, 0.0, 1.0]),
        nc.Strata([3, 4], [0.0, 1.0]),
    ],
    ids=str,
)
def test_a_certain_property_is_refused(population: nc.Population) -> None:
    """There is no record whose value is open."""
    with pytest.raises(ValueError, match=r"got |known|certain|records"):
        nc.privacy_curve(nc.Gaussian(3.0), population).delta(0.1)


def test_a_sample_needs_its_database() -> None:
    """Its worst case depends on the number of records; it is at most that number."""
    with pytest.raises(ValueError, match="population"):
        nc.privacy_curve(nc.Subsample(3))
    with pytest.raises(ValueError, match=r"sample_size must be at most"):
        nc.privacy_curve(nc.Subsample(11), nc.Binomial(10, 0.5)).delta(0.1)


def test_no_epsilon_gives_no_delta() -> None:
    """An empty array for an empty array."""
    curve = nc.privacy_curve(nc.Laplace(3), nc.Binomial(10, 0.5))
    assert curve.delta([]).shape == (0,)
    assert [one.shape for one in curve.bracket([])] == [(0,), (0,)]
    assert [one.shape for one in curve.directions([])] == [(0,), (0,)]
    assert curve.epsilon([]).shape == (0,)


def test_no_delta_at_all_takes_an_epsilon_at_which_the_lower_end_underflows() -> None:
    """A δ of almost 0 still brackets ε, although the ratio to 0 has no logarithm."""
    outsider = nc.Tabulated([0.999999999998628, 1.3719057960539926e-12])
    curve = nc.privacy_curve(nc.Gaussian(842.4037), outsider)
    low, high = curve.epsilon_bracket(0.0)
    assert 0 < low < high == math.inf
    assert curve.bracket(low * (1 - 1e-6))[0] > 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "most"),
    [
        (nc.Laplace(3), 30),  # its largest loss is known, and both ends lie next to it
        (nc.Subsample(2, nc.NoiseSum([nc.Laplace(5), nc.Laplace(5.7)])), 30),  # the lower end lies 2e-3 below
        (nc.Gaussian(3), 85),  # no ε is enough
    ],
    ids=str,
)
def test_no_delta_at_all_is_found_with_few_evaluations(
    monkeypatch: pytest.MonkeyPatch, mechanism: nc.Mechanism, most: int
) -> None:
    """A curve that ends in a jump is inverted at δ = 0 with few evaluations."""
    curve, evaluated, inside = nc.privacy_curve(mechanism, nc.Binomial(3, 0.9)), [], MonotoneBounds.directions

    def counted(bounds: MonotoneBounds, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        evaluated.append(epsilons)
        return inside(bounds, epsilons)

    monkeypatch.setattr(MonotoneBounds, "directions", counted)
    low, high = curve.epsilon_bracket(0.0)
    assert len(evaluated) <= most
    monkeypatch.undo()
    assert curve.bracket(low)[0] > 0
    assert math.isinf(high) or curve.bracket(high)[1] == 0


@pytest.mark.parametrize("scale", [1e155, 1e200, 1e250])
def test_laplace_noise_of_any_scale_has_a_curve(scale: float) -> None:
    """Also where the square of its scale is no float."""
    curve = nc.privacy_curve(nc.Laplace(scale), nc.Binomial(100, 0.1))
    assert curve.delta(0.0) == pytest.approx(1 / (2 * scale), rel=1e-9)
    assert curve.epsilon(0.0) == pytest.approx(1 / scale, rel=1e-11)


PAGE = Path(__file__).parents[3] / "docs" / "why" / "adversaries.md"
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
    assert_exact(outsider, pairs, [0.0, 0.1, 0.3])
    for epsilon in (0.0, 0.05, 0.1, 0.2, 0.3):
        assert outsider.delta(epsilon) > 1.5 * worst.delta(epsilon)


@pytest.mark.parametrize("noise", [nc.Laplace(10.0), nc.Gaussian(10.0), nc.DiscreteGaussian(10)], ids=str)
def test_every_noise_for_one_record_is_too_little_for_records_that_follow_it(noise: nc.Mechanism) -> None:
    """Whatever its law: a record moves three."""
    outsider, worst = nc.privacy_curve(noise, SURVEY), nc.privacy_curve(noise)
    for epsilon in (0.0, 0.05, 0.09):
        assert outsider.delta(epsilon) > 1.5 * worst.delta(epsilon)


def test_records_that_are_all_alike_are_given_away_by_their_count() -> None:
    """A hundred records at once are moved by one: far more than the worst case has it."""
    curve = nc.privacy_curve(NOISE, nc.Tabulated(ALIKE))
    assert_exact(curve, tabulated_pairs(ALIKE), [0.0, 0.1, 1.0, 5.0])
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
    """Every cell of its table, and the numbers of the sentence below it, as rounded there."""
    known_rate = nc.privacy_curve(NOISE, nc.Binomial(1000, 0.017))
    curves = [nc.privacy_curve(NOISE), known_rate, nc.privacy_curve(NOISE, SURVEY)]
    by_epsilon = rows(4)
    assert len(by_epsilon) == 3
    for epsilon, *stated in by_epsilon:
        assert [round(curve.delta(epsilon), 6) for curve in curves] == stated
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    known = {positives: nc.privacy_curve(NOISE, SURVEY.given(400 * positives // 7, positives)) for positives in (7, 14)}
    first, second = (round(curve.delta(0.1), 6) for curve in known.values())
    assert f"For 400 known records, of which 7 are positive, δ(0.1) is {first}." in text
    assert f"For 800, of which 14 are positive, it is {second}." in text


def test_the_words_of_the_page_on_dependent_records_are_true() -> None:
    """Expected counts and the ε that an outsider needs."""
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    ((positive, negative),) = SURVEY.neighbours()
    means = positive.law().mean, negative.law().mean
    more = means[0] - means[1]
    needed = nc.privacy_curve(NOISE, SURVEY).epsilon(0.0)
    for words in (
        f"the outsider expects {means[0]:.2f} positive records; if it is negative, {means[1]:.2f}",
        f"moves the answer by {more:.2f} records: by 1 itself, and by {more - 1:.2f} through",
        f"the part of {more - 1:.2f} records",
        f"needs ε = {needed:.4f} in place of 0.1",
    ):
        assert words in text


def test_the_examples_of_the_page_on_dependent_records_run() -> None:
    """As typed."""
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted >= 9
    assert results.failed == 0


NEARLY_KNOWN = Outsider(nc.Binomial(4, 0.000550600574359074))
GROUPS = Outsider(nc.Strata([1, 1, 1], [2.3e-203, 0.267, 1 - 2**-53]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mechanism", "outsider", "goal", "right", "wide"),
    [
        (
            nc.Subsample(4, nc.DiscreteGaussian(0.1149977554888559)),
            NEARLY_KNOWN,
            0.9983491075929792,
            2.1998548347159,
            0.018,
        ),
        (nc.Laplace(0.001), GROUPS, 1 - 1e-12, 438.96071, 5e-4),
        (nc.DiscreteGaussian(0.1), Outsider(None), 1 - 2.0**-52, 13.956346, 1e-10),
        (nc.DiscreteLaplace(0.05), Outsider(None), 1 - 1e-8, 1.348502, 1e-9),
    ],
)
def test_epsilon_is_safe_where_curves_are_flat(
    mechanism: nc.Mechanism, outsider: Outsider, goal: float, right: float, wide: float
) -> None:
    """It keeps the goal, and the right one lies in its bracket, which is as narrow as can be."""
    curve = outsider.curve(mechanism)
    low, high = curve.epsilon_bracket(goal)
    assert high == curve.epsilon(goal)
    assert low <= right + 1e-5 <= high + 2e-5
    assert high - low <= wide
    assert delta(mechanism, outsider, high) <= goal
    assert low == 0 or delta(mechanism, outsider, low) > goal


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
@pytest.mark.parametrize(
    ("mechanism", "outsider"),
    [
        (nc.Exact(), Outsider(nc.Binomial(5, 1e-5))),
        (nc.DiscreteLaplace(0.06), Outsider(nc.Binomial(5, 1e-5), known=2)),
        (nc.Gaussian(0.1), Outsider(nc.Binomial(3, 1 - 1e-4))),
        (nc.Subsample(59, nc.Exact()), Outsider(nc.Binomial(60, 1e-6))),
        (nc.Subsample(7, nc.DiscreteGaussian(0.2)), Outsider(nc.Binomial(8, 1e-6))),
        (nc.DiscreteGaussian(0.12), Outsider(nc.Binomial(300, 1e-4))),
        (nc.Laplace(0.05), Outsider(None)),
    ],
    ids=str,
)
def test_what_is_left_to_1_is_enclosed(mechanism: nc.Mechanism, outsider: Outsider, epsilon: float) -> None:
    """A goal above 1/2 is met by the bracket, and no ε below the bracket meets it."""
    curve = outsider.curve(mechanism)
    goal = curve.delta(epsilon)
    assert 0.5 < goal < 1
    low, high = curve.epsilon_bracket(goal)
    assert math.isinf(high) or delta(mechanism, outsider, high) <= goal
    assert low == 0 or delta(mechanism, outsider, low) > goal


@pytest.mark.parametrize("mechanism", [nc.Gaussian(3), nc.Laplace(3), nc.Exact()], ids=str)
def test_the_bracket_of_epsilon_is_narrow_where_a_curve_falls(mechanism: nc.Mechanism) -> None:
    """By 1e-9, and in the shape of its argument."""
    curve = nc.privacy_curve(mechanism, nc.Binomial(100, 0.3))
    low, high = curve.epsilon_bracket([1e-2, 1e-6])
    assert low.shape == high.shape == (2,)
    assert (low < high).all()
    assert (high - low <= 1e-9).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("mechanism", "population"),
    [
        (nc.Gaussian(0.2118160102968459), nc.BetaBinomial(29, 0.5276832529866402, 6.899614688631522)),
        (nc.Gaussian(0.3367), nc.Binomial(18, 0.8043444486163946)),
    ],
)
def test_narrow_gaussian_noise_has_no_finite_epsilon_for_a_delta_of_0(
    mechanism: nc.Mechanism, population: nc.Population
) -> None:
    """The inverse is infinite if only some of the tried ε have a threshold within reach."""
    curve = nc.privacy_curve(mechanism, population)
    assert curve.epsilon(0.0) == math.inf
    low, high = curve.bracket([300.0, 600.0])
    assert (low <= high).all()


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [601, 650, 699])
@pytest.mark.parametrize("population", [None, nc.Binomial(9, 0.3), nc.Strata([3], [0.3])])
@pytest.mark.parametrize("noise", [nc.Laplace, nc.DiscreteLaplace])
def test_an_epsilon_of_hundreds_is_the_price_of_narrow_laplace_noise(
    noise: Callable[[float], nc.Mechanism], population: nc.Population | None, epsilon: int
) -> None:
    """From where on δ is 0."""
    curve = nc.privacy_curve(noise(1 / epsilon), population)
    assert curve.epsilon(0.0) == pytest.approx(epsilon, rel=1e-9)
    assert curve.bracket(epsilon * (1 + 1e-9)) == (0.0, 0.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**-52, 3e-16, 1e-10, 1e-3])
@pytest.mark.parametrize("noise", [nc.DiscreteGaussian, nc.DiscreteLaplace])
def test_noise_that_is_next_to_none_hides_nothing(noise: Callable[[float], nc.Mechanism], scale: float) -> None:
    """Two counts half way from an answer have one density, and yet it is not flat."""
    curve = nc.privacy_curve(noise(scale))
    assert curve.bracket(600.0)[0] > 1 - 1e-15
    assert curve.bracket(700.0) == (0.0, 1.0)


@pytest.mark.parametrize("population", [nc.Known(10), nc.Binomial(10, 0.3), nc.Strata([4, 6], [0.2, 0.9])], ids=str)
def test_a_sample_of_independent_records_tells_no_more_than_its_price(population: nc.Population) -> None:
    """From ln(1 + m/n·(e^ε − 1)) on δ is 0, under sums of noises too."""
    for noise in (nc.Laplace(2), nc.NoiseSum([nc.Laplace(2), nc.Gaussian(1)])):
        curve = nc.privacy_curve(nc.Subsample(3, noise), population)
        price = math.log1p(0.3 * math.expm1(0.5))
        assert curve.bracket(price * (1 + 1e-9)) == (0.0, 0.0)
        assert curve.bracket(0.9 * price)[1] > 0 or not isinstance(population, nc.Known)


def test_a_sample_of_records_that_tell_of_each_other_may_tell_more() -> None:
    """A record with an uncertain rate tells about others, in the sample or not."""
    curve = nc.privacy_curve(nc.Subsample(3, nc.Laplace(2)), nc.BetaBinomial(10, 2, 3))
    assert curve.bracket(math.log1p(0.3 * math.expm1(0.5)))[0] > 0
