"""The edges of ranges as values of their column's kind."""

from math import inf, nextafter

from noisycount.release.question.grouping import Edges
from noisycount.release.question.schema import Kind

__all__ = ["edges_of"]


def edges_of(part: Edges) -> list[int] | list[float]:
    """The edges of a part: whole numbers, or doubles that part the same numbers."""
    if part.column.kind is Kind.INTEGER:
        return list(map(int, part.edges))
    return [_real(edge) for edge in part.edges]


def _real(edge: float) -> float:
    """The smallest double that is at least an edge, which may be a whole number between two."""
    nearest = float(edge)
    return nearest if nearest >= edge else nextafter(nearest, inf)
