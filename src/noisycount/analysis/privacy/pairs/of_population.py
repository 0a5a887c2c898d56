"""The pairs of laws between which an outsider has to tell, one for each kind of record."""

from noisycount.analysis.privacy.pairs.exchangeable import exchangeable_pair
from noisycount.analysis.privacy.pairs.independent import independent_pair, known_count_pair
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.exchangeable import ExchangeableNeighbours
from noisycount.model.populations.independent import IndependentNeighbours
from noisycount.model.populations.population import Neighbours, Population
from noisycount.model.subsampling import Subsample
from noisycount.model.validation import instance_of

__all__ = ["record_pairs"]


def record_pairs(mechanism: Mechanism, population: Population | None) -> list[Pair]:
    """The laws of what gets the noise, if one record is positive and if it is negative.

    Raises:
        ValueError: If the property is certain, or the population does not say what is needed.
    """
    sample_size = _sample_size(mechanism, population)
    if population is None:
        return [known_count_pair()]
    instance_of(population, Population, "population")
    pairs = [_pair(one, population.size, sample_size) for one in population.worst_neighbours()]
    return list(dict.fromkeys(pairs))


def _pair(neighbours: Neighbours, size: int, sample_size: int | None) -> Pair:
    """The laws for one kind of record."""
    match neighbours:
        case ExchangeableNeighbours():
            return exchangeable_pair(neighbours, size, sample_size)
        case IndependentNeighbours():
            return independent_pair(neighbours, size, sample_size)
    raise ValueError(
        "population must yield ExchangeableNeighbours or IndependentNeighbours, under which one "
        f"threshold parts the answers, got {neighbours!r}"
    )


def _sample_size(mechanism: Mechanism, population: Population | None) -> int | None:
    """How many records are drawn; None: all of them."""
    if not isinstance(mechanism, Subsample):
        return None
    if population is None:
        raise ValueError(
            "population must be given for Subsample, whose worst case depends on the number of "
            "records: use Known(size)"
        )
    if mechanism.sample_size > population.size:
        raise ValueError(
            f"sample_size must be at most the {population.size} records there are, "
            f"got {mechanism.sample_size}"
        )
    return None if mechanism.sample_size == population.size else mechanism.sample_size
