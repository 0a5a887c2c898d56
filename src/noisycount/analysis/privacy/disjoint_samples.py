"""Answers about random parts of the records, each question on its own part."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

import numpy as np

from noisycount.analysis.privacy.bounds import Between, Bounded, MonotoneBounds
from noisycount.analysis.privacy.disjoint_cells import DEPTH, answer_table
from noisycount.analysis.privacy.hockey_stick import OneAnswer
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve
from noisycount.analysis.privacy.workload import asked_questions
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise, require_log_concave
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample


@frozen
class PosteriorShifts:
    """By how much the expected count of a part, given its answer, exceeds that without it."""

    masses: Reals  # the probabilities of bins of answers
    means: Reals  # the mean excess in each bin
    lows: Reals  # the least that the excess can be in each bin
    highs: Reals  # the most that it can be

    def times(self, slope: float) -> "PosteriorShifts":
        """The same times a number, of which lows are the largest if it is negative."""
        return PosteriorShifts(self.masses, slope * self.means, slope * self.lows, slope * self.highs)

    def spread(self) -> tuple[Reals, Reals]:
        """Values and probabilities that spread each bin to its ends and keep its mean."""
        width = self.highs - self.lows
        share = np.divide(self.means - self.lows, width, out=np.zeros_like(width), where=width != 0)
        return np.concatenate([self.lows, self.highs]), np.concatenate([self.masses * (1 - share), self.masses * share])


@frozen
class SampledPart:
    """A part of the records, and the question that is answered about it."""

    share: float  # the probability that a record is in it
    size: int  # its number of records
    rate: float  # the probability that a record satisfies the question, strictly between 0 and 1
    mechanism: Exact | SymmetricNoise  # how the count is answered

    def surprises(self) -> PosteriorShifts:
        """The law of E[K | answer] − E[K], which grows with the answer."""
        counted = Binomial(self.size, self.rate)
        low, high = counted.deep_law().counts_within(DEPTH)
        table = answer_table(self.mechanism, low, high)
        if table is None:
            raise ValueError(
                f"sample_size must be at most some 10,000 records of a rate such as {self.rate!r}, "
                f"got {self.size}: ask on smaller parts"
            )
        excess = np.arange(low, high + 1) - self.size * self.rate
        law = counted.deep_law().pmf(np.arange(low, high + 1))
        joint = table.rows * law
        masses = joint.sum(axis=1)
        kept = masses > 0
        means = (joint[kept] @ excess) / masses[kept]
        if table.edges is None or not isinstance(self.mechanism, SymmetricNoise):
            return PosteriorShifts(masses[kept], means, means, means)
        ends = self._at(table.edges, low, high)
        lows, highs = np.minimum(ends[:-1][kept], means), np.maximum(ends[1:][kept], means)
        return PosteriorShifts(masses[kept], means, lows, highs)

    def _at(self, answers: Reals, low: int, high: int) -> Reals:
        """The excess at single answers."""
        counts = np.arange(low, high + 1)
        logs = Binomial(self.size, self.rate).deep_law().log_pmf(counts)
        if isinstance(self.mechanism, SymmetricNoise):
            logs = logs + self.mechanism.errors.log_density(answers[:, None] - counts)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights @ (counts - self.size * self.rate) / weights.sum(axis=1)

    def slope(self, epsilon: float, first: int, second: int) -> float:
        """What P₊/Q − e^ε·P₋/Q gains with each record of excess."""
        gains = [1 / (self.size * self.rate), -1 / (self.size * (1 - self.rate))]
        return self.share * (gains[1 - first] - math.exp(epsilon) * gains[1 - second])


_STEPS = 1 << 14  # of the sum: convolving as many takes a tenth of a second
_WHOLE = 1e-7  # of a step: what rounding may move a value on the grid
_LOST = 1e-12  # of the probability of what is in no bin, and of the rounding of sums


def positive_part(terms: Sequence[PosteriorShifts], constant: float) -> tuple[float, float]:
    """Bounds of E[(constant + Σ terms)₊].

    (x)₊ is convex: it expects more of values that are spread with their mean kept, and less of means of bins. Each
    value is spread to its two neighbours on a grid, whose step changes the sum by √(Σ v)/2 at most, v the variances
    that this adds.
    """
    step = _step(terms)
    spread = [Gridded.of(*term.spread(), step) for term in terms]
    most = _of_sum(spread, constant, step)
    binned = [Gridded.of(term.means, term.masses, step) for term in terms]
    least = _of_sum(binned, constant, step)
    least -= math.sqrt(math.fsum(one.added for one in binned)) / 2
    scale = _LOST + _WHOLE * step * len(terms)
    lost = _LOST * math.fsum(float(np.abs(term.means).max()) for term in terms)
    return max(0.0, least - scale - lost), min(1.0, most + scale + lost)


def _step(terms: Sequence[PosteriorShifts]) -> float:
    """A step of the grid that divides that of the first term's values."""
    whole = math.fsum(float(np.ptp(term.means)) for term in terms)
    first = np.diff(np.sort(terms[0].means))
    gap = float(np.median(first)) if first.size else 0.0
    finest = max(whole / _STEPS, 1e-300)
    return gap / math.ceil(gap / finest) if gap > finest else finest


@frozen
class Gridded:
    """Probabilities at base, base + step, base + 2·step, …, and the variance that was added."""

    base: float
    masses: Reals
    added: float

    @classmethod
    def of(cls, values: Reals, masses: Reals, step: float) -> "Gridded":
        """Values spread to their neighbours on a grid, with their means."""
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


def _of_sum(parts: Sequence[Gridded], constant: float, step: float) -> float:
    """E[(constant + sum)₊] on the grid."""
    law, base = np.ones(1), constant
    for part in parts:
        law, base = np.convolve(law, part.masses), base + part.base
    return float(law @ np.maximum(base + step * np.arange(float(len(law))), 0.0))


_STEEPEST = 1e150  # of a term: what its values are multiplied by does not overflow
_MOST_PATTERNS = 32  # of answers that a record can give, between which it may move
Pattern = tuple[int, ...]


def parts_curve(
    mechanisms: Sequence[Subsample],
    population: Atoms | Binomial,
    questions: Iterable[Iterable[int]] | None = None,
    *,
    adaptive: bool = False,
) -> PrivacyCurve:
    """What one record can change in answers each of which is about its own random part.

    The records are parted at random: the first m₁ are for the first question, the next m₂ for the second, and so on;
    who is in which part stays secret. With λ_j = m_j/n, Q the law of all answers and g_j = E[K_j | y_j]/E[K_j] where
    the record satisfies question j, else the same of the records that do not, P₊/Q = 1 + Σ_j λ_j·(g_j − 1): δ₊ is the
    positive part of a sum of independent terms.

    Args:
        mechanisms: The sample of each question, with its noise; together at most all records.
        population: `Atoms`, or a `Binomial` of the one property that every question is about.
        questions: Sets of numbers of atoms; None: those of the `Atoms`.
        adaptive: Whether a question may be chosen after the answers to those before, among questions of no worse rates.
            The curve is then Σ_j λ_j·δ_j(ε), δ_j that of the count of m_j records: as if it were told which part holds
            the record, and never below the other.

    Raises:
        ValueError: If the parts hold more than all records, a question is certain, or there are more kinds of records
            or larger parts than can be had.

    Source: the setting of Breutigam and Reischuk, *Parallel Composition for Statistical Privacy* (2026); the formulas
    and their proof are ours: the page “Several answers, one outsider”.
    Numerical error: `bracket` holds it, with the grid of the sum; δ is its upper end.

    Example:
        >>> import noisycount as nc
        >>> curve = nc.parts_curve([nc.Subsample(500)] * 2, nc.Binomial(1000, 0.1))
        >>> round(curve.delta(0.01), 4)
        0.0375
    """
    known, asked = _asked(population, questions, len(mechanisms))
    parts = tuple(_parts(mechanisms, known, asked))
    divergences = ToldParts(parts) if adaptive else SecretParts(parts, _patterns(known, asked))
    return PrivacyCurve(tuple(mechanisms), known, asked, MonotoneBounds(divergences))


def _asked(
    population: Atoms | Binomial, questions: Iterable[Iterable[int]] | None, number: int
) -> tuple[Atoms, tuple[Question, ...]]:
    """The records and what is asked of each part."""
    if isinstance(population, Binomial):
        known = Atoms.nested(population.size, [population.rate])
        questions = known.questions * number if questions is None else questions
    elif isinstance(population, Atoms):
        known = population
    else:
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"population must be Atoms or a Binomial, whose records do not depend on each other, got {population!r}"
        )
    return known, asked_questions(known, questions, number)


def _parts(mechanisms: Sequence[Subsample], known: Atoms, asked: Sequence[Question]) -> Iterator[SampledPart]:
    """The parts."""
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
                f"{rate!r}: a certain property has no neighbours"
            )
        noise = one.noise or Exact()
        if isinstance(noise, SymmetricNoise):
            require_log_concave(noise, "a privacy curve")
        if isinstance(noise, Exact | SymmetricNoise):
            yield SampledPart(one.sample_size / known.size, one.sample_size, rate, noise)


def _patterns(known: Atoms, asked: Sequence[Question]) -> tuple[Pattern, ...]:
    """Which of the questions a record can satisfy."""
    patterns = tuple(known.patterns(asked))
    if len(patterns) > _MOST_PATTERNS:
        raise ValueError(
            f"questions must part the records into at most {_MOST_PATTERNS} atoms, got "
            f"{len(patterns)}: ask fewer, or give adaptive=True for a bound"
        )
    return patterns


@frozen(eq=False)
class ToldParts:
    """Σ_j λ_j·δ_j: the divergences if it is told which part holds the record."""

    parts: tuple[SampledPart, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """The same for both, as the complement of a question may be asked."""
        sums = np.zeros((2, len(epsilons)))
        known = {part: np.array(_of_part(part, epsilons)).T for part in set(self.parts)}
        for part in self.parts:
            sums += part.share * known[part]
        found: list[Bounded] = [Between.of_bounds(low, high) for low, high in sums.T.tolist()]
        return found, found


def _of_part(part: SampledPart, epsilons: list[float]) -> list[tuple[float, float]]:
    """Below and above δ of the count of a part, the larger direction."""
    both = OneAnswer.of(part.mechanism, Binomial(part.size, part.rate)).directions(epsilons)
    return [(max(a.lower, b.lower), max(a.upper, b.upper)) for a, b in zip(*both, strict=True)]


@frozen(eq=False)
class SecretParts:
    """The divergences if who is in which part stays secret."""

    parts: tuple[SampledPart, ...]
    patterns: tuple[Pattern, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ has the record in the first question that tells the two patterns apart."""
        known = {part: part.surprises() for part in set(self.parts)}
        surprises = [known[part] for part in self.parts]
        moves = list(permutations(self.patterns, 2))
        ceilings = [one.upper for one in ToldParts(self.parts).directions(epsilons)[0]]
        plus, minus = list[Bounded](), list[Bounded]()
        for epsilon, ceiling in zip(epsilons, ceilings, strict=True):
            for side, chosen in ((plus, [m for m in moves if m[0] > m[1]]), (minus, [m for m in moves if m[0] < m[1]])):
                low, high = self._largest(chosen, surprises, epsilon)
                side.append(Between.of_bounds(low, min(high, ceiling)))
        return plus, minus

    def _largest(
        self, moves: Sequence[tuple[Pattern, Pattern]], surprises: list[PosteriorShifts], epsilon: float
    ) -> tuple[float, float]:
        """Below and above the largest δ of some moves."""
        bounds = []
        for first, second in moves:
            slopes = [part.slope(epsilon, a, b) for part, a, b in zip(self.parts, first, second, strict=True)]
            if max(map(abs, slopes)) >= _STEEPEST:
                bounds.append((0.0, 1.0))
                continue
            terms = [one.times(slope) for one, slope in zip(surprises, slopes, strict=True) if slope]
            bounds.append(positive_part(terms, -math.expm1(epsilon)))
        return max(low for low, _ in bounds), max(high for _, high in bounds)
