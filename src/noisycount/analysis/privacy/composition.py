"""Divergences of one answer about one count, and of several answers (composition).

`OneAnswer` has δ of one answer in both directions. `composed_answers` chooses the method for several answers: one
sufficient answer if there is one, otherwise `ComposedAnswers` with bounds.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from noisycount.analysis.privacy.answer_sums import LARGEST_EPSILON
from noisycount.analysis.privacy.bounds import (
    ROUNDING_OF_RATIONAL,
    Bounded,
    BoundedProbability,
    Divergences,
    MonotoneBounds,
    largest_bounds,
)
from noisycount.analysis.privacy.geometric_answers import GeometricAnswers
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.neighbour_pairs import has_independent_records, known_count_pair, neighbour_pairs
from noisycount.analysis.privacy.pairs import Pair
from noisycount.analysis.privacy.two_answers import WeightedWindow, weighted_windows, window
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import DIGITS, Reals, decimal_ratio
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import CertifiedErrorLaw, SymmetricNoise, require_log_concave
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.population import Population
from noisycount.model.subsampling import Subsample

_FAR_ANCHORS = (300.0,)  # ε at which no underflow hides any part of one answer's δ
_LAST = 600.0  # largest ε at which no threshold of one answer overflows


@frozen(eq=False)
class OneAnswer:
    """Divergences of one answer about one count."""

    pairs: tuple[Pair, ...]  # distributions of the count, one pair for each kind of record
    errors: CertifiedErrorLaw | None  # distribution of the noise; None: no noise
    share: float | None = None  # m/n of a sample of independent records; None: no sample, or dependent records

    @classmethod
    def from_mechanism(cls, mechanism: Mechanism, population: Population | None) -> "OneAnswer":
        """Return the divergences of a mechanism about a population; None: the worst case of differential privacy.

        Raises:
            ValueError: If the mechanism is none of noisycount's, or its noise is not log-concave.
        """
        inner = mechanism.noise if isinstance(mechanism, Subsample) else mechanism
        if isinstance(inner, SymmetricNoise):
            require_log_concave(inner, "a privacy curve")
        elif inner is not None and not isinstance(inner, Exact):
            raise ValueError(f"mechanism must be one of noisycount's mechanisms, got {mechanism!r}")
        errors = inner.errors if isinstance(inner, SymmetricNoise) else None
        pairs = tuple(neighbour_pairs(mechanism, population))
        if isinstance(mechanism, Subsample) and population is not None and has_independent_records(population):
            return cls(pairs, errors, mechanism.sample_size / population.size)
        return cls(pairs, errors)

    @property
    def price(self) -> float | None:
        """ε of differential privacy, rounded up; None if one record can change the count by more than one.

        For a sample of m of n records it is ln(1 + m/n·(e^ε − 1)). It is also None if the noise has no such ε, or if
        the records depend on each other.

        Source: Balle, Barthe and Gaboardi (2018), Theorem 9, for samples.
        """
        largest_log_change = None if self.errors is None else self.errors.largest_log_change
        if largest_log_change is None or (self.share is None and not all(pair.is_shift for pair in self.pairs)):
            return None
        price = float(largest_log_change) * (1 + ROUNDING_OF_RATIONAL)
        if self.share is None or price > LARGEST_EPSILON:
            return price
        return math.log1p(self.share * math.expm1(price)) * (1 + 4 * ROUNDING_OF_RATIONAL)

    @property
    def monotone(self) -> MonotoneBounds:
        """These divergences with bounds that do not rise with ε; the bounds are close up to an ε of some hundreds."""
        return MonotoneBounds(self, self.price, _FAR_ANCHORS, _LAST)

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋, for each ε."""
        plus = self._largest_delta_of_pairs(self.pairs, epsilons)
        if self.pairs == (known_count_pair(),):  # its two counts may be exchanged
            return plus, plus
        return plus, self._largest_delta_of_pairs([pair.mirrored for pair in self.pairs], epsilons)

    def _largest_delta_of_pairs(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[Bounded]:
        """Return the largest δ of all pairs in their first direction, for each ε."""
        return largest_bounds(hockey_sticks(pair, self.errors, epsilons) for pair in pairs)


_LONGEST = 2**21  # largest number of values of a sum of answers
_WIDEST = 2**16  # largest number of counts of a window, on each side of the threshold
_APART = -30.0  # logarithm of the closeness of counts that answers do not confuse
_DEPTH = 37.0  # the sum of the noises exceeds √(2·37) of its scales with probability 2·e^−37 = 2e-16
_OUTSIDE = 4e-16  # twice that probability
_UNIT = 2.0**-53
_PER_LEVEL = 64.0  # roundings of three transforms for each doubling of their length
_HALF_WAY = 0.5  # share for `BoundedProbability`, if the bounds differ by rounding only


@frozen(eq=False, slots=False)
class GaussianAnswers:
    """A number q of answers with discrete Gaussian noises, whose weighted sum T = Σ w·Y is a sufficient statistic.

    The weights w are proportional to 1/scale², scaled to integers without a common factor. Given the count k, T is
    k·Σ w plus the weighted sum of the noises.
    """

    scales: tuple[Fraction, ...]  # scales of the noises, in records

    @cached_property
    def is_within_reach(self) -> bool:
        """True if the weighted sum of the answers has few enough values. Scales such as 3 and 3.001 give too many."""
        return sum(self._integer_weights) + 2 * self._noise_bound < _LONGEST

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """Return δ in one direction, for each pair of distributions and each ε."""
        total = sum(self._integer_weights)
        most = min(_WIDEST, max(1, (_LONGEST - 2 * self._noise_bound) // (2 * total)))
        reach = window(self._closeness, most, _APART)
        found = [weighted_windows(pair, epsilons, reach) for pair in pairs]
        return [[self._delta_bounds(one) for one in each] for each in found]

    def _delta_bounds(self, one: WeightedWindow) -> Bounded:
        """Return δ₊: its value without noise, minus the part that stays hidden if only the weighted sum is known."""
        if not one.is_hidden:
            return one.known
        hidden, error = self._hidden_part(one)
        lower = one.lower_delta(hidden + error, self._closeness)
        return BoundedProbability.of_bounds(lower, one.upper_delta(hidden - error), _HALF_WAY)

    def _hidden_part(self, one: WeightedWindow) -> tuple[float, float]:
        """Return the hidden part of a window, as `WeightedWindow` defines it, if the answer is T; and its error."""
        total = sum(self._integer_weights)
        counts = one.above.size + one.below.size
        size = 1 << math.ceil(math.log2(counts * total + 2 * self._noise_bound + 1))
        above, below = np.zeros(size), np.zeros(size)
        start = one.below.size * total
        above[start : start + one.above.size * total : total] = one.above
        below[0:start:total] = one.below[::-1]
        noise = self._transform_of_noises(size)
        sides = (np.fft.irfft(np.fft.rfft(side) * noise, size) for side in (above, below))
        hidden = float(np.minimum(*sides).sum())
        length = math.sqrt(float(one.above @ one.above + one.below @ one.below))
        rounding = _UNIT * (_PER_LEVEL * math.log2(size) + len(self.scales))
        weight = float(one.above.sum() + one.below.sum())
        return hidden, rounding * math.sqrt(size) * length + _OUTSIDE * weight

    def _transform_of_noises(self, size: int) -> Reals:
        """Return the Fourier transform of the weighted sum of the noises on a circle of `size` values; it is real."""
        product: Reals = np.ones(size // 2 + 1)
        for scale, weight in dict(zip(self.scales, self._integer_weights, strict=True)).items():
            reach = math.ceil(math.sqrt(2 * _DEPTH) * float(scale)) + 1
            errors = np.arange(-reach, reach + 1)
            masses = np.exp(-(errors**2) / (2 * float(scale) ** 2))
            law = np.bincount((weight * errors) % size, masses / masses.sum(), size)
            product = product * np.fft.rfft(law).real ** self.scales.count(scale)
        return product

    def _closeness(self, distances: Reals) -> Reals:
        """Return −d²/8·Σ 1/scale², an upper bound of the log Bhattacharyya coefficient of counts at distances d."""
        precision = sum(float(scale) ** -2 for scale in self.scales)
        return -(distances**2) * precision / 8

    @cached_property
    def _integer_weights(self) -> tuple[int, ...]:
        """Integer weight of each answer."""
        precisions = [1 / scale**2 for scale in self.scales]
        common = math.lcm(*(one.denominator for one in precisions))
        whole = [int(one * common) for one in precisions]
        divisor = math.gcd(*whole)
        return tuple(one // divisor for one in whole)

    @cached_property
    def _noise_bound(self) -> int:
        """Bound of the weighted sum of the noises, which is as concentrated as a sum of Gaussian noises."""
        pairs = zip(self.scales, self._integer_weights, strict=True)
        variance = sum(float(scale * weight) ** 2 for scale, weight in pairs)
        return math.ceil(math.sqrt(2 * _DEPTH * variance)) + 1


@frozen
class SingleAnswer:
    """A single answer with noise."""

    noise: SymmetricNoise

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """Return δ in one direction, for each pair of distributions and each ε."""
        return [list(hockey_sticks(pair, self.noise.errors, epsilons)) for pair in pairs]


# Answers about one count. The method `hockey_sticks` returns δ for each pair of distributions and each ε.
Answers = GaussianAnswers | GeometricAnswers | SingleAnswer


def _group_alike(noises: Sequence[SymmetricNoise]) -> list[list[SymmetricNoise]]:
    """Return groups of noises that are analysed together: discrete Gaussian noises, Laplace noises of one scale.

    Every other noise is a group of its own.
    """
    found: dict[object, list[SymmetricNoise]] = {}
    for place, noise in enumerate(noises):
        match noise:
            case DiscreteGaussian():
                kind: object = DiscreteGaussian
            case Laplace() | DiscreteLaplace():
                kind = type(noise), noise.exact_scale
            case _:
                kind = place
        found.setdefault(kind, []).append(noise)
    return list(found.values())


def answer_groups(noises: Sequence[SymmetricNoise]) -> tuple[list[Answers], Answers | None]:
    """Return groups of answers that reveal at most what all answers reveal, and the one that reveals the same.

    The second value is None if no group reveals as much as all answers.
    A subset of the answers reveals less. Laplace noise of a larger scale, continuous or discrete, is the sum of Laplace
    noise of a smaller scale and independent noise. So n answers with the n-th smallest scale reveal at most what the n
    answers with the n smallest scales reveal.
    """
    kinds = _group_alike(noises)
    fewer = [answers for kind in kinds for answers in _combine_alike(kind)]
    if len(kinds) == len(fewer) == 1:
        return fewer, fewer[0]
    laplace = _laplace_noises_by_scale(noises)
    return [*fewer, *(_equal_laplace_answers(noise, place) for place, noise in enumerate(laplace, 1))], None


def _combine_alike(alike: Sequence[SymmetricNoise]) -> list[Answers]:
    """Return answers with noises of one kind: as one object if that is possible, otherwise one object for each."""
    first = alike[0]
    if isinstance(first, Laplace | DiscreteLaplace):
        return [_equal_laplace_answers(first, len(alike))]
    discrete = [one for one in alike if isinstance(one, DiscreteGaussian)]
    if len(discrete) == len(alike) > 1:
        together = GaussianAnswers(tuple(sorted(one.exact_scale for one in discrete)))
        if together.is_within_reach:
            return [together]
    return [SingleAnswer(one) for one in alike]


def _equal_laplace_answers(noise: Laplace | DiscreteLaplace, answers: int) -> Answers:
    """Return a number of answers with the same Laplace noise."""
    if answers == 1:
        return SingleAnswer(noise)
    return GeometricAnswers(answers, float(noise.scale), noise.is_discrete)


def _laplace_noises_by_scale(noises: Sequence[SymmetricNoise]) -> list[Laplace | DiscreteLaplace]:
    """Return the continuous or the discrete Laplace noises, whichever are more, by ascending scale."""
    laplace = [one for one in noises if isinstance(one, Laplace)]
    discrete = [one for one in noises if isinstance(one, DiscreteLaplace)]
    found: Sequence[Laplace | DiscreteLaplace] = max(laplace, discrete, key=len)
    return sorted(found, key=lambda one: one.exact_scale)


def merged_noises(noises: Iterable[SymmetricNoise]) -> list[SymmetricNoise]:
    """Return noises, as few as possible, whose answers reveal as much about a count as answers with the given noises.

    For Gaussian noises the mean of the answers, weighted by 1/scale², is sufficient. Its noise is Gaussian with scale
    1/√(Σ 1/scale²), rounded once.

    Example:
        >>> merged_noises([Gaussian(3), Gaussian(3), Gaussian(3), Gaussian(3)])
        [Gaussian(scale=1.5)]
    """
    others: list[SymmetricNoise] = []
    precision = Fraction(0)
    for noise in noises:
        parts = noise.noises if isinstance(noise, NoiseSum) else [noise]
        scales = [one.exact_scale for one in parts if isinstance(one, Gaussian)]
        if len(scales) == len(parts):
            precision += 1 / sum((scale**2 for scale in scales), Fraction(0))
        else:
            others.append(parts[0] if len(parts) == 1 else noise)
    if not precision:
        return others
    return [Gaussian(float(DIGITS.sqrt(decimal_ratio(1 / precision)))), *others]


def composed_answers(pairs: tuple[Pair, ...], mechanisms: Sequence[Exact | SymmetricNoise]) -> Divergences:
    """Return the divergences of answers with independent noises about one count."""
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(noises) < len(mechanisms):  # an answer without noise reveals all that the others reveal
        return OneAnswer(pairs, None)
    few = merged_noises(noises)
    if len(few) == 1:
        return OneAnswer(pairs, few[0].errors)
    return ComposedAnswers(pairs, tuple(few))


def is_precise(mechanisms: Sequence[Exact | SymmetricNoise]) -> bool:
    """Return True if the bounds of δ are close.

    This is so if an answer has no noise, if one answer is sufficient, or if all noises form one group.
    """
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    few = merged_noises(noises)
    return len(noises) < len(mechanisms) or len(few) == 1 or answer_groups(few)[1] is not None


@frozen(eq=False)
class ComposedAnswers:
    """Divergences of several noisy answers that no single noisy answer can replace."""

    pairs: tuple[Pair, ...]  # distributions of the count, one pair for each kind of record
    noises: tuple[SymmetricNoise, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋, for each ε."""
        pairs = [*self.pairs, *(pair.mirrored for pair in self.pairs)]
        fewer, whole = answer_groups(self.noises)
        if whole is not None:
            found = whole.hockey_sticks(pairs, epsilons)
        else:  # δ is at least that of each group, and at most that without noise
            lower = [answers.hockey_sticks(pairs, epsilons) for answers in fewer]
            known = [hockey_sticks(pair, None, epsilons) for pair in pairs]
            found = [
                [
                    BoundedProbability.of_bounds(max(one.lower for one in at_one), best.upper)
                    for *at_one, best in zip(*of_pair, strict=True)
                ]
                for of_pair in zip(*lower, known, strict=True)
            ]
        return largest_bounds(found[: len(self.pairs)]), largest_bounds(found[len(self.pairs) :])
