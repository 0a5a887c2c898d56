"""Noise of a published table, level by level, and its price.

`TablePlan` computes errors, odds and losses from them. A count is a table of one level with one cell.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from fractions import Fraction

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss, NeighbourRelation
from noisycount.ledger.price import TablePrice, odds_of
from noisycount.model.concentrated import l1_sensitivity
from noisycount.model.half_width import error_within
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.noises.combined_gaussian import CombinedGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.threshold import smallest_surely_shown


@frozen
class LevelPlan(Shown):
    """A level of a table, such as its cells or a margin, with the noise of its counts."""

    name: str  # name for a reader, such as "town" or "total"
    size: int | None  # number of counts; None if the keys are hidden
    sensitivity: int  # L1 sensitivity of all counts of the level
    share: Fraction  # share of the price
    mechanism: DiscreteNoise | CombinedGaussian  # noise of each count
    # error of one count, and error of all at once, if the answers stopped by an accuracy goal, at its confidence; None:
    # the errors follow from the noise
    stated: tuple[int, int] | None = field(default=None, repr=False)

    def error(self, confidence: float = 0.95, counts: int = 1) -> int:
        """Return the error of one count, or the error that holds for several counts at once, with the confidence."""
        if self.stated is not None:
            return self.stated[counts > 1]
        return error_within(self.mechanism, confidence, counts)


@frozen(repr=False)
class TablePlan(Shown):
    """The noise and the price of a table, level by level."""

    price: TablePrice  # price of all counts together
    levels: tuple[LevelPlan, ...]  # the cells first, then margins or ranges
    groups: int | None  # contribution bound: largest number of cells that count one unit; None: no bound
    is_replacement: bool  # True if neighbours differ by a replaced unit, which can change twice as many cells
    threshold: int | None = None  # smallest noisy count of a hidden key that is shown; None: all keys are known
    # True if an earlier, coarser answer decided which hidden keys are shown; its noise is not stored here
    is_refined: bool = False

    @property
    def loss(self) -> Loss:
        """Privacy loss of all counts together."""
        return self.price.loss

    def at_laplace_price(
        self, epsilon: Fraction, scales: Sequence[Fraction], threshold: int | None = None
    ) -> "TablePlan":
        """Return this plan at another price under Laplace noise; the threshold is that of the first answer."""
        return self.with_noises(
            Loss.from_epsilon(epsilon, self.loss.delta), list(map(DiscreteLaplace, scales)), threshold
        )

    def with_noises(
        self, loss: Loss, noises: Sequence[DiscreteNoise | CombinedGaussian], threshold: int | None
    ) -> "TablePlan":
        """Return this plan at another price under other noise."""
        levels = [replace(level, mechanism=noise) for level, noise in zip(self.levels, noises, strict=True)]
        return replace(self, price=replace(self.price, loss=loss), levels=tuple(levels), threshold=threshold)

    def odds(self, protected: str) -> str:
        """Return the odds to which the answers can move an even guess about one "person" or "row", in words."""
        return odds_of(self.loss, protected, self.replacement_loss, self.price.rho_delta)

    @property
    def replacement_loss(self) -> Loss:
        """Privacy loss of all answers if one unit replaces another. It may exceed the charge.

        Each count changes by at most 1, and Δ is the sum of the changes on a level. Under Laplace noise the level loses
        ε = Δ/scale. Under Gaussian noise the squares of the changes add up to Δ too, so that the level loses
        ρ = Δ/(2σ²). Hidden keys fail with the same δ under both neighbour relations (see `threshold`).
        """
        scales = [level.mechanism.exact_scale for level in self.levels]
        pairs = list(zip(self._level_sensitivities(replaced=True), scales, strict=True))
        if self.loss.epsilon is not None:
            lost = sum((move / scale for move, scale in pairs), Fraction(0))
            return Loss.from_epsilon(max(lost, self.loss.epsilon), self.loss.delta)
        rho = sum((move / (2 * scale**2) for move, scale in pairs), Fraction(0))
        return Loss.concentrated(max(rho, self.loss.rho), self.loss.delta)

    @property
    def relation(self) -> NeighbourRelation | None:
        """Neighbour relation for which the price was computed; None if the price is the same for both relations."""
        if self._level_sensitivities(replaced=True) == self._level_sensitivities(replaced=False):
            return None
        return NeighbourRelation.REPLACEMENT if self.replacement_loss == self.loss else NeighbourRelation.ADD_REMOVE

    def _level_sensitivities(self, *, replaced: bool) -> list[int]:
        """Return the L1 sensitivity of each level; with `replaced`, if one unit replaces another."""
        groups = self.groups
        return [
            (2 if replaced else 1) * (groups or 1)
            if size is None
            else l1_sensitivity(size, size if groups is None else groups, replaced=replaced)
            for size in (level.size for level in self.levels)
        ]

    @property
    def size(self) -> int | None:
        """Number of all counts; None if keys are hidden."""
        sizes = [level.size for level in self.levels]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def surely_shown(self, confidence: float = 0.95) -> int | None:
        """Return the smallest count whose key is shown with the confidence.

        Return None if all keys are shown, or if an earlier answer decided which keys are shown.
        """
        if self.threshold is None or self.is_refined:
            return None
        noise = self.levels[0].mechanism
        found_by = noise.oldest if isinstance(noise, CombinedGaussian) else noise
        return smallest_surely_shown(found_by, self.threshold, confidence)

    def errors_of_all(self, confidence: float = 0.95, size: int | None = None) -> tuple[int, ...]:
        """Return the errors of the levels within which all counts lie together with the confidence, in units.

        Each of the k counts lies farther off with a probability of at most b, where (1 − b)^k is the confidence. This
        needs no union bound, as the noises are independent.

        Args:
            confidence: The probability that all errors hold at once.
            size: The number of counts of the answer; it is needed if the keys are hidden.
        """
        answers = size if self.size is None else self.size
        if answers is None:
            raise ValueError("size is missing: keys are hidden, so give the number of counts of the answer")
        return tuple(level.error(confidence, max(1, answers)) for level in self.levels)

    def _facts(self) -> dict[str, object]:
        return {
            "noise": self.levels[0].mechanism.name,
            "price": self.loss,
            "levels": list(self.levels),
            "groups_per_unit": self.groups,
            "replacement": self.is_replacement,
            **({} if self.threshold is None else {"threshold": self.threshold}),
        }
