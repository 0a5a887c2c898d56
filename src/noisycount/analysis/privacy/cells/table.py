"""δ of a table of disjoint cells: a record moves from one cell to another."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from noisycount.analysis.privacy.cells.cell import Cell, Move
from noisycount.analysis.privacy.cells.seen_answers import counted_bounds, seen_least
from noisycount.analysis.privacy.cells.told_total import told_least, told_most
from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.model.exact import Exact

__all__ = ["TableAnswers", "worst_moves"]


@dataclass(frozen=True, slots=True, eq=False)
class TableAnswers:
    """The divergences of answers about disjoint cells that hold all records.

    Without noise the bracket is that of rounding; with noise its upper end is of an outsider who
    is told how many records the two cells hold together, its lower end of one who sees only the
    answers about the two.

    Attributes:
        size: The number of all records.
        cells: The cells, whose rates add up to 1; at most one is not asked for.
    """

    size: int
    cells: tuple[Cell, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋ for each ε: the same, as a record may move either way."""
        found = [_bounds(move, epsilons) for move in worst_moves(self.size, self.cells)]
        largest: list[Bounded] = [
            Between.of_bounds(max(low for low, _ in at_one), max(high for _, high in at_one))
            for at_one in zip(*found, strict=True)
        ]
        return largest, largest


def worst_moves(size: int, cells: Sequence[Cell]) -> Iterator[Move]:
    """Moves among which is the one that shows most: between the rarest cells of each mechanism."""
    kinds = defaultdict(list)
    for cell in cells:
        kinds[cell.mechanism].append(cell)
    rarest = [
        cell for kind in kinds.values() for cell in sorted(kind, key=lambda cell: cell.rate)[:2]
    ]
    for first, second in combinations(rarest, 2):
        move = Move(size, first, second)
        yield move
        if first != second:
            yield move.mirrored


def _bounds(move: Move, epsilons: list[float]) -> list[tuple[float, float]]:
    """Below and above δ₊ of one move."""
    most = told_most(move, epsilons)
    if not all(isinstance(cell.mechanism, Exact) for cell in (move.first, move.second)):
        return list(zip(seen_least(move, epsilons), most, strict=True))
    least, counted = told_least(move, epsilons), counted_bounds(move, epsilons)
    return [
        (max(low, counted_low), min(high, counted_high))
        for low, high, (counted_low, counted_high) in zip(least, most, counted, strict=True)
    ]
