"""What an answer reveals about one person, to adversaries who know more or less."""

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.analysis.utility import utility_loss
from noisycount.display.output import Done
from noisycount.errors import NoisyCountError
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.known import Known
from noisycount.model.populations.population import Population
from noisycount.model.sampling.scales import as_written
from noisycount.model.subsampling import Subsample
from noisycount.readers.assumption import Assumed, Rate


@frozen
class BackgroundKnowledge:
    """What is public about the records."""

    size: int | None  # their number; None: that of the data set
    rate: Rate | None  # the rate of the only question; None where there are several
    atoms: Path | None  # the file of the atoms; None where there is one question
    least: float  # the number of records from which on a group is large
    held: int | None = None  # how many records the partly informed adversary holds; None: there is no such one


def check_known(known: int, size: int) -> None:
    """The refusal of so many known records that nobody is left to protect.

    Example:
        >>> check_known(99, 100)
    """
    if known >= size:
        raise NoisyCountError(f"--known {known} leaves nobody to protect among {size} records: give at most {size - 1}")


_LARGEST_EPSILON = Fraction(700)  # the largest for which curves are computed


@frozen
class Adversary:
    """Somebody who sees the answer and guesses whether one person counts."""

    name: str  # what the table calls this adversary
    knows: str  # what is known of the records besides the answer, in words
    population: Population | None  # the same as a law of the count; None: all records but one, without a sample


@frozen
class RiskScenario:
    """A count, how it is answered, and what somebody may know."""

    assumed: Assumed  # what is public about the count
    noise: AdditiveNoise | Exact  # what is added to the count; `Exact()` adds nothing
    sample: int | None = None  # how many records are drawn and counted; None: all
    known: int | None = None  # how many records the partly informed adversary holds; None: there is no such one
    known_positives: int | None = None  # how many of them count; None: as many as are expected

    def __post_init__(self) -> None:
        rate, size = self.assumed.rate, self.assumed.population.records
        if rate is not None and rate.mean in {0, 1}:
            raise NoisyCountError(
                f"--rate {rate} makes the property certain, and nothing about it can be hidden: "
                "give a rate between 0 and 1"
            )
        if self.sample is not None and self.sample > size:
            raise NoisyCountError(f"--sample {self.sample} exceeds the {size} records there are: draw at most all")
        if self.known is None:
            if self.known_positives is not None:
                raise NoisyCountError("--known-positives needs --known: say of how many records")
            return
        self._check_known(size)

    def _check_known(self, size: int) -> None:
        """The refusal of what nobody can hold; the number that counts is filled in."""
        if self.assumed.rate is None:
            raise NoisyCountError(
                "--known needs --size and --rate: with --strata it is not told whose records are known"
            )
        known = self.known or 0
        check_known(known, size)
        if self.known_positives is None:
            expected = round(known * self.assumed.rate.mean)
            object.__setattr__(self, "known_positives", expected)
        elif self.known_positives > known:
            raise NoisyCountError(
                f"--known-positives {self.known_positives} exceeds --known {known}: give at most that many"
            )

    @property
    def mechanism(self) -> Mechanism:
        """How the count is answered."""
        return self.noise if self.sample is None else Subsample(self.sample, self.noise)

    @property
    def scale(self) -> Fraction | None:
        """The scale of the noise as it is written, in records; None where there is no noise."""
        return None if isinstance(self.noise, Exact) else as_written(self.noise.scale, "scale")

    @property
    def noise_epsilon(self) -> float | Fraction | None:
        """The ε that the noise keeps in every case; None where it has none."""
        return None if isinstance(self.noise, Exact) else self.noise.epsilon

    @property
    def natural_epsilon(self) -> Fraction:
        """The ε of Laplace noise, 1/scale but at most 700; 1 for every other kind."""
        if self.scale is None or self.noise_epsilon is None:
            return Fraction(1)
        return min(1 / self.scale, _LARGEST_EPSILON)

    def adversaries(self) -> Iterator[Adversary]:
        """The worst case first, the one who knows least last."""
        population = self.assumed.population
        everything = None if self.sample is None else Known(population.records)
        yield Adversary("worst case", "all other records", everything)
        if self.known is not None and self.known_positives is not None:
            partly = population.given(self.known, self.known_positives)
            knows = f"{self.known:,} record{'s' if self.known > 1 else ''}"
            yield Adversary("partly informed", knows, partly)
        yield Adversary("distribution only", "no record", population)

    def overlapping_delta(self, epsilon: float) -> float | None:
        """The least δ of two answers whose questions differ in one person, at this ε.

        The difference of the answers is that person and two independent noises, whatever else is known, and no
        guarantee for two answers can be better than that for their difference. None for samples, whose difference is
        more than one person.
        """
        if self.sample is not None:
            return None
        both = self.noise if isinstance(self.noise, Exact) else NoiseSum([self.noise, self.noise])
        return privacy_curve(both).bracket(epsilon)[0]


_USUAL_DELTA = 1e-6


@frozen
class Risk:
    """What one adversary can learn at most."""

    adversary: Adversary  # who sees the answer
    curve: PrivacyCurve  # how well the answer hides one record from this adversary
    delta: float  # δ at the ε that is asked for
    bracket: tuple[float, float]  # two numbers that contain the exact δ
    variation: float  # δ at ε = 0, the total variation distance of the answers
    usual_epsilon: float  # the smallest ε with δ at most 1e-6; infinite where there is none

    @classmethod
    def of(cls, mechanism: Mechanism, adversary: Adversary, epsilon: float) -> "Risk":
        """What this adversary can learn from an answer, at this ε."""
        curve = privacy_curve(mechanism, adversary.population)
        low, high = curve.bracket(epsilon)
        return cls(
            adversary,
            curve,
            delta=float(curve.delta(epsilon)),
            bracket=(float(low), min(float(high), 1.0)),
            variation=float(curve.delta(0.0)),
            usual_epsilon=float(curve.epsilon(_USUAL_DELTA)),
        )

    @property
    def guess(self) -> float:
        """How often the best guess about one person is right who counts or not, 50:50 before.

        1/2 + δ(0)/2: half of what the total variation distance leaves to chance is right as well.
        """
        return (1 + self.variation) / 2


@frozen
class Risks:
    """What an answer reveals to each adversary, and how far off it is."""

    setting: RiskScenario  # the count, its answer, and who knows what
    epsilon: Fraction  # the ε that is asked for
    risks: tuple[Risk, ...]  # one for each adversary, the worst case first
    loss: float  # E[(Y/n − K/n)²], in fractions² of the database
    overlapping: float | None = None  # the least δ of two answers whose questions differ in one person

    @classmethod
    def of(cls, setting: RiskScenario, epsilon: Fraction | None, done: Done) -> "Risks":
        """The risks of a setting at an ε, by default its natural one."""
        asked = epsilon or setting.natural_epsilon
        number, adversaries, risks = float_above(asked), list(setting.adversaries()), []
        for adversary in adversaries:
            risks.append(Risk.of(setting.mechanism, adversary, number))
            done(len(risks) / (len(adversaries) + 1))
        loss = utility_loss(setting.mechanism, setting.assumed.population)
        return cls(setting, asked, tuple(risks), loss, setting.overlapping_delta(number))

    @property
    def standard_error(self) -> float:
        """The root of the mean squared error of the answer as a share of all records."""
        return math.sqrt(self.loss)

    @property
    def usual_delta(self) -> float:
        """The δ for which the ε of each adversary is told."""
        return _USUAL_DELTA

    @property
    def beyond_worst(self) -> tuple[Risk, ...]:
        """Those whose δ surely exceeds that of the worst case, as it may at an uncertain rate."""
        worst, *others = self.risks
        return tuple(risk for risk in others if risk.bracket[0] > worst.bracket[1])


def float_above(number: Fraction) -> float:
    """The smallest float that is not below a number: at ε = 1/scale, δ of Laplace noise is 0."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
