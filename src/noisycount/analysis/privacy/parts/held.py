"""How far one record can move answers about samples of all records, whatever each is about."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.privacy_curve import PrivacyCurve, privacy_curve
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial
from noisycount.model.subsampling import Subsample

__all__ = ["HeldSamples"]

_MOST_SETS = 256  # of samples that hold the record, equal samples alike
_ROUNDING = 1e-12  # of a sum of products of a few chances


@dataclass(frozen=True, eq=False)
class HeldSamples:
    """The divergences of counts in samples that do not know each other, of any properties.

    δ is at most Σ_B P[B]·W_B(ε): B is the set of samples that hold the record, W_B the worst case
    of their answers. It is at least that of each sample alone. Both directions are the larger one.

    Attributes:
        samples: The samples, each with its noise.
        size: The number of all records.
        rates: The rate of the property that each sample counts.
    """

    samples: tuple[Subsample, ...]
    size: int
    rates: tuple[float, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋ for each ε."""
        found: list[Bounded] = [
            Between.of_bounds(self._least(epsilon), self._most(epsilon)) for epsilon in epsilons
        ]
        return found, found

    def _least(self, epsilon: float) -> float:
        """The largest lower bound of one sample."""
        return max(curve.bracket(epsilon)[0] for curve in self._alone)

    def _most(self, epsilon: float) -> float:
        """The mean of the worst cases."""
        parts = [
            chance * (1.0 if curve is None else curve.bracket(epsilon)[1])
            for chance, curve in self._sets
        ]
        return min(1.0, math.fsum(parts) * (1 + _ROUNDING))

    @cached_property
    def _alone(self) -> list[PrivacyCurve]:
        """The curve of each sample by itself, of those with an uncertain property."""
        return [
            privacy_curve(one, Binomial(self.size, rate))
            for one, rate in zip(self.samples, self.rates, strict=True)
        ]

    @cached_property
    def _sets(self) -> list[tuple[float, PrivacyCurve | None]]:
        """How likely samples of some noises hold the record, and the worst case of their answers.

        None: an answer without noise gives the record away.
        """
        kinds = Counter(map(_kind, self.samples))
        ways = math.prod(number + 1 for number in kinds.values())
        if ways > _MOST_SETS:
            raise ValueError(
                f"mechanisms must be so few that at most {_MOST_SETS} sets of them differ, got "
                f"{ways}: use fewer samples, or equal ones"
            )
        return [
            (chance, _curve(held))
            for chance, held in _drawn(list(kinds.items()), self.size)
            if held
        ]


def _kind(sample: Subsample) -> tuple[int, SymmetricNoise | None]:
    """The size of a sample, and its noise; None where it has none."""
    return sample.sample_size, sample.noise if isinstance(sample.noise, SymmetricNoise) else None


def _drawn(
    kinds: Sequence[tuple[tuple[int, SymmetricNoise | None], int]], size: int
) -> Iterator[tuple[float, list[SymmetricNoise | None]]]:
    """How many samples of each kind hold a record, as their noises, and how likely that is."""
    for numbers in product(*(range(number + 1) for _, number in kinds)):
        chance, held = 1.0, list[SymmetricNoise | None]()
        for ((drawn, noise), number), holding in zip(kinds, numbers, strict=True):
            share = drawn / size
            chance *= math.comb(number, holding) * share**holding
            chance *= (1 - share) ** (number - holding)
            held += [noise] * holding
        yield chance, held


def _curve(held: Sequence[SymmetricNoise | None]) -> PrivacyCurve | None:
    """The worst case of answers with these noises; None where one has none."""
    noises = [noise for noise in held if noise is not None]
    return privacy_curve(noises, None) if len(noises) == len(held) else None
