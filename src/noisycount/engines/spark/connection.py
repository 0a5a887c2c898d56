"""Separate sessions on Spark, which no setting of the application changes, and refusals in place of Spark's errors.

A session belongs to a driver in this process (`driver`) or to a server of Spark Connect. Errors and logs of Spark quote
cells and plans, so they are replaced or suppressed.
"""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from threading import Event, Thread, local
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame

from noisycount.errors import NoisyCountError, SourceError, install_hint
from noisycount.frozen import frozen

with warnings.catch_warnings():  # about the version of pandas, which is not used here
    warnings.simplefilter("ignore")
    import pyspark.testing.utils  # noqa: F401 - Spark imports it at the first call of Java


Columns: TypeAlias = Column
Frame: TypeAlias = DataFrame


@frozen
class Api:
    """A separate Spark session, the functions that make expressions for it, and the tags that cancel its jobs."""

    session: Any  # has settings, temporary views and jobs of its own
    functions: Any  # those of the driver or of Connect, as the session needs
    tag: Callable[[str], object]  # give the later jobs of this thread a tag
    untag: Callable[[str], object]  # stop giving the tag
    cancel: Callable[[str], object]  # cancel the jobs with a tag, of all threads


class QueryTimeout(Exception):  # noqa: N818 - as TimeoutError is named
    """A query that took longer than its time-out."""


class Fault(Enum):
    """The kind of a failure of Spark; its value completes the message 'the records …'."""

    DOWN = "does not answer: check that the cluster runs, and its address"
    NOT_FOUND = "does not exist: check the name of the table, or the path of its files"
    FORBIDDEN = "may not be read by this account: ask its owner for the right to read it"
    EQUAL_NAMES = "has columns whose names are equal or differ only in case: rename one of each pair"
    UNREADABLE = "has a column of a type that Spark does not read from files: remove the column"
    TIMED_OUT = "took longer than its time-out and was cancelled: ask its owner for a longer time-out"
    OTHER = "cannot be counted: check that its files are whole, and that the cluster has memory"


_FAULTS_OF_CONDITIONS = {
    **dict.fromkeys(
        ["TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"], Fault.NOT_FOUND
    ),
    **dict.fromkeys(
        [f"PARQUET_TYPE_{end}" for end in ("ILLEGAL", "NOT_SUPPORTED", "NOT_RECOGNIZED")], Fault.UNREADABLE
    ),
    "UNSUPPORTED_TIME_TYPE": Fault.UNREADABLE,
    "COLUMN_ALREADY_EXISTS": Fault.EQUAL_NAMES,
    "INSUFFICIENT_PERMISSIONS": Fault.FORBIDDEN,
}
_CLASSES = {
    **dict.fromkeys(["AccessControlException", "AccessDeniedException"], Fault.FORBIDDEN),
    **dict.fromkeys(["NoSuchTableException", "NoSuchNamespaceException", "FileNotFoundException"], Fault.NOT_FOUND),
    **dict.fromkeys(["UnknownHostException", "ConnectException", "ConnectionRefusedError"], Fault.DOWN),
    **dict.fromkeys(["RetriesExceeded", "Py4JNetworkError"], Fault.DOWN),
    "IllegalStateException": Fault.DOWN,  # of a driver that was stopped
    QueryTimeout.__name__: Fault.TIMED_OUT,
}
_STATUSES = {
    "UNAVAILABLE": Fault.DOWN,
    "DEADLINE_EXCEEDED": Fault.DOWN,
    "UNAUTHENTICATED": Fault.FORBIDDEN,
    "PERMISSION_DENIED": Fault.FORBIDDEN,
}
_LONGEST_CHAIN = 20  # of errors that caused each other


def failure_reason(error: BaseException) -> Fault:
    """Return the kind of a failure from the error's condition, status and classes, never from its text."""
    condition = str(_call_or_none(error, "getCondition") or "")  # of Spark's own errors
    faults = [_FAULTS_OF_CONDITIONS.get(condition.partition(".")[0])]
    for link in (error, error.__cause__, error.__context__):
        code = _call_or_none(link, "code")  # of a server of Connect
        faults.append(_STATUSES.get(str(getattr(code, "name", ""))))
    return next(filter(None, chain(faults, _class_faults(error))), Fault.OTHER)


def _class_faults(error: BaseException) -> Iterator[Fault | None]:
    """Yield the faults of the classes of an error and its causes, in Python and in Java."""
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            break
        yield _CLASSES.get(type(link).__name__)
        link = link.__cause__ or link.__context__
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_LONGEST_CHAIN):
        if java is None:
            break
        yield _CLASSES.get(str(java.getClass().getSimpleName()))
        java = java.getCause()


def _call_or_none(error: Any, method: str) -> Any:  # noqa: ANN401 - errors of any kind
    """Call a method of an error. Return None if the error has no such method, or the method fails."""
    try:
        return getattr(error, method)()
    except Exception:  # noqa: BLE001 - an error may call a server that has stopped
        return None


_OWN_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOGGERS = (
    "py4j",
    "py4j.java_gateway",
    "py4j.clientserver",
    "pyspark.sql.connect.logging",
    "pyspark.sql.connect.client",
)
_thread = local()


class _OwnQueryFilter(logging.Filter):
    """A log filter that drops the lines of threads inside `silenced`."""

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - the text does not matter
        """Return True if the line may be logged."""
        return not getattr(_thread, "is_silent", False)


_FILTER = _OwnQueryFilter()


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress Spark's log lines about the work of this thread inside the block."""
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)
    loggers = [*map(PySparkLogger.getLogger, _OWN_LOGGERS), *map(logging.getLogger, _LOGGERS)]
    for logger in loggers:
        logger.addFilter(_FILTER)  # a second call adds nothing
    was_silent, _thread.is_silent = getattr(_thread, "is_silent", False), True
    try:
        yield
    finally:
        _thread.is_silent = was_silent


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
"""Settings that answers depend on: an unreadable file is always an error, an impossible day never is."""

_RETRIES = 4  # calls of a server that does not answer: some seconds; Spark's default of 15 takes ten minutes
_CANCEL_INTERVAL = 0.2  # s; cancelling is repeated, as it may fall between two jobs
Result = TypeVar("Result")


@dataclass(slots=True)
class Session:
    """A separate session on a cluster, which runs work and replaces Spark's errors by refusals."""

    api: Api
    shown: str  # name of the records in messages
    is_remote: bool  # True for a server of Connect
    _is_closed: Event = field(default_factory=Event)

    @classmethod
    def open(cls, url: str, shown: str) -> "Session":
        """Open a session at an address: `spark://host:port`, `spark://local`, or `sc://host:port`."""
        is_remote = url.lower().startswith("sc:")
        api = _run_work(lambda: _connect_api(url) if is_remote else _driver_api(url, shown), shown)
        session = cls(api, shown, is_remote)
        try:
            session.run(lambda: [api.session.conf.set(*setting) for setting in _SETTINGS.items()])
        except BaseException:
            session.close()
            raise
        return session

    @property
    def version(self) -> str:
        """Version of Spark."""
        return str(self.run(lambda: self.api.session.version))

    def run(self, work: Callable[[], Result], seconds: float | None = None) -> Result:
        """Run some work and return its result.

        Args:
            work: The work, which may run Spark jobs.
            seconds: The time-out; None: no limit.

        Raises:
            SourceError: If the work fails. The message has no part of Spark's error.
        """
        self.require_open()
        if seconds is None:
            return _run_work(work, self.shown, self._has_stopped)
        done, is_late, tag = Event(), Event(), f"noisycount-{uuid4().hex}"

        def interrupt() -> None:
            wait = seconds
            while not done.wait(wait):
                is_late.set()
                run_ignoring_errors(lambda: self.api.cancel(tag))
                wait = _CANCEL_INTERVAL

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

        return _run_work(limited, self.shown, self._has_stopped)

    def require_open(self) -> None:
        """Raise SourceError if the session is closed."""
        if self._is_closed.is_set():
            raise SourceError("the records are closed: open the source again")

    def close(self) -> None:
        """Close the session. Running work is cancelled, and not awaited."""
        if not self._is_closed.is_set():
            self._is_closed.set()
            if self.is_remote:
                self.api.session.client.set_retry_policies([])
            run_ignoring_errors(self.api.session.interruptAll)
            if self.is_remote:
                run_ignoring_errors(self.api.session.stop)

    def _has_stopped(self) -> bool:
        """Return True if the driver was stopped. Spark then raises errors of any class."""
        if self.is_remote:
            return False
        from noisycount.engines.spark.driver import is_stopped  # noqa: PLC0415 - starts Java

        return is_stopped(self.api.session.sparkContext)


def _driver_api(url: str, shown: str) -> Api:
    """Return a session of the driver in this process."""
    from pyspark.sql import functions  # noqa: PLC0415 - Connect has its own

    from noisycount.engines.spark.driver import root_session  # noqa: PLC0415 - as above

    session = root_session(url, shown).newSession()
    context = session.sparkContext  # a session's tags can be cancelled only by the thread that set them
    tags = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag
    return Api(session, functions, *tags)


def _connect_api(url: str) -> Api:
    """Return a session of a server of Connect. It does not become the application's active session."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # else gRPC writes to the terminal
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the version of pandas, which is not used here
        from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - needs packages of the extra
        from pyspark.sql.connect.functions import builtin  # noqa: PLC0415 - as above
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - as above
    session = SparkSession(url)
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    tags = session.addTag, session.removeTag, session.interruptTag
    return Api(session, builtin, *tags)


def _run_work(work: Callable[[], Result], shown: str, has_stopped: Callable[[], bool] = lambda: False) -> Result:
    """Run some work silently. Raise SourceError without Spark's text if it fails."""
    with silenced():
        try:
            return work()
        except NoisyCountError:
            raise
        except ImportError:
            refusal = f"needs a part of Spark that is missing: {install_hint('spark')}"
        except Exception as error:  # noqa: BLE001 - Spark, its bridges and servers raise anything
            fault = failure_reason(error)
            refusal = (Fault.DOWN if fault is Fault.OTHER and has_stopped() else fault).value
    raise SourceError(f"{shown} {refusal}")


def run_ignoring_errors(work: Callable[[], object]) -> None:
    """Run some work, such as closing, that may fail because Spark has stopped."""
    with silenced():
        try:
            work()
        except Exception:  # noqa: BLE001 - as above
            return
