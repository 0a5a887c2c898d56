"""What the counts of a table cost and how far off they may be, level by level."""

from collections.abc import Sequence
from fractions import Fraction

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.price import NoisyLevels, TablePrice, odds_of
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.half_width import error_within
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.tables.levels import Level, shares
from noisycount.model.tables.threshold import surely_shown, threshold

_SHARE_OF_TOTAL = Fraction(1, 10)  # of the price, beside hidden keys, whose number is unknown


@frozen
class LevelPlan(Shown):
    """The counts of one level, and their noise."""

    name: str  # what a reader calls the level, such as "town" or "total"
    size: int | None  # how many counts there are; None: only the records know
    sensitivity: int  # by how much one unit can move all of them together
    share: Fraction  # of the price
    mechanism: DiscreteNoise  # the noise of each

    def error(self, confidence: float = 0.95) -> int:
        """A count lies within ±error of its answer with the confidence, in units."""
        return error_within(self.mechanism, confidence)


@frozen(repr=False)
class TablePlan(Shown):
    """The noise of a table, level by level."""

    price: TablePrice  # what all counts cost together
    levels: tuple[LevelPlan, ...]  # the cells first, then what is measured beside them
    groups: int | None  # in how many cells one unit can be; None: in all
    is_replacement: bool  # whether neighbours differ by a replaced unit, which moves twice as much
    threshold: int | None = None  # the smallest noisy count that is shown; None: all keys are known

    @property
    def loss(self) -> Loss:
        """What is charged."""
        return self.price.loss

    def odds(self, protected: str) -> str:
        """What the whole table means for one "person" or "row", in words."""
        return odds_of(self.loss, protected, self.replaced, self.price.rho_delta)

    @property
    def replaced(self) -> Loss:
        """What is lost where one unit takes another's place, which may be more than charged."""
        sizes = [level.size for level in self.levels]
        scales = [level.mechanism.exact_scale for level in self.levels]
        return NoisyLevels(self.loss, sizes, scales, self.groups).replaced

    @property
    def size(self) -> int | None:
        """How many counts there are in all; None: only the records know."""
        sizes = [level.size for level in self.levels]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def surely_shown(self, confidence: float = 0.95) -> int | None:
        """The smallest count that appears with the confidence; None: all do."""
        if self.threshold is None:
            return None
        return surely_shown(self.levels[0].mechanism, self.threshold, confidence)

    def errors_of_all(self, confidence: float = 0.95, size: int | None = None) -> tuple[int, ...]:
        """All counts of all levels lie within ±these of their answers, in units.

        The noises are independent and each count has the same probability b of lying farther off:
        (1 − b)^k is the confidence, exactly, whatever the counts are.

        Args:
            confidence: The probability that all do.
            size: How many counts there are, where only the records knew.

        Returns:
            One error for each level.
        """
        answers = size if self.size is None else self.size
        if answers is None:
            raise ValueError("size is missing: only the records know how many keys there are")
        return tuple(error_within(level.mechanism, confidence, max(1, answers)) for level in self.levels)

    def _facts(self) -> dict[str, object]:
        """The price, the levels, and what is hidden."""
        shown = {} if self.threshold is None else {"threshold": self.threshold}
        return {
            "noise": self.levels[0].mechanism.name,
            "price": self.loss,
            "levels": list(self.levels),
            "groups_per_unit": self.groups,
            "replacement": self.is_replacement,
            **shown,
        }


def table_plan(levels: Sequence[Level], price: TablePrice, groups: int | None, *, is_replacement: bool) -> TablePlan:
    """The plan of a table whose keys are known.

    Args:
        levels: The cells first, then what is measured beside them.
        price: What all counts cost together.
        groups: In how many cells one unit can be; None: in all.
        is_replacement: Whether neighbours differ by a replaced unit.
    """
    moves = [_sensitivity(level.size, groups, is_replacement=is_replacement) for level in levels]
    parts = shares(levels, moves, price.noise)
    planned = tuple(
        LevelPlan(level.name, level.size, move, share, price.mechanism(move, share))
        for level, move, share in zip(levels, moves, parts, strict=True)
    )
    return TablePlan(price, planned, groups, is_replacement)


def hidden_plan(
    name: str, price: TablePrice, groups: int, *, is_replacement: bool, has_total: bool = False
) -> TablePlan:
    """The plan of a table whose keys only the records know.

    Args:
        name: Of the level of its keys.
        price: What all counts cost together.
        groups: In how many cells one unit can be.
        is_replacement: Whether neighbours differ by a replaced unit.
        has_total: Whether all matching units are counted beside them.
    """
    move = (2 if is_replacement else 1) * groups
    share = 1 - _SHARE_OF_TOTAL if has_total else Fraction(1)
    noise = price.mechanism(move, share)
    planned = [LevelPlan(name, None, move, share, noise)]
    if has_total:
        rest = price.mechanism(1, _SHARE_OF_TOTAL)
        planned.append(LevelPlan("total", 1, 1, _SHARE_OF_TOTAL, rest))
    least = threshold(noise, price.threshold_delta, groups)
    return TablePlan(price, tuple(planned), groups, is_replacement, least)


def _sensitivity(size: int, groups: int | None, *, is_replacement: bool) -> int:
    """By how much one unit moves all counts of a level together."""
    return l1_sensitivity(size, size if groups is None else groups, replaced=is_replacement)
