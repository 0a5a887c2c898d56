"""Divergences of answers about random disjoint parts of the records, one question for each part.

`parts_curve` returns their privacy curve. `SecretParts` computes it if the part of each record is secret, `PublicParts`
if it is public.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

import numpy as np

from noisycount.analysis.privacy.bounds import Bounded, BoundedProbability, MonotoneBounds
from noisycount.analysis.privacy.composition import OneAnswer
from noisycount.analysis.privacy.disjoint_cells import DEPTH, answer_table
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.analysis.privacy.workload import resolve_questions
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample


@frozen
class PosteriorShifts:
    """Distribution of the excess E[K | answer] − E[K] of the expected count K of a part, over its answers."""

    masses: Reals  # probabilities of bins of answers
    means: Reals  # mean excess in each bin
    lows: Reals  # smallest excess in each bin; the largest one if the excess was multiplied by a negative number
    highs: Reals  # largest excess in each bin; the smallest one in that case

    def scaled_by(self, slope: float) -> "PosteriorShifts":
        """Return the distribution of `slope` times the excess.

        A negative slope turns the lower ends into upper ends.
        """
        return PosteriorShifts(self.masses, slope * self.means, slope * self.lows, slope * self.highs)

    def spread(self) -> tuple[Reals, Reals]:
        """Return values and their probabilities: each bin is divided between its ends without a change of its mean."""
        width = self.highs - self.lows
        share = np.divide(self.means - self.lows, width, out=np.zeros_like(width), where=width != 0)
        return np.concatenate([self.lows, self.highs]), np.concatenate([self.masses * (1 - share), self.masses * share])


@frozen
class SampledPart:
    """A random part of the records, and the question that is answered about it."""

    share: float  # probability that a record is in the part
    size: int  # number of records of the part
    rate: float  # probability that a record satisfies the question, strictly between 0 and 1
    mechanism: Exact | SymmetricNoise  # mechanism that answers the count

    def surprises(self) -> PosteriorShifts:
        """Return the distribution of E[K | answer] − E[K], which rises with the answer.

        Raises:
            ValueError: If the part is too large for a table.
        """
        counted = Binomial(self.size, self.rate)
        low, high = counted.deep_prior().counts_within(DEPTH)
        table = answer_table(self.mechanism, low, high)
        if table is None:
            raise ValueError(
                f"sample_size must be at most about 10,000 records at the rate {self.rate!r}, "
                f"got {self.size}: ask on smaller parts"
            )
        excess = np.arange(low, high + 1) - self.size * self.rate
        law = counted.deep_prior().pmf(np.arange(low, high + 1))
        joint = table.rows * law
        masses = joint.sum(axis=1)
        kept = masses > 0
        means = (joint[kept] @ excess) / masses[kept]
        if table.edges is None or not isinstance(self.mechanism, SymmetricNoise):
            return PosteriorShifts(masses[kept], means, means, means)
        ends = self._surprise_at(table.edges, low, high)
        lows, highs = np.minimum(ends[:-1][kept], means), np.maximum(ends[1:][kept], means)
        return PosteriorShifts(masses[kept], means, lows, highs)

    def _surprise_at(self, answers: Reals, low: int, high: int) -> Reals:
        """Return E[K | answer] − E[K] for single answers."""
        counts = np.arange(low, high + 1)
        logs = Binomial(self.size, self.rate).deep_prior().log_pmf(counts)
        if isinstance(self.mechanism, SymmetricNoise):
            logs = logs + self.mechanism.errors.log_density(answers[:, None] - counts)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights @ (counts - self.size * self.rate) / weights.sum(axis=1)

    def slope(self, epsilon: float, first: int, second: int) -> float:
        """Return the slope of P₊/Q − e^ε·P₋/Q in the excess of this part.

        P₊ and P₋ are the distributions of all answers if the record has the first and the second pattern, Q without
        knowledge of the record.

        Args:
            epsilon: ε.
            first: 1 if the first pattern satisfies the question of this part, else 0.
            second: The same for the second pattern.
        """
        gains = [1 / (self.size * self.rate), -1 / (self.size * (1 - self.rate))]
        return self.share * (gains[1 - first] - math.exp(epsilon) * gains[1 - second])


_STEPS = 1 << 14  # grid points of the sum: convolving so many takes a tenth of a second
_WHOLE = 1e-7  # steps: largest error of a value on the grid by rounding
_LOST = 1e-12  # bound of the probability outside of all bins, and of the rounding error of sums


def positive_part(terms: Sequence[PosteriorShifts], constant: float) -> tuple[float, float]:
    """Return bounds of E[(constant + Σ terms)₊], where (x)₊ is the larger of x and 0.

    As (x)₊ is convex, its mean rises if each value is replaced by a distribution with the same mean, and falls if
    values are replaced by the mean of their bin. Each value is spread to its two neighbours on a grid. This changes the
    mean by at most √(Σ v)/2, where v are the variances that the spreading adds.
    """
    step = _grid_step(terms)
    spread = [GridDistribution.from_masses(*term.spread(), step) for term in terms]
    most = _positive_part_of_sum(spread, constant, step)
    binned = [GridDistribution.from_masses(term.means, term.masses, step) for term in terms]
    least = _positive_part_of_sum(binned, constant, step)
    least -= math.sqrt(math.fsum(one.added for one in binned)) / 2
    scale = _LOST + _WHOLE * step * len(terms)
    lost = _LOST * math.fsum(float(np.abs(term.means).max()) for term in terms)
    return max(0.0, least - scale - lost), min(1.0, most + scale + lost)


def _grid_step(terms: Sequence[PosteriorShifts]) -> float:
    """Return a grid step: a divisor of the median gap between values of the first term, or the finest step allowed."""
    whole = math.fsum(float(np.ptp(term.means)) for term in terms)
    first = np.diff(np.sort(terms[0].means))
    gap = float(np.median(first)) if first.size else 0.0
    finest = max(whole / _STEPS, 1e-300)
    return gap / math.ceil(gap / finest) if gap > finest else finest


@frozen
class GridDistribution:
    """Probabilities at base, base + step, base + 2·step, …, and the variance that the spreading to the grid added."""

    base: float
    masses: Reals
    added: float

    @classmethod
    def from_masses(cls, values: Reals, masses: Reals, step: float) -> "GridDistribution":
        """Return values spread to their neighbours on a grid, with their means kept."""
        base = float(values.min())
        places = (values - base) / step
        nearest = np.round(places)
        places = np.where(np.abs(places - nearest) < _WHOLE, nearest, places)
        floors: Reals = np.floor(places)
        share, below = places - floors, floors.astype(np.int64)
        table = np.bincount(below, masses * (1 - share), int(below.max()) + 2).astype(np.float64)
        table += np.bincount(below + 1, masses * share, len(table))
        added = float(masses @ (share * (1 - share))) * step * step
        return cls(base, table, added)


def _positive_part_of_sum(parts: Sequence[GridDistribution], constant: float, step: float) -> float:
    """Return E[(constant + sum)₊] of independent parts on the grid."""
    law, base = np.ones(1), constant
    for part in parts:
        law, base = np.convolve(law, part.masses), base + part.base
    return float(law @ np.maximum(base + step * np.arange(float(len(law))), 0.0))


_STEEPEST = 1e150  # slope of a term from which on its values might overflow
_MOST_PATTERNS = 32  # largest number of patterns of answers between which a record may change
Pattern = tuple[int, ...]


def parts_curve(
    mechanisms: Sequence[Subsample],
    population: Atoms | Binomial,
    questions: Iterable[Iterable[int]] | None = None,
    *,
    adaptive: bool = False,
) -> PrivacyCurve:
    """Return the privacy curve of answers each of which is about another random part of the records.

    The records are divided at random: the first m₁ are for the first question, the next m₂ for the second, and so on.
    The part of each record stays secret. Let n be the number of records, λ_j = m_j/n, K_j the count of part j with the
    answer y_j, and Q the distribution of all answers. Let g_j = E[K_j | y_j]/E[K_j] if the record satisfies question j,
    else the same ratio for the records that do not satisfy it. Then the distribution P₊ of the answers given the record
    has P₊/Q = 1 + Σ_j λ_j·(g_j − 1), so that δ₊ is the mean of the positive part of a sum of independent terms.

    Args:
        mechanisms: The sample for each question, with its noise; together at most all records.
        population: `Atoms`, or a `Binomial` of the single property that every question is about.
        questions: Sets of numbers of atoms. Default: the questions of the `Atoms`.
        adaptive: True if each question may be chosen after the answers to the earlier ones, among questions of no worse
            rates. The curve is then Σ_j λ_j·δ_j(ε), where δ_j is that of the count of m_j records. This is an upper
            bound of the other curve, as it lets the adversary know which part holds the record.

    Raises:
        ValueError: If the parts have more records than there are, a question is satisfied by all records or by none, a
            part is too large, or, if not `adaptive`, there are more than 32 kinds of records.

    Source: the setting of Breutigam and Reischuk, *Parallel Composition for Statistical Privacy* (2026); the formulas
    and their proof are our own: see the page “Several answers”, Theorem 5.5. Numerical error: contained in `bracket`,
    including the error of the grid of the sum; δ is its upper end.

    Example:
        >>> import noisycount as nc
        >>> curve = nc.parts_curve([nc.Subsample(500)] * 2, nc.Binomial(1000, 0.1))
        >>> round(curve.delta(0.01), 4)
        0.0375
    """
    known, asked = _atoms_and_questions(population, questions, len(mechanisms))
    parts = tuple(_checked_parts(mechanisms, known, asked))
    divergences = PublicParts(parts) if adaptive else SecretParts(parts, _satisfiable_patterns(known, asked))
    return PrivacyCurve(tuple(mechanisms), known, asked, MonotoneBounds(divergences))


def _atoms_and_questions(
    population: Atoms | Binomial, questions: Iterable[Iterable[int]] | None, number: int
) -> tuple[Atoms, tuple[Question, ...]]:
    """Return the atoms, and the question that is asked about each part.

    Raise ValueError if records depend on each other.
    """
    if isinstance(population, Binomial):
        known = Atoms.nested(population.size, [population.rate])
        questions = known.questions * number if questions is None else questions
    elif isinstance(population, Atoms):
        known = population
    else:
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"population must be Atoms or a Binomial, whose records do not depend on each other, got {population!r}"
        )
    return known, resolve_questions(known, questions, number)


def _checked_parts(mechanisms: Sequence[Subsample], known: Atoms, asked: Sequence[Question]) -> Iterator[SampledPart]:
    """Yield the parts. Raise ValueError if they are invalid, too large, or about a certain question."""
    for one in mechanisms:
        if not isinstance(one, Subsample):
            raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
                f"mechanisms must be Subsample, one for each part, got {one!r}"
            )
    drawn = sum(one.sample_size for one in mechanisms)
    if drawn > known.size:
        raise ValueError(
            f"mechanisms must draw at most the {known.size} records there are, got {drawn}: use smaller parts"
        )
    for one, question in zip(mechanisms, asked, strict=True):
        rate = known.rate(question)
        if not 0 < rate < 1:
            raise ValueError(
                f"questions must leave it open whether a record satisfies them, got the rate "
                f"{rate!r}: no record can differ in a property that is certain"
            )
        noise = one.noise or Exact()
        if isinstance(noise, SymmetricNoise):
            require_log_concave(noise, "a privacy curve")
        if isinstance(noise, Exact | SymmetricNoise):
            yield SampledPart(one.sample_size / known.size, one.sample_size, rate, noise)


def _satisfiable_patterns(known: Atoms, asked: Sequence[Question]) -> tuple[Pattern, ...]:
    """Return the patterns of questions that a record can satisfy. Raise ValueError if there are too many."""
    patterns = tuple(known.patterns(asked))
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(
            f"questions must part the records into at most {_MOST_PATTERNS} atoms, got "
            f"{len(patterns)}: ask fewer, or give adaptive=True for a bound"
        )
    return patterns


@frozen(eq=False)
class PublicParts:
    """The divergences Σ_j λ_j·δ_j of an adversary who knows which part holds the record; λ_j is the share of part j."""

    parts: tuple[SampledPart, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return Σ_j λ_j·max(δ₊, δ₋)_j for each ε, for both directions.

        The directions of a part swap if its question is replaced by its complement, so neither sum may be smaller.
        """
        sums = np.zeros((2, len(epsilons)))
        known = {part: np.array(_delta_bounds_of_part(part, epsilons)).T for part in set(self.parts)}
        for part in self.parts:
            sums += part.share * known[part]
        found: list[Bounded] = [BoundedProbability.of_bounds(low, high) for low, high in sums.T.tolist()]
        return found, found


def _delta_bounds_of_part(part: SampledPart, epsilons: list[float]) -> list[tuple[float, float]]:
    """Return bounds of δ of the count of a part, the larger of δ₊ and δ₋, for each ε."""
    both = OneAnswer.from_mechanism(part.mechanism, Binomial(part.size, part.rate)).directions(epsilons)
    return [(max(a.lower, b.lower), max(a.upper, b.upper)) for a, b in zip(*both, strict=True)]


@frozen(eq=False)
class SecretParts:
    """The divergences if the part of each record stays secret."""

    parts: tuple[SampledPart, ...]
    patterns: tuple[Pattern, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε.

        In δ₊ the record satisfies the first question that distinguishes its two patterns, in δ₋ it does not.
        """
        known = {part: part.surprises() for part in set(self.parts)}
        surprises = [known[part] for part in self.parts]
        moves = list(permutations(self.patterns, 2))
        ceilings = [one.upper for one in PublicParts(self.parts).directions(epsilons)[0]]
        plus, minus = list[Bounded](), list[Bounded]()
        for epsilon, ceiling in zip(epsilons, ceilings, strict=True):
            for side, chosen in ((plus, [m for m in moves if m[0] > m[1]]), (minus, [m for m in moves if m[0] < m[1]])):
                low, high = self._largest_delta(chosen, surprises, epsilon)
                side.append(BoundedProbability.of_bounds(low, min(high, ceiling)))
        return plus, minus

    def _largest_delta(
        self, moves: Sequence[tuple[Pattern, Pattern]], surprises: list[PosteriorShifts], epsilon: float
    ) -> tuple[float, float]:
        """Return bounds of the largest δ among some changes of the record's pattern of satisfied questions."""
        bounds = []
        for first, second in moves:
            slopes = [part.slope(epsilon, a, b) for part, a, b in zip(self.parts, first, second, strict=True)]
            if max(map(abs, slopes)) >= _STEEPEST:
                bounds.append((0.0, 1.0))
                continue
            terms = [one.scaled_by(slope) for one, slope in zip(surprises, slopes, strict=True) if slope]
            bounds.append(positive_part(terms, -math.expm1(epsilon)))
        return max(low for low, _ in bounds), max(high for _, high in bounds)
