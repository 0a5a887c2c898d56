"""Prices of an accuracy goal without a guess of the count: the mean ε for some counts, and the largest ε.

The price depends on the count, as an answer stops as soon as it is accurate enough.
"""

from fractions import Fraction
from typing import Any

from noisycount.analysis.within import StoppingRule, knowing_price, mean_price, stopping_rule
from noisycount.display.numbers import approximately, odds_sentence, percent, plus_minus, signed
from noisycount.frozen import frozen
from noisycount.release.dataset import AvailableBudget
from noisycount.tasks.plan import UNSPENT
from noisycount.validation import exact_text

_COUNTS = (100, 1000, 10_000)  # counts for which the mean price is shown


def average_prices(rule: StoppingRule) -> list[tuple[int, float]]:
    """Return pairs of a count and the mean ε of its answer."""
    return [(count, mean_price(rule, count)) for count in _COUNTS]


@frozen
class OpenPlan:
    """An accuracy goal relative to an unknown count, with its prices."""

    within: Fraction  # largest error as a share of the count
    confidence: Fraction
    at_most: Fraction  # largest price, in ε
    paying: AvailableBudget = UNSPENT  # budget that pays for the answers

    @property
    def rule(self) -> StoppingRule:
        """Stopping rule of the answers."""
        return stopping_rule(self.within, self.confidence, self.at_most)

    @property
    def prices(self) -> list[tuple[int, float, float]]:
        """Triples of a count, the mean ε of its answer, and the ε that would suffice if the count were known."""
        return [
            (count, mean, knowing_price(self.within, self.confidence, count))
            for count, mean in average_prices(self.rule)
        ]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The goal, its prices, its largest error and the number of affordable answers, as texts."""
        share, confidence, largest = (
            percent(float(self.within)),
            percent(float(self.confidence)),
            exact_text(self.at_most),
        )
        averages = [
            f"{price:.2g} for {signed(count)} ({known_price:.2g} if it were known)"
            for count, price, known_price in self.prices
        ]
        number, owner = self.paying.affordable(self.at_most), self.paying.dataset
        left = approximately(self.paying.left) + (f" of {owner}" if owner else "")
        return [
            ("goal", f"within ±{share} of the count with {confidence} confidence, for ε = {largest} at most"),
            ("ε", f"on average {averages[0].replace('for', 'for a count of', 1)}"),
            *(("", words) for words in averages[1:]),
            ("error", f"{plus_minus(self.rule.reach)} where ±{share} would cost more"),
            ("privacy", f"at the most {odds_sentence(self.at_most)}"),
            ("budget", f"{left} pays for at least {number:,} such answer{'' if number == 1 else 's'}"),
        ]

    @property
    def json(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {
            "within": float(self.within),
            "confidence": float(self.confidence),
            "at_most": exact_text(self.at_most),
            "error": self.rule.reach,
            "prices": [
                {"count": count, "mean": mean, "known": known_price} for count, mean, known_price in self.prices
            ],
            "odds": odds_sentence(self.at_most),
            "budget": exact_text(self.paying.left),
            "dataset": self.paying.dataset,
            "affordable": self.paying.affordable(self.at_most),
        }
