"""A standing search: settings of every public function, drawn at random, corners first.

A setting is a line of Python that can be pasted, with a judge of its value. What the line gives is
compared with a reference that shares no code with it, mostly sums in balls that prove their own
digits. A refusal must be a ValueError or a NoisyCountError in one line that names what it refuses;
anything else that is raised, warnings of numbers included, is foreign.
"""

import math
import random
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType

import numpy as np
from flint import arb, ctx

import noisycount as nc

__all__ = [
    "FORMAT",
    "Draw",
    "Finding",
    "Refusal",
    "Setting",
    "Source",
    "close",
    "finding",
    "made",
    "proven",
    "settings",
    "whole_place",
]

Source = random.Random
Judge = Callable[[object], str]
"""Says what is wrong with a value; nothing if it is right."""

SECONDS = 10.0
"""What no setting may take of the processors' time, which does not grow on a busy machine."""

FORMAT = "import noisycount as nc; import numpy as np; {}"
"""A line of a setting as a program."""

_PATIENCE = 300.0  # s: what a reference may take
_NAMES_AND_QUOTES = re.compile(r"\b(must|cannot|impossible)\b.*(\bgot\b|: |, so )", re.DOTALL)
_NAMESPACE = {"nc": nc, "np": np, "math": math}
_FIRST_BITS, _MOST_BITS = 256, 16384
_SURE_BITS = 46  # of a reference: 1e-14 relative
_NOTHING = arb(10) ** -330  # below, a double holds nothing
_SMALLEST, _LARGEST = 2.3e-308, 1.7976931348623157e308


class Refusal(Enum):
    """Expectation about the refusal of a setting."""

    NEVER = "must be answered"
    MAYBE = "may be refused"
    ALWAYS = "must be refused"


@dataclass(frozen=True)
class Setting:
    """A call of a public function.

    Attributes:
        line: Python that gives a value, with `nc` and `np`.
        judge: Says what is wrong with the value.
        refusal: Whether it is refused.
    """

    line: str
    judge: Judge
    refusal: Refusal = Refusal.NEVER


@dataclass(frozen=True)
class Finding:
    """Error of a setting.

    Attributes:
        name: The public name that was searched.
        kind: "false", "foreign", "slow", or "unjudged" where the reference failed.
        line: The setting.
        what: What was found, and what is right.
    """

    name: str
    kind: str
    line: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.line}  # {self.name}: {self.what}"


Draw = Callable[[Source], Setting]


def settings(
    draws: dict[str, Draw], places: range, seed: str, shares: dict[str, int] | None = None
) -> Iterator[tuple[str, Setting]]:
    """The settings of these numbers, the public names in turn, each with its name.

    Each follows from the seed and its number alone.

    Args:
        draws: How settings of each name are drawn.
        places: The numbers of the settings.
        seed: Any text.
        shares: Names that come up so many times in a turn; others once.
    """
    turn = [name for name in draws for _ in range((shares or {}).get(name, 1))]
    for place in places:
        name = turn[place % len(turn)]
        try:
            setting = draws[name](random.Random(f"{seed} {place}"))  # noqa: S311  (settings)
        except _UnmadeError as unmade:
            setting = Setting(str(unmade), lambda _: "")
        yield name, setting


def finding(name: str, setting: Setting, seconds: float = SECONDS) -> Finding | None:
    """Run a setting, and return its error, or None."""

    def said(kind: str, what: str) -> Finding:
        return Finding(name, kind, setting.line, what)

    try:
        with warnings.catch_warnings(), _no_longer_than(seconds):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UserWarning)
            value = eval(setting.line, dict(_NAMESPACE))  # noqa: S307  (a line of this search)
    except _OvertimeError:
        return said("slow", f"not done in {seconds:g} s")
    except (ValueError, nc.NoisyCountError) as refused:
        told = _of_refusal(setting, refused)
        return said(*told) if told else None
    except Exception as foreign:  # noqa: BLE001  (whatever it is, it is found)
        return said("foreign", f"{type(foreign).__name__}: {foreign}")
    if setting.refusal is Refusal.ALWAYS:
        return said("false", f"not refused but {value!r}")
    return _judged(setting, value, said)


def _of_refusal(setting: Setting, refused: Exception) -> tuple[str, str] | None:
    """Return the error of a refusal, or None."""
    text = str(refused)
    if setting.refusal is Refusal.NEVER:
        return "false", f"refused: {text}"
    if type(refused) is not ValueError and not isinstance(refused, nc.NoisyCountError):
        return "foreign", f"{type(refused).__name__}: {text}"
    if "\n" in text or not _NAMES_AND_QUOTES.search(text):
        return "foreign", f"a refusal without name, value and remedy: {text}"
    return None


def _judged(setting: Setting, value: object, said: Callable[[str, str], Finding]) -> Finding | None:
    """Return the judge's verdict on a value."""
    try:
        with _no_longer_than(_PATIENCE), np.errstate(all="ignore"):
            wrong = setting.judge(value)
    except _OvertimeError:
        return said("unjudged", "the reference was not done in time")
    except Exception as failed:  # noqa: BLE001  (a search that cannot judge says so)
        return said("unjudged", f"the reference failed: {type(failed).__name__}: {failed}")
    return said("false", wrong) if wrong else None


class _UnmadeError(Exception):
    """A line that should make an object does not: it is searched in place of the setting."""


class _OvertimeError(BaseException):
    """The time is over; no handler of exceptions stops it."""


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    """Raise where what is done takes more of the processors' time, that of all threads."""

    def ring(_: int, __: FrameType | None) -> None:
        raise _OvertimeError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def made(line: str) -> object:
    """The value of a line, for references that read its parameters."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: object = eval(line, dict(_NAMESPACE))  # noqa: S307  (a line of this search)
    except Exception as failed:
        raise _UnmadeError(line) from failed
    return value


def proven(exact: Callable[[], arb], bits: int = _SURE_BITS) -> arb:
    """A ball that knows so many of its digits, or that it is below 1e-330.

    Args:
        exact: The value, computed anew in more and more digits.
        bits: To which it is to be known.
    """
    precision = _FIRST_BITS
    while True:
        with ctx.workprec(precision):
            found = arb(exact())
            if found.rel_accuracy_bits() >= bits or abs(found) < _NOTHING:
                return found
        precision *= 4
        if precision > _MOST_BITS:
            raise ArithmeticError(f"unproven: {found.str(20)}")


def close(found: object, exact: arb, relative: float, absolute: float = 0.0, what: str = "") -> str:
    """Return the error of a float beside the ball of the right value, or an empty text.

    What is below the smallest normal double may be off by so much; what is above the largest may be
    infinite.
    """
    if not isinstance(found, int | float | np.floating | np.integer) or isinstance(found, bool):
        return f"{what}{found!r} is no number"
    if math.isnan(found):
        return f"{what}nan, exactly {exact.str(17, radius=False)}"
    if math.isinf(found):
        is_beyond = abs(exact) > _LARGEST and (exact > 0) == (found > 0)
        return "" if is_beyond else f"{what}{found!r}, exactly {exact.str(17, radius=False)}"
    allowed = abs(exact) * relative + absolute + _SMALLEST
    off = abs(arb(float(found)) - exact) if isinstance(found, float) else abs(arb(int(found)) - exact)
    if off <= allowed:
        return ""
    if not off > allowed:
        raise ArithmeticError(f"the ball is too wide: {exact.str(20)}")
    ratio = (off / abs(exact)).str(3, radius=False) if abs(exact) > 0 else "infinite"
    return f"{what}{found!r}, exactly {exact.str(17, radius=False)} (off by {ratio} of it)"


def whole_place(found: object, reached: Callable[[int], bool], before: Callable[[int], bool]) -> str:
    """Return the error of the smallest whole number at which something is reached.

    Args:
        found: The number.
        reached: Whether it is reached there, within ties.
        before: Whether it is surely not reached there, within ties.
    """
    if not isinstance(found, int | float | np.integer | np.floating) or found != math.floor(found):
        return f"{found!r} is no whole number"
    if not reached(int(found)):
        return f"{found!r} is too small"
    return "" if before(int(found) - 1) else f"{found!r} is not the smallest"
