"""The pairs of laws between which an outsider has to tell, one for each kind of record."""

from fractions import Fraction

import numpy as np

from noisycount.analysis.privacy.pairs.exchangeable import (
    count_pair,
    known_count_pair,
    known_sample_pair,
    sample_pair,
)
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.pairs.tables import sampled_pair, stratum_pair
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.exchangeable import BetaBinomial, Binomial, Known
from noisycount.model.populations.population import Informed, Population
from noisycount.model.populations.strata import Strata
from noisycount.model.populations.tabulated import Tabulated
from noisycount.model.subsampling import Subsample

__all__ = ["record_pairs"]

_RAREST = 1e-250  # ratios of rarer ones overflow


def record_pairs(mechanism: Mechanism, population: Population | None) -> list[Pair]:
    """The laws of what gets the noise, if one record is positive and if it is negative.

    Raises:
        ValueError: If the property is certain, or the population does not say what is needed.
    """
    sample_size = _sample_size(mechanism, population)
    if population is None:
        return [known_count_pair()]
    rest = population.rest if isinstance(population, Informed) else population
    if isinstance(rest, Known):
        return _known_pairs(rest, sample_size)
    if isinstance(rest, Strata):
        return _stratum_pairs(rest, population, sample_size)
    if not isinstance(rest, Binomial | BetaBinomial | Tabulated):
        raise ValueError(  # noqa: TRY004  (a bad value of an argument, as everywhere in analysis)
            f"population must be one of noisycount's populations or None, got {population!r}"
        )
    _refuse_certain(rest)
    if sample_size is not None and population is rest and not isinstance(rest, Tabulated):
        return [sample_pair(rest, sample_size)[0]]
    pair, centre = count_pair(rest)
    if sample_size is None:
        return [pair]
    known = population.positives if isinstance(population, Informed) else 0
    return [sampled_pair(pair, centre + known, population.records, sample_size)]


def _sample_size(mechanism: Mechanism, population: Population | None) -> int | None:
    """How many records are drawn; None: all of them."""
    if not isinstance(mechanism, Subsample):
        return None
    if population is None:
        raise ValueError(
            "population must be given for Subsample, whose worst case depends on the number of "
            "records: use Known(size)"
        )
    if mechanism.sample_size > population.records:
        raise ValueError(
            f"sample_size must be at most the {population.records} records there are, "
            f"got {mechanism.sample_size}"
        )
    return None if mechanism.sample_size == population.records else mechanism.sample_size


def _known_pairs(population: Known, sample_size: int | None) -> list[Pair]:
    """The worst counts of the other records are none and all: there a sample hides least.

    By advanced joint convexity no count has a δ(ε) above λ·δ(ln(1 + (e^ε − 1)/λ)) of the noise
    alone, λ the share that is drawn; δ₊ reaches it where no other record is positive and δ₋ where
    all are.
    """
    if sample_size is None:
        return [known_count_pair()]
    size = population.size
    counts = {0, size - 1} if population.count is None else {population.count}
    return [known_sample_pair(size, count, sample_size) for count in sorted(counts)]


def _stratum_pairs(rest: Strata, population: Population, sample_size: int | None) -> list[Pair]:
    """A pair for each different rate; certain records have no neighbours and are as if known."""
    pairs: list[Pair] = []
    rates = rest.rates[(rest.sizes > 0) & (rest.rates > 0) & (rest.rates < 1)]
    if not rates.size:
        raise ValueError(
            "rates must lie between 0 and 1 in a stratum that has unknown records, got "
            f"{rest.rates.tolist()[:5]}: a certain property has no neighbours"
        )
    known = population.positives if isinstance(population, Informed) else 0
    for rate in np.unique(rates):
        group = int(np.flatnonzero((rest.rates == rate) & (rest.sizes > 0))[0])
        others = rest.sizes.copy()
        others[group] -= 1
        pair, centre = stratum_pair(Strata(others, rest.rates))
        if sample_size is None:
            pairs.append(pair)
        else:
            pairs.append(sampled_pair(pair, centre + known, population.records, sample_size))
    return pairs


def _refuse_certain(rest: Binomial | BetaBinomial | Tabulated) -> None:
    """A property that is certain, or no unknown record."""
    if rest.size == 0:
        raise ValueError("population must leave at least one record unknown, got none")
    shares = _shares(rest)
    if not min(shares) > 0:
        raise ValueError(
            f"population must leave the property uncertain, got {rest!r}: "
            "a certain property has no neighbours"
        )
    if min(shares) < _RAREST and not isinstance(rest, Binomial):
        raise ValueError(
            f"population must expect a share of at least {_RAREST} of positive and of negative "
            f"records, got {min(shares)!r}: use Binomial for rarer ones"
        )


def _shares(rest: Binomial | BetaBinomial | Tabulated) -> tuple[float, float]:
    """The expected shares of positive and of negative records, each to full relative precision."""
    if isinstance(rest, Binomial):
        return rest.rate, 1 - rest.rate
    if isinstance(rest, BetaBinomial):
        both = Fraction(rest.alpha) + Fraction(rest.beta)
        return float(rest.alpha / both), float(rest.beta / both)
    chances = np.exp(rest.log_probabilities)
    counts = np.arange(chances.size, dtype=np.float64) / rest.size
    return float(chances @ counts), float(chances @ counts[::-1])
