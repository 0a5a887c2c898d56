"""How near answers shall be to their counts without a guess: at which price they stop, and what is told of them then.

Prices rise for all counts together, until those that decide are near enough: the one of a count; the largest cell of a
table, its total, or the cells that make up most of it; all questions of a list. docs/accuracy-first.md has the proofs.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisycount.display.numbers import percent
from noisycount.frozen import frozen
from noisycount.ledger.entries import Entry
from noisycount.ledger.series import standing_of
from noisycount.model.half_width import error_within
from noisycount.model.tables.levels import TOTAL
from noisycount.query.query import LARGEST
from noisycount.release.noise_plan import LevelPlan, TablePlan
from noisycount.validation import exact_text, exact_value, parse_probability

if TYPE_CHECKING:
    from noisycount.analysis.within import StoppingRule

Levels = Sequence[NDArray[np.int64]]

ALL = "all"  # of a list: every count shall be near
_CELLS = "-of-cells"
_APART = Fraction(103, 100)  # a price and that of the answer that is known already
_PLAIN = Fraction(1, 4)  # of what may fail, the part of what is told by noise alone


def cells_share(of: str) -> Fraction | None:
    """The share of a table that cells shall make up which are near; None: something else decides."""
    return parse_probability(of.removesuffix(_CELLS)) if of.endswith(_CELLS) else None


@frozen
class Goal:
    """How near answers shall be to their counts, and what they may cost."""

    within: Fraction  # as a share of the count
    confidence: Fraction
    at_most: Fraction  # ε
    of: str = ""  # which counts of a table shall be so near, as `noisycount count --of` says, or all; empty: it is one

    @classmethod
    def stored(cls, entry: Entry) -> "Goal | None":
        """The goal of a debit; None: it was asked at a price."""
        stored = entry.request.asked.get("within")
        if stored is None:
            return None
        within, confidence, at_most = (exact_value(stored[name]) for name in ("within", "confidence", "at_most"))
        return cls(within, confidence, at_most, stored.get("of", ""))

    @property
    def json(self) -> dict[str, str]:
        """What a ledger keeps of it."""
        numbers = {name: exact_text(getattr(self, name)) for name in ("within", "confidence", "at_most")}
        return {**numbers, "of": self.of} if self.of else numbers

    def is_as(self, other: "Goal | None") -> bool:
        """Whether another is as near, whatever it may cost."""
        return other is not None and replace(other, at_most=self.at_most) == self


@frozen(slots=False)
class Stopping:
    """When the answers of a goal stop, and what is told of them."""

    goal: Goal
    noise: TablePlan  # of all counts, at the price of what is told
    base: Entry | None = None  # the answer that is topped up: whoever knows it may ask because of it

    @cached_property
    def prices(self) -> tuple[Fraction, ...]:
        """The ε at which all answers may stop together, the first of them that of the answer that is known."""
        from noisycount.analysis.within import price_grid  # noqa: PLC0415 - for this alone, like the rule

        grid = price_grid(self.goal.at_most)
        if self.base is None:
            return grid
        paid = standing_of(self.base.request).price
        return tuple(dict.fromkeys((paid, *(price for price in grid if price >= _APART * paid), self.goal.at_most)))

    @cached_property
    def place(self) -> int:
        """The level whose answers decide."""
        names = [level.name for level in self.noise.levels]
        return names.index(TOTAL) if self.goal.of == TOTAL else 0

    @property
    def is_for_any_time(self) -> bool:
        """Whether what is told of an answer at its threshold must hold whenever it is told."""
        return self.base is not None or self.goal.of == ALL or cells_share(self.goal.of) is not None

    @cached_property
    def rule(self) -> "StoppingRule":
        """The rule of each of the counts that decide, at their share of each price."""
        from noisycount.analysis.within import rule_of_prices  # noqa: PLC0415

        level, fails = self.noise.levels[self.place], 1 - self.goal.confidence
        if self.goal.of and self.is_for_any_time:
            fails *= 1 - _PLAIN
        if self.goal.of == LARGEST:
            fails /= level.size or 1
        rates = tuple(price * level.share / level.sensitivity for price in self.prices)
        return rule_of_prices(self.goal.within, 1 - fails, rates, anytime=self.is_for_any_time)

    def stops(self, levels: Levels, step: int) -> bool:
        """Whether answers at the price of a step are near enough."""
        answers = levels[self.place]
        is_reached = answers >= self.rule.thresholds[step]
        if self.goal.of == LARGEST:
            return bool(is_reached.any())
        if (share := cells_share(self.goal.of)) is not None:
            return bool(is_reached.any()) and int(answers[is_reached].sum()) >= share * int(answers.sum())
        return bool(is_reached.all())

    def of_count(self, answer: int) -> dict[str, Any]:
        """What a `Release` tells of the one answer."""
        is_near = self._is_near([np.array([answer])])
        bounds = self.rule.nearby(answer) if is_near else self.rule.interval(answer)
        return {**self._told, "bounds": bounds, "is_near": is_near}

    def of_table(self, levels: Levels) -> dict[str, Any]:
        """What a `TableRelease` tells of its answers: which are near, and the ± that each has."""
        is_near, noise = self._is_near(levels), self.capped.levels
        errors = [np.full(len(of), level.error()) for level, of in zip(noise, levels, strict=True)]
        near = [np.zeros(len(of), dtype=bool) for of in levels]
        answers, own = levels[self.place], errors[self.place]
        step = max(0, bisect_right(self.prices, self._price) - 1)
        is_reached = answers >= self.rule.thresholds[step] if self.goal.of else np.full(len(answers), is_near)
        near[self.place] = is_reached
        share = self.goal.within
        widths = [answer * share.numerator // share.denominator for answer in answers[is_reached].tolist()]
        is_narrow = bool(self.goal.of) and self.is_for_any_time  # what noise alone says holds beside the share
        own[is_reached] = np.minimum(own[is_reached], widths) if is_narrow else widths
        largest = [int(of.max()) for of in errors]
        is_one = self.noise.size == 1
        stated = (
            replace(level, stated=(error, error if is_one else level.error(counts=2)))
            for level, error in zip(noise, largest, strict=True)
        )
        plan = replace(self.noise, levels=tuple(stated))
        told = {**self._told, "is_near": is_near, "near": tuple(near), "own_errors": tuple(errors)}
        return {**told, "plan": plan, "near_of": self.goal.of or None}

    @property
    def capped(self) -> TablePlan:
        """The noise with the errors that counts have by it alone, wherever the answers stopped."""
        stated = (
            replace(level, stated=(error := self._plain_error(place), self._error_of_all(level, error)))
            for place, level in enumerate(self.noise.levels)
        )
        return replace(self.noise, levels=tuple(stated))

    @property
    def words(self) -> str:
        """Which counts decide."""
        share = cells_share(self.goal.of)
        if share is not None:
            return f"cells that make up {percent(float(share))} of the answers"
        return {LARGEST: "the largest cell", TOTAL: "the total"}.get(self.goal.of, "each count")

    @property
    def _price(self) -> Fraction:
        return self.noise.loss.epsilon or Fraction(0)

    @property
    def _told(self) -> dict[str, Any]:
        return {"within": self.goal.within, "confidence": float(self.goal.confidence)}

    def _is_near(self, levels: Levels) -> bool:
        """Whether the answers stopped because they are near enough, not because of what they may cost."""
        return self._price != self.goal.at_most or self.stops(levels, -1)

    @property
    def _times(self) -> int:
        """At how many prices the answers of a level that does not decide may be told because of themselves."""
        return 1 if self.base is None else len(self.prices)

    def _plain_error(self, place: int) -> int:
        """The ± of a count of a level by its noise alone, wherever the answers stopped."""
        level, fails = self.noise.levels[place], 1 - self.goal.confidence
        if place != self.place:
            fails /= self._times
        elif not self.goal.of:
            fails *= _PLAIN
        elif self.is_for_any_time:
            fails *= _PLAIN / len(self.prices)
        else:
            fails *= max(_PLAIN, 1 - Fraction(1, (level.size or 1) if self.goal.of == LARGEST else 1))
        return error_within(level.mechanism, float(1 - fails))

    def _error_of_all(self, level: LevelPlan, error: int) -> int:
        """The ± of all counts at once by noise alone, at all prices."""
        counts = self.noise.size or 1
        if counts == 1:
            return error
        fails = (1 - self.goal.confidence) / (counts * len(self.prices))
        return max(error, error_within(level.mechanism, float(1 - fails)))
