"""Nodes and their children: the messages up, and the laws of the children down."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables import sums
from noisycount.analysis.tables.given_sums import Crossing
from noisycount.analysis.tables.likelihoods import Counts
from noisycount.analysis.tables.prior import Division
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

SIDES = 8.0  # standard deviations of the law of a count that zones reach on both sides
_LEAST = 0.25  # records


def zone_targets(middle: Reals, spread: Reals, zones: int) -> Reals:
    """The counts about which transforms are exact, rising, shape (nodes, zones).

    Shapes: middle (nodes,), spread (nodes,).
    """
    steps = np.linspace(-SIDES, SIDES, zones) if zones > 1 else np.zeros(1)
    targets = middle[:, None] + spread[:, None] * steps
    # those that would be negative share what is left, so that they rise
    least = _LEAST * np.minimum(middle, 1.0)[:, None] * np.arange(1, zones + 1) / zones
    return np.maximum(targets, least)


_UNHEARD = 1e-9  # of a law: what belongs to such a set of parameters need not be exact
_NARROW = 0.3  # records, less than which no sum spreads that is not known
_BETWEEN = 4.0  # standard deviations of a sum from one zone to the next
_MOST_ZONES = 128
_LITTLE = 1e-12  # of a law: so little need not be bounded better
_LITTLE_ROUGHLY = 1e-8  # the same under a learned prior, where transforms may move laws by more
_FEW = 1 << 20  # weights times nodes, for which bounds of any steepness take little time
_ROUNDED = 2.0  # times the floor: at most so large is what rounding takes below it


@frozen(eq=False)
class Descent:
    """What follows for the children of nodes from the laws of their counts."""

    laws: Reals  # of the children's counts, from their lowest on, shape (nodes, children, width)
    chances: Reals  # of each set of parameters, given all answers, shape (nodes, sets)
    rounding: Reals  # bounds of the total variation by which transforms moved laws, shape (nodes,)
    zones: Counts  # how many transforms would share the counts of each node well, shape (nodes,)


@frozen(eq=False, slots=False)
class Split:
    """How the answers below nodes tell of their counts; each node has as many children."""

    lows: Counts  # the lowest count of each child, shape (nodes, children)
    # the logarithm of the likelihood of each child's counts, given the answers at it and below, shape (nodes,
    # children, width); −inf where there is none
    logs: Reals
    division: Division  # how the counts divide
    # about which counts sums are exact, rising; each takes a transform of its own for the counts that are nearest
    # to it; shape (nodes, zones)
    targets: Reals
    is_positive: bool = False  # whether sums are of positive terms alone, which needs one zone
    tilts: Reals | None = None  # those to begin with, shape (nodes, sets·zones); None: typical ones
    is_bounded: bool = False  # whether messages have upper bounds where sums are too rare to be kept
    is_rough: bool = False  # True if the prior is learned, and windows end where distributions are small

    @property
    def _zones(self) -> int:
        """How many transforms there are for each set of parameters, next to each other."""
        return int(self.targets.shape[1])

    @cached_property
    def _parts(self) -> tuple[sums.Tilted, Reals, Reals | None]:
        """The children's laws under tilts, and the logarithms of their first weights.

        Where bounds are wanted and weights few, the logarithms of all weights too.
        """
        middle = self.targets[:, self._zones // 2]
        base = self.division.tilt(middle, self.lows.shape[1])
        weights = self.division.weights(self.lows, self.logs.shape[-1], base)
        logs, base, at_low = (
            np.repeat(each, self._zones, axis=1)
            for each in (weights.above + self.logs[:, None], base, weights.at_low.sum(axis=-1))
        )
        start = np.zeros_like(base) if self.tilts is None else self.tilts - base
        wanted = np.tile(self.targets - self.lows.sum(axis=-1)[:, None], base.shape[1] // self._zones)
        found = sums.tilted_to(logs, wanted, start, is_positive=self.is_positive)
        leaning = None
        if self.is_bounded and logs.size * len(logs) <= _FEW:
            places = np.arange(logs.shape[-1], dtype=np.float64)
            leaning = logs + found.tilts[..., None, None] * places
        return found._replace(tilts=base + found.tilts), at_low, leaning

    @property
    def laws(self) -> Reals:
        """The laws of the children under the tilts, shape (nodes, sets, children, width)."""
        return self._parts[0].laws

    @property
    def tilted(self) -> Reals:
        """The tilts, in nats a record, shape (nodes, sets)."""
        return self._parts[0].tilts

    @cached_property
    def _sum(self) -> sums.FastSum | sums.PositiveSum:
        """The sums of the children."""
        return self._kind(self.laws)

    @property
    def _kind(self) -> type[sums.FastSum | sums.PositiveSum]:
        return sums.PositiveSum if self.is_positive else sums.FastSum

    @property
    def low(self) -> Counts:
        """The lowest counts of the messages, shape (nodes,)."""
        return self.lows.sum(axis=-1) + self._sum.first

    @property
    def constants(self) -> Reals:
        """What was taken from the logarithms of the messages, so that they are not large."""
        return self._weighed[1]

    @cached_property
    def _weighed(self) -> tuple[Reals, Reals]:
        """The logarithms of what laws of sums are multiplied by, and what was taken from them."""
        tilted, at_low, _ = self._parts
        tilts, width = tilted.tilts, self._sum.law.shape[-1]
        zones = [self.division.factor(self.low, width, tilts[:, zone :: self._zones]) for zone in range(self._zones)]
        at_first, above = (np.stack(parts, axis=2) for parts in zip(*zones, strict=True))
        chances = np.repeat(self.division.log_chances, self._zones)
        leaned = tilts * self._sum.first[:, None]
        constants = tilted.constants + at_low + at_first.reshape(tilts.shape) - leaned + chances
        largest = constants.max(axis=-1)
        factors = above.reshape(*tilts.shape, width) + (constants - largest[:, None])[..., None]
        # each count belongs to the transform whose target is nearest
        counts = self.low[:, None, None] + np.arange(width)
        ends = (self.targets[:, 1:] + self.targets[:, :-1]) / 2
        zone = (counts > ends[..., None]).sum(axis=1)[:, None]
        own = np.tile(np.arange(self._zones), self.division.log_chances.size)
        return np.where(zone == own[None, :, None], factors, -np.inf), largest

    @property
    def messages_of_sets(self) -> Reals:
        """The same as `messages` of each set of parameters, shape (nodes, sets, counts)."""
        with np.errstate(divide="ignore"):
            logs = self._weighed[0] + np.log(self._sum.law)
        nodes, _, counts = logs.shape
        return logs.reshape(nodes, -1, self._zones, counts).max(axis=2)

    @cached_property
    def messages(self) -> Reals:
        """The logarithms of the likelihoods of the counts from `low` on, given the answers below.

        They are without the `constants`; shape (nodes, counts). If `is_bounded`, counts whose sums
        are too rare to be kept have upper bounds of theirs: what is left out shows in the laws.
        """
        kept = sums.sum_of_logs(self.messages_of_sets, axis=1)
        is_kept = kept > -np.inf
        if is_kept.all() or not self.is_bounded:
            return kept
        return np.where(is_kept, kept, sums.sum_of_logs(self._weighed[0] + self._rare, axis=1))

    @cached_property
    def _rare(self) -> Reals:
        """Upper bounds of the logarithms of the probabilities of sums that are not kept.

        −inf where a sum is kept or cannot be; shape (nodes, sets·zones, counts).
        """
        law, (tilted, _, leaning) = self._sum.law, self._parts
        places = np.arange(law.shape[-1], dtype=np.float64) + self._sum.first[:, None, None]
        places = np.broadcast_to(places, law.shape)
        is_rare = (law == 0) & (places >= tilted.least[..., None])
        is_rare &= places <= tilted.most[..., None]
        if not is_rare.any():
            return np.full_like(law, -np.inf)
        largest = law.max(axis=-1, keepdims=True)
        known = sums.moments(self.laws)
        chernoff = sums.log_bounds(self.laws, known, places)
        if leaning is not None:
            np.minimum(chernoff, sums.steep_bounds(leaning, known, places), out=chernoff)
        bounds = np.minimum(np.log(_ROUNDED * self._sum.floor * largest), chernoff)
        return np.where(is_rare, bounds, -np.inf)

    def descent(self, laws: Reals) -> Descent:
        """The laws of the children, given those of the nodes from all answers. Shapes: laws (nodes, counts)."""
        told = (laws > 0)[:, None]
        logs = np.where(told, self._weighed[0] - _finite(self.messages)[:, None], -np.inf)
        exact = self._sum.law > 0
        outside = laws[:, None] * np.exp(np.where(exact, logs, -np.inf))
        rests = self._sum.rests(outside)
        joint = np.einsum("nscw,nscw->ncw", self.laws, rests.values)
        parts = (outside * self._sum.law).sum(axis=-1)
        chances = parts.reshape(len(laws), -1, self._zones).sum(axis=-1)
        whole = joint.sum(axis=-1, keepdims=True)
        joint = np.where(whole > 0, joint, self.laws[:, 0])
        joint /= joint.sum(axis=-1, keepdims=True)
        rounding = rests.rounding.sum(axis=-1) + self._lost(laws, logs)
        return Descent(joint, chances, rounding, self._wanted_zones(laws, parts))

    def _wanted_zones(self, laws: Reals, parts: Reals) -> Counts:
        """So many that each reaches two standard deviations of its sum on both sides."""
        own = np.sqrt(sums.moments(self.laws).variance.sum(axis=-1))
        narrowest = np.where(parts > _UNHEARD, own, np.inf).min(axis=1)
        spread = np.sqrt(sums.moments(laws).variance)
        ratio = np.minimum(spread / np.maximum(narrowest, _NARROW), _MOST_ZONES / SIDES)
        half: Counts = np.ceil(ratio * SIDES / _BETWEEN).astype(np.int64)
        return 2 * half + 1

    def sum_of(self, children: NDArray[np.bool_]) -> tuple[int, Reals]:
        """The first place and the law, for each set, of the sum of some children of one node."""
        found = self._kind(self.laws[:, :, children])
        return int(found.first[0]), found.law[0]

    def crossing(self, parts: Sequence[tuple[int, Reals]], laws: Reals) -> "Crossing":
        """What tells of weights on parts of the sum of one node, given the node's count.

        Shapes: parts (sets, width), laws (counts,).
        """
        law = self._sum.law[0]
        logs = self._weighed[0][0] - _finite(self.messages)[0]
        shares = law * np.exp(np.where(law > 0, logs, -np.inf))
        first = int(self._sum.first[0]) - sum(start for start, _ in parts)
        return Crossing.of(law, shares, first, [part for _, part in parts], laws)

    def _lost(self, laws: Reals, logs: Reals) -> Reals:
        """At most how much of the laws belongs to sums that were too rare to be kept.

        Where other sets of parameters keep a count no more than its probability is taken as lost.
        """
        law = self._sum.law
        if (law > 0).all():
            return np.zeros(len(laws))
        floor = _ROUNDED * self._sum.floor * law.max(axis=-1, keepdims=True)
        lost = _shared(laws, np.where(law > 0, -np.inf, logs + np.log(floor)))
        little = _LITTLE_ROUGHLY if self.is_rough else _LITTLE
        return lost if lost.max(initial=0.0) < little else _shared(laws, logs + self._rare)


def _shared(laws: Reals, logs: Reals) -> Reals:
    """The parts of laws with these logarithms, none above 1, added up for each node."""
    return (laws[:, None] * np.exp(np.minimum(logs, 0.0))).sum(axis=(1, 2))


def _finite(logs: Reals) -> Reals:
    """Logarithms, with 0 where they are infinite."""
    return np.where(np.isfinite(logs), logs, 0.0)
