"""Division of nodes among their children: the messages upwards, and the distributions of the children downwards.

`tilt_to_mean` multiplies the counts of children by e^(tilt·count), so that their sums are exact near a target. `Split`
holds several nodes with the same number of children. `passes` builds the splits of a whole tree.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables import sums
from noisycount.analysis.tables.given_sums import ConditionalAverages
from noisycount.analysis.tables.likelihoods import Bounds, Counts
from noisycount.analysis.tables.prior import Division
from noisycount.analysis.tables.sums import moments
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

_STEPS = 80
_QUICK = 12  # steps of Newton's method, which are enough for smooth distributions
_NEAR = 0.2  # tolerance in standard deviations of the sum, which hardly changes the error of a transform
_NEAR_ROUGHLY = 2.0  # tolerance for positive sums, which only must not underflow
_ROOM = 0.25  # records between a goal and the ends of the range, where tilts are infinite


class TiltedWeights(NamedTuple):
    """Weights times e^(tilt·position), normalised to distributions."""

    tilts: Reals  # in nats a position, shape (nodes, sets)
    laws: Reals  # distributions, shape (nodes, sets, summands, width)
    # logarithms of what the weights were divided by, summed over the summands, shape (nodes, sets)
    constants: Reals
    least: Reals  # smallest possible sum of positions, shape (nodes, sets)
    most: Reals  # largest possible sum, same shape


def tilt_to_mean(logs: Reals, goals: Reals, *, is_positive: bool) -> TiltedWeights:
    """Return weights tilted so that the mean of their sum is near a goal; positive sums need only a rough tilt.

    Newton's method, kept inside a bracket. No step is longer than what moves the widest summand by about one standard
    deviation. Shapes: logs (nodes, sets, summands, width), goals (nodes, sets).
    """
    smallest, largest = _sum_range(logs)
    room = np.minimum(_ROOM, (largest - smallest) / 4)
    aims = np.clip(goals, smallest + room, largest - room).ravel()
    tolerance = _NEAR_ROUGHLY if is_positive else _NEAR
    rows = logs.reshape(-1, *logs.shape[2:])
    laws, constants, tilts = rows, np.empty(len(rows)), np.empty(len(rows))
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    active, trial = np.arange(len(rows)), np.zeros(len(rows))  # rows without a tilt yet, and the tilts to try
    for step in range(_STEPS):
        tilts[active] = trial
        is_whole = active.size == len(rows)  # without copies then
        tilted_laws, constants[active] = _tilt_weights(rows if is_whole else rows[active], trial)
        if is_whole:
            laws = tilted_laws
        else:
            laws[active] = tilted_laws
        law_moments = moments(tilted_laws)
        shortfall = aims[active] - law_moments.mean.sum(axis=-1)
        variance = law_moments.variance.sum(axis=-1)
        is_far = np.abs(shortfall) > tolerance * np.sqrt(variance) + 1e-6
        if not is_far.any():
            break
        if not is_positive:  # one more step reduces the error of a transform, and costs little
            is_far[:] = True
        low[active] = np.where(shortfall > 0, np.maximum(low[active], trial), low[active])
        high[active] = np.where(shortfall < 0, np.minimum(high[active], trial), high[active])
        widest = law_moments.variance.max(axis=-1)
        reach = 1 / np.sqrt(np.maximum(widest, 1e-6))
        steps = np.clip(shortfall / np.maximum(variance, 1e-12), -reach, reach)
        if step > _QUICK and step % 2:  # a mean may jump with the tilt; Newton's steps then fail
            steps = np.where(np.isfinite((high - low)[active]), np.inf, steps)
        trial, active = _next_tilts(trial, steps, low[active], high[active])[is_far], active[is_far]
    return TiltedWeights(
        tilts.reshape(goals.shape), laws.reshape(logs.shape), constants.reshape(goals.shape), smallest, largest
    )


def _sum_range(logs: Reals) -> tuple[Reals, Reals]:
    """Return the smallest and the largest sum of the summands that has a weight above 0, shapes (nodes, sets).

    Args:
        logs: Log weights of the values 0, 1, … of each summand, shape (nodes, sets, summands, width).
    """
    is_possible = logs > -np.inf
    smallest = is_possible.argmax(axis=-1).sum(axis=-1)
    largest = (logs.shape[-1] - 1 - is_possible[..., ::-1].argmax(axis=-1)).sum(axis=-1)
    return smallest, largest


def _tilt_weights(logs: Reals, tilts: Reals) -> tuple[Reals, Reals]:
    """Return weights under given tilts as distributions, and the logarithms of what they were divided by.

    Shapes: logs (rows, summands, width), tilts (rows,); results (rows, summands, width) and (rows,).
    """
    weights = logs + tilts[:, None, None] * np.arange(logs.shape[-1])
    peaks = weights.max(axis=-1, keepdims=True)
    weights -= peaks
    np.exp(weights, out=weights)
    sums = weights.sum(axis=-1, keepdims=True)
    weights /= sums
    return weights, (peaks + np.log(sums))[..., 0].sum(axis=-1)


def _next_tilts(tilts: Reals, steps: Reals, low: Reals, high: Reals) -> Reals:
    """Return the tilts after a step, or the middle of the bracket where the step leads out of it."""
    stepped = tilts + steps
    is_bracketed = np.isfinite(low) & np.isfinite(high)
    middle = np.where(is_bracketed, (np.where(is_bracketed, low, 0) + np.where(is_bracketed, high, 0)) / 2, stepped)
    return np.where((stepped > low) & (stepped < high), stepped, middle)


SIDES = 8.0  # standard deviations of a count that the zones cover on both sides
_SMALLEST_TARGET = 0.25  # records: smallest target of a zone


def zone_targets(middle: Reals, spread: Reals, zones: int) -> Reals:
    """Return the counts near which transforms are exact, ascending, shape (nodes, zones).

    Shapes: middle (nodes,), spread (nodes,).
    """
    steps = np.linspace(-SIDES, SIDES, zones) if zones > 1 else np.zeros(1)
    targets = middle[:, None] + spread[:, None] * steps
    # targets must be positive and ascending
    smallest = _SMALLEST_TARGET * np.minimum(middle, 1.0)[:, None] * np.arange(1, zones + 1) / zones
    return np.maximum(targets, smallest)


_NEGLIGIBLE = 1e-9  # share of a distribution, so small that its zone need not be exact
_NARROW = 0.3  # records: smallest standard deviation of a sum that is not certain
_BETWEEN = 4.0  # standard deviations of a sum between neighbouring targets
_MOST_ZONES = 128
_SMALL_LOSS = 1e-12  # share of a distribution that needs no closer bound
_SMALL_LOSS_LEARNED = 1e-8  # the same under a learned prior, which tolerates a larger error
_ROUNDED = 2.0  # times the floor: bound of a probability that rounding may have put below the floor


@frozen(eq=False)
class ChildDistributions:
    """Result of the downward step for some nodes: the distributions of the counts of their children."""

    laws: Reals  # distributions of the children's counts from the lowest on, shape (nodes, children, width)
    chances: Reals  # probability of each set of parameters given all answers, shape (nodes, sets)
    rounding: Reals  # bounds of the error of transforms, in total variation, shape (nodes,)
    zones: Counts  # number of zones that would suit each node, shape (nodes,)


@frozen(eq=False, slots=False)
class Split:
    """Division of the counts of nodes among their children, given the answers at and below the children.

    The number of children is the same for all nodes. A zone is the range of counts nearest to one target, near which
    one transform is exact.
    """

    lows: Counts  # lowest count of each child, shape (nodes, children)
    # log likelihood of each child's counts given the answers at and below it, shape (nodes, children, width); −inf if a
    # count is impossible
    logs: Reals
    division: Division  # prior of the division
    # counts near which sums are exact, ascending, shape (nodes, zones); each target has a transform for the counts
    # nearest to it
    targets: Reals
    is_positive: bool = False  # True if sums are added up term by term; one zone is then enough
    is_bounded: bool = False  # True if messages have upper bounds where sums are too rare to be kept
    is_rough: bool = False  # True if the prior is learned and windows end where probabilities are small
    # range of the counts of each node, outside of which messages are not needed; None: all counts
    needed_counts: Bounds | None = None

    @property
    def _zone_count(self) -> int:
        """Number of transforms for each set of parameters."""
        return int(self.targets.shape[1])

    @cached_property
    def _tilted(self) -> TiltedWeights:
        """Tilted weights of the children's counts, with tilts in nats a record.

        The `constants` (log normalisers) include the log prior weight of the children's lowest counts.
        """
        middle = self.targets[:, self._zone_count // 2]
        base = self.division.tilt(middle, self.lows.shape[1])
        weights = self.division.weights(self.lows, self.logs.shape[-1], base)
        logs, base, at_low = (
            np.repeat(values, self._zone_count, axis=1)
            for values in (weights.above + self.logs[:, None], base, weights.at_low.sum(axis=-1))
        )
        goals = np.tile(self.targets - self.lows.sum(axis=-1)[:, None], base.shape[1] // self._zone_count)
        tilted = tilt_to_mean(logs, goals, is_positive=self.is_positive)
        return tilted._replace(tilts=base + tilted.tilts, constants=tilted.constants + at_low)

    @property
    def laws(self) -> Reals:
        """Tilted distributions of the children, shape (nodes, sets·zones, children, width)."""
        return self._tilted.laws

    @property
    def number_of_tilts(self) -> int:
        """Number of tilted distributions of each child: one for each set of parameters and each zone."""
        return self.division.log_chances.size * self._zone_count

    @cached_property
    def _child_sums(self) -> sums.FastSum | sums.PositiveSum:
        """The sums of the children."""
        if self.is_positive:
            return sums.PositiveSum(self.laws)
        at_low = self.lows.sum(axis=-1)
        needed_counts = (
            None if self.needed_counts is None else (self.needed_counts.low - at_low, self.needed_counts.high - at_low)
        )
        return sums.FastSum(self.laws, needed_counts)

    @property
    def low(self) -> Counts:
        """Lowest count of each message, shape (nodes,)."""
        return self.lows.sum(axis=-1) + self._child_sums.first

    @property
    def constants(self) -> Reals:
        """Logarithm that was subtracted from the message (the log likelihoods) of each node, shape (nodes,)."""
        return self._log_factors[1]

    @cached_property
    def _log_factors(self) -> tuple[Reals, Reals]:
        """Logarithms of the factors of the probabilities of sums, and the constants that were subtracted from them."""
        tilts, width = self._tilted.tilts, self._child_sums.law.shape[-1]
        zones = [
            self.division.factor(self.low, width, tilts[:, zone :: self._zone_count])
            for zone in range(self._zone_count)
        ]
        at_first, above = (np.stack(parts, axis=2) for parts in zip(*zones, strict=True))
        chances = np.repeat(self.division.log_chances, self._zone_count)
        tilt_at_first = tilts * self._child_sums.first[:, None]
        constants = self._tilted.constants + at_first.reshape(tilts.shape) - tilt_at_first + chances
        largest = constants.max(axis=-1)
        factors = above.reshape(*tilts.shape, width) + (constants - largest[:, None])[..., None]
        # Each count uses the transform whose target is nearest.
        counts = self.low[:, None, None] + np.arange(width)
        ends = (self.targets[:, 1:] + self.targets[:, :-1]) / 2
        zone = (counts > ends[..., None]).sum(axis=1)[:, None]
        zone_of_row = np.tile(np.arange(self._zone_count), self.division.log_chances.size)
        return np.where(zone == zone_of_row[None, :, None], factors, -np.inf), largest

    @property
    def messages_of_sets(self) -> Reals:
        """Messages of each set of parameters, shape (nodes, sets, counts)."""
        with np.errstate(divide="ignore"):
            logs = self._log_factors[0] + np.log(self._child_sums.law)
        nodes, _, counts = logs.shape
        return logs.reshape(nodes, -1, self._zone_count, counts).max(axis=2)

    @cached_property
    def messages(self) -> Reals:
        """Logarithms of the likelihoods of the counts from `low` on, given the answers below, shape (nodes, counts).

        The `constants` are subtracted. If `is_bounded`, sums that are too rare to be kept have upper bounds in place of
        probabilities. The distributions then show how much probability is neglected.
        """
        messages = sums.sum_of_logs(self.messages_of_sets, axis=1)
        is_kept = messages > -np.inf
        if is_kept.all() or not self.is_bounded:
            return messages
        return np.where(
            is_kept, messages, sums.sum_of_logs(self._log_factors[0] + self._bounds_of_dropped_sums, axis=1)
        )

    @cached_property
    def _bounds_of_dropped_sums(self) -> Reals:
        """Upper bounds of the log probabilities of the sums that are left out, shape (nodes, sets·zones, counts).

        −inf if a sum is kept or impossible.
        """
        law, tilted = self._child_sums.law, self._tilted
        positions = np.arange(law.shape[-1], dtype=np.float64) + self._child_sums.first[:, None, None]
        positions = np.broadcast_to(positions, law.shape)
        is_rare = (law == 0) & (positions >= tilted.least[..., None])
        is_rare &= positions <= tilted.most[..., None]
        if not is_rare.any():
            return np.full_like(law, -np.inf)
        chernoff = sums.log_bounds(self.laws, sums.moments(self.laws), positions)
        bounds = np.minimum(np.log(_ROUNDED * self._child_sums.smallest), chernoff)
        return np.where(is_rare, bounds, -np.inf)

    def child_distributions(self, laws: Reals) -> ChildDistributions:
        """Return the distributions of the children's counts, from those of the counts of the nodes.

        Let m_c(j) be the likelihood of count j of child c times its prior weight. Given the count k of the node,
        P[K_c = j | k] is in proportion to m_c(j)·P[the other children add up to k − j]. The result is the mean of these
        distributions over the distribution of k.

        Args:
            laws: The probabilities of the nodes' counts from `low` on, shape (nodes, counts).
        """
        is_possible = (laws > 0)[:, None]
        logs = np.where(is_possible, self._log_factors[0] - _finite_or_zero(self.messages)[:, None], -np.inf)
        is_kept = self._child_sums.law > 0
        outside = laws[:, None] * np.exp(np.where(is_kept, logs, -np.inf))
        leave_one_out = self._child_sums.leave_one_out(outside)
        joint = np.einsum("nscw,nscw->ncw", self.laws, leave_one_out.values)
        zone_shares = (outside * self._child_sums.law).sum(axis=-1)
        chances = zone_shares.reshape(len(laws), -1, self._zone_count).sum(axis=-1)
        mass = joint.sum(axis=-1, keepdims=True)
        joint = np.where(mass > 0, joint, self.laws[:, 0])
        joint /= joint.sum(axis=-1, keepdims=True)
        rounding = leave_one_out.rounding.sum(axis=-1) + self._neglected_probability(laws, logs)
        return ChildDistributions(joint, chances, rounding, self._wanted_zones(laws, zone_shares))

    def _wanted_zones(self, laws: Reals, zone_shares: Reals) -> Counts:
        """Return the needed number of zones if each covers two standard deviations of its sum on both sides."""
        deviations = np.sqrt(sums.moments(self.laws).variance.sum(axis=-1))
        narrowest = np.where(zone_shares > _NEGLIGIBLE, deviations, np.inf).min(axis=1)
        spread = np.sqrt(sums.moments(laws).variance)
        ratio = np.minimum(spread / np.maximum(narrowest, _NARROW), _MOST_ZONES / SIDES)
        half: Counts = np.ceil(ratio * SIDES / _BETWEEN).astype(np.int64)
        return 2 * half + 1

    def sum_children(self, children: NDArray[np.bool_]) -> tuple[int, Reals]:
        """Return the lowest sum of some children of the first node, and its distribution for each set of parameters."""
        laws = self.laws[:, :, children]
        child_sum = sums.PositiveSum(laws) if self.is_positive else sums.FastSum(laws)
        return int(child_sum.first[0]), child_sum.law[0]

    def conditional_averages(self, parts: Sequence[tuple[int, Reals]], laws: Reals) -> "ConditionalAverages":
        """Return the averages of functions of some parts of the first node's sum, given the node's count.

        Shapes: parts (sets, width), laws (counts,).
        """
        law = self._child_sums.law[0]
        logs = self._log_factors[0][0] - _finite_or_zero(self.messages)[0]
        shares = law * np.exp(np.where(law > 0, logs, -np.inf))
        return ConditionalAverages.from_parts(self._child_sums, shares, parts, laws, is_rough=self.is_rough)

    def _neglected_probability(self, laws: Reals, logs: Reals) -> Reals:
        """Return upper bounds of the probability that is lost with sums that are set to 0, shape (nodes,).

        A sum is set to 0 if it may be a rounding error. With several sets of parameters, a count may be set to 0 under
        one of them alone. Then at most the probability of that count is lost.
        """
        law = self._child_sums.law
        if (law > 0).all():
            return np.zeros(len(laws))
        neglected = _share_sums(laws, np.where(law > 0, -np.inf, logs + np.log(_ROUNDED * self._child_sums.smallest)))
        small_loss = _SMALL_LOSS_LEARNED if self.is_rough else _SMALL_LOSS
        return (
            neglected
            if neglected.max(initial=0.0) < small_loss
            else _share_sums(laws, logs + self._bounds_of_dropped_sums)
        )


def _share_sums(laws: Reals, logs: Reals) -> Reals:
    """Return the probabilities of distributions times shares e^logs of at most 1, summed for each node."""
    return (laws[:, None] * np.exp(np.minimum(logs, 0.0))).sum(axis=(1, 2))


def _finite_or_zero(logs: Reals) -> Reals:
    """Return logarithms with 0 in the place of infinite ones."""
    return np.where(np.isfinite(logs), logs, 0.0)
