"""Whether an engine gives every answer as it should, for whoever owns the records on it."""

from collections.abc import Callable

from noisycount.release.sources.conformance.examination import Examination
from noisycount.release.sources.conformance.suite import examined
from noisycount.release.sources.opening import bench_of
from noisycount.release.sources.servers import ServerPlace

__all__ = ["examined_engine"]


def examined_engine(
    place: ServerPlace | None, progress: Callable[[int, int], None] | None = None
) -> Examination:
    """What an engine says of made-up records, in tables that are gone afterwards.

    Args:
        place: A table of the server or cluster, which is not touched; None: the engine of files.
        progress: It is told now and then how many questions of how many were asked.

    Raises:
        SourceError: The server cannot be reached, or makes no table for this account.
    """
    return examined(bench_of(place), progress)
