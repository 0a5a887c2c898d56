"""The silence of loggers of Spark about what is asked of it here: their lines quote cells."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from pyspark.logger import PySparkLogger

__all__ = ["silenced"]

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
    _here.is_asking = True
    try:
        yield
    finally:
        _here.is_asking = False
