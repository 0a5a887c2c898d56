"""Tables of persons who are in many groups, of which they are left in few."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from noisycount.model.tables.levels import Level
from noisycount.release.question.grouping import Edges, Part, Plain
from noisycount.release.question.keys import CellQuestion, KeyQuestion, KeySet
from noisycount.release.question.operands import Column
from noisycount.release.question.schema import Kind
from noisycount.release.sources.conformance.exercise import TableQuestion

__all__ = ["truncated_tables"]

_TOWN = Plain(Column("town", Kind.TEXT))
_AGE = Edges(Column("age", Kind.INTEGER), (0, 18, 65))
_LIMITS = (None, 1, 2, 3)
_SALTS = ("", "salt")


def truncated_tables(towns: Sequence[str]) -> Iterator[TableQuestion]:
    """Tables by town, by age, and by both: of listed keys and of hidden ones.

    Args:
        towns: Those that are listed.
    """
    for parts, most, salt in product([(_TOWN,), (_AGE,), (_TOWN, _AGE)], _LIMITS, _SALTS):
        yield KeyQuestion(parts, None, most, salt)
        keys = _listed(parts, towns)
        for has_other in (False, True):
            levels = _levels(len(keys) + has_other)
            yield CellQuestion(keys, None, levels, has_other, most, salt)


def _listed(parts: tuple[Part, ...], towns: Sequence[str]) -> KeySet:
    """Every combination of some towns and of some ages."""
    values = tuple(tuple(towns) if part is _TOWN else (0, 2) for part in parts)
    codes = [*product(*(range(len(each)) for each in values))]
    return KeySet(parts, values, np.array(codes, np.int32).reshape(-1, len(parts)))


def _levels(cells: int) -> tuple[Level, ...]:
    """The cells, every second one with its neighbour, and all of them."""
    places = np.arange(cells, dtype=np.int32)
    return (
        Level("cells", places, cells),
        Level("pairs", places // 2, (cells + 1) // 2),
        Level("total", places * 0, 1),
    )
