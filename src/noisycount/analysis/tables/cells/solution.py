"""What the cells of a table are, where they are independent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.cells.estimates import CellEstimates
from noisycount.analysis.tables.cells.independent import IndependentCells
from noisycount.analysis.tables.downward import NodeLaw, table_law
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.analysis.tables.summary import Summary
from noisycount.analysis.tables.sums.characteristic import Complexes, law_by_characteristic
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.table_law import TableLaw
from noisycount.model.tables.cell_law import CellLaw

__all__ = ["CellSolution"]


@dataclass(frozen=True, slots=True, eq=False)
class CellSolution:
    """The laws of independent cells.

    Attributes:
        cells: The cells and their answers.
        estimates: What is told of each.
    """

    cells: IndependentCells
    estimates: CellEstimates

    @classmethod
    def of(cls, number: int, law: CellLaw, answers: Sequence[LevelAnswers]) -> Self:
        """That of so many cells."""
        cells = IndependentCells(number, law, answers)
        return cls(cells, cells.estimates())

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the answers."""
        return float(self.estimates.log_evidence.sum())

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level; about the sum of all cells nothing was."""
        return tuple(self.cells.answers) if level else ()

    @property
    def rounding(self) -> float:
        """None: only positive terms are added up."""
        return 0.0

    def summary(self, level: int) -> Summary:
        """The estimates of a level."""
        if level:
            return Summary(*self.estimates[:5])
        law = self.law(0, 0)
        ends = law.quantile(0.5), law.quantile(0.025), law.quantile(0.975)
        return Summary(
            np.array([law.mean]), np.array([law.deviation]), *(np.array([end]) for end in ends)
        )

    def law(self, level: int, position: int) -> TableLaw:
        """The law of a cell, or of the sum of all."""
        if level:
            return self.cells.law_of(position)
        return self.sum_law(np.ones(self.cells.cells, dtype=np.bool_))

    def sum_law(self, is_in: NDArray[np.bool_]) -> TableLaw:
        """The law of the sum of some cells.

        Args:
            is_in: Which, shape (cells,).
        """
        kinds = list(self.cells.laws_of(is_in))
        centre = round(float(self.estimates.mean[is_in].sum()))
        deviation = float(np.sqrt((self.estimates.std[is_in] ** 2).sum()))

        def characteristic(angles: Reals) -> Complexes:
            logs = np.zeros(angles.size, dtype=np.complex128)
            for number, law in kinds:
                places = law.first + np.arange(law.log_weights.size) - law.mean
                chances = np.exp(law.log_probabilities)
                logs += number * np.log(np.exp(1j * angles[:, None] * places) @ chances)
                logs += 1j * angles * number * law.mean
            return np.exp(logs - 1j * angles * centre)

        least, most = (sum(number * law.support[end] for number, law in kinds) for end in (0, 1))
        reach = least - centre, most - centre
        mean = float(self.estimates.mean[is_in].sum()) - centre
        low, law = law_by_characteristic(characteristic, mean, deviation, reach)
        return table_law(NodeLaw(centre + low, law))

    def draws(self, number: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Tables of counts of the cells, shape (number, cells)."""
        return self.cells.draws(number, random)
