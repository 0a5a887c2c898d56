"""A warning where an answer contradicts what was assumed, with an assumption that would not."""

import math
from collections.abc import Iterator

from noisycount.analysis.posterior.predictive import contradiction
from noisycount.app.refine.assumption import Assumed, Rate
from noisycount.app.refine.estimate import Refinement

__all__ = ["warning"]

_UNSURPRISING = 0.05


def warning(refinement: Refinement) -> str | None:
    """What is odd about the answers, with numbers and a remedy; None where nothing is.

    Example:
        >>> from noisycount.model.noises.discrete_laplace import DiscreteLaplace
        >>> assumed = Assumed.of_rate(5912, Rate(0.017))
        >>> warning(Refinement.of([107], assumed, DiscreteLaplace(7))) is None
        True
        >>> odd = warning(Refinement.of([200], assumed, DiscreteLaplace(7)))
        >>> odd.partition(": ")[2]
        'check the rate, or say how uncertain it is, such as --rate 1.7%±0.7%'
    """
    surprise, assumed = refinement.told.surprise, refinement.assumed
    rate, mean = assumed.rate, assumed.population.law().mean
    known = "if the rates hold" if rate is None else f"if the rate is {rate}"
    if assumed.is_flat:
        known = "if all counts are as likely"
    odd = contradiction(surprise, mean, len(refinement.answers), known)
    return None if odd is None else f"{odd}: {_remedy(refinement)}"


def _remedy(refinement: Refinement) -> str:
    """What to check, and a rate that is uncertain enough if there is one."""
    rate = refinement.assumed.rate
    if refinement.assumed.is_flat:
        return "check the size and the noise"
    if rate is None:
        return "check the sizes and rates of the groups"
    wider = _wider(refinement, rate)
    if wider is None:
        return "check the rate, the size and the noise"
    how = "how much more uncertain it is" if rate.deviation else "how uncertain it is"
    return f"check the rate, or say {how}, such as --rate {wider.typed}"


def _wider(refinement: Refinement, rate: Rate) -> Rate | None:
    """The rate with the smallest one-digit deviation under which the answers do not surprise."""
    size = refinement.assumed.population.records
    miss = max(abs(answer / size - rate.mean) for answer in refinement.answers)
    for deviation in _deviations(rate, miss / 4):
        assumed = Assumed.of_rate(size, Rate(rate.mean, deviation))
        told = Refinement.of(refinement.answers, assumed, refinement.noises).told
        if told.surprise >= _UNSURPRISING:
            return assumed.rate
    return None


def _deviations(rate: Rate, least: float) -> Iterator[float]:
    """The deviations of one digit, from a power of ten below `least`, wider than the rate's."""
    largest = math.sqrt(rate.mean * (1 - rate.mean))
    for exponent in range(math.floor(math.log10(least)), 0):
        for digit in range(1, 10):
            deviation = float(f"{digit}e{exponent}")
            if rate.deviation < deviation < largest:
                yield deviation
