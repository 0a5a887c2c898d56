"""The laws of all counts: passes are repeated until rounding and windows do no harm."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.downward import Down, downward
from noisycount.analysis.tables.guesses import estimates, guesses
from noisycount.analysis.tables.model import Divisions, Model, Settings
from noisycount.analysis.tables.upward import Up, upward

__all__ = ["Solved", "first_settings", "solved"]

_ROUNDING = 5e-11  # total variation that transforms may have moved a law at a node
_MOVES = 1  # times that a target is moved before sums are of positive terms
_REPEATS = 12  # passes, of which two are usual


class Solved(NamedTuple):
    """What both passes tell.

    Attributes:
        up: The way up.
        down: The way down.
        settings: How they were computed.
    """

    up: Up
    down: Down
    settings: Settings


def first_settings(model: Model) -> Settings:
    """Those to begin with."""
    return Settings.start(guesses(model.tree, estimates(model.tree, model.levels)))


def solved(model: Model, divisions: Divisions, settings: Settings) -> Solved:
    """Both passes, until no window is too short and no transform moved a law.

    Raises:
        ValueError: If no table has the answers, or a law cannot be told exactly.
    """
    for repeat in range(_REPEATS):
        up = upward(model, settings, divisions)
        down = downward(model, settings, divisions, up)
        pairs = zip(down.rounding, down.short, strict=False)
        coarse = [(moved > _ROUNDING) | short for moved, short in pairs]
        found = Solved(up, down, replace(settings, tilts=up.tilts))
        if not any(map(np.any, (*coarse, *down.short))):
            return found
        settings = _mended(settings, down, coarse, is_late=repeat >= _MOVES)
    raise ArithmeticError(f"laws were not certain after {_REPEATS} passes")


def _mended(
    settings: Settings, down: Down, coarse: Sequence[NDArray[np.bool_]], *, is_late: bool
) -> Settings:
    """Settings with other targets where transforms moved laws, and wider windows."""
    targets = list(settings.targets)
    positive = list(settings.positive)
    for level, wrong in enumerate(coarse):
        targets[level] = np.where(wrong, down.summaries[level].mean, targets[level])
        positive[level] = positive[level] | (wrong & is_late)
    pairs = zip(settings.widened, down.short, strict=True)
    widened = tuple(np.where(short, 2 * wide + 1, wide) for wide, short in pairs)
    return Settings(tuple(targets), widened, tuple(positive))
