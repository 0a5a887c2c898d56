"""How much an answer tells of one record, to each of three adversaries."""

import math
from dataclasses import dataclass
from typing import Self

from noisycount.app.explore.hiding import deltas, is_affordable
from noisycount.app.explore.sliders import Sliders
from noisycount.app.risk.risk import float_above
from noisycount.app.risk.setting import Onlooker
from noisycount.model.mechanism import Mechanism

__all__ = ["FLOOR", "Leak", "Leaks"]

FLOOR = 1e-9
"""The smallest δ that is drawn."""

_HALVINGS = 5  # of the axis, until a curve is narrow enough to be drawn by itself
_BISECTIONS = 2
_SHARES = (0.0, 0.35, 0.7, 0.85, 0.95, 0.99)  # of the ε at which a curve leaves
_ASKED = 0.6  # of the axis, at most, is the ε for which δ is told
_MOST_VARIANCE = 100.0  # of a sampled count, in records²: a tenth of a second
_BEYOND = 1.1  # how far the axis goes beyond the longest curve
_GAUSSIAN_TAIL = 6.0  # standard deviations beyond which a normal tail is below the smallest δ


@dataclass(frozen=True, slots=True)
class Leak:
    """δ(ε) against one adversary.

    Attributes:
        onlooker: Who sees the answer.
        epsilons: Increasing, from 0 to where δ leaves the picture.
        deltas: δ at each; 0 is possible at the last.
        asked: δ at the ε for which it is told.
    """

    onlooker: Onlooker
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    asked: float


@dataclass(frozen=True, slots=True)
class Leaks:
    """δ(ε) against all adversaries.

    Attributes:
        sliders: Where all sliders stand.
        epsilon: A round ε for which δ is told, below that of the noise.
        end: The largest ε that is drawn.
        leaks: One for each adversary, the worst case first.
    """

    sliders: Sliders
    epsilon: float
    end: float
    leaks: tuple[Leak, ...]

    @classmethod
    def of(cls, sliders: Sliders) -> Self:
        """What each adversary can learn."""
        setting, reach = sliders.setting, _reach(sliders)
        shown = [
            each for each in setting.onlookers() if is_affordable(sliders, each, _MOST_VARIANCE)
        ]
        curves = [_curve(setting.mechanism, each, reach) for each in shown]
        end = max(epsilons[-1] for epsilons, _ in curves)
        asked = _round_below(_ASKED * end)
        told = [deltas(setting.mechanism, each.population, (asked,))[0] for each in shown]
        return cls(
            sliders, asked, _BEYOND * end, tuple(map(Leak, shown, *zip(*curves, strict=True), told))
        )

    @property
    def is_whole(self) -> bool:
        """Whether no adversary was left out, whose curve takes longer than a page may."""
        return len(self.leaks) == len(list(self.sliders.setting.onlookers()))


def _curve(
    mechanism: Mechanism, onlooker: Onlooker, end: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A curve from 0 on: first where it leaves the picture, then points that are denser there."""
    known = onlooker.population

    def at(*epsilons: float) -> dict[float, float]:
        return dict(zip(epsilons, deltas(mechanism, known, epsilons), strict=True))

    found = at(*(end / 2**power for power in reversed(range(_HALVINGS))))
    last = next((epsilon for epsilon in found if found[epsilon] < FLOOR), end)
    before = max((epsilon for epsilon in found if epsilon < last), default=0.0)
    for _ in range(_BISECTIONS):
        middle = (before + last) / 2
        found |= at(middle)
        before, last = (before, middle) if found[middle] < FLOOR else (middle, last)
    found |= at(*(last * share for share in _SHARES))
    shown = sorted(epsilon for epsilon in found if epsilon <= last)
    return tuple(shown), tuple(found[epsilon] for epsilon in shown)


def _reach(sliders: Sliders) -> float:
    """An ε beyond which whoever knows all other records learns hardly more."""
    scale = float(sliders.scale)
    if sliders.epsilon is not None:
        return float_above(sliders.epsilon)
    return _GAUSSIAN_TAIL / scale + 1 / (2 * scale**2)


def _round_below(number: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above a number."""
    power = math.floor(math.log10(number))
    rounds = (float(f"{leading}e{power}") for leading in (5, 2, 1))
    return next(found for found in rounds if found <= number)
