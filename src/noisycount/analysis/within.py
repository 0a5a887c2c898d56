"""Accuracy goals relative to the unknown count, without a guess: the stopping rule and its coverage.

The price rises on a public grid, each answer more accurate than the one before (`model.gradual`), until an answer is
large compared with its noise. Stopping at a large answer is a selection, so the thresholds include a slack. The page
“Accuracy first” has the rule, the closed form of the stopped chain, and the proofs. `stopping` computes the chain.
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

# 24 prices per decade, in three digits: each is about 1.1 times the one before.
_MANTISSAS = tuple(round(100 * 10 ** (place / 24)) for place in range(24))
_SPAN = 1000  # largest price over lowest: a large count overpays by at most a thousandth of the largest price
_SMALLEST_RATIO = Fraction(103, 100)  # of the last two prices
_SMALLEST_SHARE = Fraction(1, 1000)  # a smaller `within` has so many different counts that certifying takes minutes
_CHEAPEST = Fraction(1, 10**9)  # smallest price that a ledger stores
_DEPTH = 40.0  # nats: probabilities below e^−40 are bounded, not computed
_FADED = 10.0  # nats below 1 − confidence, from which on a union bound over the prices is used
_CAPPED_PART = 4  # answers at the largest price may use a quarter of 1 − confidence
_ROUNDING = 1e-9  # of a probability, relative
_STEPS = 1000  # the slack is a multiple of 1/1000
_MOST_TRIES = 20  # of a slack; seven is the largest number that was needed
_WORST = 100  # number of counts with the most failures, by which a slack is tried
# Cells of counts: ratio of the first ends, number of times they are split, parts of a split, largest number.
_SPARSE, _LEVELS, _SPLIT, _MOST_CELLS = 1.02, 6, 4, 6000


def price_grid(at_most: RationalLike) -> tuple[Fraction, ...]:
    """Return the prices of a chain: 24 per decade in three digits, from a thousandth of the largest up to the largest.

    Example:
        >>> [str(float(price)) for price in price_grid("0.5")[-4:]], len(price_grid("0.5"))
        (['0.383', '0.422', '0.464', '0.5'], 73)
    """
    return _grid_to(price_as_written(at_most, "at_most"))


@lru_cache(maxsize=64)  # an answer uses it when it is planned, drawn and reported
def _grid_to(largest: Fraction) -> tuple[Fraction, ...]:
    return (*(price for price in public_prices(largest) if price * _SMALLEST_RATIO <= largest), largest)


def public_prices(largest: Fraction) -> list[Fraction]:
    """Return the prices of the public grid from a thousandth of the largest price up to the price just below it."""
    decade = math.floor(math.log10(largest))
    grid = (
        mantissa * Fraction(10) ** (power - 2) for power in range(decade - 4, decade + 2) for mantissa in _MANTISSAS
    )
    lowest = max(largest / _SPAN, _CHEAPEST)
    return [price for price in grid if lowest <= price < largest]


@frozen
class StoppingRule:
    """The rule that stops a chain of more and more accurate answers at the first one that reaches its threshold.

    The final statement is "the estimate lies within ±within of the count". If no answer reaches its threshold, the last
    one is a capped answer with the statement "the count lies within ±reach". For every count the statement is wrong
    with probability at most 1 − confidence.

    Args:
        within: Largest error relative to the count, in (0, 1).
        confidence: Probability that the statement is true, in [1/2, 1).
        prices: Rising; each is the total ε of the answers up to it, if one record changes the count by one.
        anytime: True if the statement must hold at every answer that reaches its threshold, not only at the first:
            for tables that stop as a whole, and for chains that continue after a published answer.

    Raises:
        ValueError: If the share, the confidence or the prices are out of range.
    """

    within: Fraction
    confidence: Fraction
    prices: tuple[Fraction, ...]
    anytime: bool = False
    reach: int = field(init=False)  # half-width of the interval of a capped answer, in records
    slack: float = field(init=False)
    thresholds: tuple[int, ...] = field(init=False)
    chain: StoppedChain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        share, sure = price_as_written(self.within, "within"), price_as_written(self.confidence, "confidence")
        if not share < 1:
            raise ValueError(f"within must lie between 0 and 1 (0.2 is ±20 %), got {exact_text(share)}")
        if share < _SMALLEST_SHARE:
            raise ValueError(
                f"within must be at least {exact_text(_SMALLEST_SHARE)}, ±0.1 %, with at_most, got {exact_text(share)}:"
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
        slack, chain = _SlackSearch(self).certified_slack()
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "thresholds", tuple(int(end) for end in chain.thresholds))
        object.__setattr__(self, "chain", chain)

    def is_reached(self, answer: int) -> bool:
        """Return True if the final answer reached the last threshold. If not, it is a capped answer."""
        return answer >= self.thresholds[-1]

    def estimate(self, answer: int) -> Fraction:
        """Return the published estimate: answer·(1 − within²), or a capped answer itself."""
        return answer * (1 - self.within**2) if self.is_reached(answer) else Fraction(answer)

    def interval(self, answer: int) -> tuple[int, int]:
        """Return the interval of counts that the statement about a final answer allows."""
        if self.is_reached(answer):
            return self.nearby_interval(answer)
        return max(0, answer - self.reach), max(0, answer + self.reach)

    def nearby_interval(self, answer: int) -> tuple[int, int]:
        """Return the counts for which the estimate of an answer that reached its threshold is within ±within."""
        return math.ceil(answer * (1 - self.within)), math.floor(answer * (1 + self.within))

    def chain_of(self, slack: float) -> StoppedChain:
        """Return the chain with the thresholds ⌈(slack·ln(1/(1 − confidence))/ε + 1/2)/within⌉."""
        depth = slack * -math.log(1 - self.confidence) / float(self.within)
        half = 1 / (2 * float(self.within))
        scales = [DiscreteLaplace.for_epsilon(price).scale for price in self.prices]
        return StoppedChain.from_scales(scales, [math.ceil(depth * float(scale) + half) for scale in scales])

    def failures(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """Return upper bounds of P[the statement is wrong] for ranges ("cells") of counts, from first to last.

        Cells ascend. The bound is exact for cells of one count. If a chain reaches a price with a probability below
        e^−40, that probability is added for all further prices.
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
                bounds[cells] = self._wrong_probability(part, first[cells], last[cells])
                if is_idle.any():
                    bounds[cells] += np.exp(-part.rates[-1] * (first[cells] - part.thresholds[-1]))
                else:
                    bounds[cells] += self._wrong_if_capped(chain, first[cells], last[cells])
        return np.nan_to_num(bounds, copy=False, nan=np.inf, posinf=np.inf)

    def _wrong_probability(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """Bound P[the chain stops and the statement is wrong], for ranges of counts.

        The page “Accuracy first” has the proof.
        """
        low, high = first.astype(float), last.astype(float)
        above = self.smallest_too_large(first)
        rates, ends = chain.rates[:, None], chain.thresholds[:, None]
        if (first == last).all():
            return np.sum(
                chain.stopped_above(low, above) + chain.stopped_below(low, self.smallest_right(first)),
                axis=0,
            )
        with np.errstate(over="ignore", invalid="ignore"):
            growth = np.exp(rates * (high - low))
            beyond = chain.stopped_above(low, above) * np.where(ends <= above, 1.0, growth)
            by_growth = chain.stopped_below(high, self.smallest_right(last)) * growth
            more = (
                np.exp(rates * (np.minimum(ends, low) - 1 - low)) * np.expm1(-rates * (high - low)) / np.expm1(-rates)
            )
            by_threshold = chain.stopped_below(low, self.smallest_right(first)) + np.tanh(rates / 2) * more
            short = np.where(self.smallest_right(first) > ends, np.fmin(by_growth, by_threshold), by_growth)
            bounds: Reals = np.sum(beyond + short, axis=0)
        return bounds

    def _ever_wrong(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """Bound P[at some price the answer reaches its threshold and the statement about it is wrong].

        The bound is exact for a single count, except that capped answers are added also after a wrong answer. For a
        range of counts, an answer counts as wrong if it is wrong for the smallest or for the largest count.
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
        return (self._without_overflow(counts) * share.denominator // (share.denominator - share.numerator) + 1).astype(
            float
        )

    def smallest_right(self, counts: Wholes) -> Reals:
        """Return the smallest answer that is not too small for each count."""
        share = self.within
        whole = -self._without_overflow(counts) * share.denominator // (share.denominator + share.numerator)
        return (-whole).astype(float)

    def _without_overflow(self, counts: Wholes) -> Wholes:
        """Return the counts as Python integers if their products with the denominator of `within` would overflow."""
        fits = int(counts.max(initial=0)) * self.within.denominator < 2**63
        return counts if fits else counts.astype(object)

    def _wrong_if_capped(self, chain: StoppedChain, first: Wholes, last: Wholes) -> Reals:
        """Bound P[the chain does not stop and the statement about the capped answer is wrong]."""
        above = chain.tails_without_stop(first.astype(float), self.reach)[0]
        # no interval ends below 0
        below = np.where(last > 0, chain.tails_without_stop(last.astype(float), self.reach)[1], 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            bounds: Reals = (above + below) * np.exp(chain.rates[-1] * (last - first))
        return bounds


def _exceedance(rates: Reals, errors: Reals) -> Reals:
    """Return P[D >= error] for discrete Laplace noise D."""
    tails = np.exp(-rates * np.where(errors > 0, errors, 1 - errors)) / (1 + np.exp(-rates))
    return np.where(errors > 0, tails, 1 - tails)


class _SlackSearch:
    """The smallest slack, in thousandths, that is certified for every count."""

    def __init__(self, rule: StoppingRule) -> None:
        self.rule = rule
        self.limit = float(1 - rule.confidence) * (1 - _ROUNDING)

    def certified_slack(self) -> tuple[float, StoppedChain]:
        """Return the slack and its chain. Search on some counts, certify for all, and repeat with counts that fail."""
        chain = self.rule.chain_of(1.0)
        tried = np.unique(np.geomspace(1, self.last_count(chain), 500).round().astype(np.int64))
        tried = np.union1d(tried, np.arange(int(min(2 * chain.thresholds[-1], 300)) + 1))
        steps = 0
        for tries in range(_MOST_TRIES):
            failures = self.rule.failures(chain, tried, tried)
            steps = self.smallest_slack(np.sort(tried[np.argsort(-failures)[:_WORST]]), steps + tries // 8)
            chain = self.rule.chain_of(steps / _STEPS)
            failing = self.first_uncertified_counts(chain)
            if not failing.size:
                return steps / _STEPS, chain
            tried = np.union1d(tried, failing[:: 1 + failing.size // 100])
        raise ValueError(
            f"within {exact_text(self.rule.within)} at confidence {exact_text(self.rule.confidence)} has no rule"
            " that can be certified for every count: choose a larger share, or a lower confidence"
        )

    def smallest_slack(self, tried: Wholes, failed: int) -> int:
        """Return the smallest slack, in steps above `failed`, at which no given count fails too often."""

        def is_sufficient(steps: int) -> bool:
            return bool((self.rule.failures(self.rule.chain_of(steps / _STEPS), tried, tried) <= self.limit).all())

        low, width = (failed, 1) if failed else (_STEPS // 2, _STEPS // 2)
        while not is_sufficient(low + width):
            low, width = low + width, 2 * width
        high = low + width
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_sufficient(middle) else (middle, high)
        return high

    def last_count(self, chain: StoppedChain) -> int:
        """Return a count above which no count fails too often.

        Above it, three failures have a probability of at most (1 − confidence)/3 each, which falls with the count: the
        first answer misses its threshold, is too large, or is too small. With `anytime`, the union bound over the
        prices is small enough, and falls.
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

    def first_uncertified_counts(self, chain: StoppedChain) -> Wholes:
        """Return the first counts of cells that are not certified."""
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
    """Return the stopping rule of a chain with the given prices, from the cache if it was made before."""
    return StoppingRule(within, confidence, prices, anytime=anytime)


def stopping_rule(
    within: RationalLike,
    confidence: RationalLike,
    at_most: RationalLike,
    *,
    anytime: bool = False,
) -> StoppingRule:
    """Return the stopping rule for an estimate within ±within of the count, at a price of at most `at_most`.

    Args:
        within: The largest error relative to the count, in (0, 1): 0.2 is ±20 %.
        confidence: The probability that the final statement is true, for every count, in [1/2, 1).
        at_most: The largest price, in ε.
        anytime: See `StoppingRule`.

    Raises:
        ValueError: If an argument is out of range.

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
    """Return the probability that the final statement is true for a given count; a lower bound with `anytime`.

    Example:
        >>> round(coverage(stopping_rule("0.2", "0.95", "0.5"), 1000), 4)
        0.9519
    """
    counts = np.array([whole_number(count, "count")])
    return 1 - float(rule.failures(rule.chain, counts, counts)[0])


def stop_probabilities(rule: StoppingRule, count: int) -> Reals:
    """Return the probability that the chain stops at each price.

    The last element: that no answer reaches its threshold.
    """
    counts = np.array([float(whole_number(count, "count"))])
    stops = (rule.chain.stopped_above(counts, counts) + rule.chain.stopped_below(counts, counts))[:, 0]
    return np.append(stops, max(0.0, 1 - stops.sum()))


def mean_price(rule: StoppingRule, count: int) -> float:
    """Return the mean price, in ε, of the chain for a given count.

    Example:
        >>> round(mean_price(stopping_rule("0.2", "0.95", "0.5"), 1000), 4)
        0.0154
    """
    return float(stop_probabilities(rule, count) @ [float(price) for price in (*rule.prices, rule.prices[-1])])


def knowing_price(within: RationalLike, confidence: RationalLike, count: int) -> float:
    """Return the price, in ε, of the same accuracy if the count were known in advance.

    Example:
        >>> round(knowing_price("0.2", "0.95", 1000), 4)
        0.0149
    """
    width = math.floor(price_as_written(within, "within") * whole_number(count, "count"))
    sure = open_probability(float(price_as_written(confidence, "confidence")), "confidence")
    return epsilon_for_accuracy(width + 1, 1 - sure, 1, DiscreteLaplace)
