"""What an answer reveals about one person, to adversaries who know more or less."""

import math
from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.utility.utility import utility_loss
from noisycount.app.risk.setting import Adversary, Setting
from noisycount.app.terminal.progress import Done

__all__ = ["Risk", "Risks", "float_above"]

_USUAL_DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class Risk:
    """What one adversary can learn at most.

    Attributes:
        adversary: Who sees the answer.
        delta: δ at the ε that is asked for.
        bracket: Two numbers that contain the exact δ.
        variation: δ at ε = 0, the total variation distance of the answers.
        usual_epsilon: The smallest ε with δ at most 1e-6; infinite where there is none.
    """

    adversary: Adversary
    delta: float
    bracket: tuple[float, float]
    variation: float
    usual_epsilon: float

    @classmethod
    def of(cls, adversary: Adversary, epsilon: float) -> "Risk":
        """What this adversary can learn, at this ε."""
        curve = adversary.curve
        low, high = curve.bracket(epsilon)
        return cls(
            adversary,
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


@dataclass(frozen=True, slots=True)
class Risks:
    """What an answer reveals to each adversary, and how far off it is.

    Attributes:
        setting: The count, its answer, and who knows what.
        epsilon: The ε that is asked for.
        risks: One for each adversary, the worst case first.
        loss: E[(Y/n − K/n)²], in fractions² of the database.
        overlapping: The least δ of two answers whose questions differ in one person.
    """

    setting: Setting
    epsilon: Fraction
    risks: tuple[Risk, ...]
    loss: float
    overlapping: float | None = None

    @classmethod
    def of(cls, setting: Setting, epsilon: Fraction | None, done: Done) -> "Risks":
        """The risks of a setting at an ε, by default its natural one.

        Raises:
            ValueError: If the property is certain for some group of records.
        """
        asked = epsilon or setting.natural_epsilon
        number, adversaries, risks = float_above(asked), list(setting.adversaries()), []
        for adversary in adversaries:
            risks.append(Risk.of(adversary, number))
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
