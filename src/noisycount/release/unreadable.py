"""Which columns of a question have cells that could not be read."""

from collections.abc import Iterable

from noisycount.release.question.operands import Column
from noisycount.release.sources.interface import Source

__all__ = ["unreadable_as_missing"]


def unreadable_as_missing(read: Iterable[Column], source: Source) -> tuple[str, ...]:
    """The columns of a question whose cells, where they could not be read, count as missing.

    Args:
        read: The columns that the question reads.
        source: The records.
    """
    names = {column.name for column in read} & {*source.accepted}
    return tuple(name for name in source.schema if name in names)
