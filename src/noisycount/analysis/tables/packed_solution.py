"""What a table's counts are where noise is so wide that they are told in packs of records."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.analysis.tables.model import Model
from noisycount.analysis.tables.passes import Summary
from noisycount.analysis.tables.prior import CellLevel, PriorLevel
from noisycount.analysis.tables.tree_solution import TreeSolution
from noisycount.analysis.tables.wide_laws import lattice_law, stride_within
from noisycount.frozen import frozen
from noisycount.model.laws.smooth_law import SmoothLaw
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.tables.cells import CellLaw

__all__ = ["PackedSolution", "pack_size", "packed_answers", "packed_law"]

_PACKS, _FEWEST = 512, 32  # in the scale of the narrowest noise: of all cells, and at least


def pack_size(answers: Sequence[LevelAnswers], cells: int) -> int:
    """How many records a pack has: 1, or a small part of the scale of the narrowest noise.

    That is 1/128 for a table of four cells or fewer, 1/32 for one of 16 or more.
    """
    parts = min(max(_PACKS / max(cells, _FEW), _FEWEST), _PACKS)
    return stride_within(min((one.spread for one in answers), default=0.0) / parts)


_FEW = 4  # cells


def packed_answers(answers: Sequence[LevelAnswers], size: int) -> list[LevelAnswers]:
    """Noisy answers in packs; noise so wide is as good as continuous."""
    found = []
    for one in answers:
        values = one.answers
        if getattr(one.mechanism, "is_discrete", False):
            values = np.where(one.suppressed, np.ceil(values) - 0.5, values)
        packed = _packed(one.mechanism, size)
        found.append(LevelAnswers(one.level, one.nodes, values / size, one.suppressed, packed))
    return found


def _packed(mechanism: Mechanism, size: int) -> Mechanism:
    """Noise in packs."""
    if isinstance(mechanism, NoiseSum):
        return NoiseSum([_packed(noise, size) for noise in mechanism.noises])
    if isinstance(mechanism, Laplace | DiscreteLaplace):
        return Laplace(float(mechanism.scale) / size)
    if isinstance(mechanism, Gaussian | DiscreteGaussian):
        return Gaussian(float(mechanism.scale) / size)
    raise TypeError(f"noise must be known to be told in packs, got {mechanism!r}")


def packed_law(law: CellLaw, size: int) -> CellLaw:
    """The law of a cell's packs."""
    return CellLaw(law.zero, law.means / size, law.weights)


@frozen(eq=False)
class PackedSolution:
    """The laws of all counts of a tree, each a whole number of packs.

    A learned prior divides packs as it would records: by chance alone a child of a count k has a
    variance of size·k/4 at most, not of k/4. For a concentration A of all children that is at
    most A·size²/16 more than it would be.

    Attributes:
        packed: The laws in packs.
        told: The answers in records.
        size: The records of a pack.
    """

    packed: TreeSolution
    told: tuple[LevelAnswers, ...]
    size: int

    @property
    def model(self) -> Model:
        """The table in packs."""
        return self.packed.model

    @property
    def rounding(self) -> float:
        """That of the laws in packs."""
        return self.packed.rounding

    @property
    def evidence(self) -> float:
        """The logarithm of the probability, or the density, of the answers in records."""
        numbers = sum(int((~one.suppressed).sum()) for one in self.told)
        levels: tuple[PriorLevel, ...] = self.packed.levels
        is_open = not any(isinstance(level, CellLevel) for level in levels)
        return self.packed.evidence + (is_open - numbers) * math.log(self.size)

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level, from 0, that of the root."""
        return tuple(one for one in self.told if one.level == level)

    def summary(self, level: int) -> Summary:
        """The estimates of a level; quantiles are whole packs."""
        own, size = self.packed.summary(level), self.size
        return Summary(
            own.mean * size, own.std * size, own.median * size, own.low * size, own.high * size
        )

    def law(self, level: int, position: int) -> SmoothLaw:
        """The law of a node's count, with lines between packs."""
        law = self.packed.law(level, position)
        return lattice_law(law.first, np.exp(law.log_probabilities), self.size)

    def sum_law(self, is_in: NDArray[np.bool_]) -> SmoothLaw:
        """The law of the sum of some cells, but not all."""
        law = self.packed.sum_law(is_in)
        return lattice_law(law.first, np.exp(law.log_probabilities), self.size)

    def draws(self, number: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Tables of counts of the cells, shape (number, cells)."""
        return self.packed.draws(number, random) * self.size
