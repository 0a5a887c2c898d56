"""What is asked of Spark: the same of a driver in this process and of a server of Connect."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from pyspark.sql import Column, DataFrame

with warnings.catch_warnings():  # of versions of pandas, which is not used here
    warnings.simplefilter("ignore")
    import pyspark.testing.utils  # noqa: F401 - Spark does, at the first call of Java

__all__ = ["Api", "Columns", "Frame", "Functions"]

Columns: TypeAlias = Column
Frame: TypeAlias = DataFrame


class Functions(Protocol):
    """The functions that make columns of columns."""

    def __getattr__(self, name: str) -> Callable[..., Column]: ...


@dataclass(frozen=True, slots=True)
class Api:
    """A session of our own and what makes expressions for it.

    Attributes:
        session: Whose settings, temporary views and jobs are ours alone.
        functions: Those of its kind.
        window: Makes the windows of its kind.
        tag: Marks all that this thread asks from now on by a name.
        untag: Ends that.
        cancel: Gives up all that is marked by a name, whichever thread asked it.
    """

    session: Any
    functions: Functions
    window: Any
    tag: Callable[[str], object]
    untag: Callable[[str], object]
    cancel: Callable[[str], object]
