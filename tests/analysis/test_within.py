import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp

import noisycount as nc
from noisycount.analysis.stopping import StoppedChain
from noisycount.analysis.within import (
    StoppingRule,
    _SlackSearch,
    coverage,
    knowing_price,
    mean_price,
    price_grid,
    stop_probabilities,
    stopping_rule,
)
from noisycount.model.gradual import finer_errors
from noisycount.model.sampling.vectors import discrete_laplace_array

GOALS = [
    ("0.2", "0.95", "0.5"),
    ("0.5", "0.9", "0.05"),
    ("0.1", "0.95", "3"),
    ("0.9", "0.5", "0.5"),
    ("1/3", "0.8", "1/7"),
]


class Brute:
    """Stopping chain on an array of answers: laws by definition, top-ups by convolution."""

    def __init__(self, rule: StoppingRule, count: int) -> None:
        scales = [nc.DiscreteLaplace.for_epsilon(price).scale for price in rule.prices]
        reach = int(40 * float(scales[0])) + rule.thresholds[0]
        self.places = np.arange(min(count, 0) - reach, count + reach)
        unstopped = np.ones(self.places.size)
        self.stops: list[np.ndarray] = []
        for number, scale in enumerate(scales):
            arrived = self.law(self.places - count, scale) * unstopped
            goes_on = self.places < rule.thresholds[number]
            self.stops.append(np.where(goes_on, 0, arrived))
            self.capped = np.where(goes_on, arrived, 0)
            if number + 1 < len(scales):
                unstopped = self.noised(unstopped * goes_on, scale, scales[number + 1])

    @staticmethod
    def law(errors: np.ndarray, scale: Fraction) -> np.ndarray:
        """The discrete Laplace law."""
        return np.tanh(1 / (2 * float(scale))) * np.exp(-np.abs(errors) / float(scale))

    def noised(self, values: np.ndarray, coarse: Fraction, fine: Fraction) -> np.ndarray:
        """The mean of the values at y + Z; below the places they are as at the first."""
        low, high = (math.exp(-1 / float(scale)) for scale in (coarse, fine))
        chance = high / low * ((1 - low) / (1 - high)) ** 2
        reach = min(values.size, int(45 * float(coarse)) + 1)
        kernel = (1 - chance) * self.law(np.arange(-reach, reach + 1), coarse)
        kernel[reach] += chance
        padded = np.concatenate([np.full(reach, values[0]), values, np.full(reach, values[-1])])
        size = 1 << (padded.size + kernel.size).bit_length()
        product = np.fft.irfft(np.fft.rfft(padded, size) * np.fft.rfft(kernel, size), size)
        return product[2 * reach : 2 * reach + values.size]

    def failure(self, rule: StoppingRule, count: int) -> float:
        """P[what is told is wrong], by the words that are told."""
        told = {answer: rule.interval(answer) for answer in self.places.tolist()}
        wrong = np.array([not low <= count <= high for low, high in told.values()])
        return float((sum(self.stops) + self.capped)[wrong].sum())


def few_prices(within: str, confidence: str, at_most: str) -> StoppingRule:
    """A rule of at most a dozen prices, whose lowest is a tenth of the largest."""
    grid = price_grid(at_most)
    return StoppingRule(within, confidence, (*grid[-25:-1:2], grid[-1]))  # type: ignore[arg-type]


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("share", [0, 0.3, 0.9, 1.1, 2, 6, 30])
def test_the_closed_form_is_the_chain(goal: tuple[str, str, str], share: float) -> None:
    """Prices, failures and what is capped, for counts around the last threshold and far above it."""
    rule = few_prices(*goal)
    count = round(share * rule.thresholds[-1])
    brute = Brute(rule, count)
    stops = [stop.sum() for stop in brute.stops]
    assert stop_probabilities(rule, count) == pytest.approx([*stops, brute.capped.sum()], abs=1e-12)
    assert 1 - coverage(rule, count) == pytest.approx(brute.failure(rule, count), abs=1e-12)
    prices = [float(price) for price in (*rule.prices, rule.prices[-1])]
    assert mean_price(rule, count) == pytest.approx(np.dot(prices, [*stops, brute.capped.sum()]), abs=1e-12)


@pytest.mark.parametrize("goal", GOALS)
def test_no_count_fails_more_often_than_promised(goal: tuple[str, str, str]) -> None:
    """Every count up to ten thousand and some far beyond, with all prices; and one is near the promise."""
    rule = stopping_rule(*goal)
    counts = np.union1d(np.arange(10_000), np.geomspace(1e4, 1e12, 3000).astype(np.int64))
    failures = rule.failures(rule.chain, counts, counts)
    promised = float(1 - rule.confidence)
    assert 0.97 * promised < failures.max() <= promised


@pytest.mark.parametrize("goal", GOALS[:2])
def test_a_smaller_slack_breaks_the_promise(goal: tuple[str, str, str]) -> None:
    """Two hundredths less, and none at all where the share is wide."""
    rule = stopping_rule(*goal)
    counts = np.arange(20_000)
    failures = rule.failures(rule.chain_of(rule.slack - 0.02), counts, counts)
    assert failures.max() > float(1 - rule.confidence)


def test_without_a_slack_a_half_at_nine_tenths_is_kept_less_often() -> None:
    """The mutant of the issue: thresholds of somebody who does not stop."""
    rule = stopping_rule("0.5", "0.9", "0.05")
    counts = np.arange(20_000)
    assert rule.failures(rule.chain_of(1.0), counts, counts).max() > 0.14


@pytest.mark.parametrize("goal", GOALS)
def test_a_cell_bounds_each_of_its_counts(goal: tuple[str, str, str]) -> None:
    """Of several widths, around and above the last threshold."""
    rule = stopping_rule(*goal)
    counts = np.arange(40 * rule.thresholds[-1] + 100)
    failures = rule.failures(rule.chain, counts, counts)
    for width in (2, 7, 50):
        first = counts[: counts.size // width * width : width]
        bounds = rule.failures(rule.chain, first, first + width - 1)
        assert (bounds >= failures[: first.size * width].reshape(-1, width).max(axis=1) * (1 - 1e-12)).all()


@pytest.mark.thorough
@pytest.mark.parametrize("goal", GOALS)
def test_a_rule_for_any_time_bounds_each_count(goal: tuple[str, str, str]) -> None:
    """Cells bound their counts, each of which is promised; the slack is larger than that of the first answer."""
    rule, once = stopping_rule(*goal, anytime=True), stopping_rule(*goal)
    counts = np.arange(4000)
    failures = rule.failures(rule.chain, counts, counts)
    promised = float(1 - rule.confidence)
    assert 0.9 * promised < failures.max() <= promised
    assert once.slack < rule.slack < 1.04 * once.slack
    for width in (2, 25):
        first = counts[::width]
        bounds = rule.failures(rule.chain, first, first + width - 1)
        assert (bounds >= failures.reshape(-1, width).max(axis=1) * (1 - 1e-12)).all()


def ever_wrong(rule: StoppingRule, thresholds: Sequence[float], count: int) -> float:
    """P[some answer reaches its threshold and is off by more than the share], price by price a convolution."""
    brute = Brute(rule, count)
    share, whole = rule.within.numerator, rule.within.denominator
    is_low = brute.places * (whole + share) < count * whole
    is_high = brute.places * (whole - share) > count * whole
    wrong = is_low | is_high
    never, chance = np.ones(brute.places.size), 0.0
    scales = [1 / price for price in rule.prices]
    for place, scale in enumerate(scales):
        is_told = wrong & (brute.places >= thresholds[place])
        chance += float((brute.law(brute.places - count, scale) * never)[is_told].sum())
        if place + 1 < len(scales):
            never = brute.noised(never * ~is_told, scale, scales[place + 1])
    return chance


def ever_outside(rule: StoppingRule, chain: StoppedChain, count: int) -> float:
    """Return the probability in closed form that an answer is ever outside, over all prices."""
    counts = np.array([count])
    return float(
        chain.ever_outside(
            counts.astype(float), rule.smallest_right(counts), rule.smallest_too_large(counts), math.inf
        )[0]
    )


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("share", [0, 0.3, 0.9, 1.1, 2, 6, 30])
def test_the_chance_to_be_ever_wrong_is_that_of_the_chain(goal: tuple[str, str, str], share: float) -> None:
    """At thresholds below, in and above what is right of the count, and beyond it."""
    rule = few_prices(*goal)
    count = round(share * rule.thresholds[-1])
    for slack in (0.5, rule.slack):
        chain = rule.chain_of(slack)
        expected = ever_wrong(rule, chain.thresholds.tolist(), count)
        assert ever_outside(rule, chain, count) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("count", [0, 3, 9, 14, 40])
def test_the_chance_to_be_ever_wrong_in_fifty_digits(count: int) -> None:
    """Three prices, each law and each mean of the answers before by its definition."""
    scales, thresholds, low, high = (
        [Fraction(2), Fraction(3, 2), Fraction(1)],
        [24, 17, 12],
        0.8 * count,
        1.3 * count + 1,
    )
    chain = StoppedChain.from_scales(scales, thresholds)
    counts, ends = np.array([float(count)]), (np.array([math.ceil(low)]), np.array([math.ceil(high)]))
    found = chain.ever_outside(counts, ends[0].astype(float), ends[1].astype(float), math.inf)[0]
    with mp.workdps(50):
        ratios = [mp.exp(-mp.mpf(scale.denominator) / scale.numerator) for scale in scales]
        places = range(count - 150, count + 150)

        def law(ratio: mp.mpf, error: int) -> mp.mpf:
            return (1 - ratio) / (1 + ratio) * ratio ** abs(error)

        never, chance = {place: mp.mpf(1) for place in places}, mp.mpf(0)
        for number, ratio in enumerate(ratios):
            told = {y for y in places if y >= thresholds[number] and not ends[0][0] <= y < ends[1][0]}
            chance += sum(law(ratio, y - count) * never[y] for y in told)
            if number + 1 < len(ratios):
                finer = ratios[number + 1]
                equal = finer / ratio * ((1 - ratio) / (1 - finer)) ** 2
                weights = [law(ratio, error) for error in range(300)]
                goes_on = {y: never[y] for y in places if y not in told}
                never = {
                    y: equal * goes_on.get(y, 0)
                    + (1 - equal) * sum(weights[abs(y - z)] * v for z, v in goes_on.items())
                    for y in range(count - 60, count + 60)
                }
                places = range(count - 60, count + 60)
        assert float(abs(found - chance) / chance) < 1e-11


@pytest.mark.parametrize("share", [0, 0.6, 1.5, 4])
def test_what_a_rule_for_any_time_covers_is_told_at_some_price_or_at_last(share: float) -> None:
    """Wrong is what is told at some price, and what is capped and off by more than its reach."""
    grid = price_grid("0.5")
    rule = StoppingRule("0.5", "0.8", (*grid[-25:-1:2], grid[-1]), anytime=True)  # type: ignore[arg-type]
    count = round(share * rule.thresholds[-1])
    places = np.arange(count - 2000, rule.thresholds[-1])
    capped = np.array([not low <= count <= high for low, high in map(rule.interval, places.tolist())])
    last = Brute.law(places - count, 1 / rule.prices[-1])[capped].sum()
    expected = ever_wrong(rule, rule.thresholds, count) + last
    assert 1 - coverage(rule, count) == pytest.approx(expected, abs=1e-12)


@pytest.mark.thorough
def test_a_thousandth_less_slack_breaks_the_promise_of_any_time() -> None:
    """The whole grid by convolutions: at 1.003 a count of 7,419 is ever told wrong in more than 5 %."""
    rule = stopping_rule("0.2", "0.95", "0.5", anytime=True)
    assert rule.slack == 1.004
    less = rule.chain_of(1.003)
    for chain, is_kept in ((rule.chain, True), (less, False)):
        chance = ever_wrong(rule, chain.thresholds.tolist(), 7419)
        assert ever_outside(rule, chain, 7419) == pytest.approx(chance, abs=1e-12)
        assert (chance <= 0.05) == is_kept


@pytest.mark.parametrize("goal", GOALS)
def test_prices_far_beyond_are_bounded(goal: tuple[str, str, str]) -> None:
    """Chances of errors that are added up in place of the recursion: never less, and hardly more."""
    rule = stopping_rule(*goal)
    counts = np.unique(np.geomspace(1, 1e6, 60).round())
    ends = rule.smallest_right(counts.astype(np.int64)), rule.smallest_too_large(counts.astype(np.int64))
    exact, bound = (rule.chain.ever_outside(counts, *ends, depth) for depth in (math.inf, 3.0))
    assert (bound >= exact * (1 - 1e-12)).all()
    assert (bound > exact * 1.001).any()
    near = rule.chain.ever_outside(counts, *ends, 10 - math.log(1 - rule.confidence))
    assert near == pytest.approx(exact, abs=1e-4 * float(1 - rule.confidence))


@pytest.mark.thorough
def test_a_chain_that_somebody_stops_at_will_keeps_the_promise_of_any_time() -> None:
    """Stopped at a wrong answer wherever one reaches its threshold: the worst that can be chosen."""
    rule = stopping_rule("0.2", "0.95", "0.5", anytime=True)
    size, count = 4000, 300
    scales = [nc.DiscreteLaplace.for_epsilon(price).scale for price in rule.prices]
    errors = discrete_laplace_array(scales[0], size)
    is_wrong = np.zeros(size, np.bool_)
    for place, threshold in enumerate(rule.thresholds):
        answers = count + errors
        off = (answers * 0.8 > count) | (answers * 1.2 < count)
        is_wrong |= (answers >= threshold) & off
        if place + 1 < len(scales):
            errors = finer_errors(errors, *scales[place : place + 2])
    expected = 1 - coverage(rule, count)
    assert 0.04 < expected <= 0.05
    assert abs(is_wrong.mean() - expected) < 5 * math.sqrt(expected / size)


@pytest.mark.parametrize("prices", [price_grid("1000"), (Fraction(1, 10), Fraction(1000)), (Fraction(7),)])
def test_prices_may_be_large_and_far_apart(prices: tuple[Fraction, ...]) -> None:
    """Without overflow, and as sure as the rule says, for every count up to thousands."""
    rule = StoppingRule(Fraction(1, 5), Fraction(19, 20), prices, anytime=True)
    counts = np.arange(3000)
    assert rule.failures(rule.chain, counts, counts).max() <= 0.05


def test_a_cell_that_fails_is_found() -> None:
    """The certificate of a slack that is a little too small ends at counts that fail."""
    rule = stopping_rule("0.2", "0.95", "0.5")
    failing = _SlackSearch(rule).first_uncertified_counts(rule.chain_of(rule.slack - 0.01))
    assert rule.failures(rule.chain_of(rule.slack - 0.01), failing, failing).max() > float(1 - rule.confidence)


@pytest.mark.thorough
@pytest.mark.parametrize("count", [20, 45, 2000])
def test_chains_that_are_drawn_end_as_often_as_computed(count: int) -> None:
    """Ten thousand chains by the exact sampler: prices, failures, by 5 standard errors."""
    rule = stopping_rule("0.5", "0.9", "0.5")
    size = 10_000
    scales = [nc.DiscreteLaplace.for_epsilon(price).scale for price in rule.prices]
    errors = discrete_laplace_array(scales[0], size)
    ended = np.full(size, -1)
    last = np.zeros(size, np.int64)
    for place, threshold in enumerate(rule.thresholds):
        stops = (ended < 0) & (count + errors >= threshold)
        ended[stops], last[stops] = place, count + errors[stops]
        if place + 1 < len(scales):
            errors = finer_errors(errors, *scales[place : place + 2])
    last[ended < 0] = (count + errors)[ended < 0]
    expected = stop_probabilities(rule, count)
    observed = np.bincount(np.where(ended < 0, len(scales), ended), minlength=len(scales) + 1) / size
    assert (np.abs(observed - expected) < 5 * np.sqrt(expected / size) + 1e-3).all()
    kept = np.mean([low <= count <= high for low, high in map(rule.interval, last.tolist())])
    assert abs(kept - coverage(rule, count)) < 5 * math.sqrt(0.1 / size)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("goal", "ratio"),
    [
        (("0.1", "0.95", "0.5"), 1.03),
        (("0.2", "0.95", "0.5"), 1.03),
        (("0.2", "0.99", "0.5"), 1.03),
        (("0.5", "0.9", "0.5"), 1.27),
        (("0.5", "0.95", "0.5"), 1.19),
    ],
)
def test_not_to_know_the_count_costs_little(goal: tuple[str, str, str], ratio: float) -> None:
    """The mean price over that of somebody who knows a thousand."""
    assert 1 < mean_price(stopping_rule(*goal), 1000) / knowing_price(*goal[:2], 1000) < ratio


@pytest.mark.thorough
def test_a_larger_half_record_helps_wide_shares_and_harms_small_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1.5 in place of 1/2 the slack of ±50 % at 90 % and its price fall; ±20 % of a count of 50 costs more."""

    def chain_of(rule: StoppingRule, slack: float) -> StoppedChain:
        depth, half = slack * -math.log(1 - rule.confidence) / float(rule.within), 1.5 / float(rule.within)
        scales = [nc.DiscreteLaplace.for_epsilon(price).scale for price in rule.prices]
        return StoppedChain.from_scales(scales, [math.ceil(depth * float(scale) + half) for scale in scales])

    def rules() -> list[StoppingRule]:
        goals = ((Fraction(1, 2), Fraction(9, 10)), (Fraction(1, 5), Fraction(19, 20)))
        return [StoppingRule(*goal, price_grid("0.5")) for goal in goals]

    ours = rules()
    monkeypatch.setattr(StoppingRule, "chain_of", chain_of)
    larger, told = rules(), []
    for wide, small in (larger, ours):
        told.append(f"{mean_price(wide, 500) / knowing_price('0.5', '0.9', 500):.3f}")
        told.append(f"{mean_price(small, 50) / knowing_price('0.2', '0.95', 50):.3f}")
    assert (larger[0].slack, told) == (1.211, ["1.214", "1.262", "1.260", "1.129"])


@pytest.mark.parametrize("at_most", ["0.5", "1", "0.1", "1/3", "2.5", "1e-5", "40", "0.0101"])
def test_prices_are_a_public_grid(at_most: str) -> None:
    """Short decimals about a tenth apart, from a thousandth of the last on; the last is what is allowed."""
    prices = price_grid(at_most)
    last = Fraction(at_most)
    assert prices[-1] == last
    assert last / 1000 <= prices[0] < last / 900
    assert 70 <= len(prices) <= 73
    assert all(1.02 < b / a < 1.14 for a, b in pairwise(prices))
    digits = [str(price.numerator * 10**9 // price.denominator).strip("0") for price in prices[:-1]]
    assert max(map(len, digits)) <= 3


def test_a_price_that_no_ledger_keeps_is_none() -> None:
    """Below 1e-9 the grid ends."""
    assert price_grid("2e-9")[0] == Fraction(1, 10**9)
    assert price_grid("1e-9") == (Fraction(1, 10**9),)


def test_a_rule_is_of_public_values_alone() -> None:
    """Equal numbers give the same rule object, however they are written."""
    rule = stopping_rule("20/100", 0.95, 0.5)
    assert rule is stopping_rule("0.2", "0.95", Fraction(1, 2))
    assert rule == StoppingRule("0.2", "0.95", price_grid("0.5"))  # type: ignore[arg-type]
    assert rule.slack * 1000 == pytest.approx(round(rule.slack * 1000))


@pytest.mark.thorough
def test_an_estimate_is_within_its_share_where_its_interval_has_the_count() -> None:
    """Both say one thing: |estimate − count| <= within·count."""
    rule = stopping_rule("0.2", "0.95", "0.5")
    for answer in range(rule.thresholds[-1], 200):
        low, high = rule.interval(answer)
        for count in range(1, 300):
            assert (low <= count <= high) == (abs(rule.estimate(answer) - count) <= rule.within * count)


def test_a_capped_answer_is_told_with_its_reach() -> None:
    """Itself, ±reach, never below 0."""
    rule = stopping_rule("0.2", "0.95", "0.5")
    answer = rule.thresholds[-1] - 1
    assert not rule.is_reached(answer)
    assert rule.is_reached(answer + 1)
    assert rule.estimate(answer) == answer
    assert rule.interval(answer) == (answer - rule.reach, answer + rule.reach)
    assert rule.interval(-100) == (0, 0)


@pytest.mark.thorough
def test_a_share_of_many_digits_is_certified_as_one_of_few() -> None:
    """Counts times its denominator exceed 64 bits."""
    few, many = (stopping_rule(share, "0.95", "0.5") for share in ("0.12345679", "0.1234567890123456"))
    assert many.slack == few.slack
    counts = (10, 1000, 100_000)
    assert [coverage(many, count) for count in counts] == pytest.approx([coverage(few, count) for count in counts])


def test_the_price_of_who_knows_is_the_least() -> None:
    """A hundredth less breaks the promise for that count."""
    price = knowing_price("0.2", "0.95", 100)
    for share, keeps in ((1, True), (0.99, False)):
        noise = nc.DiscreteLaplace.for_epsilon(share * price)
        assert (nc.failure_probability(noise, 21) <= 0.05 * (1 + 1e-9)) == keeps


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: stopping_rule(1, 0.95, 0.5), "within must lie between 0 and 1 .* got 1"),
        (lambda: stopping_rule("0.0001", 0.95, 0.5), "within must be at least 0.001, ±0.1 %, with at_most, got 0.0001"),
        (lambda: stopping_rule(0, 0.95, 0.5), "within must be positive and finite, got 0"),
        (lambda: stopping_rule(0.2, 0.4, 0.5), "confidence must be at least 0.5 and less than 1"),
        (lambda: stopping_rule(0.2, 1, 0.5), "confidence must be at least 0.5 and less than 1"),
        (lambda: stopping_rule(0.2, 0.95, -1), "at_most must be positive and finite, got -1"),
        (lambda: StoppingRule(Fraction(1, 5), Fraction(19, 20), ()), r"prices must be positive and rise, got \(\)"),
        (lambda: StoppingRule(Fraction(1, 5), Fraction(19, 20), (Fraction(1), Fraction(1))), "prices must be positive"),
    ],
)
def test_what_is_no_rule_is_refused(make: Callable[[], object], words: str) -> None:
    """By the name and the value."""
    with pytest.raises(ValueError, match=f"^{words}"):
        make()


def test_a_chain_of_one_price_is_one_answer() -> None:
    """No answer comes before it."""
    chain = StoppedChain.from_scales([Fraction(10)], [30])
    counts = np.array([0.0, 29.0, 30.0, 31.0, 60.0])
    stops = (chain.stopped_above(counts, counts) + chain.stopped_below(counts, counts))[0]
    expected = [nc.DiscreteLaplace(10).errors.exceedance(np.array([30 - count]))[0] for count in counts]
    assert stops == pytest.approx(expected, rel=1e-12)


def test_a_stopped_chain_has_no_rho_of_its_last_price() -> None:
    """E_Q[exp(αL − α(α − 1)ε²/2)] of the page is more than 1, where ε is that at which the chain stopped.

    L is ε for answers of the neighbour's count or more, and −ε below: the chain stops at the first of these.
    """
    prices = np.array([0.1 * 1.1**place for place in range(12)])
    order = 8
    scales = [Fraction(1 / price) for price in prices.tolist()]
    chain = StoppedChain.from_scales(scales, [1] * prices.size)
    counts = np.array([0.0])
    reached = (chain.stopped_above(counts, np.array([1.0])) + chain.stopped_below(counts, counts))[:, 0]
    losses = order * prices - order * (order - 1) * prices**2 / 2
    capped = 1 - reached.sum()
    mean = reached @ np.exp(losses) + capped * math.exp(losses[-1] - 2 * order * prices[-1])
    assert mean == pytest.approx(1.0944, abs=1e-4)


def test_where_a_chain_stopped_tells_no_more_than_its_last_answer() -> None:
    """P[stops at i with y | x]/P_i(y − x) is one number for all counts x."""
    rule = few_prices("0.5", "0.9", "0.5")
    place, answer = 4, rule.thresholds[4] + 3
    law = nc.DiscreteLaplace.for_epsilon(rule.prices[place])
    shares = []
    for count in (answer - 30, answer - 1, answer):
        counts = np.array([float(count)])
        chance = rule.chain.stopped_above(counts, counts + answer - count) - rule.chain.stopped_above(
            counts, counts + answer - count + 1
        )
        shares.append(chance[place, 0] / Brute.law(np.array(answer - count), law.scale))
    assert shares == pytest.approx([shares[0]] * 3, rel=1e-9)
