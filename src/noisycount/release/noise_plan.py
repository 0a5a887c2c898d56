"""The noise of a published table, level by level, and its price."""

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
from noisycount.model.tables.threshold import surely_shown


@frozen
class LevelPlan(Shown):
    """One level of a table, such as its cells or a margin, with the noise of its counts."""

    name: str  # what a reader calls the level, such as "town" or "total"
    size: int | None  # how many counts there are; None: only the records know
    sensitivity: int  # by how much one unit can move all of them together
    share: Fraction  # of the price
    mechanism: DiscreteNoise | CombinedGaussian  # the noise of each
    # what is stated of a count, and of all at once, of answers that stopped within a share of their counts, at the
    # confidence that was wanted; None: what follows from the noise
    stated: tuple[int, int] | None = field(default=None, repr=False)

    def error(self, confidence: float = 0.95, counts: int = 1) -> int:
        """Return the error within which one count, or several together, lie of their answers with the confidence."""
        if self.stated is not None:
            return self.stated[counts > 1]
        return error_within(self.mechanism, confidence, counts)


@frozen(repr=False)
class TablePlan(Shown):
    """The noise and the price of a table, level by level."""

    price: TablePrice  # what all counts cost together
    levels: tuple[LevelPlan, ...]  # the cells first, then what is measured beside them
    groups: int | None  # in how many cells one unit can be; None: in all
    is_replacement: bool  # whether neighbours differ by a replaced unit, which moves twice as much
    threshold: int | None = None  # the smallest noisy count that is shown; None: all keys are known
    is_refined: bool = False  # whether a coarser answer decided which keys are shown, with noise that is not known here

    @property
    def loss(self) -> Loss:
        """Loss that all counts cost together."""
        return self.price.loss

    def at(self, epsilon: Fraction, scales: Sequence[Fraction], threshold: int | None = None) -> "TablePlan":
        """Return this plan at another price under Laplace noise; a threshold is that of the first answer."""
        return self.of_noises(Loss.of(epsilon, self.loss.delta), list(map(DiscreteLaplace, scales)), threshold)

    def of_noises(
        self, loss: Loss, noises: Sequence[DiscreteNoise | CombinedGaussian], threshold: int | None
    ) -> "TablePlan":
        """Return this plan at another price under other noise."""
        levels = [replace(level, mechanism=noise) for level, noise in zip(self.levels, noises, strict=True)]
        return replace(self, price=replace(self.price, loss=loss), levels=tuple(levels), threshold=threshold)

    def odds(self, protected: str) -> str:
        """Return the odds that a guess about one "person" or "row" may become, in words."""
        return odds_of(self.loss, protected, self.replaced, self.price.rho_delta)

    @property
    def replaced(self) -> Loss:
        """Loss of all answers if one unit replaces another, which may exceed the charge.

        Each count moves by 1 at most. Under Laplace noise a level whose counts move by Δ together loses Δ/scale. Under
        Gaussian noise the squares of the moves add up to Δ too, so that its ρ is Δ/(2σ²). Hidden keys fail with the
        same δ under either relation (`threshold`).
        """
        scales = [level.mechanism.exact_scale for level in self.levels]
        pairs = list(zip(self._moves(replaced=True), scales, strict=True))
        if self.loss.epsilon is not None:
            lost = sum((move / scale for move, scale in pairs), Fraction(0))
            return Loss.of(max(lost, self.loss.epsilon), self.loss.delta)
        rho = sum((move / (2 * scale**2) for move, scale in pairs), Fraction(0))
        return Loss.concentrated(max(rho, self.loss.rho), self.loss.delta)

    @property
    def relation(self) -> NeighbourRelation | None:
        """Neighbours for which the price was made; None: it is the same for both."""
        if self._moves(replaced=True) == self._moves(replaced=False):
            return None
        return NeighbourRelation.REPLACEMENT if self.replaced == self.loss else NeighbourRelation.ADD_REMOVE

    def _moves(self, *, replaced: bool) -> list[int]:
        """Return by how much one unit moves the counts of each level together."""
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
        """Return the smallest count whose key is shown with the confidence; None: all are, or it was decided before."""
        if self.threshold is None or self.is_refined:
            return None
        noise = self.levels[0].mechanism
        found_by = noise.oldest if isinstance(noise, CombinedGaussian) else noise
        return surely_shown(found_by, self.threshold, confidence)

    def errors_of_all(self, confidence: float = 0.95, size: int | None = None) -> tuple[int, ...]:
        """Return the errors of the levels within which all counts lie together with the confidence, in units.

        The noises are independent and each count has the same probability b of lying farther off: (1 − b)^k is the
        confidence, exactly, whatever the counts are. The size is that of the answers, where only the records knew it.
        """
        answers = size if self.size is None else self.size
        if answers is None:
            raise ValueError("size is missing: only the records know how many keys there are")
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
