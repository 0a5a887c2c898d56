"""Answers as they were given, and whether a mechanism can give them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.below import Below
from noisycount.model.exact import Exact
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.shown.line import short

__all__ = ["Told", "impossible", "is_whole", "read"]

Flags = NDArray[np.bool_]

_LARGEST = 2.0**53  # records: beyond, a float is not every whole number
_WHOLE_LEVEL = -1  # the rank of what was told of a level at once


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Answers about different nodes of one level, without those that are nan.

    Attributes:
        level: Of the tree.
        nodes: Which they are about.
        answers: In records; of a suppressed one the threshold.
        suppressed: Which were below it.
        number: Of an answer among those of its node; 0 for a level.
        rank: The same over all that is said of the node, −1 for a level: equal ones differ in node.
    """

    level: int
    nodes: NDArray[np.int64]
    answers: Reals
    suppressed: Flags
    number: int = 0
    rank: int = _WHOLE_LEVEL

    @classmethod
    def of_level(cls, level: int, answers: Reals, suppressed: Flags) -> Self:
        """The answers about the nodes of a level."""
        nodes = np.flatnonzero(~np.isnan(answers))
        return cls(level, nodes, answers[nodes], suppressed[nodes])

    @classmethod
    def of_node(
        cls, place: tuple[int, int], number: int, rank: int, answer: float, *, suppressed: bool
    ) -> Self:
        """One of the answers about a node."""
        given = np.full(0 if np.isnan(answer) else 1, answer)
        nodes = np.full(given.size, place[1])
        return cls(place[0], nodes, given, np.full(given.size, suppressed), number, rank)


def read(values: Any, size: int, name: str) -> tuple[Reals, Flags]:  # noqa: ANN401  (arrays of every kind)
    """Answers as numbers, nan where there is none, and which of them are thresholds.

    Args:
        values: Numbers, `below`s, nan and None.
        size: How many there must be.
        name: Of the level or the node.

    Raises:
        ValueError: If there are not that many, or one is something else.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError(f"answers must be numbers, got {short(values)} of {name!r}") from None
    if array.shape != (size,):
        raise ValueError(
            f"answers must be {size} of {name!r}, one for each node, got shape {array.shape}: "
            "give nan where there is none"
        )
    suppressed = np.zeros(size, dtype=np.bool_)
    if array.dtype.kind == "O":
        suppressed = np.array([isinstance(one, Below) for one in array.tolist()])
        array = np.array([_number(one) for one in array.tolist()])
    elif array.dtype.kind not in "iuf":
        raise ValueError(f"answers must be numbers, got {array.dtype} of {name!r}")
    return array.astype(np.float64), suppressed


def is_whole(law: Mechanism) -> bool:
    """Whether a mechanism gives whole answers."""
    return isinstance(law, Exact) or (isinstance(law, SymmetricNoise) and law.is_discrete)


def impossible(answers: Reals, suppressed: Flags, law: Mechanism) -> tuple[int, str] | None:
    """The first answer that a mechanism cannot give, and what is wrong with it; None: all can be.

    Args:
        answers: In records; of a suppressed one the threshold.
        suppressed: Which are thresholds.
        law: The mechanism.
    """
    wrong = ~(np.abs(answers) <= _LARGEST)
    wanted = "a finite number"
    if is_whole(law):
        wanted = "an integer"
        wrong |= ~suppressed & (answers != np.floor(answers))
    if isinstance(law, Exact):
        wanted = "a whole number from 0"
        wrong |= np.where(suppressed, answers <= 0, answers < 0)
    if not wrong.any():
        return None
    place = int(np.argmax(wrong))
    told = f"below {answers[place]:g}" if suppressed[place] else repr(float(answers[place]))
    return place, f"{wanted} up to 2**53 under {short(law)}, got {told}"


def _number(value: object) -> float:
    """One answer as a number: the threshold of a suppressed one, nan of None."""
    if value is None:
        return np.nan
    if isinstance(value, Below):
        return value.threshold
    if isinstance(value, bool | str | bytes):
        raise ValueError(f"answers must be numbers, noisycount.below(t) or nan, got {value!r}")  # noqa: TRY004
    try:
        return float(value)  # type: ignore[arg-type]  # refused below
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"answers must be numbers, noisycount.below(t) or nan, got {value!r}"
        ) from None
