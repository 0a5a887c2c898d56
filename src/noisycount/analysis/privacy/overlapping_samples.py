"""Divergences of answers about several independent samples of all records, which may overlap.

`samples_curve` returns their privacy curve: `SamplesOfOneProperty` bounds it for one property, `HeldSamples` for
a question for each sample.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product

import numpy as np

from noisycount.analysis.privacy.bounds import Bounded, BoundedProbability, MonotoneBounds
from noisycount.analysis.privacy.composition import OneAnswer
from noisycount.analysis.privacy.disjoint_cells import (
    DEPTH,
    AnswerTable,
    answer_table,
    two_answers_bounds,
)
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.analysis.privacy.workload import resolve_questions
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample

_MOST_SETS = 256  # largest number of sets of samples that hold the record, if equal samples are not distinguished
_ROUNDING = 1e-12  # relative rounding error of a sum of products of probabilities


@frozen(eq=False, slots=False)
class HeldSamples:
    """Bounds of the divergences of counts in independent samples, each count of any property.

    Let B be the set of samples that hold the record, and W_B the worst case of their answers. δ(ε) is at most Σ_B
    P[B]·W_B(ε), and at least that of each single sample. δ₊ and δ₋ are both replaced by the larger of the two.
    """

    samples: tuple[Subsample, ...]  # the samples, each with its noise
    size: int  # number of records of the database
    rates: tuple[float, ...]  # rate of the property that each sample counts

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε."""
        found: list[Bounded] = [
            BoundedProbability.of_bounds(
                max(curve.bracket(epsilon)[0] for curve in self._curves_of_samples), self._upper_bound(epsilon)
            )
            for epsilon in epsilons
        ]
        return found, found

    def _upper_bound(self, epsilon: float) -> float:
        """Return the mean of the worst cases over the sets of samples that hold the record."""
        parts = [chance * (1.0 if curve is None else curve.bracket(epsilon)[1]) for chance, curve in self._holding_sets]
        return min(1.0, math.fsum(parts) * (1 + _ROUNDING))

    @cached_property
    def _curves_of_samples(self) -> list[PrivacyCurve]:
        """Privacy curve of each sample by itself."""
        return [
            privacy_curve(one, Binomial(self.size, rate)) for one, rate in zip(self.samples, self.rates, strict=True)
        ]

    @cached_property
    def _holding_sets(self) -> list[tuple[float, PrivacyCurve | None]]:
        """Probability of each set of samples that hold the record, and the privacy curve of its worst case.

        The curve is None if an answer of the set has no noise, as it then reveals the record. The empty set is left
        out.
        """
        kinds = Counter(
            (one.sample_size, one.noise if isinstance(one.noise, SymmetricNoise) else None) for one in self.samples
        )
        ways = math.prod(number + 1 for number in kinds.values())
        if ways > _MOST_SETS:
            raise ValueError(
                f"mechanisms must have at most {_MOST_SETS} different sets, got "
                f"{ways}: use fewer samples, or equal ones"
            )
        return [
            (chance, _worst_case_curve(held))
            for chance, held in _sets_of_samples(list(kinds.items()), self.size)
            if held
        ]


def _sets_of_samples(
    kinds: Sequence[tuple[tuple[int, SymmetricNoise | None], int]], size: int
) -> Iterator[tuple[float, list[SymmetricNoise | None]]]:
    """Yield, for each set of samples that may hold a record, its probability and the noises of its samples."""
    for numbers in product(*(range(number + 1) for _, number in kinds)):
        chance, held = 1.0, list[SymmetricNoise | None]()
        for ((drawn, noise), number), holding in zip(kinds, numbers, strict=True):
            share = drawn / size
            chance *= math.comb(number, holding) * share**holding
            chance *= (1 - share) ** (number - holding)
            held += [noise] * holding
        yield chance, held


def _worst_case_curve(held: Sequence[SymmetricNoise | None]) -> PrivacyCurve | None:
    """Return the privacy curve of answers with these noises in the worst case; None if one answer has no noise."""
    noises = [noise for noise in held if noise is not None]
    return privacy_curve(noises, None) if len(noises) == len(held) else None


_LARGEST = 512  # largest number of records of a sample whose distribution is tabulated
_WIDEST = 1024  # largest range of counts of the database in a table


def samples_curve(
    mechanisms: Sequence[Subsample], population: Binomial | Atoms, questions: Iterable[Iterable[int]] | None = None
) -> PrivacyCurve:
    """Return the privacy curve of counts in independent samples of all records, which may share records.

    All answers about one property can be computed from the count in the union of the samples. The union has at most
    m₁ + m₂ + … records, the sum of the sample sizes. So the δ of one sample of that size is an upper bound, and the δ
    of the two largest samples a lower bound.

    For `Atoms`, each sample counts a question of its own, which may depend on earlier answers. Then the upper bound of
    δ is the mean of the worst cases of the samples that hold the record, and the δ of each single sample is a lower
    bound.

    Args:
        mechanisms: The samples, each with its noise.
        population: The records: a `Binomial` of one property, or `Atoms`.
        questions: Sets of numbers of atoms, for `Atoms` only. Default: the questions of the `Atoms`.

    Raises:
        ValueError: If a mechanism is no sample, a sample is larger than the database, the numbers of questions and
            samples differ, or there are too many different samples.

    Source: our own; see the page “Several answers”, Theorem 5.6.
    Numerical error: `bracket` contains both bounds; δ is the upper one. For one property, the lower bound is that of
    the two largest samples of at most 512 records; it is 0 if there is no such sample, or if the count of the database
    spreads over more than 1,024 values. The bounds of two samples are equal only in the limit of a large database.

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
        raise ValueError(f"mechanisms must be Subsample, one or more, each of all records, got {list(mechanisms)!r}")
    if isinstance(population, Atoms):
        return _curve_of_atoms(samples, population, questions)
    if questions is not None:
        raise ValueError("questions must be left out, as a Binomial has one: give Atoms for more")
    for one in samples:
        neighbour_pairs(one, population)
    return PrivacyCurve(samples, population, None, MonotoneBounds(SamplesOfOneProperty(samples, population)))


def _curve_of_atoms(
    samples: tuple[Subsample, ...], population: Atoms, questions: Iterable[Iterable[int]] | None
) -> PrivacyCurve:
    """Return the privacy curve if each sample has a question of its own."""
    asked = resolve_questions(population, questions, len(samples))
    rates = tuple(map(population.rate, asked))
    for one, rate in zip(samples, rates, strict=True):
        neighbour_pairs(one, Binomial(population.size, rate))
    held = HeldSamples(samples, population.size, rates)
    return PrivacyCurve(samples, population, asked, MonotoneBounds(held))


@frozen(eq=False)
class SamplesOfOneProperty:
    """Bounds of the divergences of counts of one property in several samples."""

    samples: tuple[Subsample, ...]
    population: Binomial

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε."""
        mirrored = Binomial(self.population.size, 1 - self.population.rate)
        return self._delta_bounds(self.population, epsilons), self._delta_bounds(mirrored, epsilons)

    def _delta_bounds(self, population: Binomial, epsilons: list[float]) -> list[Bounded]:
        """Return δ₊ with its bounds for each ε."""
        if len(self.samples) == 1:
            alone = OneAnswer.from_mechanism(self.samples[0], population).directions(epsilons)[0]
            return [BoundedProbability.of_bounds(one.lower, one.upper) for one in alone]
        drawn = sum(one.sample_size for one in self.samples)
        (pair,) = neighbour_pairs(Subsample(min(drawn, population.size)), population)
        lowers, uppers = _lower_bounds_of_two(self.samples, population, epsilons), hockey_sticks(pair, None, epsilons)
        return [BoundedProbability.of_bounds(low, one.upper) for low, one in zip(lowers, uppers, strict=True)]


def _lower_bounds_of_two(samples: Sequence[Subsample], population: Binomial, epsilons: list[float]) -> list[float]:
    """Return lower bounds of δ₊ from the two largest samples with distributions that are small enough for tables."""
    others = Binomial(population.size - 1, population.rate)
    low, high = others.deep_prior().counts_within(DEPTH)
    short = [one for one in samples if one.sample_size <= _LARGEST]
    if high - low > _WIDEST or not short:
        return [0.0] * len(epsilons)
    largest = sorted(short, key=lambda one: one.sample_size)[-2:]
    counts = np.arange(low, high + 2)
    known = {one: _answer_table_of_sample(one, counts, population.size) for one in set(largest)}
    first, second = known[largest[0]], known[largest[-1]]
    if len(largest) == 1:
        second = AnswerTable(np.ones((1, len(counts))), 0.0)
    law = others.deep_prior()
    laws = law.pmf(counts - 1), law.pmf(counts)
    return [two_answers_bounds((first, second), *laws, epsilon)[0] for epsilon in epsilons]


def _answer_table_of_sample(
    sample: Subsample, counts: np.ndarray[tuple[int], np.dtype[np.int64]], size: int
) -> AnswerTable:
    """Return the probabilities of the answers of a sample for each count of the database."""
    drawn = Subsample(sample.sample_size)
    rows = np.exp([drawn.logpmf(inside, counts, size) for inside in range(sample.sample_size + 1)])
    noise = sample.noise if isinstance(sample.noise, SymmetricNoise) else Exact()
    answers = answer_table(noise, 0, sample.sample_size)
    return AnswerTable(rows if answers is None else answers.rows @ rows, 0.0)
