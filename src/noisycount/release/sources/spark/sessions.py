"""Sessions of our own, in which nothing that an application set has a say."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TypeVar, cast
from uuid import uuid4

from noisycount.errors import NoisyCountError, SourceError, extra_words
from noisycount.release.sources.spark.api import Api, Functions
from noisycount.release.sources.spark.failures import Fault, Late, fault_of
from noisycount.release.sources.spark.silence import silenced

__all__ = ["Session"]

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
    """A session of our own on a cluster.

    Attributes:
        api: The session, and what makes expressions for it.
        shown: What messages call the records.
        is_remote: Whether a server of Connect answers.
    """

    api: Api
    shown: str
    is_remote: bool
    _is_closed: Event = field(default_factory=Event)

    @classmethod
    def open(cls, url: str, shown: str) -> "Session":
        """A new session at an address.

        Args:
            url: `spark://host:port`, `spark://local`, or `sc://host:port`.
            shown: What messages call the records.

        Raises:
            SourceError: The cluster does not answer, or a part of Spark is not installed.
        """
        is_remote = url.lower().startswith("sc:")
        made = _asked(lambda: _connected(url) if is_remote else _driven(url, shown), shown)
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
        """The result of some work, or a refusal that keeps nothing of Spark's error.

        Args:
            work: What asks Spark.
            seconds: After which it is given up; None: never.

        Raises:
            SourceError: Spark failed, was too slow, or the session is closed.
        """
        self.require_open()
        if seconds is None:
            return _asked(work, self.shown, self._is_gone)
        done, is_late, tag = Event(), Event(), f"noisycount-{uuid4().hex}"

        def interrupt() -> None:
            wait = seconds
            while not done.wait(wait):
                is_late.set()
                _tried(lambda: self.api.cancel(tag))
                wait = _AGAIN

        def limited() -> Result:
            self.api.tag(tag)
            Thread(target=interrupt, daemon=True).start()
            try:
                return work()
            except Exception:
                if is_late.is_set():
                    raise Late from None
                raise
            finally:
                done.set()
                self.api.untag(tag)

        return _asked(limited, self.shown, self._is_gone)

    def require_open(self) -> None:
        """The refusal to go on once it is closed.

        Raises:
            SourceError: It is.
        """
        if self._is_closed.is_set():
            raise SourceError("the records are closed: open the source again")

    def close(self) -> None:
        """The end of its use; what goes on is given up, and not waited for."""
        if not self._is_closed.is_set():
            self._is_closed.set()
            if self.is_remote:
                self.api.session.client.set_retry_policies([])
            _tried(self.api.session.interruptAll)
            if self.is_remote:
                _tried(self.api.session.stop)

    def _is_gone(self) -> bool:
        """Whether the driver was stopped, after which Spark raises whatever it meets first."""
        if self.is_remote:
            return False
        from noisycount.release.sources.spark.driver import is_stopped  # noqa: PLC0415 - as above

        return is_stopped(self.api.session.sparkContext)

    def _set(self) -> None:
        """What answers depend on, as settings of this session alone."""
        for name, value in _SETTINGS.items():
            self.api.session.conf.set(name, value)


def _driven(url: str, shown: str) -> Api:
    """A session of the driver in this process."""
    from pyspark.sql import functions, window  # noqa: PLC0415 - Connect has its own

    from noisycount.release.sources.spark.driver import root_session  # noqa: PLC0415 - as above

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


def _asked(
    work: Callable[[], Result], shown: str, is_gone: Callable[[], bool] = lambda: False
) -> Result:
    """The result of some work, without the errors of Spark."""
    with silenced():
        try:
            return work()
        except NoisyCountError:
            raise
        except ImportError:
            refusal = f"needs a part of Spark that is missing: {extra_words('spark')}"
        except Exception as error:  # noqa: BLE001 - Spark, its bridges and servers raise anything
            fault = fault_of(error)
            refusal = (Fault.DOWN if fault is Fault.OTHER and is_gone() else fault).value
    raise SourceError(f"{shown} {refusal}")


def _tried(work: Callable[[], object]) -> None:
    """Some work of which it does not matter whether Spark still answers."""
    with silenced():
        try:
            work()
        except Exception:  # noqa: BLE001 - as above
            return
