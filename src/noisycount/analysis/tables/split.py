"""Nodes and their children: the messages up, and the laws of the children down."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.divisions import Division
from noisycount.analysis.tables.sums.fast import FastSum, folded, transform_length
from noisycount.analysis.tables.sums.positive import PositiveSum
from noisycount.analysis.tables.sums.tails import sum_of_logs
from noisycount.analysis.tables.tilts import Tilted, tilted_to
from noisycount.model.laws.expansion import Reals

__all__ = ["Descent", "Split"]

_CHEAP = 30_000  # multiplications, below which positive sums are as fast as transforms

Counts = NDArray[np.int64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """What follows for the children of nodes from the laws of their counts.

    Attributes:
        laws: Of the children's counts, from their lowest on, shape (nodes, children, width).
        chances: Of each set of parameters, given all answers, shape (nodes, sets).
        rounding: Bounds of the total variation by which transforms moved laws, shape (nodes,).
    """

    laws: Reals
    chances: Reals
    rounding: Reals


@dataclass(frozen=True, eq=False)
class Split:
    """How the answers below nodes tell of their counts; each node has as many children.

    Args:
        lows: The lowest count of each child, shape (nodes, children).
        logs: The logarithm of the likelihood of each child's counts, given the answers at it and
            below, shape (nodes, children, width); −inf where there is none.
        division: How the counts divide.
        targets: About which counts the laws of the nodes are, shape (nodes,).
        is_positive: Whether sums are of positive terms alone, however long that takes.
        tilts: Those to begin with, shape (nodes, sets); None: typical ones.
    """

    lows: Counts
    logs: Reals
    division: Division
    targets: Reals
    is_positive: bool = False
    tilts: Reals | None = None

    @cached_property
    def _parts(self) -> tuple[Tilted, Reals]:
        """The children's laws under a tilt, and the logarithms of their first weights."""
        base = self.division.tilt(self.targets, self.lows.shape[1])
        weights = self.division.weights(self.lows, self.logs.shape[-1], base)
        start = np.zeros_like(base) if self.tilts is None else self.tilts - base
        logs = weights.above + self.logs[:, None]
        found = tilted_to(logs, self.targets - self.lows.sum(axis=-1), start)
        return found._replace(tilts=base + found.tilts), weights.at_low.sum(axis=-1)

    @property
    def laws(self) -> Reals:
        """The laws of the children under the tilts, shape (nodes, sets, children, width)."""
        return self._parts[0].laws

    @property
    def tilted(self) -> Reals:
        """The tilts, in nats a record, shape (nodes, sets)."""
        return self._parts[0].tilts

    @cached_property
    def _sum(self) -> FastSum | PositiveSum:
        """The sums of the children."""
        children, width = self.logs.shape[1:]
        is_positive = self.is_positive or (children * width) ** 2 < _CHEAP
        return (PositiveSum if is_positive else FastSum)(self._parts[0].laws)

    @property
    def low(self) -> Counts:
        """The lowest counts of the messages, shape (nodes,)."""
        low: Counts = self.lows.sum(axis=-1) + self._sum.first
        return low

    @property
    def constants(self) -> Reals:
        """What was taken from the logarithms of the messages, so that they are not large."""
        return self._weighed[1]

    @cached_property
    def _weighed(self) -> tuple[Reals, Reals]:
        """The logarithms of what laws of sums are multiplied by, and what was taken from them."""
        tilted, at_low = self._parts
        factor = self.division.factor(self.low, self._sum.law.shape[-1], tilted.tilts)
        leaned = tilted.tilts * self._sum.first[:, None]
        constants = tilted.constants + at_low + factor.at_low - leaned + self.division.log_chances
        largest = constants.max(axis=-1)
        return factor.above + (constants - largest[:, None])[..., None], largest

    @property
    def messages_of_sets(self) -> Reals:
        """The same as `messages` of each set of parameters, shape (nodes, sets, counts)."""
        with np.errstate(divide="ignore"):
            return self._weighed[0] + np.log(self._sum.law)

    @cached_property
    def messages(self) -> Reals:
        """The logarithms of the likelihoods of the counts from `low` on, given the answers below.

        They are without the `constants`; shape (nodes, counts).
        """
        return sum_of_logs(self.messages_of_sets, axis=1)

    def descent(self, laws: Reals) -> Descent:
        """The laws of the children, given those of the nodes from all answers.

        Args:
            laws: Probabilities of the counts of `messages`, shape (nodes, counts).
        """
        told = (laws > 0)[:, None]
        logs = np.where(told, self._weighed[0] - _finite(self.messages)[:, None], -np.inf)
        exact = self._sum.law > 0
        outside = laws[:, None] * np.exp(np.where(exact, logs, -np.inf))
        rests = self._sum.rests(outside)
        joint = np.einsum("nscw,nscw->ncw", self._parts[0].laws, rests.values)
        chances = (outside * self._sum.law).sum(axis=-1)
        joint /= joint.sum(axis=-1, keepdims=True)
        rounding = rests.rounding.sum(axis=-1) + self._lost(laws, np.where(exact, -np.inf, logs))
        return Descent(joint, chances, rounding)

    def sum_of(self, children: NDArray[np.bool_]) -> tuple[int, Reals]:
        """The first place and the law, for each set, of the sum of some children of one node."""
        kind = type(self._sum)
        found = kind(self._parts[0].laws[:, :, children])
        return int(found.first[0]), found.law[0]

    def turned(self, parts: Sequence[tuple[int, Complexes]]) -> Complexes:
        """The sum of parts of one node that are weighed by complex numbers of modulus 1 at most.

        Args:
            parts: The first place of each, and the law of the part with those weights, shape
                (angles, sets, width). Without weights their sum is that of the children.

        Returns:
            At the counts of `messages`, averaged over the sets of parameters given the count, shape
            (angles, counts).
        """
        law = self._sum.law[0]
        widths = [values.shape[-1] for _, values in parts]
        full = sum(widths) - len(widths) + 1
        length = transform_length(min(full, law.shape[-1] + max(widths)))
        spectra = (np.fft.fft(folded(values, length), length, axis=-1) for _, values in parts)
        product = reduce(operator.mul, spectra)
        first = int(self._sum.first[0]) - sum(start for start, _ in parts)
        places = (first + np.arange(law.shape[-1])) % length
        sums = np.fft.ifft(product, axis=-1)[..., places]
        logs = self._weighed[0][0] - _finite(self.messages)[0]
        shares = np.where(law > 0, np.exp(np.where(law > 0, logs, 0.0)), 0.0)
        averaged: Complexes = np.einsum("asn,sn->an", sums, shares)
        return averaged

    def _lost(self, laws: Reals, logs: Reals) -> Reals:
        """At most how much of the laws belongs to sums that are too rare for a transform."""
        largest = self._sum.law.max(axis=-1, keepdims=True)
        shares = np.exp(np.minimum(logs + np.log(self._sum.floor * largest), 0.0))
        lost: Reals = (laws[:, None] * shares).sum(axis=(1, 2))
        return lost


def _finite(logs: Reals) -> Reals:
    """Logarithms, with 0 where they are infinite."""
    return np.where(np.isfinite(logs), logs, 0.0)
