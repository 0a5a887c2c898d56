"""Groups of answers about one count whose curves can be had."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from noisycount.analysis.privacy.certified import Bounded
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.repeated.gaussian import GaussianAnswers
from noisycount.analysis.privacy.repeated.geometric import GeometricAnswers
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.noises.laplace import Laplace

__all__ = ["Answers", "groups"]


class Answers(Protocol):
    """Answers about one count."""

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """δ in one direction, for each pair of laws and each ε in rising order."""
        ...


@dataclass(frozen=True, slots=True)
class SingleAnswer:
    """One answer.

    Attributes:
        noise: Its noise.
    """

    noise: SymmetricNoise

    def hockey_sticks(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[list[Bounded]]:
        """δ in one direction, for each pair of laws and each ε."""
        return [list(hockey_sticks(pair, self.noise.errors, epsilons)) for pair in pairs]


def _alike(noises: Sequence[SymmetricNoise]) -> list[list[SymmetricNoise]]:
    """The noises by kind, and by scale where that is needed to have their answers together."""
    found: dict[object, list[SymmetricNoise]] = {}
    for place, noise in enumerate(noises):
        match noise:
            case DiscreteGaussian():
                kind: object = DiscreteGaussian
            case Laplace() | DiscreteLaplace():
                kind = type(noise), noise.exact_scale
            case _:
                kind = place
        found.setdefault(kind, []).append(noise)
    return list(found.values())


def groups(noises: Sequence[SymmetricNoise]) -> tuple[list[Answers], Answers | None]:
    """Answers that tell less than all together do; and what all together tell, if it can be had.

    Leaving out answers tells less. Laplace noise, and discrete Laplace noise, of a larger scale is
    that of a smaller one and an independent rest: so many answers of the largest of some scales
    tell less than those.

    Args:
        noises: That of each answer.
    """
    kinds = _alike(noises)
    fewer = [answers for kind in kinds for answers in _together(kind)]
    if len(kinds) == len(fewer) == 1:
        return fewer, fewer[0]
    laplace = _of_rising_scales(noises)
    return [*fewer, *(_geometric(noise, place) for place, noise in enumerate(laplace, 1))], None


def _together(alike: Sequence[SymmetricNoise]) -> list[Answers]:
    """The answers with noises of one kind: together, or one by one."""
    first = alike[0]
    if isinstance(first, Laplace | DiscreteLaplace):
        return [_geometric(first, len(alike))]
    discrete = [one for one in alike if isinstance(one, DiscreteGaussian)]
    if len(discrete) == len(alike) > 1:
        together = GaussianAnswers.of(discrete)
        if together.is_within_reach:
            return [together]
    return [SingleAnswer(one) for one in alike]


def _geometric(noise: Laplace | DiscreteLaplace, answers: int) -> Answers:
    """So many answers with noise of that scale."""
    if answers == 1:
        return SingleAnswer(noise)
    return GeometricAnswers(answers, float(noise.scale), noise.is_discrete)


def _of_rising_scales(noises: Sequence[SymmetricNoise]) -> list[Laplace | DiscreteLaplace]:
    """The Laplace noises, or the discrete ones if there are more of them, from narrow to wide."""
    laplace = [one for one in noises if isinstance(one, Laplace)]
    discrete = [one for one in noises if isinstance(one, DiscreteLaplace)]
    found: Sequence[Laplace | DiscreteLaplace] = max(laplace, discrete, key=len)
    return sorted(found, key=lambda one: one.exact_scale)
