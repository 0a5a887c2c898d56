"""Counts that are told within a share of themselves, without a guess: when to stop, and how sure it is.

Prices rise on a public grid, each answer finer than the one before (`model.gradual`), until one is so large that its
noise is small beside it. To stop where an answer happens to be large is a selection, so thresholds carry a slack.
The page “Accuracy first” has the rule, the closed form of the stopped chain, and the proofs.
"""

import math
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from noisycount.analysis.accuracy import epsilon_for_accuracy
from noisycount.analysis.stopping import Reals, StoppedChain, Wholes
from noisycount.frozen import frozen
from noisycount.model.half_width import error_within
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import price_as_written
from noisycount.validation import RationalLike, exact_text, open_probability, whole_number

# 24 prices a decade, in three digits: 1.1 times the one before, or nearly.
_MANTISSAS = tuple(round(100 * 10 ** (place / 24)) for place in range(24))
_SPAN = 1000  # the largest price over the lowest: what a large count pays needlessly is a thousandth of what it may
_APART = Fraction(103, 100)  # the last two prices
_LEAST_SHARE = Fraction(1, 1000)  # below, so many counts differ that a certificate for all would take minutes
_CHEAPEST = Fraction(1, 10**9)  # that a ledger keeps
_DEPTH = 40.0  # a chance of e^−40 is none, and is added
_FADED = 10.0  # nats beyond what may fail, from which on the chances of errors are added up over the prices
_CAPPED_PART = 4  # of what may fail, that of answers whose price is capped: one in so many
_ROUNDING = 1e-9  # of a probability
_STEPS = 1000  # of the slack, in 1
_MOST_TRIES = 20  # of a slack: seven are the most that were ever needed
_WORST = 100  # counts that fail most often, by which a slack is tried
_SPARSE, _LEVELS, _SPLIT, _MOST_CELLS = 1.02, 6, 4, 6000  # cells of counts: first ratio, how often they are split


def price_grid(at_most: RationalLike) -> tuple[Fraction, ...]:
    """The prices of a chain: 24 a decade in three digits, from a thousandth of the largest on, and the largest.

    Example:
        >>> [str(float(price)) for price in price_grid("0.5")[-4:]], len(price_grid("0.5"))
        (['0.383', '0.422', '0.464', '0.5'], 73)
    """
    return _grid_to(price_as_written(at_most, "at_most"))


@lru_cache(maxsize=64)  # an answer asks for it when it is understood, drawn and told
def _grid_to(largest: Fraction) -> tuple[Fraction, ...]:
    return (*(price for price in public_prices(largest) if price * _APART <= largest), largest)


def public_prices(largest: Fraction) -> list[Fraction]:
    """Return all prices of the grid from a thousandth of the largest price on, and below it."""
    decade = math.floor(math.log10(largest))
    grid = (
        mantissa * Fraction(10) ** (power - 2) for power in range(decade - 4, decade + 2) for mantissa in _MANTISSAS
    )
    lowest = max(largest / _SPAN, _CHEAPEST)
    return [price for price in grid if lowest <= price < largest]


@frozen
class StoppingRule:
    """When a chain of finer and finer answers stops: at the first that is at least its threshold.

    What is then told, "the count lies within ±within of the estimate", fails with probability at most 1 − confidence,
    whatever the count; so does all that is told, capped answers with their reach among them.

    Args:
        within: The share of the count, in (0, 1).
        confidence: Of all that is told, in [1/2, 1).
        prices: Rising; each is the ε of all answers up to it, for a record that moves the count by one.
        anytime: Whether what is told of an answer that reaches its threshold holds wherever somebody stops: for
            tables that stop as a whole, and chains that go on after an answer that somebody has seen.

    Raises:
        ValueError: If the share, the confidence or the prices are none.
    """

    within: Fraction
    confidence: Fraction
    prices: tuple[Fraction, ...]
    anytime: bool = False
    reach: int = field(init=False)  # ± of an answer whose price is capped, in records
    slack: float = field(init=False)
    thresholds: tuple[int, ...] = field(init=False)
    chain: StoppedChain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        share, sure = price_as_written(self.within, "within"), price_as_written(self.confidence, "confidence")
        if not share < 1:
            raise ValueError(f"within must lie between 0 and 1 (0.2 is ±20 %), got {exact_text(share)}")
        if share < _LEAST_SHARE:
            raise ValueError(
                f"within must be at least {exact_text(_LEAST_SHARE)}, ±0.1 %, with at_most, got {exact_text(share)}:"
                " give a price, or a guess"
            )
        if not Fraction(1, 2) <= sure < 1:
            raise ValueError(f"confidence must be at least 0.5 and less than 1, got {exact_text(sure)}")
        if not self.prices or not all(a < b for a, b in pairwise((Fraction(0), *self.prices))):
            raise ValueError(f"prices must be positive and rise, got {self.prices!r}")
        object.__setattr__(self, "within", share)
        object.__setattr__(self, "confidence", sure)
        last = DiscreteLaplace.for_epsilon(self.prices[-1])
        object.__setattr__(self, "reach", error_within(last, float(1 - (1 - sure) / _CAPPED_PART)))
        slack, chain = _SlackSearch(self).solution()
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "thresholds", tuple(int(end) for end in chain.thresholds))
        object.__setattr__(self, "chain", chain)

    def is_reached(self, answer: int) -> bool:
        """Whether a last answer stopped the chain; if not, its price is capped."""
        return answer >= self.thresholds[-1]

    def estimate(self, answer: int) -> Fraction:
        """What is told of a last answer: answer·(1 − within²), of a capped one itself."""
        return answer * (1 - self.within**2) if self.is_reached(answer) else Fraction(answer)

    def interval(self, answer: int) -> tuple[int, int]:
        """The counts that a last answer leaves: its estimate is within ±within of those; of a capped one ±reach."""
        if self.is_reached(answer):
            return self.nearby(answer)
        return max(0, answer - self.reach), max(0, answer + self.reach)

    def nearby(self, answer: int) -> tuple[int, int]:
        """The counts whose estimate is within ±within of them, of an answer that reached its threshold."""
        return math.ceil(answer * (1 - self.within)), math.floor(answer * (1 + self.within))

    def chain_of(self, slack: float) -> StoppedChain:
        """The chain with the thresholds ⌈(slack·ln(1/(1 − confidence))/ε + 1/2)/within⌉."""
        depth = slack * -math.log(1 - self.confidence) / float(self.within)
        half = 1 / (2 * float(self.within))
        scales = [DiscreteLaplace.for_epsilon(price).scale for price in self.prices]
        return StoppedChain.of(scales, [math.ceil(depth * float(scale) + half) for scale in scales])

    def failures(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """The most that P[what is told is wrong] can be at any count from first to last, each; rising ones.

        Exact where both are one. Of prices so high that the answer before is unstopped with less than e^−40, that
        chance stands for all.
        """
        if self.anytime:
            return self._ever_wrong(chain, first, last)
        prices = chain.rates.size
        bounds = np.zeros(first.size)
        ends = np.searchsorted(first, 4.0 ** np.arange(1, 31))
        for low, high in pairwise([0, *np.unique(ends).tolist(), first.size]):
            if low < high:
                lowest, cells = first[low], slice(low, high)
                is_idle = chain.rates * (lowest - chain.thresholds) > _DEPTH
                some = int(np.argmax(is_idle)) + 1 if is_idle.any() else prices
                part = chain.first(some)
                bounds[cells] = self._wrong(part, first[cells], last[cells])
                if is_idle.any():
                    bounds[cells] += np.exp(-part.rates[-1] * (first[cells] - part.thresholds[-1]))
                else:
                    bounds[cells] += self._wrong_if_capped(chain, first[cells], last[cells])
        return np.nan_to_num(bounds, copy=False, nan=np.inf, posinf=np.inf)

    def _wrong(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """P[stops and is wrong], at most; the page “Accuracy first” proves it for the counts between."""
        low, high = first.astype(float), last.astype(float)
        above = self.smallest_too_large(first)
        rates, ends = chain.rates[:, None], chain.thresholds[:, None]
        if (first == last).all():
            return np.sum(chain.beyond(low, above) + chain.short(low, self.smallest_right(first)), axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.exp(rates * (high - low))
            beyond = chain.beyond(low, above) * np.where(ends <= above, 1.0, growth)
            by_growth = chain.short(high, self.smallest_right(last)) * growth
            more = (
                np.exp(rates * (np.minimum(ends, low) - 1 - low)) * np.expm1(-rates * (high - low)) / np.expm1(-rates)
            )
            by_threshold = chain.short(low, self.smallest_right(first)) + np.tanh(rates / 2) * more
            short = np.where(self.smallest_right(first) > ends, np.fmin(by_growth, by_threshold), by_growth)
            bounds: Reals = np.sum(beyond + short, axis=0)
        return bounds

    def _ever_wrong(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """P[at some price the answer is told and wrong], at most.

        Exact for a single count, but for capped answers: these count however wrong the answers before them were. Of
        the counts from first to last each error is wrong from the least or to the largest of all.
        """
        low, high = first.astype(float), last.astype(float)
        below, above = self.smallest_right(first) + (high - low), self.smallest_too_large(first) + (high - low)
        bounds = chain.ever_outside(high, below, above, _FADED - math.log(1 - self.confidence))
        rate, threshold = chain.rates[-1:], chain.thresholds[-1]
        above = np.full(first.size, self.reach + 1.0)
        bounds += _exceedance(rate, above) - _exceedance(rate, np.maximum(threshold - low, above))
        below = np.minimum(threshold - low, -self.reach)
        return bounds + np.where(last > 0, _exceedance(rate, 1 - below), 0.0)

    def smallest_too_large(self, counts: Wholes) -> Reals:
        """Return the smallest answer that is too large for each count."""
        share = self.within
        return (self._wide(counts) * share.denominator // (share.denominator - share.numerator) + 1).astype(float)

    def smallest_right(self, counts: Wholes) -> Reals:
        """Return the smallest answer that is not too small for each count."""
        share = self.within
        whole = -self._wide(counts) * share.denominator // (share.denominator + share.numerator)
        return (-whole).astype(float)

    def _wide(self, counts: Wholes) -> Wholes:
        """Counts whose products with the denominator of the share do not overflow."""
        fits = int(counts.max(initial=0)) * self.within.denominator < 2**63
        return counts if fits else counts.astype(object)

    def _wrong_if_capped(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """P[does not stop and is wrong], at most."""
        above = chain.unstopped(first.astype(float), self.reach)[0]
        below = np.where(last > 0, chain.unstopped(last.astype(float), self.reach)[1], 0.0)  # no interval ends below 0
        with np.errstate(over="ignore", invalid="ignore"):
            bounds: Reals = (above + below) * np.exp(chain.rates[-1] * (last - first))
        return bounds


def _exceedance(rates: Reals, errors: Reals) -> Reals:
    """P[D >= error] of discrete Laplace noise."""
    tails = np.exp(-rates * np.where(errors > 0, errors, 1 - errors)) / (1 + np.exp(-rates))
    return np.where(errors > 0, tails, 1 - tails)


class _SlackSearch:
    """The smallest slack, in thousandths, that is certified for every count."""

    def __init__(self, rule: StoppingRule) -> None:
        self.rule = rule
        self.limit = float(1 - rule.confidence) * (1 - _ROUNDING)

    def solution(self) -> tuple[float, StoppedChain]:
        """Return the slack and its chain: found by some counts, certified for all; a count that fails is added."""
        chain = self.rule.chain_of(1.0)
        tried = np.unique(np.geomspace(1, self.last_count(chain), 500).round().astype(np.int64))
        tried = np.union1d(tried, np.arange(int(min(2 * chain.thresholds[-1], 300)) + 1))
        steps = 0
        for tries in range(_MOST_TRIES):
            failures = self.rule.failures(chain, tried, tried)
            steps = self.smallest(np.sort(tried[np.argsort(-failures)[:_WORST]]), steps + tries // 8)
            chain = self.rule.chain_of(steps / _STEPS)
            failing = self.uncertified(chain)
            if not failing.size:
                return steps / _STEPS, chain
            tried = np.union1d(tried, failing[:: 1 + failing.size // 100])
        raise ValueError(
            f"within {exact_text(self.rule.within)} at confidence {exact_text(self.rule.confidence)} has no rule that"
            " is shown to hold for every count: choose a larger share, or less confidence"
        )

    def smallest(self, tried: Wholes, failed: int) -> int:
        """Return the fewest steps, more than those that failed, at which none of the counts fails too often."""

        def holds(steps: int) -> bool:
            return bool((self.rule.failures(self.rule.chain_of(steps / _STEPS), tried, tried) <= self.limit).all())

        low, width = (failed, 1) if failed else (_STEPS // 2, _STEPS // 2)
        while not holds(low + width):
            low, width = low + width, 2 * width
        high = low + width
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high

    def last_count(self, chain: StoppedChain) -> int:
        """From here on failures are at most (1 − confidence)/3 of three kinds, which only fall.

        The first answer does not reach its threshold, or is wrong on one of both sides. Of a rule for any time it is
        the sum over the prices that is small enough, and falls.
        """
        share = float(self.rule.within)
        part = math.log(3 / self.limit) / float(chain.rates[0])
        last = math.ceil(max(float(chain.thresholds[0]) + part, part * (1 + 1 / share)))
        if not self.rule.anytime:
            return last

        def failures(count: int) -> float:
            errors = chain.rates * (count * share / (1 + share))
            unstopped = math.exp(-float(chain.rates[-1] * (count - chain.thresholds[-1])))
            return 2 * float(np.exp(-errors).sum()) + unstopped

        while failures(last) > self.limit:
            last *= 2
        return last

    def uncertified(self, chain: StoppedChain) -> Wholes:
        """Counts at which cells begin that fail too often, or are not shown not to."""
        last = self.last_count(chain)
        ends = np.unique(_SPARSE ** np.arange(math.ceil(math.log(last, _SPARSE)) + 1) // 1).astype(np.int64)
        first, last_in = np.concatenate([[0], ends[:-1]]), ends - 1
        for _ in range(_LEVELS):
            fails = self.rule.failures(chain, first, last_in) > self.limit
            first, last_in = first[fails], last_in[fails]
            if not first.size or first.size > _MOST_CELLS or (first == last_in).any():
                break
            widths = last_in - first + 1
            cuts = first[:, None] + widths[:, None] * np.arange(_SPLIT + 1) // _SPLIT
            is_part = cuts[:, 1:] > cuts[:, :-1]
            first, last_in = cuts[:, :-1][is_part], cuts[:, 1:][is_part] - 1
        return first


@lru_cache(maxsize=64)
def rule_of_prices(
    within: Fraction, confidence: Fraction, prices: tuple[Fraction, ...], *, anytime: bool
) -> StoppingRule:
    """The rule of a chain of these prices, made once."""
    return StoppingRule(within, confidence, prices, anytime=anytime)


def stopping_rule(
    within: RationalLike,
    confidence: RationalLike,
    at_most: RationalLike,
    *,
    anytime: bool = False,
) -> StoppingRule:
    """The rule that tells a count within ±within of itself, for a price of at most `at_most`.

    Args:
        within: The share of the count, in (0, 1): 0.2 is ±20 %.
        confidence: The probability with which what is told holds, whatever the count, in [1/2, 1).
        at_most: The largest ε.
        anytime: Whether it holds wherever somebody stops, as `StoppingRule` says.

    Raises:
        ValueError: If one of them is not in its range.

    Example:
        >>> rule = stopping_rule("0.2", "0.95", "0.5")
        >>> rule.slack, rule.thresholds[-3:], rule.reach
        (0.978, (38, 35, 32), 9)
        >>> rule.interval(40), float(rule.estimate(40)), rule.interval(12)
        ((32, 48), 38.4, (3, 21))
    """
    share, sure = price_as_written(within, "within"), price_as_written(confidence, "confidence")
    return rule_of_prices(share, sure, price_grid(at_most), anytime=anytime)


def coverage(rule: StoppingRule, count: int) -> float:
    """The probability that what the rule tells of a count is true; of a rule for any time at least that.

    Example:
        >>> round(coverage(stopping_rule("0.2", "0.95", "0.5"), 1000), 4)
        0.9519
    """
    counts = np.array([whole_number(count, "count")])
    return 1 - float(rule.failures(rule.chain, counts, counts)[0])


def stop_probabilities(rule: StoppingRule, count: int) -> Reals:
    """The probability that the chain stops at each price, and at the end that its price is capped."""
    counts = np.array([float(whole_number(count, "count"))])
    stops = (rule.chain.beyond(counts, counts) + rule.chain.short(counts, counts))[:, 0]
    return np.append(stops, max(0.0, 1 - stops.sum()))


def mean_price(rule: StoppingRule, count: int) -> float:
    """The mean of the ε at which the chain of a count ends.

    Example:
        >>> round(mean_price(stopping_rule("0.2", "0.95", "0.5"), 1000), 4)
        0.0154
    """
    return float(stop_probabilities(rule, count) @ [float(price) for price in (*rule.prices, rule.prices[-1])])


def knowing_price(within: RationalLike, confidence: RationalLike, count: int) -> float:
    """The ε that somebody pays who knows the count, and has it told ±within of itself with that confidence.

    Example:
        >>> round(knowing_price("0.2", "0.95", 1000), 4)
        0.0149
    """
    width = math.floor(price_as_written(within, "within") * whole_number(count, "count"))
    sure = open_probability(float(price_as_written(confidence, "confidence")), "confidence")
    return epsilon_for_accuracy(width + 1, 1 - sure, 1, DiscreteLaplace)
