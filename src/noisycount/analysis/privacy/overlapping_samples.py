"""Answers about samples of all records, which do not know each other."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product

import numpy as np

from noisycount.analysis.privacy.bounds import Between, Bounded, MonotoneBounds
from noisycount.analysis.privacy.disjoint_cells import (
    DEPTH,
    AnswerTable,
    answer_table,
    two_answers_bounds,
)
from noisycount.analysis.privacy.hockey_stick import OneAnswer, hockey_sticks
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.analysis.privacy.workload import asked_questions
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample

_MOST_SETS = 256  # of samples that hold the record, equal samples alike
_ROUNDING = 1e-12  # of a sum of products of a few chances


@frozen(eq=False, slots=False)
class HeldSamples:
    """The divergences of counts in samples that do not know each other, of any properties.

    δ is at most Σ_B P[B]·W_B(ε): B is the set of samples that hold the record, W_B the worst case of their answers. It
    is at least that of each sample alone. Both directions are the larger one.
    """

    samples: tuple[Subsample, ...]  # the samples, each with its noise
    size: int
    rates: tuple[float, ...]  # the rate of the property that each sample counts

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋ for each ε."""
        found: list[Bounded] = [Between.of_bounds(self._least(epsilon), self._most(epsilon)) for epsilon in epsilons]
        return found, found

    def _least(self, epsilon: float) -> float:
        """The largest lower bound of one sample."""
        return max(curve.bracket(epsilon)[0] for curve in self._alone)

    def _most(self, epsilon: float) -> float:
        """The mean of the worst cases."""
        parts = [chance * (1.0 if curve is None else curve.bracket(epsilon)[1]) for chance, curve in self._sets]
        return min(1.0, math.fsum(parts) * (1 + _ROUNDING))

    @cached_property
    def _alone(self) -> list[PrivacyCurve]:
        """The curve of each sample by itself, of those with an uncertain property."""
        return [
            privacy_curve(one, Binomial(self.size, rate)) for one, rate in zip(self.samples, self.rates, strict=True)
        ]

    @cached_property
    def _sets(self) -> list[tuple[float, PrivacyCurve | None]]:
        """How likely samples of some noises hold the record, and the worst case of their answers.

        None: an answer without noise gives the record away.
        """
        kinds = Counter(map(_kind, self.samples))
        ways = math.prod(number + 1 for number in kinds.values())
        if ways > _MOST_SETS:
            raise ValueError(
                f"mechanisms must be so few that at most {_MOST_SETS} sets of them differ, got "
                f"{ways}: use fewer samples, or equal ones"
            )
        return [(chance, _curve(held)) for chance, held in _drawn(list(kinds.items()), self.size) if held]


def _kind(sample: Subsample) -> tuple[int, SymmetricNoise | None]:
    """The size of a sample, and its noise; None where it has none."""
    return sample.sample_size, sample.noise if isinstance(sample.noise, SymmetricNoise) else None


def _drawn(
    kinds: Sequence[tuple[tuple[int, SymmetricNoise | None], int]], size: int
) -> Iterator[tuple[float, list[SymmetricNoise | None]]]:
    """How many samples of each kind hold a record, as their noises, and how likely that is."""
    for numbers in product(*(range(number + 1) for _, number in kinds)):
        chance, held = 1.0, list[SymmetricNoise | None]()
        for ((drawn, noise), number), holding in zip(kinds, numbers, strict=True):
            share = drawn / size
            chance *= math.comb(number, holding) * share**holding
            chance *= (1 - share) ** (number - holding)
            held += [noise] * holding
        yield chance, held


def _curve(held: Sequence[SymmetricNoise | None]) -> PrivacyCurve | None:
    """The worst case of answers with these noises; None where one has none."""
    noises = [noise for noise in held if noise is not None]
    return privacy_curve(noises, None) if len(noises) == len(held) else None


_LARGEST = 512  # records of a sample whose law is tabulated
_WIDEST = 1024  # counts of the whole in a table


def samples_curve(
    mechanisms: Sequence[Subsample], population: Binomial | Atoms, questions: Iterable[Iterable[int]] | None = None
) -> PrivacyCurve:
    """What one record can change in counts in samples that do not know each other.

    Each sample is drawn of all records, so that they may share some. All that they tell of one property can be made
    from the count in their union, which holds at most m₁ + m₂ + … records: δ is at most that of one sample of so many,
    and at least that of the largest two. Of `Atoms` each sample counts a question of its own, also one that answers led
    to: δ is at most the mean of the worst cases of the samples that hold the record, and at least that of each alone.

    Args:
        mechanisms: The samples, each with its noise.
        population: The records: a `Binomial` of the one property, or `Atoms`.
        questions: Of `Atoms`, sets of their numbers; None: their own.

    Raises:
        ValueError: If these are not samples, one is larger than the database, there are not as many questions, or more
            different samples than can be had.

    Source: ours: the page “Several answers, one outsider”.
    Numerical error: `bracket` holds both bounds; δ is the upper one. Of two samples of at most 512 records both are
    equal only as the whole is large against them.

    Example:
        >>> import noisycount as nc
        >>> curve = nc.samples_curve([nc.Subsample(20)] * 2, nc.Binomial(1000, 0.1))
        >>> low, high = curve.bracket(0.01)
        >>> f"{low:.5f} {high:.5f}"
        '0.00443 0.00452'
    """
    if not isinstance(population, Binomial | Atoms):
        raise ValueError(f"population must be a Binomial or Atoms, got {population!r}")  # noqa: TRY004  (a bad value, as everywhere)
    samples = tuple(mechanisms)
    if not samples or not all(isinstance(one, Subsample) for one in samples):
        raise ValueError(
            f"mechanisms must be Subsample, one at least, got {list(mechanisms)!r}: samples of all records"
        )
    if isinstance(population, Atoms):
        return _of_atoms(samples, population, questions)
    if questions is not None:
        raise ValueError("questions must be left out, as a Binomial has one: give Atoms for more")
    for one in samples:
        neighbour_pairs(one, population)
    return PrivacyCurve(samples, population, None, MonotoneBounds(SamplesOfOneProperty(samples, population)))


def _of_atoms(
    samples: tuple[Subsample, ...], population: Atoms, questions: Iterable[Iterable[int]] | None
) -> PrivacyCurve:
    """The curve of a question for each sample."""
    asked = asked_questions(population, questions, len(samples))
    rates = tuple(map(population.rate, asked))
    for one, rate in zip(samples, rates, strict=True):
        neighbour_pairs(one, Binomial(population.size, rate))
    held = HeldSamples(samples, population.size, rates)
    return PrivacyCurve(samples, population, asked, MonotoneBounds(held))


@frozen(eq=False)
class SamplesOfOneProperty:
    """The divergences of counts in several samples."""

    samples: tuple[Subsample, ...]
    population: Binomial

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋ for each ε."""
        mirrored = Binomial(self.population.size, 1 - self.population.rate)
        return self._bounds(self.population, epsilons), self._bounds(mirrored, epsilons)

    def _bounds(self, population: Binomial, epsilons: list[float]) -> list[Bounded]:
        """Below and above δ₊."""
        if len(self.samples) == 1:
            alone = OneAnswer.of(self.samples[0], population).directions(epsilons)[0]
            return [Between.of_bounds(one.lower, one.upper) for one in alone]
        drawn = sum(one.sample_size for one in self.samples)
        (pair,) = neighbour_pairs(Subsample(min(drawn, population.size)), population)
        lowers, uppers = _of_two(self.samples, population, epsilons), hockey_sticks(pair, None, epsilons)
        return [Between.of_bounds(low, one.upper) for low, one in zip(lowers, uppers, strict=True)]


def _of_two(samples: Sequence[Subsample], population: Binomial, epsilons: list[float]) -> list[float]:
    """A lower bound of δ₊ from the largest two samples whose laws are small enough for tables."""
    others = Binomial(population.size - 1, population.rate)
    low, high = others.deep_law().counts_within(DEPTH)
    short = [one for one in samples if one.sample_size <= _LARGEST]
    if high - low > _WIDEST or not short:
        return [0.0] * len(epsilons)
    largest = sorted(short, key=lambda one: one.sample_size)[-2:]
    counts = np.arange(low, high + 2)
    known = {one: _sampled(one, counts, population.size) for one in set(largest)}
    first, second = known[largest[0]], known[largest[-1]]
    if len(largest) == 1:
        second = AnswerTable(np.ones((1, len(counts))), 0.0)
    law = others.deep_law()
    laws = law.pmf(counts - 1), law.pmf(counts)
    return [two_answers_bounds((first, second), *laws, epsilon)[0] for epsilon in epsilons]


def _sampled(sample: Subsample, counts: np.ndarray[tuple[int], np.dtype[np.int64]], size: int) -> AnswerTable:
    """The probabilities of the answers of a sample for each count of the whole."""
    drawn = Subsample(sample.sample_size)
    rows = np.exp([drawn.logpmf(inside, counts, size) for inside in range(sample.sample_size + 1)])
    noise = sample.noise if isinstance(sample.noise, SymmetricNoise) else Exact()
    answers = answer_table(noise, 0, sample.sample_size)
    return AnswerTable(rows if answers is None else answers.rows @ rows, 0.0)
