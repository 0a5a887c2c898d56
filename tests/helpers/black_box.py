"""An audit that sees nothing but answers: do two neighbouring data sets differ too much?"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from mpmath import mp, mpf

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.ledger.ledger import Ledger
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.sampling.scalar import RandomIntegers, discrete_laplace
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from tests.helpers.sources import write_parquet
from tests.helpers.workers import processes
from tests.oracles.chi_square import chi_square_p_value

__all__ = [
    "FALSE_ALARM",
    "MUTANTS",
    "ROWS",
    "Verdict",
    "audited_bulk",
    "audited_desk",
    "audited_noise",
    "judged",
    "log_ratio",
]

FALSE_ALARM = 1e-6
"""The probability with which one audit of honest noise fails."""

EVENTS, LAWS = 6, 3
MANY = 50_000
COUNT = 40
Sampler = Callable[[Fraction, RandomIntegers], float]


@dataclass(frozen=True)
class World:
    """A data set: how many persons match, the stated ε, and what is wrong, if anything is."""

    count: int
    epsilon: Fraction
    mutant: str = ""


@dataclass(frozen=True)
class Verdict:
    """Result of an audit of answers alone."""

    claimed: float  # the largest log-ratio that the two data sets may have
    shown: float  # what it is at least, unless a false alarm occurred
    p_value: float  # of the law that was stated, its location and its scale; 0 where not all answers are integers

    @property
    def passed(self) -> bool:
        """True if the audit contradicts neither the stated ε nor the stated law."""
        return self.private and self.lawful

    @property
    def private(self) -> bool:
        """True if the answers do not contradict the stated ε."""
        return self.shown <= self.claimed

    @property
    def lawful(self) -> bool:
        """True if the answers do not contradict the stated law."""
        return self.p_value >= FALSE_ALARM / 2


def neighbours_of(epsilon: Fraction) -> int:
    """Give how many persons the two data sets differ by: so many that the loss is about 1."""
    return max(1, round(1 / epsilon))


def judged(fewer: np.ndarray, more: np.ndarray, counts: tuple[int, int], claimed: float, epsilon: Fraction) -> Verdict:
    """Compare the answers about two data sets, of which the second has more matching persons.

    The events are fixed beforehand, their probabilities bounded after Clopper and Pearson; half of
    the false alarms are theirs, half those of the tests of the law.
    """
    low, high = counts
    level = FALSE_ALARM / 2 / (2 * EVENTS)
    pairs = [
        (more >= high, fewer >= high),
        (fewer <= low, more <= low),
        (more == high, fewer == high),
        (fewer == low, more == low),
        (more == low, fewer == low),
        (fewer == high, more == high),
    ]
    shown = max(log_ratio(often, seldom, level) for often, seldom in pairs)
    errors = np.concatenate([fewer - low, more - high])
    return Verdict(claimed, shown, _law_p_value(errors, 1 / epsilon))


def log_ratio(often: np.ndarray, seldom: np.ndarray, level: float) -> float:
    """The least log-ratio of two probabilities at a level of false alarm for each."""
    from scipy import stats

    hits, size = int(often.sum()), often.size
    low = stats.beta.ppf(level, hits, size - hits + 1) if hits else 0.0
    hits, size = int(seldom.sum()), seldom.size
    high = stats.beta.ppf(1 - level, hits + 1, size - hits) if hits < size else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def _law_p_value(errors: np.ndarray, scale: Fraction) -> float:
    """The least p-value, times their number, of the tests of shape, of location and of scale."""
    from scipy import stats

    if not np.array_equal(errors, np.round(errors)):
        return 0.0
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)

    def below(edge: int) -> mpf:
        return x ** (1 - edge) / (1 + x) if edge <= 0 else 1 - x**edge / (1 + x)

    positive, negative = int((errors > 0).sum()), int((errors < 0).sum())
    q = float(x)
    mean, square = 2 * q / (1 - q * q), 2 * q / (1 - q) ** 2
    deviation = (np.abs(errors).mean() - mean) / math.sqrt((square - mean * mean) / errors.size)
    return LAWS * min(
        chi_square_p_value(errors, float(scale), below, parts=10 if errors.size > MANY else 1),
        float(stats.binomtest(positive, positive + negative).pvalue),
        2 * float(stats.norm.sf(abs(deviation))),
    )


def audited_desk(epsilon: Fraction, size: int, mutant: str = "", at_once: int = 1, workers: int = 2) -> Verdict:
    """Judge a whole desk by that many answers about each of two data sets, so many of them given at once.

    They differ by so many persons that the largest loss is about 1: one person at ε = 1, a chain of
    ten neighbours at ε = 0.1. Each person has two records.
    """
    persons = neighbours_of(epsilon)
    worlds = [World(COUNT, epsilon, mutant), World(COUNT + persons, epsilon, mutant)]
    with processes().Pool(workers) as pool:
        asked = [(world, size // workers, at_once) for world in worlds for _ in range(workers)]
        parts = pool.starmap(_answers, asked, chunksize=1)
    fewer, more = (np.concatenate(half) for half in (parts[:workers], parts[workers:]))
    rows = 2 if mutant == ROWS else 1
    counts = (rows * COUNT, rows * (COUNT + persons))
    return judged(fewer, more, counts, float(persons * epsilon), epsilon)


def audited_noise(epsilon: Fraction, size: int, mutant: str = "") -> Verdict:
    """Judge the noise alone, one draw after the other, in this process."""
    persons = neighbours_of(epsilon)
    with patch.multiple(DiscreteLaplace, **_patches(mutant)):
        law = DiscreteLaplace.for_epsilon(epsilon)
        fewer, more = (np.array([law.release(count) for _ in range(size)]) for count in (COUNT, COUNT + persons))
    return judged(fewer, more, (COUNT, COUNT + persons), float(persons * epsilon), epsilon)


def audited_bulk(epsilon: Fraction, size: int, drawn: Fraction | None = None) -> Verdict:
    """Judge the vectorised noise, of the stated ε or, as a mutant, of another that is drawn."""
    persons = neighbours_of(epsilon)
    counts = (COUNT, COUNT + persons)
    law = DiscreteLaplace.for_epsilon(epsilon if drawn is None else drawn)
    fewer, more = (count + law.samples(size) for count in counts)
    return judged(fewer, more, counts, float(persons * epsilon), epsilon)


def _answers(world: World, size: int, at_once: int) -> np.ndarray:
    """Ask a desk; its ledger is in memory where there is such a folder, as no crash is tested."""
    memory = Path("/dev/shm")  # noqa: S108 - a new folder in it
    with (
        TemporaryDirectory(dir=memory if memory.is_dir() else None) as place,
        patch.multiple(DiscreteLaplace, **_patches(world.mutant)),
    ):
        folder = Path(place)
        path = folder / "records.parquet"
        people = [{"person": number, "age": 30} for number in range(world.count)] * 2
        people += [{"person": -1 - number, "age": 0} for number in range(2 * COUNT)]
        write_parquet(path, people, {"person": Kind.INTEGER, "age": Kind.INTEGER})
        unit = None if world.mutant == ROWS else "person"
        with (
            DuckDBSource.open(path, unit=unit, columns=["age"]) as source,
            Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger,
        ):
            desk = Desk(source, ledger, Dataset("survey", Fraction(10**6)))
            asked = [f"age = 30 and age <> {number}" for number in range(1000, 1000 + size)]
            if at_once == 1:
                return np.array([desk.release(where, world.epsilon).answer for where in asked])
            lists = (asked[start : start + at_once] for start in range(0, size, at_once))
            return np.concatenate([desk.release_many(each, len(each) * world.epsilon).answers[0] for each in lists])


def _patches(mutant: str) -> dict[str, object]:
    """Return the mutant's replacements for parts of `DiscreteLaplace`."""
    one, honest = MUTANTS.get(mutant), DiscreteLaplace.sampler
    if one is None:
        return {"sampler": honest}

    def many(scale: Fraction, size: int) -> np.ndarray:
        return np.array([one(scale, RandomIntegers()) for _ in range(size)])

    return {"sampler": honest._replace(one=one, many=many)}


def _scaled(scale: Fraction, integers: RandomIntegers) -> int:
    return discrete_laplace(scale / Fraction(102, 100), integers)


def _floating(scale: Fraction, _: RandomIntegers) -> float:
    return GENERATOR.laplace(0, float(scale))


def _rounded(scale: Fraction, _: RandomIntegers) -> int:
    return round(GENERATOR.laplace(0, float(scale)))


def _shifted(scale: Fraction, integers: RandomIntegers) -> int:
    return discrete_laplace(scale, integers) + 1


def _longer(scale: Fraction, integers: RandomIntegers) -> int:
    """No zero: every magnitude is one more."""
    draw = discrete_laplace(scale, integers)
    return draw + 1 if draw > 0 or (draw == 0 and integers.bits(1)) else draw - 1


def _two_zeros(scale: Fraction, integers: RandomIntegers) -> int:
    """A negative zero is kept: zero is twice as likely beside the others."""
    half = math.tanh(float(1 / scale) / 2)
    return 0 if GENERATOR.random() < half / (1 + half) else discrete_laplace(scale, integers)


ROWS = "rows instead of persons"
GENERATOR = np.random.default_rng()
MUTANTS: dict[str, Sampler] = {
    "ε·1.02": _scaled,
    "floats": _floating,
    "rounded floats": _rounded,
    "one more": _shifted,
    "magnitude one more": _longer,
    "two zeros": _two_zeros,
}
"""Noise with which an audit must fail."""
