"""The groups of records that a list of questions can tell apart, large ones and small ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from noisycount.analysis.privacy.cells.cell import Cell
from noisycount.analysis.privacy.cells.table import TableAnswers
from noisycount.analysis.privacy.falling import Falling
from noisycount.model.atoms.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.populations.binomial import Binomial

__all__ = ["Groups"]

_DEPTH = 34.0  # nepers: a number of records farther off has a probability below 1e-14

Pattern = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of records, of which the small ones are known to the outsider.

    Attributes:
        size: The number of all records.
        large: The rate of each group that is expected to hold enough records.
        given: The probability that a record is in a small group.
    """

    size: int
    large: dict[Pattern, float]
    given: float

    @classmethod
    def of(cls, population: Atoms, questions: Sequence[Question], least: float) -> "Groups":
        """The groups of some questions, the small ones expected to hold fewer than `least`."""
        patterns = population.patterns(questions)
        large = {
            pattern: rate for pattern, rate in patterns.items() if population.size * rate >= least
        }
        given = math.fsum(rate for pattern, rate in patterns.items() if pattern not in large)
        return cls(population.size, large, min(1.0, given))

    def unknown(self) -> tuple[int, float]:
        """The least number of records that the outsider does not know, and how often it is less."""
        if self.given == 0:
            return self.size, 0.0
        known = Binomial(self.size - 1, self.given).deep_law()
        most = min(float(known.support[1]), math.ceil(known.reach(_DEPTH)[1]))
        chance = 0.0 if most == known.support[1] else math.exp(known.log_tail_bound(most + 1))
        return self.size - int(most), min(1.0, chance)

    def population(self, size: int) -> tuple[Atoms, tuple[Question, ...]]:
        """So many records of the large groups, and what the questions are about them."""
        patterns = list(self.large)
        total = math.fsum(self.large.values())
        known = Atoms(size, [self.large[pattern] / total for pattern in patterns])
        columns = zip(*patterns, strict=True)
        return known, tuple(
            frozenset(atom for atom, holds in enumerate(column) if holds) for column in columns
        )

    def ceiling(self, epsilons: list[float]) -> list[float]:
        """δ of the exact counts of all large groups, above that of whatever is made from them."""
        if len(self.large) < 2:  # noqa: PLR2004  (one group is no choice)
            return [0.0] * len(epsilons)
        size, chance = self.unknown()
        rates = self.population(size)[0].rates
        table = TableAnswers(size, tuple(Cell(rate, Exact()) for rate in rates))
        return [min(1.0, one.upper + chance) for one in Falling(table).directions(epsilons)[0]]
