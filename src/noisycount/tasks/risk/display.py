"""What an answer reveals, in words that are true and as JSON."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from math import isfinite
from typing import Any

from noisycount.display.numbers import approximately, at_least, at_most, odds, odds_sentence, percent, signed
from noisycount.model.exact import Exact
from noisycount.tasks.refine.estimate import assumed_members
from noisycount.tasks.risk.risk import Risk, Risks, RiskScenario
from noisycount.validation import exact_text


def headline(risks: Risks) -> str:
    """The first number that differs between the adversaries; δ where none does."""
    columns = list(zip(*risk_rows(risks), strict=True))
    names = risk_header(risks)
    told = f"δ at ε = {approximately(risks.epsilon)}"
    titles = {2: told, 4: names[4], 3: "right guesses about one person"}
    place = next((place for place in titles if len(set(columns[place])) > 1), 2)
    numbers = zip(columns[0], columns[place], strict=True)
    return f"{titles[place]}: {', '.join(f'{number} {name}' for name, number in numbers)}"


def risk_facts(risks: Risks, source: str | None = None) -> list[tuple[str, str]]:
    """What differs, and what was asked; `source` is the answer that the noise is of, in words."""
    return [
        ("reveals", headline(risks)),
        *([("key", source)] if source else []),
        ("assumed", risks.setting.assumed.words),
        ("answer", answer_words(risks.setting)),
        ("error", _error(risks)),
        ("asked", f"δ at ε = {approximately(risks.epsilon)}"),
    ]


def answer_words(setting: RiskScenario) -> str:
    """How the count is answered."""
    counted = "the count"
    if setting.sample is not None:
        counted = f"the count among {signed(setting.sample)} records drawn at random"
    if isinstance(setting.noise, Exact) or setting.scale is None:
        return f"{counted}, without noise"
    return f"{counted}, with {setting.noise.name} noise of scale {exact_text(setting.scale)}"


def risk_header(risks: Risks) -> tuple[str, ...]:
    """The names of the columns."""
    return "adversary", "knows", "δ", "guess", f"ε at δ = {Decimal(str(risks.usual_delta)):e}"


def risk_rows(risks: Risks) -> list[tuple[str, ...]]:
    """One line an adversary, with cells as `risk_header` names them."""
    return [
        (
            risk.adversary.name,
            risk.adversary.knows,
            at_most(risk.delta),
            _percent_at_most(risk.guess),
            at_most(risk.usual_epsilon) if math.isfinite(risk.usual_epsilon) else "none",
        )
        for risk in risks.risks
    ]


def meanings(risks: Risks) -> list[tuple[str, str]]:
    """What ε and δ promise against each adversary."""
    return [(risk.adversary.name, _meaning(risk, risks, at_most(risk.delta))) for risk in risks.risks]


def shared_meanings(risks: Risks) -> list[tuple[str, str]]:
    """The same, once for all adversaries against whom it differs in δ alone."""
    alike: dict[str, list[Risk]] = {}
    for risk in risks.risks:
        alike.setdefault(_meaning(risk, risks, "δ (above)"), []).append(risk)
    if len(alike) == 1:
        return [("meaning", next(iter(alike)))]
    return [
        (_named(same, risks), sentence if len(same) > 1 else _meaning(same[0], risks, at_most(same[0].delta)))
        for sentence, same in alike.items()
    ]


def _named(some: Sequence[Risk], risks: Risks) -> str:
    """What some adversaries are called."""
    if len(some) > 1 and list(some) == list(risks.risks[1:]):
        return "both others"
    return ", ".join(risk.adversary.name for risk in some)


def cautions(risks: Risks) -> list[tuple[str, str]]:
    """What the figures mean, and what they do not promise."""
    guessing = (
        "how often the best guess about one person is right after the answer, 50:50 before; it is "
        "rounded up, as δ and ε are"
    )
    found = [("guess", guessing), ("holds for", _scope(risks))]
    if risks.beyond_worst:
        found.append(("dependence", _dependence(risks)))
    return [*found, ("two answers", _together(risks))]


def _meaning(risk: Risk, risks: Risks, delta: str) -> str:
    """What ε and δ promise against one adversary; δ as it is told.

    Answers that ε and δ hold apart can be made from one that tells the record with probability δ and keeps to the odds
    of ε otherwise, and from nothing else: Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy*
    (2015). That the odds leave those of ε with probability δ at most is not true.
    """
    sentence = odds_sentence(risks.epsilon)
    if risk.bracket[1] == 0:
        return sentence
    if risk.bracket[1] < 1:
        given_away = f"{sentence}, or the person is given away with probability {delta}"
        return f"{given_away}{_in_no_case(risk, risks)}"
    if isinstance(risks.setting.mechanism, Exact):
        return "learns everything: without noise, the known records leave this one as the rest"
    return "learns everything: the answer gives the person away"


def _in_no_case(risk: Risk, risks: Risks) -> str:
    """The odds that the noise alone keeps, where it has an ε and the adversary does not exceed it.

    Whoever knows less than the worst case sees a mixture of what that sees, and so has no more than its ε, if records
    are independent.
    """
    epsilon = risks.setting.noise_epsilon
    rate = risks.setting.assumed.rate
    is_mixture = risk is risks.risks[0] or rate is None or not rate.deviation
    bound = "more" if epsilon is None else odds(epsilon)
    if not is_mixture or bound.startswith("more"):
        return ""
    return f", and in no case does the guess become more than {bound}"


def _error(risks: Risks) -> str:
    """How far off the answer is."""
    if not risks.loss:
        return "none"
    share, size = risks.standard_error, risks.setting.assumed.population.records
    scaled = "" if risks.setting.sample is None else ", scaled up from the sample"
    return f"standard error {share * size:,.3g} records, {percent(Decimal(f'{share:.2e}'))} of the database{scaled}"


def _scope(risks: Risks) -> str:
    """Against whom the lines below the worst case hold."""
    assumed, known = risks.setting.assumed, risks.setting.known
    informed = ""
    if known is not None:
        theirs = "that record" if known == 1 else f"those {signed(known)} records"
        informed = f", “partly informed” only against one who knows {theirs} and no other"
    trusted = "the rates are" if assumed.rate is None else "the rate is"
    scope = (
        f"“distribution only” only against an adversary who knows no single record{informed}; "
        f"below the worst case, only if {trusted} right"
    )
    independent = assumed.rate is None or not assumed.rate.deviation
    return f"{scope}. Treat whoever may know more as the worst case." if independent else f"{scope}."


def _dependence(risks: Risks) -> str:
    """Why somebody outside can learn more than the worst case."""
    names = " and ".join(f"“{risk.adversary.name}”" for risk in risks.beyond_worst)
    return (
        f"δ of {names} exceeds that of the worst case, and rightly so: as the rate is uncertain, "
        "one person who counts makes it likelier that others count, and the answer shows them "
        "all. The worst case changes one record and no other."
    )


def _together(risks: Risks) -> str:
    """What several answers about one database do."""
    others = " or ".join(f"“{risk.adversary.name}”" for risk in risks.risks[1:])
    shared = (
        f"share the randomness of one database, so δ of {others} must not be added up over them; "
        "ε and δ of the worst case may."
    )
    least = risks.overlapping
    if least is None:
        return shared
    noise = "" if risks.setting.scale is None else " and the noise"
    is_more = least > risks.risks[-1].bracket[1]
    bound = f": against every adversary, δ is at least {at_least(least)}" if is_more else ""
    return (
        f"{shared} Asked about everybody and again about everybody but one, their difference is "
        f"that person{noise} alone{bound}."
    )


def _percent_at_most(chance: float) -> str:
    """A chance in percent, rounded up to two decimals."""
    told = Decimal(f"{chance:.9f}") * 100
    return f"{told.quantize(Decimal('0.01'), ROUND_CEILING)} %"


def risks_object(risks: Risks) -> dict[str, Any]:
    """What an answer reveals to each adversary; an ε that no answer has is null."""
    setting = risks.setting
    size = setting.assumed.population.records
    return {
        **assumed_members(setting.assumed),
        "mechanism": "none" if isinstance(setting.noise, Exact) else setting.noise.name,
        "scale": None if setting.scale is None else exact_text(setting.scale),
        "sample": setting.sample,
        "known": setting.known,
        "known_positives": setting.known_positives,
        "epsilon": exact_text(risks.epsilon),
        "odds": odds_sentence(risks.epsilon),
        "utility_loss": risks.loss,
        "standard_error": risks.standard_error * size,
        "standard_error_share": risks.standard_error,
        "adversaries": [
            {
                "adversary": risk.adversary.name,
                "knows": risk.adversary.knows,
                "delta": risk.delta,
                "bracket": list(risk.bracket),
                "guess": risk.guess,
                "usual_delta": risks.usual_delta,
                "usual_epsilon": risk.usual_epsilon if isfinite(risk.usual_epsilon) else None,
                "meaning": meaning,
            }
            for risk, (_, meaning) in zip(risks.risks, meanings(risks), strict=True)
        ],
        "overlapping_delta": risks.overlapping,
        "beyond_worst": [risk.adversary.name for risk in risks.beyond_worst],
        "cautions": dict(cautions(risks)),
    }
