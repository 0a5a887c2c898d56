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

__all__ = ["EXACT", "LEARNED", "Solved", "about", "first_settings", "shared", "solved"]

EXACT = 5e-11
"""Total variation that transforms may move a law at a node where the prior is stated."""

LEARNED = 1e-3
"""The same where it is learned: rare concentrations have laws of their own, far from the others."""

_MOVES = 1  # times that a target is moved before counts are shared among zones
_MOST_ZONES = 33
_REPEATS = 5  # passes, of which two are usual


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


def solved(model: Model, divisions: Divisions, settings: Settings, aim: float = EXACT) -> Solved:
    """Both passes, until no window is too short and no transform moved a law by more than aimed at.

    Where many passes do not reach that, what was reached is told in `down.rounding`.

    Args:
        model: The table.
        divisions: How counts divide.
        settings: Those to begin with.
        aim: Total variation that transforms may move a law at a node.

    Raises:
        ValueError: If no table has the answers.
    """
    for repeat in range(_REPEATS):
        up = upward(model, settings, divisions)
        down = downward(model, settings, divisions, up)
        found = Solved(up, down, replace(settings, tilts=up.tilts))
        coarse = _coarse(down, aim)
        if not any(map(np.any, (*coarse, down.short[-1]))):
            break
        settings = _mended(settings, down, coarse, is_shared=repeat >= _MOVES)
    return found


def _mended(
    settings: Settings, down: Down, coarse: Sequence[NDArray[np.bool_]], *, is_shared: bool
) -> Settings:
    """Settings with other targets, or zones, where transforms moved laws, and wider windows."""
    targets, spreads = list(settings.targets), list(settings.spreads)
    zones = list(settings.zones)
    for level, wrong in enumerate(coarse):
        told, own = down.summaries[level], zones[level]
        targets[level] = np.where(wrong, told.mean, targets[level])
        spreads[level] = np.where(wrong, np.maximum(told.std, 0.5), spreads[level])
        if is_shared:
            more = np.minimum(np.maximum(down.zones[level], 2 * own + 1), _MOST_ZONES)
            zones[level] = np.where(wrong, more, own)
    pairs = zip(settings.widened, down.short, strict=True)
    widened = tuple(np.where(short, 2 * wide + 1, wide) for wide, short in pairs)
    ends = settings.ends if settings.ends is None or not down.short[-1].any() else None
    return Settings(tuple(targets), tuple(spreads), tuple(zones), widened, ends)


def _coarse(down: Down, aim: float) -> list[NDArray[np.bool_]]:
    """Whether transforms moved the laws of nodes by more than aimed at, or cut them off."""
    pairs = zip(down.rounding, down.short, strict=False)
    return [(moved > aim) | short for moved, short in pairs]


def shared(settings: Settings, down: Down, aim: float) -> Settings:
    """Settings with zones where transforms moved laws by more than aimed at."""
    return _mended(settings, down, _coarse(down, aim), is_shared=True)


def about(settings: Settings, down: Down) -> Settings:
    """Settings about the laws that were found, in windows that end with them."""
    targets, spreads = (
        tuple(getattr(one, name) for one in down.summaries) for name in ("mean", "std")
    )
    ends = None if down.short[-1].any() else down.ends
    return replace(settings, targets=targets, spreads=spreads, ends=ends)
