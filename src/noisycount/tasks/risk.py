"""Disclosure risk of one answer: how much it reveals about one person to adversaries with different knowledge.

`RiskScenario` describes the count and its noise, `Risks` holds the results, and the functions below format them as text
and as JSON.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.analysis.utility import utility_loss
from noisycount.display.numbers import approximately, at_least, at_most, odds, odds_sentence, percent, signed
from noisycount.display.output import Done
from noisycount.display.values import members
from noisycount.errors import QueryError
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.known import Known
from noisycount.model.populations.population import Population
from noisycount.model.sampling.scalar import fraction_as_written
from noisycount.model.subsampling import Subsample
from noisycount.readers.assumption import Assumed, Rate
from noisycount.tasks.refine.estimate import assumed_members
from noisycount.validation import exact_text


@frozen
class BackgroundKnowledge:
    """Public knowledge about the records."""

    size: int | None  # number of records; None: that of the data set
    rate: Rate | None  # rate of the only question; None if there are several questions
    atoms: Path | None  # file of the atoms; None if no file is given
    large_group_size: float  # smallest expected number of records of a large group
    known_records: int | None = None  # number of records that an adversary knows; None: no such adversary


def check_known(known: int, size: int) -> None:
    """Raise QueryError unless at least one of `size` records is unknown to the adversary."""
    if known >= size:
        raise QueryError(f"{{known:{known}}} covers all of the {size} records: give at most {size - 1}")


_LARGEST_EPSILON = Fraction(700)  # largest ε for which privacy curves are computed


@frozen
class Adversary:
    """An adversary who sees the answer and guesses whether one person counts."""

    name: str  # name in the output
    knows: str  # background knowledge about the records, in words
    # distribution of the count given that knowledge; None: all records but one are known, and no sample is drawn
    population: Population | None


@frozen
class RiskScenario:
    """A count, the noise of its answer, and the background knowledge of a partly informed adversary."""

    assumed: Assumed  # public assumption about the count
    noise: AdditiveNoise | Exact  # noise of the answer; `Exact()` adds none
    sample: int | None = None  # number of records that are drawn at random and counted; None: all
    known: int | None = None  # number of records that a partly informed adversary knows; None: no such adversary
    known_positives: int | None = None  # number of the known records that count; None: the expected number

    def __post_init__(self) -> None:
        rate, size = self.assumed.rate, self.assumed.population.records
        if rate is not None and rate.mean in {0, 1}:
            raise QueryError(
                f"{{rate:{rate.typed}}} makes the property certain, and nothing about it can be hidden: "
                "give a rate between 0 and 1"
            )
        if self.sample is not None and self.sample > size:
            raise QueryError(f"{{sample:{self.sample}}} exceeds the number of records, {size}: give at most {size}")
        if self.known is None:
            if self.known_positives is not None:
                raise QueryError("{known_positives} needs {known}: give the number of known records too")
            return
        self._check_known(size)

    def _check_known(self, size: int) -> None:
        """Check the knowledge of the partly informed adversary. Set `known_positives` to its expectation if it is None.

        Raises QueryError if there is no single rate, or if `known` or `known_positives` is too large.
        """
        if self.assumed.rate is None:
            raise QueryError(
                "{known} needs {size} and {rate}: {strata} does not say in which stratum the known records are"
            )
        known_records = self.known or 0
        check_known(known_records, size)
        if self.known_positives is None:
            expected = round(known_records * self.assumed.rate.mean)
            object.__setattr__(self, "known_positives", expected)
        elif self.known_positives > known_records:
            raise QueryError(
                f"{{known_positives:{self.known_positives}}} exceeds {{known:{known_records}}}: give at most that many"
            )

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism of the answer: the noise, after subsampling if a sample is drawn."""
        return self.noise if self.sample is None else Subsample(self.sample, self.noise)

    @property
    def scale(self) -> Fraction | None:
        """Scale of the noise in records, as it was written; None if there is no noise."""
        return None if isinstance(self.noise, Exact) else fraction_as_written(self.noise.scale, "scale")

    @property
    def noise_epsilon(self) -> float | Fraction | None:
        """Value ε of pure differential privacy that the noise has; None if it has none."""
        return None if isinstance(self.noise, Exact) else self.noise.epsilon

    @property
    def natural_epsilon(self) -> Fraction:
        """Default ε: 1/scale, at most 700, for noise of pure differential privacy; 1 for every other noise."""
        if self.scale is None or self.noise_epsilon is None:
            return Fraction(1)
        return min(1 / self.scale, _LARGEST_EPSILON)

    def adversaries(self) -> Iterator[Adversary]:
        """Yield the adversaries, the best informed one (the worst case) first."""
        population = self.assumed.population
        everything = None if self.sample is None else Known(population.records)
        yield Adversary("worst case", "all other records", everything)
        if self.known is not None and self.known_positives is not None:
            partly = population.given(self.known, self.known_positives)
            knows = f"{self.known:,} record{'s' if self.known > 1 else ''}"
            yield Adversary("partly informed", knows, partly)
        yield Adversary("distribution only", "no record", population)

    def overlapping_delta(self, epsilon: float) -> float | None:
        """Return a lower bound of δ at this ε for two answers whose questions differ in one person.

        The difference of the answers is the contribution of that person plus two independent noises, whatever the
        adversary knows. By post-processing, no guarantee for both answers is better than that for their difference.
        Return None if a sample is drawn, as two samples differ in more than one person.
        """
        if self.sample is not None:
            return None
        both = self.noise if isinstance(self.noise, Exact) else NoiseSum([self.noise, self.noise])
        return privacy_curve(both).bracket(epsilon)[0]


_USUAL_DELTA = 1e-6  # δ at which the ε of each adversary is shown


@frozen
class Risk:
    """Bounds of what one adversary can learn from the answer."""

    adversary: Adversary  # the adversary who sees the answer
    curve: PrivacyCurve  # privacy profile δ(ε) of the answer against this adversary
    delta: float  # δ at the chosen ε
    bracket: tuple[float, float]  # lower and upper bound of the exact δ
    variation: float  # δ at ε = 0, the total variation distance of the answers
    usual_epsilon: float  # smallest ε with δ at most 1e-6; infinite if none up to 700 is known

    @classmethod
    def compute(cls, mechanism: Mechanism, adversary: Adversary, epsilon: float) -> "Risk":
        """Return the risk of a mechanism against an adversary, with δ at this ε."""
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
    def guess_probability(self) -> float:
        """Probability that the best guess whether one person counts is right, if both are equally likely beforehand.

        It is 1/2 + δ(0)/2, where δ(0) is the total variation distance of the answers with and without the person.
        """
        return (1 + self.variation) / 2


@frozen
class Risks:
    """Risk of an answer against each adversary, and the error of the answer."""

    setting: RiskScenario  # the count, its noise, and the background knowledge
    epsilon: Fraction  # chosen ε, at which δ is computed
    risks: tuple[Risk, ...]  # one for each adversary, the worst case first
    loss: float  # E[(Y/n − K/n)²] for the answer Y, the count K and n records; in fractions² of the database
    overlapping: float | None = None  # lower bound of δ for two questions that differ in one person

    @classmethod
    def compute(cls, setting: RiskScenario, epsilon: Fraction | None, done: Done) -> "Risks":
        """Return the risks of a scenario at an ε, by default its natural ε. `done` receives the share of work done."""
        chosen_epsilon = epsilon or setting.natural_epsilon
        number, adversaries, risks = float_above(chosen_epsilon), list(setting.adversaries()), []
        for adversary in adversaries:
            risks.append(Risk.compute(setting.mechanism, adversary, number))
            done(len(risks) / (len(adversaries) + 1))
        loss = utility_loss(setting.mechanism, setting.assumed.population)
        return cls(setting, chosen_epsilon, tuple(risks), loss, setting.overlapping_delta(number))

    @property
    def standard_error(self) -> float:
        """Root mean squared error of the answer, as a share of all records."""
        return math.sqrt(self.loss)

    @property
    def beyond_worst(self) -> tuple[Risk, ...]:
        """Risks whose δ certainly exceeds that of the worst case. This is possible if the rate is uncertain."""
        worst, *informed_less = self.risks
        return tuple(risk for risk in informed_less if risk.bracket[0] > worst.bracket[1])


def float_above(number: Fraction) -> float:
    """Return the smallest float that is not below a number.

    An ε is rounded up because δ of Laplace noise is 0 at ε = 1/scale, and above 0 at any smaller ε.
    """
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def _headline_measure(risks: Risks) -> str:
    """Return the first of the measures δ, ε and guess that differs between the adversaries; δ if none differs."""
    columns = list(zip(*risk_rows(risks), strict=True))
    delta_title = f"δ at ε = {approximately(risks.epsilon)}"
    titles = {2: delta_title, 4: RISK_HEADER[4], 3: "right guesses about one person"}
    place = next((place for place in titles if len(set(columns[place])) > 1), 2)
    numbers = zip(columns[0], columns[place], strict=True)
    return f"{titles[place]}: {', '.join(f'{number} {name}' for name, number in numbers)}"


def risk_facts(risks: Risks, source: str | None = None) -> list[tuple[str, str]]:
    """Return the facts of a scenario: the headline, the assumptions, the noise, the error and the ε.

    `source` describes the stored answer from which the noise is taken, if there is one.
    """
    return [
        ("reveals", _headline_measure(risks)),
        *([("key", source)] if source else []),
        ("assumed", risks.setting.assumed.words),
        ("answer", answer_words(risks.setting)),
        ("error", _error_text(risks)),
        ("asked", f"δ at ε = {approximately(risks.epsilon)}"),
    ]


def answer_words(setting: RiskScenario) -> str:
    """Return the noise and the sample of the count, in words."""
    subject = "the count"
    if setting.sample is not None:
        subject = f"the count among {signed(setting.sample)} records drawn at random"
    if isinstance(setting.noise, Exact) or setting.scale is None:
        return f"{subject}, without noise"
    return f"{subject}, with {setting.noise.name} noise of scale {exact_text(setting.scale)}"


# Names of the columns of `risk_rows`.
RISK_HEADER = ("adversary", "knows", "δ", "guess", f"ε at δ = {Decimal(str(_USUAL_DELTA)):e}")


def risk_rows(risks: Risks) -> list[tuple[str, ...]]:
    """Return a row for each adversary, with the columns of `RISK_HEADER`."""
    return [
        (
            risk.adversary.name,
            risk.adversary.knows,
            at_most(risk.delta),
            _percent_at_most(risk.guess_probability),
            at_most(risk.usual_epsilon) if math.isfinite(risk.usual_epsilon) else "none",
        )
        for risk in risks.risks
    ]


def shared_meanings(risks: Risks) -> list[tuple[str, str]]:
    """Return the meaning of ε and δ. Adversaries whose meanings differ only in the value of δ share a sentence."""
    alike: dict[str, list[Risk]] = {}
    for risk in risks.risks:
        alike.setdefault(_meaning_text(risk, risks, "δ (above)"), []).append(risk)
    if len(alike) == 1:
        return [("meaning", next(iter(alike)))]
    return [
        (
            _adversary_names(same, risks),
            sentence if len(same) > 1 else _meaning_text(same[0], risks, at_most(same[0].delta)),
        )
        for sentence, same in alike.items()
    ]


def _adversary_names(selection: Sequence[Risk], risks: Risks) -> str:
    """Return the names of some adversaries, or "both others" for the last two of three."""
    if len(selection) > 1 and list(selection) == list(risks.risks[1:]):
        return "both others"
    return ", ".join(risk.adversary.name for risk in selection)


def cautions(risks: Risks) -> list[tuple[str, str]]:
    """Return explanations of the numbers, and the conditions under which they hold."""
    guessing = (
        "how often the best guess about one person is right after the answer, 50:50 before; it is "
        "rounded up, as δ and ε are"
    )
    explanations = [("guess", guessing), ("holds for", _scope_text(risks))]
    if risks.beyond_worst:
        explanations.append(("dependence", _dependence_text(risks)))
    return [*explanations, ("two answers", _several_answers_text(risks))]


def _meaning_text(risk: Risk, risks: Risks, delta: str) -> str:
    """Return the meaning of ε and δ against one adversary; `delta` is the text of δ.

    An answer is (ε, δ)-indistinguishable exactly if it is a post-processing of an answer that reveals the record with
    probability δ and keeps to the odds of ε otherwise: Kairouz, Oh and Viswanath, *The Composition Theorem for
    Differential Privacy* (2015). It would be wrong to state that the odds exceed those of ε with probability at most δ.
    """
    sentence = odds_sentence(risks.epsilon)
    if risk.bracket[1] == 0:
        return sentence
    if risk.bracket[1] < 1:
        given_away = f"{sentence}, or the person is given away with probability {delta}"
        return f"{given_away}{_guaranteed_odds_text(risk, risks)}"
    if isinstance(risks.setting.mechanism, Exact):
        return "learns everything: without noise, the known records leave this one as the rest"
    return "learns everything: the answer gives the person away"


def _guaranteed_odds_text(risk: Risk, risks: Risks) -> str:
    """Return a clause with the odds that the ε of the noise guarantees against an adversary.

    The clause is empty if the noise has no ε, or if its ε does not hold against this adversary. If records are
    independent, an adversary who knows less than the worst case sees a mixture of the answers that the worst case sees.
    So the ε of the worst case holds against this adversary too.
    """
    epsilon = risks.setting.noise_epsilon
    rate = risks.setting.assumed.rate
    is_mixture = risk is risks.risks[0] or rate is None or not rate.deviation
    bound = "more" if epsilon is None else odds(epsilon)
    if not is_mixture or bound.startswith("more"):
        return ""
    return f", and in no case does the guess become more than {bound}"


def _error_text(risks: Risks) -> str:
    """Return the standard error of the answer, in words."""
    if not risks.loss:
        return "none"
    share, size = risks.standard_error, risks.setting.assumed.population.records
    scaling = "" if risks.setting.sample is None else ", scaled up from the sample"
    return f"standard error {share * size:,.3g} records, {percent(Decimal(f'{share:.2e}'))} of the database{scaling}"


def _scope_text(risks: Risks) -> str:
    """Return the conditions under which the numbers below the worst case hold, in words."""
    assumed, known_records = risks.setting.assumed, risks.setting.known
    partly_informed = ""
    if known_records is not None:
        their_records = "that record" if known_records == 1 else f"those {signed(known_records)} records"
        partly_informed = f", “partly informed” only against one who knows {their_records} and no other"
    trusted = "the rates are" if assumed.rate is None else "the rate is"
    scope = (
        f"“distribution only” only against an adversary who knows no single record{partly_informed}; "
        f"below the worst case, only if {trusted} right"
    )
    independent = assumed.rate is None or not assumed.rate.deviation
    return f"{scope}. Treat anybody who may know more as the worst case." if independent else f"{scope}."


def _dependence_text(risks: Risks) -> str:
    """Return the reason why δ of a less informed adversary can exceed that of the worst case, in words."""
    names = " and ".join(f"“{risk.adversary.name}”" for risk in risks.beyond_worst)
    return (
        f"δ of {names} exceeds that of the worst case, and rightly so: as the rate is uncertain, "
        "one person who counts makes it likelier that others count, and the answer shows them "
        "all. The worst case changes one record and no other."
    )


def _several_answers_text(risks: Risks) -> str:
    """Return a caution about several answers from one database, in words."""
    names = " or ".join(f"“{risk.adversary.name}”" for risk in risks.risks[1:])
    warning = (
        f"share the randomness of one database, so δ of {names} must not be added up over them; "
        "ε and δ of the worst case may."
    )
    lower_bound = risks.overlapping
    if lower_bound is None:
        return warning
    noise = "" if risks.setting.scale is None else " and the noise"
    is_more = lower_bound > risks.risks[-1].bracket[1]
    bound = f": against every adversary, δ is at least {at_least(lower_bound)}" if is_more else ""
    return (
        f"{warning} Asked about everybody and again about everybody but one, their difference is "
        f"that person{noise} alone{bound}."
    )


def _percent_at_most(chance: float) -> str:
    """Return a probability in percent, rounded up to two decimal places."""
    percentage = Decimal(f"{chance:.9f}") * 100
    return f"{percentage.quantize(Decimal('0.01'), ROUND_CEILING)} %"


def risks_json(risks: Risks) -> dict[str, Any]:
    """Return the risks as JSON; `usual_epsilon` is null if no ε up to 700 is known to have δ at most 1e-6."""
    setting = risks.setting
    size = setting.assumed.population.records
    return {
        **assumed_members(setting.assumed),
        "mechanism": "none" if isinstance(setting.noise, Exact) else setting.noise.name,
        "scale": None if setting.scale is None else exact_text(setting.scale),
        **members(setting, "sample", "known", "known_positives"),
        "epsilon": exact_text(risks.epsilon),
        "odds": odds_sentence(risks.epsilon),
        "utility_loss": risks.loss,
        "standard_error": risks.standard_error * size,
        "standard_error_share": risks.standard_error,
        "adversaries": [
            {
                "adversary": risk.adversary.name,
                "knows": risk.adversary.knows,
                **members(risk, "delta", "bracket"),
                "guess": risk.guess_probability,
                "usual_delta": _USUAL_DELTA,
                **members(risk, "usual_epsilon"),
                "meaning": _meaning_text(risk, risks, at_most(risk.delta)),
            }
            for risk in risks.risks
        ],
        "overlapping_delta": risks.overlapping,
        "beyond_worst": [risk.adversary.name for risk in risks.beyond_worst],
        "cautions": dict(cautions(risks)),
    }
