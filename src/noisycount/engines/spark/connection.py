"""Sessions of our own on Spark, in which nothing that an application set has a say.

The same is asked of a driver in this process and of a server of Connect; nothing of its errors and logs comes out, as
they quote cells and plans.
"""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from threading import Event, Thread, local
from typing import Any, Protocol, TypeAlias, TypeVar, cast
from uuid import uuid4

from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame

from noisycount.errors import NoisyCountError, SourceError, install_hint
from noisycount.frozen import frozen

with warnings.catch_warnings():  # of versions of pandas, which is not used here
    warnings.simplefilter("ignore")
    import pyspark.testing.utils  # noqa: F401 - Spark does, at the first call of Java


Columns: TypeAlias = Column
Frame: TypeAlias = DataFrame


class Functions(Protocol):
    """The functions that make columns of columns."""

    def __getattr__(self, name: str) -> Callable[..., Column]: ...


@frozen
class Api:
    """A session of our own and what makes expressions for it."""

    session: Any  # whose settings, temporary views and jobs are ours alone
    functions: Functions  # those of its kind
    window: Any  # makes the windows of its kind
    tag: Callable[[str], object]  # marks all that this thread asks from now on by a name
    untag: Callable[[str], object]  # ends that
    cancel: Callable[[str], object]  # gives up all that is marked by a name, whichever thread asked it


class QueryTimeout(Exception):  # noqa: N818 - it is what happened
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
    **dict.fromkeys(
        ["TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"], Fault.GONE
    ),
    **dict.fromkeys([f"PARQUET_TYPE_{why}" for why in ("ILLEGAL", "NOT_SUPPORTED", "NOT_RECOGNIZED")], Fault.UNREAD),
    "UNSUPPORTED_TIME_TYPE": Fault.UNREAD,
    "COLUMN_ALREADY_EXISTS": Fault.TWICE,
    "INSUFFICIENT_PERMISSIONS": Fault.FORBIDDEN,
}
_CLASSES = {
    **dict.fromkeys(["AccessControlException", "AccessDeniedException"], Fault.FORBIDDEN),
    **dict.fromkeys(["NoSuchTableException", "NoSuchNamespaceException", "FileNotFoundException"], Fault.GONE),
    **dict.fromkeys(["UnknownHostException", "ConnectException", "ConnectionRefusedError"], Fault.DOWN),
    **dict.fromkeys(["RetriesExceeded", "Py4JNetworkError"], Fault.DOWN),
    "IllegalStateException": Fault.DOWN,  # of a driver that was stopped
    QueryTimeout.__name__: Fault.LATE,
}
_STATUSES = {
    "UNAVAILABLE": Fault.DOWN,
    "DEADLINE_EXCEEDED": Fault.DOWN,
    "UNAUTHENTICATED": Fault.FORBIDDEN,
    "PERMISSION_DENIED": Fault.FORBIDDEN,
}
_DEEPEST = 20  # causes of causes


def failure_reason(error: BaseException) -> Fault:
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


_OWN_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOGGERS = (
    "py4j",
    "py4j.java_gateway",
    "py4j.clientserver",
    "pyspark.sql.connect.logging",
    "pyspark.sql.connect.client",
)
_here = local()


class _Silence(logging.Filter):
    """What drops the lines of threads that are asking."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - whatever it says
        """Whether a line is of somebody else."""
        return not getattr(_here, "is_asking", False)


_SILENCE = _Silence()


@contextmanager
def silenced() -> Iterator[None]:
    """A block in which Spark logs nothing of what this thread does."""
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)
    loggers = [*map(PySparkLogger.getLogger, _OWN_LOGGERS), *map(logging.getLogger, _LOGGERS)]
    for logger in loggers:
        logger.addFilter(_SILENCE)  # which does nothing from the second time on
    was_asking, _here.is_asking = getattr(_here, "is_asking", False), True
    try:
        yield
    finally:
        _here.is_asking = was_asking


_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
"""What the answers depend on: a file that cannot be read is an error, a day that is never one."""

_RETRIES = 4  # of a server that does not answer, in seconds: Spark's own 15 take ten minutes
_AGAIN = 0.2  # s; an interruption between two jobs meets neither
Result = TypeVar("Result")


@dataclass(slots=True)
class Session:
    """A session of our own on a cluster."""

    api: Api  # the session, and what makes expressions for it
    shown: str  # what messages call the records
    is_remote: bool  # whether a server of Connect answers
    _is_closed: Event = field(default_factory=Event)

    @classmethod
    def open(cls, url: str, shown: str) -> "Session":
        """A new session at an address. `url`: `spark://host:port`, `spark://local`, or `sc://host:port`."""
        is_remote = url.lower().startswith("sc:")
        made = _without_errors(lambda: _connected(url) if is_remote else _driven(url, shown), shown)
        session = cls(made, shown, is_remote)
        try:
            session.asked(session._set)
        except BaseException:
            session.close()
            raise
        return session

    @property
    def version(self) -> str:
        """The version of Spark that answers."""
        return str(self.asked(lambda: self.api.session.version))

    def asked(self, work: Callable[[], Result], seconds: float | None = None) -> Result:
        """The result of some work, or a refusal that keeps nothing of Spark's error."""
        self.require_open()
        if seconds is None:
            return _without_errors(work, self.shown, self._is_gone)
        done, is_late, tag = Event(), Event(), f"noisycount-{uuid4().hex}"

        def interrupt() -> None:
            wait = seconds
            while not done.wait(wait):
                is_late.set()
                tried(lambda: self.api.cancel(tag))
                wait = _AGAIN

        def limited() -> Result:
            self.api.tag(tag)
            Thread(target=interrupt, daemon=True).start()
            try:
                return work()
            except Exception:
                if is_late.is_set():
                    raise QueryTimeout from None
                raise
            finally:
                done.set()
                self.api.untag(tag)

        return _without_errors(limited, self.shown, self._is_gone)

    def require_open(self) -> None:
        """The refusal to go on once it is closed."""
        if self._is_closed.is_set():
            raise SourceError("the records are closed: open the source again")

    def close(self) -> None:
        """The end of its use; what goes on is given up, and not waited for."""
        if not self._is_closed.is_set():
            self._is_closed.set()
            if self.is_remote:
                self.api.session.client.set_retry_policies([])
            tried(self.api.session.interruptAll)
            if self.is_remote:
                tried(self.api.session.stop)

    def _is_gone(self) -> bool:
        """Whether the driver was stopped, after which Spark raises whatever it meets first."""
        if self.is_remote:
            return False
        from noisycount.engines.spark.driver import is_stopped  # noqa: PLC0415 - as above

        return is_stopped(self.api.session.sparkContext)

    def _set(self) -> None:
        """What answers depend on, as settings of this session alone."""
        for name, value in _SETTINGS.items():
            self.api.session.conf.set(name, value)


def _driven(url: str, shown: str) -> Api:
    """A session of the driver in this process."""
    from pyspark.sql import functions, window  # noqa: PLC0415 - Connect has its own

    from noisycount.engines.spark.driver import root_session  # noqa: PLC0415 - as above

    session = root_session(url, shown).newSession()
    context = session.sparkContext  # tags of a session are known to the thread alone that set them
    tags = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag
    return Api(session, cast("Functions", functions), window.Window, *tags)


def _connected(url: str) -> Api:
    """A session of a server of Connect, which becomes nobody's active one."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its lines go to the terminal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions of pandas, which is not used here
        from pyspark.sql.connect import window  # noqa: PLC0415 - needs packages of the extra
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - as above
        from pyspark.sql.connect.functions import builtin  # noqa: PLC0415 - as above
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - as above
    session = SparkSession(url)
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    tags = session.addTag, session.removeTag, session.interruptTag
    return Api(session, cast("Functions", builtin), window.Window, *tags)


def _without_errors(work: Callable[[], Result], shown: str, is_gone: Callable[[], bool] = lambda: False) -> Result:
    """The result of some work, without the errors of Spark."""
    with silenced():
        try:
            return work()
        except NoisyCountError:
            raise
        except ImportError:
            refusal = f"needs a part of Spark that is missing: {install_hint('spark')}"
        except Exception as error:  # noqa: BLE001 - Spark, its bridges and servers raise anything
            fault = failure_reason(error)
            refusal = (Fault.DOWN if fault is Fault.OTHER and is_gone() else fault).value
    raise SourceError(f"{shown} {refusal}")


def tried(work: Callable[[], object]) -> None:
    """Some work of which it does not matter whether Spark still answers."""
    with silenced():
        try:
            work()
        except Exception:  # noqa: BLE001 - as above
            return
