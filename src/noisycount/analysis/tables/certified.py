"""The laws of all counts: passes are repeated until rounding and windows do no harm."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.count_bounds import Bounds
from noisycount.analysis.tables.downward import Down, downward
from noisycount.analysis.tables.guesses import estimates, guesses
from noisycount.analysis.tables.model import Divisions, Model, Settings
from noisycount.analysis.tables.upward import Up, upward
from noisycount.analysis.tables.windows import cell_windows

__all__ = ["EXACT", "LEARNED", "Solved", "about", "first_settings", "shared", "solved"]

EXACT = 5e-11
"""Total variation that transforms may move a law at a node where the prior is stated."""

LEARNED = 1e-3
"""The same where it is learned: rare concentrations have laws of their own, far from the others."""

_MOVES = 1  # times that a target is moved before counts are shared among zones
_MOST_ZONES = 33
_REPEATS = 5  # passes, of which two are usual
_MOST_REPEATS = 20  # the same where answers contradict each other, so that targets begin far away
_GROSS = 1e-3  # total variation: with more than that a law is not known yet


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
    """Those to begin with, in windows of the cells that leave each count what it can be.

    Raises:
        ValueError: If a count may be one of too many.
    """
    if model.likeliest is None:
        targets = guesses(model.tree, estimates(model.tree, model.levels))
    else:
        targets = [counts.astype(np.float64) for counts in model.likeliest]
    start = Settings.start(targets)
    while True:
        apart = _apart(model, cell_windows(model, start))
        if not apart.any():
            return start
        cells = np.where(apart, 2 * start.widened[-1] + 1, start.widened[-1])
        start = replace(start, widened=(*start.widened[:-1], cells))


def _apart(model: Model, cells: Bounds) -> NDArray[np.bool_]:
    """Which cells have windows that do not add up to what a count above them can be."""
    tree, apart = model.tree, np.zeros(model.tree.cells, np.bool_)
    for places, own in zip(tree.levels[:-1], model.levels[:-1], strict=True):
        least, most = np.zeros(own.bounds.low.size, np.int64), np.zeros_like(own.bounds.low)
        np.add.at(least, places, cells.low)
        np.add.at(most, places, cells.high)
        apart |= ((least > own.bounds.high) | (most < own.bounds.low))[places]
    return apart & model.levels[-1].is_answered


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
    for repeat in range(_MOST_REPEATS):
        up = upward(model, settings, divisions)
        down = downward(model, settings, divisions, up)
        found = Solved(up, down, replace(settings, tilts=up.tilts))
        coarse, is_shared = _coarse(down, aim), repeat >= _MOVES
        is_late = repeat + 1 >= _REPEATS and not _is_cut(down)
        if is_late or not any(map(np.any, (*coarse, down.short[-1]))):
            found = _bounded(model, divisions, found) if aim == EXACT else found
            coarse, is_shared = [moved > aim for moved in found.down.rounding], True
            worst = max(float(moved.max()) for moved in found.down.rounding)
            is_over = is_late and (worst <= _GROSS or aim > EXACT)
            if is_over or not any(map(np.any, coarse)):
                break
        settings = _mended(settings, down, coarse, is_shared=is_shared)
    return found


def _bounded(model: Model, divisions: Divisions, found: Solved) -> Solved:
    """The same with bounds of what transforms moved and left out at each node.

    Where upper bounds stand for what was left out all weights of tables are at least the true ones,
    so that the share of tables with such a count is at least what the laws lack.
    """
    settings = replace(found.settings, is_bounded=True)
    above = upward(model, settings, divisions)
    rounding = downward(model, settings, divisions, above).rounding
    return found._replace(down=replace(found.down, rounding=rounding))


def _is_cut(down: Down) -> bool:
    """Whether a law goes on beyond its window, and all sums are exact enough to show that."""
    is_exact = not any(moved.any() for moved in down.rounding)
    return is_exact and any(map(np.any, down.short))


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
