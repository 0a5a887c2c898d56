"""δ of an answer against adversaries, remembered: most sliders leave most of them as they are."""

from functools import lru_cache

from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.app.explore.sliders import Sliders
from noisycount.app.risk.setting import Onlooker
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.population import Population

__all__ = ["deltas", "is_affordable"]

_CURVES, _DELTAS = 256, 4096  # remembered


def is_affordable(sliders: Sliders, onlooker: Onlooker, most: float) -> bool:
    """Whether what an adversary learns can be computed while somebody waits.

    To sample among known and unknown records is to mix many laws, the more the wider the count.

    Args:
        sliders: Where all sliders stand.
        onlooker: The adversary.
        most: The largest variance of the count for which it can, in records².
    """
    is_mixed = sliders.is_sampled and onlooker.name == "partly informed"
    return not is_mixed or sliders.population.law().variance <= most


@lru_cache(_DELTAS)
def deltas(
    mechanism: Mechanism, population: Population | None, epsilons: tuple[float, ...]
) -> tuple[float, ...]:
    """δ at each ε, as `privacy_curve(mechanism, population).delta(epsilons)` gives it.

    Args:
        mechanism: How answers are made.
        population: What the adversary knows.
        epsilons: At least 0, in any order.
    """
    found: list[float] = _curve(mechanism, population).delta(epsilons).tolist()
    return tuple(found)


@lru_cache(_CURVES)
def _curve(mechanism: Mechanism, population: Population | None) -> PrivacyCurve:
    return privacy_curve(mechanism, population)
