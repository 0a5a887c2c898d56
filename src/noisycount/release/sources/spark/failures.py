"""What is said where Spark fails: nothing of its own, as its errors quote cells and plans."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

__all__ = ["Fault", "Late", "fault_of"]


class Late(Exception):  # noqa: N818 - it is what happened
    """That some work took longer than it may."""


class Fault(Enum):
    """Why Spark did not answer; the value is what is said of the records."""

    DOWN = "does not answer: check that the cluster runs, and its address"
    GONE = "is not there: check the name of the table, or the path of its files"
    FORBIDDEN = "may not be read by this account: ask who owns it for the right to read it"
    TWICE = "has columns whose names differ only in case, or not at all: rename one of each two"
    UNREAD = "has a column of a type that Spark does not read from files: leave it out of them"
    LATE = "took longer than its time-out, and was given up: ask its owner for a longer one"
    OTHER = "cannot be counted: check that its files are whole, and that the cluster has memory"


_CONDITIONS = {
    "TABLE_OR_VIEW_NOT_FOUND": Fault.GONE,
    "SCHEMA_NOT_FOUND": Fault.GONE,
    "PATH_NOT_FOUND": Fault.GONE,
    "UNABLE_TO_INFER_SCHEMA": Fault.GONE,
    "COLUMN_ALREADY_EXISTS": Fault.TWICE,
    "PARQUET_TYPE_ILLEGAL": Fault.UNREAD,
    "PARQUET_TYPE_NOT_SUPPORTED": Fault.UNREAD,
    "PARQUET_TYPE_NOT_RECOGNIZED": Fault.UNREAD,
    "UNSUPPORTED_TIME_TYPE": Fault.UNREAD,
    "INSUFFICIENT_PERMISSIONS": Fault.FORBIDDEN,
}
_CLASSES = {
    "AccessControlException": Fault.FORBIDDEN,
    "AccessDeniedException": Fault.FORBIDDEN,
    "NoSuchTableException": Fault.GONE,
    "NoSuchNamespaceException": Fault.GONE,
    "FileNotFoundException": Fault.GONE,
    "UnknownHostException": Fault.DOWN,
    "ConnectException": Fault.DOWN,
    "IllegalStateException": Fault.DOWN,  # of a driver that was stopped
    "RetriesExceeded": Fault.DOWN,
    "Py4JNetworkError": Fault.DOWN,
    "ConnectionRefusedError": Fault.DOWN,
    Late.__name__: Fault.LATE,
}
_STATUSES = {
    "UNAVAILABLE": Fault.DOWN,
    "DEADLINE_EXCEEDED": Fault.DOWN,
    "UNAUTHENTICATED": Fault.FORBIDDEN,
    "PERMISSION_DENIED": Fault.FORBIDDEN,
}
_DEEPEST = 20  # causes of causes


def fault_of(error: BaseException) -> Fault:
    """Which kind of failure an error is, by its classes and never by its text."""
    for told in (_conditions(error), _statuses(error), _classes(error)):
        found = next(filter(None, told), None)
        if found is not None:
            return found
    return Fault.OTHER


def _conditions(error: BaseException) -> Iterator[Fault | None]:
    """What the name of the condition says, which Spark's own errors have."""
    condition = str(_asked(error, "getCondition") or "")
    yield _CONDITIONS.get(condition.partition(".")[0])


def _statuses(error: BaseException) -> Iterator[Fault | None]:
    """What the status says that a server of Connect answers with."""
    for each in (error, error.__cause__, error.__context__):
        code = _asked(each, "code")
        yield _STATUSES.get(str(getattr(code, "name", "")))


def _classes(error: BaseException) -> Iterator[Fault | None]:
    """What the classes of an error and its causes say, in Python and in Java."""
    here: BaseException | None = error
    for _ in range(_DEEPEST):
        if here is None:
            break
        yield _CLASSES.get(type(here).__name__)
        here = here.__cause__ or here.__context__
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_DEEPEST):
        if java is None:
            break
        yield _CLASSES.get(str(java.getClass().getSimpleName()))
        java = java.getCause()


def _asked(of: Any, method: str) -> Any:  # noqa: ANN401 - errors of any kind
    """What a method of an error says, if it has one that answers."""
    try:
        return getattr(of, method)()
    except Exception:  # noqa: BLE001 - errors of a server that is gone cannot be asked
        return None
