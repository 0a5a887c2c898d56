"""The answers of one level of a tree under one mechanism."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.normal import erfcx
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise, SymmetricNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussianErrors
from noisycount.model.noises.error.law import ErrorLaw
from noisycount.model.noises.kernels.gaussian import GaussianShape
from noisycount.model.noises.kernels.laplace import LaplaceShape
from noisycount.model.noises.kernels.lattice_sums import log_sum_from, log_sum_of_all
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.search import first_true

__all__ = ["DEPTH", "LevelAnswers"]

DEPTH = 42.0
"""Nats below the peak of a likelihood from which on counts do not matter: e^−42 is below 1e-18."""

_LARGEST = 2**60  # records: beyond any noise's scale times DEPTH
_FARTHEST = 16  # depths: answers so far below 0 are beyond a table of sums
_EXTRA = 1.7  # nats: the tail at an answer is at least half of the largest

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LevelAnswers:
    """Answers about different nodes of one level, under one mechanism.

    Attributes:
        level: Of the tree, from 0.
        nodes: Which nodes they are about, none twice.
        answers: In records; of a suppressed one the threshold.
        suppressed: Which were less than that threshold, and no more is known.
        mechanism: Additive noise, or `Exact`.
    """

    level: int
    nodes: Counts
    answers: Reals
    suppressed: NDArray[np.bool_]
    mechanism: Mechanism
    _errors: ErrorLaw | None = field(init=False, repr=False)
    _depth: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        errors: ErrorLaw | None = None
        depth = 0
        if isinstance(self.mechanism, SymmetricNoise):
            law = self.mechanism.errors
            tail = _first(lambda far: law.log_exceedance(np.array([far]))[0] <= -DEPTH - _EXTRA)
            depth = max(self.distance(DEPTH), tail)
            farthest = float(np.abs(self.answers).max(initial=0.0))
            errors = law.tabulated(depth * 2.0 + min(farthest, depth * _FARTHEST))
        object.__setattr__(self, "_errors", errors)
        object.__setattr__(self, "_depth", depth)

    @property
    def is_exact(self) -> bool:
        """Whether the answers are the counts themselves."""
        return isinstance(self.mechanism, Exact)

    def log_likelihood(self, which: slice | NDArray[np.integer], counts: Counts) -> Reals:
        """The logarithm of f(y | k), or of P[Y < t | k] of a suppressed answer.

        Args:
            which: Some of the answers, m of them.
            counts: Whole counts k for each, shape (m, w) or (1, w).

        Returns:
            Shape (m, w), −inf for 0; of continuous noise the logarithm of the density.
        """
        answers, suppressed = self.answers[which][:, None], self.suppressed[which]
        if self._errors is None:
            possible = np.where(suppressed[:, None], counts < answers, counts == answers)
            return np.where(possible, 0.0, -math.inf)
        law = self._errors
        if not suppressed.any():
            return _log_densities(law, answers - counts.astype(np.float64))
        rows = np.broadcast_to(counts, (answers.size, counts.shape[1])).astype(np.float64)
        logs = np.empty(rows.shape)
        told = ~suppressed
        if told.any():
            logs[told] = _log_densities(law, answers[told] - rows[told])
        logs[suppressed] = _log_below(law, rows[suppressed] - answers[suppressed])
        return logs

    def main_log(self, place: int, count: int) -> Fraction:
        """The part of the logarithm of a likelihood that is a line or a parabola, exactly.

        It is −z/scale or −z²/(2·scale²) of the distance z from the answer, or from the threshold,
        below which it is 0; 0 of a sum of several noises.

        Args:
            place: Of the answer.
            count: The count k.
        """
        law = self._errors
        if not isinstance(law, LaplaceShape | GaussianShape):
            return Fraction(0)
        beyond = count - Fraction(float(self.answers[place]))
        distance = max(beyond + int(law.first), Fraction(0)) if self.suppressed[place] else beyond
        units = abs(distance) / _exact_scale(self.mechanism, law)
        return -units if isinstance(law, LaplaceShape) else -units * units / 2

    def bends(self, place: int) -> tuple[int, ...]:
        """The counts between and beside which the main part is no line and no parabola."""
        law = self._errors
        if isinstance(law, GaussianShape) and not self.suppressed[place]:
            return ()
        first = law.first if law is not None and self.suppressed[place] else 0.0
        before = math.floor(float(self.answers[place]) - first)
        return before, before + 1

    def log_rest(self, which: NDArray[np.integer], counts: Counts) -> Reals:
        """The logarithm of likelihoods without the main part, however large that is.

        Args:
            which: Some of the answers, m of them.
            counts: Whole counts k for each, shape (m, w).
        """
        law = self._errors
        if law is None or not isinstance(law, LaplaceShape | GaussianShape):
            return self.log_likelihood(which, counts)
        rest = np.full(counts.shape, math.log(law.peak))
        hidden = self.suppressed[which]
        if hidden.any():
            beyond = counts[hidden] - self.answers[which][hidden][:, None] + law.first
            tails = np.maximum(beyond, law.first)
            inside = law.log_exceedance(np.minimum(beyond, law.first))
            rest[hidden] = np.where(beyond > 0, _log_hazard(law, tails), inside)
        return rest

    def distance(self, depth: float) -> int:
        """How far from an answer the likelihood has fallen by so many nats, in records; 0 if exact.

        Args:
            depth: In nats.
        """
        if not isinstance(self.mechanism, SymmetricNoise):
            return 0
        law = self.mechanism.errors
        peak = float(law.log_density(np.zeros(1))[0])
        return _first(lambda far: peak - float(law.log_density(np.array([far]))[0]) >= depth)

    def reach(self) -> tuple[Counts, Counts]:
        """The first and the last count within 42 nats of the most likely one, for each answer.

        Where noise is log-concave a few more may be between them; none is left out.
        """
        answers = self.answers
        if self._errors is None:
            last = np.where(self.suppressed, np.ceil(answers) - 1, answers).astype(np.int64)
            return np.where(self.suppressed, 0, last), last
        nearest = np.maximum(answers, 0.0)
        first = np.maximum(np.ceil(nearest - self._depth), 0.0)
        last = np.floor(nearest + self._depth)
        return np.where(self.suppressed, 0.0, first).astype(np.int64), last.astype(np.int64)


def _log_densities(law: ErrorLaw, errors: Reals) -> Reals:
    """The logarithm of the density at errors."""
    at_zero = float(law.log_density(np.zeros(1))[0])
    logs: Reals = law.log_density(errors)
    return logs + (math.log(law.peak) - at_zero)


def _exact_scale(mechanism: Mechanism, law: LaplaceShape | GaussianShape) -> Fraction:
    """The scale of a noise as the rational that it stands for."""
    if isinstance(mechanism, NoiseSum) and len(mechanism.noises) == 1:
        mechanism = mechanism.noises[0]
    return Fraction(mechanism.exact_scale if isinstance(mechanism, AdditiveNoise) else law.scale)


def _log_hazard(law: LaplaceShape | GaussianShape, distances: Reals) -> Reals:
    """The logarithm of P[Z >= z] plus z/scale or z²/(2·scale²), for z from `first` on."""
    if isinstance(law, DiscreteGaussianErrors):
        whole, scale = log_sum_of_all(law.scale), law.scale
        found = [
            log_sum_from(distance, scale) + (distance / scale) * (distance / scale) / 2 - whole
            for distance in distances.ravel().tolist()
        ]
        return np.reshape(found, distances.shape)
    if isinstance(law, LaplaceShape):
        unit = 1 / float(law.scale)
        at_first = -math.log1p(math.exp(-unit)) if law.is_discrete else -math.log(2)
        return np.full(distances.shape, at_first)
    hazard: Reals = np.log(erfcx(distances / (law.scale * math.sqrt(2))) / 2)
    return hazard


def _log_below(law: ErrorLaw, beyond: Reals) -> Reals:
    """The logarithm of P[Y < t | k] = P[Z >= k − t + first], at counts beyond thresholds.

    Integers take one table where that is shorter than they are.
    """
    places = law.first + (np.floor(beyond) if law.is_discrete else beyond)
    low, high = float(places.min()), float(places.max())
    if not law.is_discrete or high - low >= places.size:
        return law.log_exceedance(places)
    table = law.log_exceedance(np.arange(low, high + 1))
    logs: Reals = table[(places - low).astype(np.int64)]
    return logs


def _first(holds: Callable[[float], bool]) -> int:
    """The first whole distance at which something holds that then holds on."""
    far = 1
    while far < _LARGEST and not holds(float(far)):
        far *= 2
    return first_true(lambda distance: holds(float(distance)), far // 2, far)
