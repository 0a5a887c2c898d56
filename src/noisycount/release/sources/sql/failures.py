"""What is said where a server fails: nothing of its own, as its errors quote cells and accounts."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, NoSuchTableError

from noisycount.errors import SourceError

__all__ = ["UNREACHED", "without_server_errors"]

Result = TypeVar("Result")

UNREACHED = (
    "cannot be reached: check that its server runs, and the address, the account and its password"
)
_UNREADABLE = (
    "may not be read by this account: let its owner grant USAGE of its schema, and SELECT of the "
    "columns that questions use and of the unit"
)
_ABSENT = "does not exist: check the name of the table, and of its schema"
_LATE = "was not counted in time: state a longer timeout, or ask when the server is less busy"
_CHANGED = "has other columns than at its opening: open it again"
_FAILED = "could not be counted, and why is withheld, as it may quote a record: see the server"

_STATES = {
    "08": UNREACHED,
    "28": UNREACHED,
    "3D": UNREACHED,
    "57P": UNREACHED,
    "53300": UNREACHED,
    "42501": _UNREADABLE,
    "42P01": _ABSENT,
    "3F000": _ABSENT,
    "57014": _LATE,
    "55P03": _LATE,
    "25P03": _LATE,
    "42703": _CHANGED,
}
"""By the standard's codes, or the letters that they begin with."""


def without_server_errors(
    shown: str, work: Callable[[], Result], denied: str | None = None
) -> Result:
    """The result of some work, or a refusal that keeps nothing of the server's error.

    A context manager could not serve: the refusal would have that error as its context.

    Args:
        shown: What the records are called.
        work: What asks the server.
        denied: What is said where the account has no right to it; None: that it may not read.

    Raises:
        SourceError: The server or its driver failed, or the work itself refuses.
    """
    try:
        return work()
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - drivers raise what they like, which may quote cells
        why = _reason(error)
    if denied is not None and why is _UNREADABLE:
        why = denied
    raise SourceError(f"{shown!r} {why}")


def _reason(error: Exception) -> str:
    if isinstance(error, NoSuchTableError):
        return _ABSENT
    if isinstance(error, OSError | UnicodeError):  # of hosts that nobody knows
        return UNREACHED
    if not isinstance(error, DBAPIError):
        return _FAILED
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return UNREACHED if error.connection_invalidated or _is_lost(error) else _FAILED
    known = (_STATES.get(state[:length]) for length in (5, 3, 2))
    return next((reason for reason in known if reason), _FAILED)


def _is_lost(error: DBAPIError) -> bool:
    """Whether there is no connection: only then has an operational error no state."""
    return type(error.orig).__name__ in {"OperationalError", "ConnectionTimeout", "InterfaceError"}
