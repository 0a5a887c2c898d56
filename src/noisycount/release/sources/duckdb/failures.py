"""What is said where DuckDB fails: nothing of its own, as its errors quote cells."""

from collections.abc import Callable
from typing import TypeVar

import duckdb

from noisycount.errors import SourceError

__all__ = ["without_engine_errors"]

Result = TypeVar("Result")


def without_engine_errors(
    work: Callable[[], Result], refusal: str, without_memory: str | None = None
) -> Result:
    """The result of some work, or a refusal that keeps nothing of the engine's error.

    A context manager could not serve: the refusal would have that error as its context.

    Args:
        work: What asks the engine.
        refusal: The text of the refusal.
        without_memory: Its text where memory did not suffice; None: the same.

    Raises:
        SourceError: The engine failed.
    """
    try:
        return work()
    except duckdb.OutOfMemoryException:
        message = without_memory or refusal
    except (duckdb.Error, OSError):  # of a file, or of a store of files
        message = refusal
    raise SourceError(message)
